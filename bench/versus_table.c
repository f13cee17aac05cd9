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

/* A task and one library. The texts of the task are empty in all lines but its first. */
typedef struct line {
  char size[72], hx[24], rate[16], ceiling[16], runs[24], core[40];
  const char *peer;
  library_words installed, best;
} line;

#define LINE(member, ...) BENCH_COLUMN(line, member, .kind = BENCH_CHARS, __VA_ARGS__)
static const bench_column columns[] = {
    LINE(size, .head = "size", .width = -14),
    LINE(hx, .head = "hx", .width = 9, .rank = 2),
    LINE(rate, .head = "", .width = 7, .rank = 3),
    LINE(ceiling, .head = "ceil", .width = 5, .rank = 5),
    LINE(runs, .head = "runs", .width = 4, .rank = 6),
    BENCH_COLUMN(line, peer, .head = "library", .width = -8),
    LINE(installed.rate, .head = "rate", .width = 6, .rank = 4),
    LINE(installed.ratio, .head = "hx/lib installed", .width = -17, .rank = 1),
    LINE(best.rate, .head = "rate", .width = 6, .rank = 4),
    LINE(best.ratio, .head = "hx/lib at best", .width = -17),
    LINE(core, .head = "core", .flags = BENCH_CUT, .width = -8),
};
static const bench_table table = BENCH_TABLE(columns);
static bench_layout layout; /* of the table of one group of tasks */

typedef struct mean_line {
  const char *name, *peer;
  size_t tasks;
  char installed[16];
  double best;
} mean_line;

#define MEAN(member, ...) BENCH_COLUMN(mean_line, member, __VA_ARGS__)
static const bench_column mean_columns[] = {
    MEAN(name, .head = "geometric means of hx / library", .flags = BENCH_CUT, .width = -30),
    MEAN(tasks, .head = "tasks", .kind = BENCH_SIZE, .width = 5),
    MEAN(peer, .head = "library", .width = -19),
    MEAN(installed, .head = "as installed", .kind = BENCH_CHARS, .width = 12),
    MEAN(best, .head = "at its best", .kind = BENCH_NUMBER, .width = 11, .digits = 3),
};
static const bench_table mean_table = BENCH_TABLE(mean_columns);
static bench_layout mean_layout;

void bench_versus_head(const bench_row *row, const char *file) {
  bench_say("\n");
  bench_note(0, "%s %s%s%.60s; ceiling: %s on the CPU", row->type, row->op, file ? ", " : "", file ? file : "",
             row->m ? "multiply-adds" : "reading the same bytes");
  layout = (bench_layout){0};
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

/* The texts of the task. */
static void describe_task(const bench_row *row, line *l) {
  bench_size_text(row, l->size, sizeof l->size);
  bench_time_text(row->median_s, l->hx, sizeof l->hx);
  snprintf(l->rate, sizeof l->rate, "%.1f", row->rate);
  snprintf(l->ceiling, sizeof l->ceiling, "%.0f %%", 100 * row->rate / row->ceiling);
  snprintf(l->runs, sizeof l->runs, "%zu", row->reps);
}

void bench_versus_lines(const bench_session *session, const bench_results *results, size_t row) {
  line lines[BENCH_MAX_PEERS] = {{.peer = "none does this"}};
  size_t count = 0;
  describe_task(&results->rows[row], &lines[0]);
  for (size_t v = 0; v < session->options->vs_count; v++) {
    const bench_versus *installed = find_versus(results, row, v, false), *best = find_versus(results, row, v, true);
    if (!installed && !best) continue;
    line *const l = &lines[count++];
    l->peer = session->options->vs[v].peer->name;
    l->installed = words_of(installed);
    l->best = words_of(best);
    snprintf(l->core, sizeof l->core, "%s%s", best ? best->core : "", best && best->runs > 1 ? " *" : "");
  }
  const bench_group group = {&table, lines, count ? count : 1, sizeof lines[0], &results->rows[row].unit, NULL};
  bench_print_group(&layout, &group);
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
    if (l.tasks) bench_print_row(&mean_layout, &mean_table, &l);
  }
  l.best = mean_ratio(results, of, SIZE_MAX, true, &l.tasks);
  l.peer = "the fastest of them";
  *l.installed = '\0';
  if (l.tasks && options->vs_count > 1) bench_print_row(&mean_layout, &mean_table, &l);
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
  bench_note(0,
             "(hx/lib: hx's speed over the library's, the median of paired ratios and its 95 %% interval; *: a second "
             "run)");
}
