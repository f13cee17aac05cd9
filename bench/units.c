/* SPDX-License-Identifier: Apache-2.0
 * Sizes, times, energies and bytes as people read them. */
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

void bench_time_text(double seconds, char *text, size_t bytes) {
  static const struct {
    double below, scale;
    const char *unit;
  } rows[] = {{1e-6, 1e9, "ns"}, {1e-3, 1e6, "us"}, {1, 1e3, "ms"}, {INFINITY, 1, "s"}};
  size_t r = 0;
  if (!isfinite(seconds)) {
    snprintf(text, bytes, "-");
    return;
  }
  while (seconds >= rows[r].below) r++;
  double value = seconds * rows[r].scale;
  snprintf(text, bytes, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, rows[r].unit);
}

void bench_joules_text(double joules, char *text, size_t bytes) {
  static const struct {
    double below, scale;
    const char *unit;
  } rows[] = {{1e-3, 1e6, "uJ"}, {1, 1e3, "mJ"}, {1e3, 1, "J"}, {INFINITY, 1e-3, "kJ"}};
  size_t r = 0;
  if (!isfinite(joules)) {
    snprintf(text, bytes, "n/a");
    return;
  }
  while (joules >= rows[r].below) r++;
  const double value = joules * rows[r].scale;
  snprintf(text, bytes, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, rows[r].unit);
}

void bench_bytes_text(uint64_t value, char *text, size_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double scaled = (double)value;
  size_t unit = 0;
  while (scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]) scaled /= 1024, unit++;
  snprintf(text, bytes, "%.*f %s", unit && scaled < 10 ? 1 : 0, scaled, units[unit]);
}
