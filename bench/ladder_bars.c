/* SPDX-License-Identifier: Apache-2.0
 * The bars of a ladder in the terminal, made of the character #. */
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/emit.h"
#include "bench/ladder_charts.h"
#include "bench/report/rungs.h"
#include "bench/terminal.h"

#define NAME 24 /* columns */
#define NUMBER 9
#define MOST_BAR 80 /* the longest bar */
#define MOST_LINES 4
#define PLACE 5 /* columns of a number on the axis */

static const char full[MOST_BAR + 1] =
    "################################################################################";

static int length_of(double rate, double most, size_t room) {
  const double length = rate / most * (double)(room < MOST_BAR ? room : MOST_BAR);
  return isfinite(length) ? (int)fmax(1, round(length)) : 0;
}

static double highest(const facts *f) {
  double most = 0;
  for (size_t i = 0; i < f->rung_count; i++) most = fmax(most, f->rungs[i].rate);
  return most;
}

static void print_bars(const facts *f, double most) {
  const size_t room = bench_columns() - NAME - NUMBER - 2;
  bench_say("\n%-*s %s\n", NAME, "", f->rungs[0].unit);
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    char number[32];
    if (!rungs_is_timed(rung) || !rungs_has_bar(f, rung)) continue;
    facts_number_text(rung->rate, number, sizeof number);
    bench_say("%-*.*s %.*s %s\n", NAME, NAME, rung->step, length_of(rung->rate, most, room), full, number);
  }
}

/* The lines over one axis: the names of the families, and the first rung of each place. */
typedef struct lines {
  const char *name[MOST_LINES];
  size_t count;
} lines;

static lines lines_of(const facts *f, const facts_rung *first) {
  lines l = {.count = 0};
  for (size_t i = 0; i < f->rung_count && l.count < MOST_LINES; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (!rungs_same_axis(first, rung) || !rungs_is_point(f, rung)) continue;
    size_t at = 0;
    while (at < l.count && strcmp(l.name[at], rung->family) != 0) at++;
    if (at == l.count) l.name[l.count++] = rung->family;
  }
  return l;
}

static const facts_rung *rung_at(const facts *f, const facts_rung *first, const char *family, double place) {
  for (size_t i = 0; i < f->rung_count; i++) {
    const facts_rung *const rung = &f->rungs[i];
    if (rungs_same_axis(first, rung) && strcmp(rung->family, family) == 0 && rung->place == place) return rung;
  }
  return NULL;
}

static void print_place(const facts *f, const facts_rung *first, const lines *l, double place, double most) {
  const size_t width = (bench_columns() - PLACE - 1) / l->count, room = width - NUMBER;
  char line[BENCH_COLUMNS + 1] = "";
  size_t used = (size_t)snprintf(line, sizeof line, "%*.0f", PLACE, place);
  for (size_t i = 0; i < l->count; i++) {
    const facts_rung *const rung = rung_at(f, first, l->name[i], place);
    char number[32] = "-", cell[BENCH_COLUMNS + 1];
    if (rung) facts_number_text(rung->rate, number, sizeof number);
    snprintf(cell, sizeof cell, "%.*s %s", rung ? length_of(rung->rate, most, room) : 0, full, number);
    used += (size_t)snprintf(line + used, sizeof line - used, " %-*s", i + 1 < l->count ? (int)width - 1 : 0, cell);
  }
  bench_say("%s\n", line);
}

static void print_lines(const facts *f, const facts_rung *first, double most) {
  const lines l = lines_of(f, first);
  if (!l.count) return;
  const size_t width = (bench_columns() - PLACE - 1) / l.count;
  bench_say("\n%s, by %s\n%*s", first->unit, first->axis, PLACE, "");
  for (size_t i = 0; i < l.count; i++)
    bench_say(" %-*.*s", i + 1 < l.count ? (int)width - 1 : 0, (int)width - 1, l.name[i]);
  bench_say("\n");
  for (double last = -INFINITY, next;; last = next) {
    next = INFINITY;
    for (size_t i = 0; i < f->rung_count; i++)
      if (rungs_same_axis(first, &f->rungs[i]) && f->rungs[i].place > last) next = fmin(next, f->rungs[i].place);
    if (!isfinite(next)) return;
    print_place(f, first, &l, next, most);
  }
}

void ladder_bars_print(const facts *f) {
  const double most = highest(f);
  size_t figures[CHART_FIGURES];
  if (bench_is_markdown() || !(most > 0)) return;
  print_bars(f, most);
  const size_t count = chart_lines.list(f, figures);
  for (size_t i = 0; i < count; i++) print_lines(f, &f->rungs[figures[i]], most);
}
