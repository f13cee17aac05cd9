/* SPDX-License-Identifier: Apache-2.0
 * What records are called, and what is computed from them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/report/facts.h"

#define SHORTER 1.05 /* a smaller ratio is noise */

bool facts_is_shorter(double median, double high, double other_median, double other_low) {
  return other_median >= SHORTER * median && high < other_low;
}

bool facts_same_kind(const facts_row *a, const facts_row *b) {
  return strcmp(a->op, b->op) == 0 && strcmp(a->type, b->type) == 0;
}

bool facts_same_task(const facts_row *a, const facts_row *b) {
  return facts_same_kind(a, b) && a->m == b->m && a->n == b->n && a->k == b->k && a->trans_a == b->trans_a &&
         a->trans_b == b->trans_b;
}

double facts_rate_at(const facts_row *row, double seconds) { return row->rate * row->median / seconds; }

void facts_size_text(size_t m, size_t n, size_t k, char *text, size_t bytes) {
  const bench_row row = {.m = m, .n = n, .k = k};
  bench_size_text(&row, text, bytes);
}

void facts_size_slug(size_t m, size_t n, size_t k, char *text, size_t bytes) {
  if (m)
    snprintf(text, bytes, "%zux%zux%zu", m, n, k);
  else
    snprintf(text, bytes, "%zu", n);
}

void facts_task_text(const facts_row *row, char text[FACTS_TASK]) {
  const bench_row named = {.m = row->m, .n = row->n, .k = row->k, .trans_a = row->trans_a, .trans_b = row->trans_b};
  char size[72];
  bench_size_text(&named, size, sizeof size);
  snprintf(text, FACTS_TASK, "%.12s %.16s %s", row->type, row->op, size);
}

const char *facts_spread_text(const facts *f) {
  return f->has_intervals ? "95 % interval of the median" : "all rounds";
}

void facts_time_text(double seconds, char *text, size_t bytes) {
  static const struct {
    double least, factor;
    const char *unit;
  } rows[] = {{1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "\xc2\xb5s"}, {0, 1e9, "ns"}};
  char number[24];
  size_t i = 0;
  while (i < 3 && seconds < rows[i].least) i++;
  facts_number_text(seconds * rows[i].factor, number, sizeof number);
  snprintf(text, bytes, "%s%s%s", number, isfinite(seconds) ? " " : "", isfinite(seconds) ? rows[i].unit : "");
}

void facts_number_text(double number, char *text, size_t bytes) {
  const double size = fabs(number);
  if (!isfinite(number))
    snprintf(text, bytes, "-");
  else
    snprintf(text, bytes, "%.*f", size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3, number);
}

const char *facts_cpu_name(const facts *f) {
  for (const json_value *d = f->devices; d; d = d->next)
    if (strcmp(json_text(d, "kind"), "cpu") == 0) return json_text(d, "name");
  const char *const name = json_text(f->system, "cpu");
  return *name ? name : "unknown CPU";
}

void facts_device_text(const json_value *device, char *text, size_t bytes) {
  const char *const name = json_text(device, "name"), *const last = strrchr(name, '-');
  const bool pocl = strncmp(name, "pthread", 7) == 0 || strncmp(name, "cpu-", 4) == 0;
  const char *const platform = json_text(device, "platform");
  if (pocl)
    snprintf(text, bytes, "PoCL on %s", last && last[1] ? last + 1 : "the CPU");
  else if (*platform && strcmp(json_text(device, "kind"), "opencl-cpu") == 0)
    snprintf(text, bytes, "%s: %s", platform, name);
  else
    snprintf(text, bytes, "%s", *name ? name : "unnamed device");
}

void facts_machine_text(const facts *f, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "%s", f->machine ? f->machine : facts_cpu_name(f));
  for (const json_value *d = f->devices; d; d = d->next) {
    char name[160];
    if (strcmp(json_text(d, "kind"), "cpu") == 0 || strcmp(json_text(d, "state"), "refused") == 0 || used >= bytes)
      continue;
    facts_device_text(d, name, sizeof name);
    used += (size_t)snprintf(text + used, bytes - used, " + %s", name);
  }
}
