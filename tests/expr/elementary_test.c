/* SPDX-License-Identifier: Apache-2.0
 * The elementary functions of user kernels: the bits of the sequences in docs/ELEMENTARY.md, errors against double
 * precision over all exponents and for special values, and the same bits on every instruction set, on devices, and of
 * constants. Usage: elementary_test [devices] */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"
#include "tests/elementary_sequences.h"
#include "tests/float_bits.h"

#define ELEMENTS ((size_t)1 << 20)

typedef struct row {
  const char *text;
  float (*sequence)(float x);
  double (*wanted)(double x);
  double least, most; /* where random arguments lie, beside those of all exponents */
  double ulps;        /* the error stays below */
  float (*sequence_of_two)(float x, float y);
  double (*wanted_of_two)(double x, double y);
  double least_y, most_y;
} row;

static const row rows[] = {
    {"expf(x)", sequence_exp, exp, -105, 90, 1.0, NULL, NULL, 0, 0},
    {"logf(x)", sequence_log, log, 0, 4, 1.0, NULL, NULL, 0, 0},
    {"sinf(x)", sequence_sin, sin, -1000, 1000, 1.2, NULL, NULL, 0, 0},
    {"cosf(x)", sequence_cos, cos, -1000, 1000, 1.2, NULL, NULL, 0, 0},
    {"tanhf(x)", sequence_tanh, tanh, -10, 10, 1.6, NULL, NULL, 0, 0},
    {"sinhf(x)", sequence_sinh, sinh, -92, 92, 1.0, NULL, NULL, 0, 0},
    {"coshf(x)", sequence_cosh, cosh, -92, 92, 1.0, NULL, NULL, 0, 0},
    {"erff(x)", sequence_erf, erf, -5, 5, 1.5, NULL, NULL, 0, 0},
    {"exp2f(x)", sequence_exp2, exp2, -151, 129, 1.0, NULL, NULL, 0, 0},
    {"log2f(x)", sequence_log2, log2, 0, 4, 1.0, NULL, NULL, 0, 0},
    {"log10f(x)", sequence_log10, log10, 0, 4, 1.0, NULL, NULL, 0, 0},
    {"expm1f(x)", sequence_expm1, expm1, -20, 90, 1.0, NULL, NULL, 0, 0},
    {"log1pf(x)", sequence_log1p, log1p, -1, 4, 1.0, NULL, NULL, 0, 0},
    {"tanf(x)", sequence_tan, tan, -1000, 1000, 1.7, NULL, NULL, 0, 0},
    {"asinf(x)", sequence_asin, asin, -1, 1, 1.0, NULL, NULL, 0, 0},
    {"acosf(x)", sequence_acos, acos, -1, 1, 1.0, NULL, NULL, 0, 0},
    {"atanf(x)", sequence_atan, atan, -4, 4, 1.1, NULL, NULL, 0, 0},
    {"atan2f(x, y)", NULL, NULL, -2, 2, 1.1, sequence_atan2, atan2, -2, 2},
    {"hypotf(x, y)", NULL, NULL, -2, 2, 1.0, sequence_hypot, hypot, -2, 2},
    {"powf(x, y)", NULL, NULL, 0, 3, 1.0, sequence_pow, pow, -150, 150},
};

static float *x, *y;
static uint32_t *first, *out;

/* All pairs of special values first. */
static void draw_arguments(const row *r) {
  static const float special[] = {0.0f,
                                  1.0f,
                                  2.0f,
                                  3.0f,
                                  0.5f,
                                  1.5f,
                                  INFINITY,
                                  NAN,
                                  FLT_MIN,
                                  0x1p-149f,
                                  FLT_MAX,
                                  88.72283f,
                                  88.72284f,
                                  87.33655f,
                                  103.97208f,
                                  103.97209f,
                                  0.55f,
                                  0.94f,
                                  0x1.fffffep0f,
                                  0x1.000002p0f,
                                  16777215.0f,
                                  16777216.0f,
                                  8388607.5f,
                                  8388609.0f,
                                  2147483648.0f,
                                  126.0f,
                                  127.0f,
                                  128.0f,
                                  129.0f,
                                  149.0f,
                                  150.0f,
                                  151.0f,
                                  1000.0f,
                                  1e10f,
                                  1e30f,
                                  0x1.fffffcp-127f,
                                  89.4159851f,
                                  89.4159927f,
                                  0.34657359f,
                                  0.34657362f,
                                  4.0f,
                                  0x1p+60f,
                                  0x1.000002p+60f,
                                  0x1p-40f,
                                  0x1.fffffep-41f,
                                  0x1.6a09e6p+127f,
                                  0x1.6a09e8p+127f};
  enum { SPECIAL = 2 * sizeof special / sizeof special[0] };
  for (size_t i = 0; i < ELEMENTS; i++) {
    const uint32_t bits = (uint32_t)data_u(7, i), more = (uint32_t)data_u(8, i);
    x[i] = i % 2 ? as_float(bits) : (float)(r->least + (r->most - r->least) * (double)bits / 4294967296.0);
    y[i] = i % 4 > 1 ? as_float(more) : (float)(r->least_y + (r->most_y - r->least_y) * (double)more / 4294967296.0);
    if (i % 8 == 3) y[i] = (float)(more % 64) - 32.0f;
    const size_t a = i % SPECIAL, b = i / SPECIAL;
    if (b >= SPECIAL) continue;
    x[i] = a % 2 ? -special[a / 2] : special[a / 2];
    y[i] = b % 2 ? -special[b / 2] : special[b / 2];
  }
}

static float defined(const row *r, size_t i) {
  return r->sequence ? r->sequence(x[i]) : r->sequence_of_two(x[i], y[i]);
}
static double exact(const row *r, size_t i) {
  return r->wanted ? r->wanted((double)x[i]) : r->wanted_of_two((double)x[i], (double)y[i]);
}

/* The distance from the exact value in units of the last place of a float. */
static double error_of(float got, double exact) {
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0.0 : INFINITY;
  if ((double)got == exact) return 0.0;
  if (fabs(exact) > (double)FLT_MAX) { /* rounds to infinity, or to the greatest float */
    const float rounded = (float)exact;
    return got == rounded || (fabsf(got) == FLT_MAX && fabs(exact) < 0x1.000001p+128) ? 0.0 : INFINITY;
  }
  int exponent;
  frexp(exact, &exponent);
  const double ulp = ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
  return isinf(got) ? (fabs(exact) + ulp > (double)FLT_MAX ? 1.0 : INFINITY) : fabs((double)got - exact) / ulp;
}

/* An error below one unit means that a result which is a float is exact, with the sign of a zero. */
static void check_errors(const row *r) {
  double worst = 0.0;
  size_t at = 0, wrong = 0, signs = 0;
  for (size_t i = 0; i < ELEMENTS; i++) {
    const float sequence = defined(r, i);
    const double wanted = exact(r, i);
    wrong += first[i] != (isnan(sequence) ? 0x7fc00000u : as_int(sequence));
    signs += !isnan(wanted) && !signbit(as_float(first[i])) != !signbit(wanted);
    const double e = error_of(as_float(first[i]), wanted);
    if (e > worst) worst = e, at = i;
  }
  CHECK(wrong == 0, "%s differs from its definition for %zu arguments", r->text, wrong);
  CHECK(signs == 0, "%s has the wrong sign for %zu arguments", r->text, signs);
  printf("elementary_test: %s: at most %.3f ulp, at %.9g, %.9g\n", r->text, worst, (double)x[at], (double)y[at]);
  CHECK(worst < r->ulps, "%s of %.9g, %.9g is %.9g, not %.9g", r->text, (double)x[at], (double)y[at],
        (double)as_float(first[at]), exact(r, at));
}

static void map(hx_context *hx, const char *text, float share, uint32_t *to, bool *devices) {
  const hx_kernel_source source = {.text = text, .inputs = "float x, float y"};
  const void *inputs[] = {x, y};
  hx_kernel *k;
  hx_report report = {.gpu_share = 0};
  CHECK_OK(hx_compile(hx, &source, &k));
  hx_task task = hx_map(k, inputs, ELEMENTS, NULL, to);
  task.gpu_share = share;
  CHECK_OK(hx_offload(hx, &task, &report));
  *devices = *devices || report.gpu_share > 0.0;
  hx_kernel_free(k);
}

/* Constants are folded by hx_compile. */
static void check_constants(hx_context *hx, const row *r) {
  for (size_t i = 0; i < ELEMENTS; i += i < 200 ? 1 : 997) {
    char text[160];
    if (!isfinite(x[i]) || !isfinite(y[i])) continue;
    snprintf(text, sizeof text, "float x = %af; float y = %af; %s", (double)x[i], (double)y[i], r->text);
    hx_kernel *k;
    const hx_kernel_source source = {.text = text};
    CHECK_OK(hx_compile(hx, &source, &k));
    if (!k) continue;
    const hx_task task = hx_map(k, NULL, 1, NULL, out);
    CHECK_OK(hx_offload(hx, &task, NULL));
    CHECK(out[0] == first[i], "%s is %08x, not %08x", text, out[0], first[i]);
    hx_kernel_free(k);
  }
}

static void check_same(const row *r, const char *where) {
  size_t wrong = 0;
  while (wrong < ELEMENTS && out[wrong] == first[wrong]) wrong++;
  CHECK(wrong == ELEMENTS, "%s of %.9g, %.9g is %08x on %s, not %08x", r->text, (double)x[wrong], (double)y[wrong],
        out[wrong], where, first[wrong]);
}

static void check_row(const row *r, const char *devices) {
  static const char *const isas[] = {"sse2", "avx2", "avx512", "neon"};
  bool unused = false, used = false;
  hx_context *hx = open_or_exit(NULL);
  draw_arguments(r);
  map(hx, r->text, 0.0f, first, &unused);
  check_errors(r);
  check_constants(hx, r);
  hx_close(hx);
  for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.isa = isas[i];
    if (hx_open(&hx, &settings) != HX_OK) continue; /* this machine lacks it */
    map(hx, r->text, 0.0f, out, &unused);
    check_same(r, isas[i]);
    hx_close(hx);
  }
  if (!devices) return;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  hx = open_or_exit(&settings);
  map(hx, r->text, 1.0f, out, &used);
  check_same(r, devices);
  CHECK(used, "%s did not compute %s", devices, r->text);
  hx_close(hx);
}

int main(int argc, char **argv) {
  x = malloc(ELEMENTS * sizeof *x);
  y = malloc(ELEMENTS * sizeof *y);
  first = malloc(ELEMENTS * sizeof *first);
  out = malloc(ELEMENTS * sizeof *out);
  if (!x || !y || !first || !out) return 1;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check_row(&rows[i], argc > 1 ? argv[1] : NULL);
  free(x);
  free(y);
  free(first);
  free(out);
  return checks_end("elementary_test");
}
