/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/report/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WANTED 6.0 /* ticks of a linear scale, about */

/* The step between ticks of a linear scale: the least of 1, 2 and 5 times a power of ten that gives few enough. */
static double linear_step(double range) {
  const double least = range / WANTED, power = pow(10, floor(log10(least)));
  for (int i = 0; i < 3; i++) {
    static const double times[] = {1, 2, 5};
    if (times[i] * power >= least * (1 - 1e-9)) return times[i] * power;
  }
  return 10 * power;
}

scale scale_make(scale_kind kind, double low, double high, double from, double to) {
  scale s = {kind, low, high, from, to};
  if (kind == SCALE_LINEAR) {
    s.low = fmin(low, 0);
    if (!(high > s.low)) s.high = s.low + 1;
    const double step = linear_step(s.high - s.low);
    s.high = step * ceil(s.high / step - 1e-9);
    return s;
  }
  const double base = kind == SCALE_LOG2 ? 2 : 10;
  if (!(s.low > 0)) s.low = 1;
  if (!(s.high > s.low)) s.high = s.low * base;
  if (kind == SCALE_LOG2) return s;
  /* To the next of 1, 2 and 5 times a power of ten on both sides. */
  const double down = pow(10, floor(log10(s.low) + 1e-9)), up = pow(10, floor(log10(s.high) - 1e-9));
  s.low = s.low >= 5 * down ? 5 * down : s.low >= 2 * down ? 2 * down : down;
  s.high = s.high <= 2 * up ? 2 * up : s.high <= 5 * up ? 5 * up : 10 * up;
  return s;
}

double scale_at(const scale *s, double value) {
  const double v = fmax(s->low, fmin(s->high, value));
  const double part =
      s->kind == SCALE_LINEAR ? (v - s->low) / (s->high - s->low) : log(v / s->low) / log(s->high / s->low);
  return s->from + (isfinite(part) ? part : 0) * (s->to - s->from);
}

static size_t linear_ticks(const scale *s, double *ticks) {
  const double step = linear_step(s->high - s->low);
  size_t count = 0;
  for (double i = ceil(s->low / step - 1e-9); count < SCALE_TICKS && i * step <= s->high + 1e-9 * step; i++)
    ticks[count++] = i * step;
  return count;
}

static size_t log10_ticks(const scale *s, double *ticks) {
  static const double times[] = {1, 2, 5};
  const int each = s->high / s->low > 5000 ? 1 : 3; /* ticks per power of ten */
  size_t count = 0;
  for (double power = floor(log10(s->low) + 1e-9); count < SCALE_TICKS && pow(10, power) <= s->high * (1 + 1e-9);
       power++)
    for (int i = 0; i < each && count < SCALE_TICKS; i++) {
      const double tick = times[i] * pow(10, power);
      if (tick >= s->low * (1 - 1e-9) && tick <= s->high * (1 + 1e-9)) ticks[count++] = tick;
    }
  return count;
}

static size_t log2_ticks(const scale *s, double *ticks) {
  const double first = ceil(log2(s->low) - 1e-9), last = floor(log2(s->high) + 1e-9);
  const double step = fmax(1, ceil((last - first) / 13));
  size_t count = 0;
  for (double power = first; power <= last && count < SCALE_TICKS; power += step) ticks[count++] = exp2(power);
  return count;
}

size_t scale_ticks(const scale *s, double ticks[SCALE_TICKS]) {
  if (s->kind == SCALE_LINEAR) return linear_ticks(s, ticks);
  return s->kind == SCALE_LOG2 ? log2_ticks(s, ticks) : log10_ticks(s, ticks);
}

void scale_text(const scale *s, double value, char *text, size_t bytes) {
  const double power = log2(value);
  if (s->kind == SCALE_LOG2 && power == floor(power) && value >= 1024 && s->high > 65536)
    snprintf(text, bytes, "2^%.0f", power);
  else if (s->kind == SCALE_LOG2 && value < 1)
    snprintf(text, bytes, "1/%.0f", 1 / value);
  else
    snprintf(text, bytes, "%.10g", fabs(value) < 1e-12 ? 0 : value);
}

const char *scale_unit(const char *unit, double most, double *factor) {
  static const struct {
    const char *from, *to;
    double least, factor; /* least: of `most`, in `from` */
  } rows[] = {{"GFLOP/s", "TFLOP/s", 1e4, 1e-3},
              {"GB/s", "TB/s", 1e4, 1e-3},
              {"M/s", "G/s", 1e4, 1e-3},
              {"s", "s", 1, 1},
              {"s", "ms", 1e-3, 1e3},
              {"s", "\xc2\xb5s", 0, 1e6}};
  *factor = 1;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (strcmp(rows[i].from, unit) == 0 && most >= rows[i].least) return *factor = rows[i].factor, rows[i].to;
  return unit;
}
