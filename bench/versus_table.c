/* SPDX-License-Identifier: Apache-2.0
 * The tables of --vs: a line for each library, and at the end geometric means and the tasks in which hx was slower. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/emit.h"
#include "bench/peers.h"

#define BEHIND 0.97

typedef struct library_words {
  char rate[16], ratio[48];
} library_words;

/* A task and one library. */
typedef struct line {
  bench_row row;
  char size[72], core[40];
  double of_ceiling;
  const char *peer;
  library_words installed, best;
} line;

#define LINE(member, ...) BENCH_COLUMN(line, member, __VA_ARGS__)
#define TASK_COLUMNS 5
static const bench_column columns[] = {
    LINE(size, .head = "size", .kind = BENCH_CHARS, .width = -17),
    LINE(row.median_s, .head = "hx", .kind = BENCH_TIME, .width = 9),
    LINE(row.rate, .head = "", .kind = BENCH_NUMBER, .width = 7, .digits = 1),
    LINE(of_ceiling, .head = "ceil", .kind = BENCH_PERCENT, .width = 5),
    LINE(row.reps, .head = "runs", .kind = BENCH_SIZE, .width = 4),
    LINE(peer, .head = "library", .width = -8),
    LINE(installed.rate, .head = "rate", .kind = BENCH_CHARS, .width = 6),
    LINE(installed.ratio, .head = "hx/lib installed", .kind = BENCH_CHARS, .width = -17),
    LINE(best.rate, .head = "rate", .kind = BENCH_CHARS, .width = 6),
    LINE(best.ratio, .head = "hx/lib at best", .kind = BENCH_CHARS, .width = -17),
    LINE(core, .head = "core", .kind = BENCH_CHARS),
};
static const bench_table table = BENCH_TABLE(columns), task_table = {columns, TASK_COLUMNS};
static const bench_table library_table = {columns + TASK_COLUMNS, sizeof columns / sizeof columns[0] - TASK_COLUMNS};

typedef struct mean_line {
  const char *name, *peer;
  size_t tasks;
  char installed[16];
  double best;
} mean_line;

#define MEAN(member, ...) BENCH_COLUMN(mean_line, member, __VA_ARGS__)
static const bench_column mean_columns[] = {
    MEAN(name, .head = "geometric means of hx / library", .flags = BENCH_CUT, .width = -36),
    MEAN(tasks, .head = "tasks", .kind = BENCH_SIZE, .width = 5),
    MEAN(peer, .head = "library", .gap = 1, .width = -22),
    MEAN(installed, .head = "as installed", .kind = BENCH_CHARS, .width = 12),
    MEAN(best, .head = "at its best", .kind = BENCH_NUMBER, .width = 12, .digits = 3),
};
static const bench_table mean_table = BENCH_TABLE(mean_columns);

void bench_versus_head(const bench_row *row, const char *file) {
  bench_say("\n%s %s%s%.60s; ceiling: %s on the CPU\n", row->type, row->op, file ? ", " : "", file ? file : "",
            row->m ? "multiply-adds" : "reading the same bytes");
  bench_print_head(&table, &row->unit);
}

static const bench_versus *find_versus(const bench_results *results, size_t row, size_t peer, bool best) {
  for (size_t i = 0; i < results->versus_count; i++) {
    const bench_versus *v = &results->versus[i];
    if (v->row == row && v->peer == peer && v->best == best) return v;
  }
  return NULL;
}

static library_words words_of(const bench_versus *v) {
  library_words w = {"-", "wrong"};
  if (!v) return w;
  snprintf(w.rate, sizeof w.rate, v->rate < 99.95 ? "%.1f" : "%.0f", v->rate);
  snprintf(w.ratio, sizeof w.ratio, "%.3f %.3f-%.3f", v->ratio, v->low, v->high);
  return w;
}

void bench_versus_lines(const bench_session *session, const bench_results *results, size_t row) {
  line l = {.row = results->rows[row]};
  bench_size_text(&l.row, l.size, sizeof l.size);
  l.of_ceiling = l.row.rate / l.row.ceiling;
  const int used = (int)bench_print_cells(&task_table, &l);
  bool first = true;
  for (size_t v = 0; v < session->options->vs_count; v++) {
    const bench_versus *installed = find_versus(results, row, v, false), *best = find_versus(results, row, v, true);
    if (!installed && !best) continue;
    l.peer = session->options->vs[v].peer->name;
    l.installed = words_of(installed);
    l.best = words_of(best);
    snprintf(l.core, sizeof l.core, "%s%s", best ? best->core : "", best && best->runs > 1 ? " *" : "");
    bench_say("%*s", first ? 1 : used + 1, "");
    bench_print_row(&library_table, &l);
    first = false;
  }
  if (first) bench_say(" no library does this\n");
}

/* Whether two rows belong to the same group: the same file, or the same operation and type. */
static bool same_group(const bench_row *of, const bench_row *row) {
  return of->file == row->file && bench_same_operation(of, row);
}

/* The smallest ratio of a row over all libraries at their best core types; NaN: there is none. */
static double least_ratio(const bench_results *results, size_t row, double *high) {
  double ratio = NAN;
  for (size_t i = 0; i < results->versus_count; i++) {
    const bench_versus *v = &results->versus[i];
    if (v->row != row || !v->best || v->ratio >= ratio) continue;
    ratio = v->ratio;
    *high = v->high;
  }
  return ratio;
}

/* The geometric mean of ratios. of NULL: over all rows. peer SIZE_MAX: the fastest library of each row. */
static double mean_ratio(const bench_results *results, const bench_row *of, size_t peer, bool best, size_t *rows) {
  double sum = 0, high;
  *rows = 0;
  for (size_t r = 0; r < results->row_count; r++) {
    if (of && !same_group(of, &results->rows[r])) continue;
    const bench_versus *v = peer == SIZE_MAX ? NULL : find_versus(results, r, peer, best);
    double ratio = peer == SIZE_MAX ? least_ratio(results, r, &high) : v ? v->ratio : NAN;
    if (!isfinite(ratio)) continue;
    sum += log(ratio);
    ++*rows;
  }
  return *rows ? exp(sum / (double)*rows) : NAN;
}

static void print_means(const bench_session *session, const bench_results *results, const bench_row *of,
                        const char *name) {
  const bench_options *options = session->options;
  mean_line l = {.name = name};
  for (size_t v = 0; v < options->vs_count; v++) {
    const double installed = mean_ratio(results, of, v, false, &l.tasks);
    l.best = mean_ratio(results, of, v, true, &l.tasks);
    l.peer = options->vs[v].peer->name;
    /* "-": it was wrong in every task as installed, or one core type was requested. */
    snprintf(l.installed, sizeof l.installed, isfinite(installed) ? "%.3f" : "-", installed);
    if (l.tasks) bench_print_row(&mean_table, &l);
  }
  l.best = mean_ratio(results, of, SIZE_MAX, true, &l.tasks);
  l.peer = "the fastest of them";
  *l.installed = '\0';
  if (l.tasks && options->vs_count > 1) bench_print_row(&mean_table, &l);
}

static void list_behind(const bench_results *results) {
  size_t count = 0;
  for (size_t r = 0; r < results->row_count; r++) {
    double high = NAN, ratio = least_ratio(results, r, &high);
    if (!(ratio < BEHIND)) continue;
    char size[72];
    bench_size_text(&results->rows[r], size, sizeof size);
    if (!count++) bench_say("\nbelow %.2f of the fastest library (!: the whole 95 %% interval is):\n", BEHIND);
    bench_say("  %s %s %-20s %.3f %s\n", results->rows[r].type, results->rows[r].op, size, ratio,
              high < BEHIND ? "!" : "");
  }
  if (!count) bench_say("\nnothing is below %.2f of the fastest library\n", BEHIND);
}

void bench_versus_means(const bench_session *session, bench_results *results) {
  const bench_row *rows = results->rows;
  size_t with;
  double all = mean_ratio(results, NULL, SIZE_MAX, true, &with);
  if (with)
    snprintf(
        results->verdict, sizeof results->verdict,
        "hx's speed is %.3f of the fastest other library's at its best core type, the geometric mean over %zu tasks",
        all, with);
  if (!with) return;
  bench_say("\n");
  bench_print_head(&mean_table, NULL);
  for (size_t r = 0; r < results->row_count; r++) {
    bool seen = false;
    for (size_t s = 0; s < r; s++) seen |= same_group(&rows[s], &rows[r]);
    if (seen) continue;
    char name[64];
    const char *file = rows[r].file ? session->options->shapes[rows[r].file - 1] : NULL;
    const char *base = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    snprintf(name, sizeof name, "%s %s%s%.36s", rows[r].type, rows[r].op, file ? ", " : "", file ? base : "");
    print_means(session, results, &rows[r], name);
  }
  print_means(session, results, NULL, "all");
  list_behind(results);
  bench_say(
      "(hx/lib: hx's speed over the library's, the median of paired ratios and its 95 %% interval; *: a second run)\n");
}
