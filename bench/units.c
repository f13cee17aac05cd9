/* SPDX-License-Identifier: Apache-2.0
 * Formats sizes, times, energies and bytes. */
#include <math.h>

#include "bench/bench.h"

void bench_size_text(const bench_row *row, char *text, size_t bytes) {
  if (row->m) {
    int length = snprintf(text, bytes, "%zux%zux%zu", row->m, row->n, row->k);
    if ((row->trans_a || row->trans_b) && length > 0 && (size_t)length < bytes)
      snprintf(text + length, bytes - (size_t)length, " %c%c", row->trans_a ? 't' : 'n', row->trans_b ? 't' : 'n');
  } else if (row->n >= 1024 && (row->n & (row->n - 1)) == 0) {
    snprintf(text, bytes, "2^%d", __builtin_ctzll(row->n));
  } else {
    snprintf(text, bytes, "%zu", row->n);
  }
}

void bench_task_text(const bench_row *row, char *text, size_t bytes) {
  char size[72];
  bench_size_text(row, size, sizeof size);
  snprintf(text, bytes, "%s %s %s", row->type, row->op, size);
}

void bench_join_names(const char *const *names, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (; *names && used < bytes; names++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%.60s", used ? " + " : "", *names);
}

typedef struct scale {
  double below, factor; /* below: the unit applies to smaller values */
  const char *unit;
} scale;

static void scaled_text(double value, const scale *scales, const char *unknown, char *text, size_t bytes) {
  if (!isfinite(value)) {
    snprintf(text, bytes, "%s", unknown);
    return;
  }
  while (value >= scales->below) scales++;
  const double scaled = value * scales->factor;
  snprintf(text, bytes, "%.*f %s", scaled < 10 ? 2 : scaled < 100 ? 1 : 0, scaled, scales->unit);
}

void bench_time_text(double seconds, char *text, size_t bytes) {
  static const scale scales[] = {{1e-6, 1e9, "ns"}, {1e-3, 1e6, "us"}, {1, 1e3, "ms"}, {INFINITY, 1, "s"}};
  scaled_text(seconds, scales, "-", text, bytes);
}

void bench_joules_text(double joules, char *text, size_t bytes) {
  static const scale scales[] = {{1e-3, 1e6, "uJ"}, {1, 1e3, "mJ"}, {1e3, 1, "J"}, {INFINITY, 1e-3, "kJ"}};
  scaled_text(joules, scales, "n/a", text, bytes);
}

void bench_bytes_text(uint64_t value, char *text, size_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double scaled = (double)value;
  size_t unit = 0;
  while (scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]) scaled /= 1024, unit++;
  snprintf(text, bytes, "%.*f %s", unit && scaled < 10 ? 1 : 0, scaled, units[unit]);
}
