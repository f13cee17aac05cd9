/* SPDX-License-Identifier: Apache-2.0
 * The bars of a ladder in the terminal, made of the character #. */
#include <math.h>

#include "bench/bench.h"
#include "bench/emit.h"
#include "bench/ladder_charts.h"
#include "bench/report/rungs.h"
#include "bench/terminal.h"

#define NAME 24 /* columns */
#define NUMBER 9
#define MOST_BAR 80 /* the longest bar */
#define PLACE 5     /* columns of a number on the axis */

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

static const plot_point *point_at(const line *l, double place) {
  for (size_t i = 0; i < l->count; i++)
    if (l->points[i].x == place) return &l->points[i];
  return NULL;
}

static void print_place(const lines *l, double place, double most) {
  const size_t width = (bench_columns() - PLACE - 1) / l->count, room = width - NUMBER;
  char text[BENCH_COLUMNS + 1] = "";
  size_t used = (size_t)snprintf(text, sizeof text, "%*.0f", PLACE, place);
  for (size_t i = 0; i < l->count; i++) {
    const plot_point *const point = point_at(&l->line[i], place);
    char number[32] = "-", cell[BENCH_COLUMNS + 1];
    if (point) facts_number_text(point->y, number, sizeof number);
    snprintf(cell, sizeof cell, "%.*s %s", point ? length_of(point->y, most, room) : 0, full, number);
    used += (size_t)snprintf(text + used, sizeof text - used, " %-*s", i + 1 < l->count ? (int)width - 1 : 0, cell);
  }
  bench_say("%s\n", text);
}

/* The lines beside each other, one row for each place on the axis. */
static void print_lines(const lines *l, const char *unit, const char *axis, double most) {
  const size_t width = (bench_columns() - PLACE - 1) / l->count;
  bench_say("\n%s, by %s\n%*s", unit, axis, PLACE, "");
  for (size_t i = 0; i < l->count; i++)
    bench_say(" %-*.*s", i + 1 < l->count ? (int)width - 1 : 0, (int)width - 1, l->line[i].name);
  bench_say("\n");
  for (double last = -INFINITY, next;; last = next) {
    next = INFINITY;
    for (size_t i = 0; i < l->count; i++)
      for (size_t j = 0; j < l->line[i].count; j++)
        if (l->line[i].points[j].x > last) next = fmin(next, l->line[i].points[j].x);
    if (!isfinite(next)) return;
    print_place(l, next, most);
  }
}

void ladder_shares_print(const facts *f) {
  static lines l;
  double most = 0;
  rungs_shares(f, &l);
  if (bench_is_markdown() || l.count < 2) return;
  for (size_t i = 0; i < l.count; i++)
    for (size_t j = 0; j < l.line[i].count; j++) most = fmax(most, l.line[i].points[j].y);
  print_lines(&l, "x one thread of C", RUNGS_SHARES, most);
}

void ladder_bars_print(const facts *f) {
  const double most = highest(f);
  size_t figures[CHART_FIGURES];
  if (bench_is_markdown() || !(most > 0)) return;
  print_bars(f, most);
  const size_t count = chart_lines.list(f, figures);
  for (size_t i = 0; i < count; i++) {
    static lines l;
    const facts_rung *const at = &f->rungs[figures[i]];
    rungs_lines(f, at, 1, &l);
    print_lines(&l, at->unit, at->axis, most);
  }
}
