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

const bench_unit bench_time_units[] = {{1e-6, 1e9, "ns"}, {1e-3, 1e6, "us"}, {1, 1e3, "ms"}, {INFINITY, 1, "s"}};
const bench_unit bench_joule_units[] = {{1e-3, 1e6, "uJ"}, {1, 1e3, "mJ"}, {1e3, 1, "J"}, {INFINITY, 1e-3, "kJ"}};
#define KI 1024.0
const bench_unit bench_byte_units[] = {{KI, 1, "B"},
                                       {KI * KI, 1 / KI, "KiB"},
                                       {KI * KI * KI, 1 / KI / KI, "MiB"},
                                       {KI * KI * KI * KI, 1 / KI / KI / KI, "GiB"},
                                       {INFINITY, 1 / KI / KI / KI / KI, "TiB"}};

#define LONGEST 1e5 /* a larger number is given in the next unit */

const bench_unit *bench_unit_for(const bench_unit *units, double least, double most) {
  while (least >= units->below) units++;
  while (isfinite(units->below) && most * units->factor >= LONGEST) units++;
  return units;
}

int bench_unit_digits(const bench_unit *unit, double least) {
  const double scaled = least * unit->factor;
  return unit->factor == 1 && unit->below == KI ? 0 : scaled < 1 ? 3 : scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
}

static void scaled_text(const bench_unit *units, double value, const char *unknown, char *text, size_t bytes) {
  if (!isfinite(value)) {
    snprintf(text, bytes, "%s", unknown);
    return;
  }
  const bench_unit *const unit = bench_unit_for(units, value, value);
  snprintf(text, bytes, "%.*f %s", bench_unit_digits(unit, value), value * unit->factor, unit->name);
}

void bench_time_text(double seconds, char *text, size_t bytes) {
  scaled_text(bench_time_units, seconds, "-", text, bytes);
}

void bench_bytes_text(uint64_t value, char *text, size_t bytes) {
  const bench_unit *const unit = bench_unit_for(bench_byte_units, (double)value, (double)value);
  const double scaled = (double)value * unit->factor;
  snprintf(text, bytes, "%.*f %s", value >= 1024 && scaled < 10 ? 1 : 0, scaled, unit->name);
}
