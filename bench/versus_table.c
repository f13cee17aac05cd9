/* SPDX-License-Identifier: Apache-2.0
 * The tables of --vs: a line a library, and at the end geometric means and what fell behind. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/compare.h"
#include "bench/peers.h"
#include "bench/text.h"

#define BEHIND 0.97

void bench_versus_head(FILE *f, const bench_row *row, const char *file) {
  fprintf(f, "\n%s %s%s%.60s; ceiling: %s on the CPU\n", row->type, row->op, file ? ", " : "", file ? file : "",
          row->m ? "multiply-adds" : "reading the same bytes");
  fprintf(f, "%-17s %9s %7s %5s %4s %-8s %6s %-17s %6s %-17s %s\n", "size", "hx", row->unit, "ceil", "runs", "library",
          "rate", "hx/it, installed", "rate", "hx/it at its best", "core");
}

static const bench_versus *find(const bench_results *results, size_t row, size_t peer, bool best) {
  for (size_t i = 0; i < results->versus_count; i++) {
    const bench_versus *v = &results->versus[i];
    if (v->row == row && v->peer == peer && v->best == best) return v;
  }
  return NULL;
}

typedef struct words {
  char rate[16], ratio[48];
} words;

static words words_of(const bench_versus *v) {
  words w = {"-", "wrong"};
  if (!v) return w;
  snprintf(w.rate, sizeof w.rate, v->rate < 99.95 ? "%.1f" : "%.0f", v->rate);
  snprintf(w.ratio, sizeof w.ratio, "%.3f %.3f-%.3f", v->ratio, v->low, v->high);
  return w;
}

void bench_versus_lines(FILE *f, const bench_session *session, const bench_results *results, size_t row_index) {
  const bench_row *row = &results->rows[row_index];
  char size[72], median[24];
  bench_size_text(row, size, sizeof size);
  bench_time_text(row->median_s, median, sizeof median);
  int used =
      fprintf(f, "%-17s %9s %7.1f %3.0f %% %4zu ", size, median, row->rate, 100 * row->rate / row->ceiling, row->reps);
  bool first = true;
  for (size_t v = 0; v < session->options->vs_count; v++) {
    const bench_versus *installed = find(results, row_index, v, false), *best = find(results, row_index, v, true);
    if (!installed && !best) continue;
    if (!first) fprintf(f, "%*s", used, "");
    first = false;
    words i = words_of(installed), b = words_of(best);
    fprintf(f, "%-8s %6s %-17s %6s %-17s %s%s\n", session->options->vs[v].peer->name, i.rate, i.ratio, b.rate, b.ratio,
            best ? best->core : "", best && best->runs > 1 ? " *" : "");
  }
  if (first) fputs("no library does this\n", f);
}

/* Whether a row belongs to the group that `of` starts: its file, or its operation and type. */
static bool same_group(const bench_row *of, const bench_row *row) {
  return of->file == row->file && strcmp(of->op, row->op) == 0 && strcmp(of->type, row->type) == 0;
}

/* The smallest ratio of a row over all libraries at their best; NaN: there is none. */
static double hardest(const bench_results *results, size_t row, double *high) {
  double ratio = NAN;
  for (size_t i = 0; i < results->versus_count; i++) {
    const bench_versus *v = &results->versus[i];
    if (v->row != row || !v->best || v->ratio >= ratio) continue;
    ratio = v->ratio;
    *high = v->high;
  }
  return ratio;
}

/* of == NULL: all rows. peer SIZE_MAX: the fastest library of each row. */
static double mean(const bench_results *results, const bench_row *of, size_t peer, bool best, size_t *rows) {
  double sum = 0, high;
  *rows = 0;
  for (size_t r = 0; r < results->row_count; r++) {
    if (of && !same_group(of, &results->rows[r])) continue;
    const bench_versus *v = peer == SIZE_MAX ? NULL : find(results, r, peer, best);
    double ratio = peer == SIZE_MAX ? hardest(results, r, &high) : v ? v->ratio : NAN;
    if (!isfinite(ratio)) continue;
    sum += log(ratio);
    ++*rows;
  }
  return *rows ? exp(sum / (double)*rows) : NAN;
}

static void print_means(FILE *f, const bench_session *session, const bench_results *results, const bench_row *of,
                        const char *name) {
  const bench_options *options = session->options;
  size_t rows;
  for (size_t v = 0; v < options->vs_count; v++) {
    double installed = mean(results, of, v, false, &rows), best = mean(results, of, v, true, &rows);
    char text[16] = "-"; /* wrong in every task as installed, or another core type was asked for */
    if (isfinite(installed)) snprintf(text, sizeof text, "%.3f", installed);
    if (rows) fprintf(f, "%-36.36s %5zu  %-22s %12s %12.3f\n", name, rows, options->vs[v].peer->name, text, best);
  }
  double hard = mean(results, of, SIZE_MAX, true, &rows);
  if (rows && options->vs_count > 1)
    fprintf(f, "%-36.36s %5zu  %-22s %12s %12.3f\n", name, rows, "the fastest of them", "", hard);
}

static void list_behind(FILE *f, const bench_results *results) {
  size_t count = 0;
  for (size_t r = 0; r < results->row_count; r++) {
    double high = NAN, ratio = hardest(results, r, &high);
    if (!(ratio < BEHIND)) continue;
    char size[72];
    bench_size_text(&results->rows[r], size, sizeof size);
    if (!count++) fprintf(f, "\nbelow %.2f of the fastest library (!: the whole 95 %% interval is):\n", BEHIND);
    fprintf(f, "  %s %s %-20s %.3f %s\n", results->rows[r].type, results->rows[r].op, size, ratio,
            high < BEHIND ? "!" : "");
  }
  if (!count) fprintf(f, "\nnothing is below %.2f of the fastest library\n", BEHIND);
}

void bench_versus_means(const bench_session *session, bench_results *results) {
  const bench_row *rows = results->rows;
  size_t with;
  double all = mean(results, NULL, SIZE_MAX, true, &with);
  if (with)
    snprintf(
        results->verdict, sizeof results->verdict,
        "hx's speed is %.3f of the fastest other library's at its best core type, the geometric mean over %zu tasks",
        all, with);
  FILE *f = session->human;
  if (!f || !with) return;
  fprintf(f, "\n%-36s %5s  %-22s %12s %12s\n", "geometric means of hx / library", "tasks", "library", "as installed",
          "at its best");
  for (size_t r = 0; r < results->row_count; r++) {
    bool seen = false;
    for (size_t s = 0; s < r; s++) seen |= same_group(&rows[s], &rows[r]);
    if (seen) continue;
    char name[64];
    const char *file = rows[r].file ? session->options->shapes[rows[r].file - 1] : NULL;
    const char *base = file && strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    snprintf(name, sizeof name, "%s %s%s%.36s", rows[r].type, rows[r].op, file ? ", " : "", file ? base : "");
    print_means(f, session, results, &rows[r], name);
  }
  print_means(f, session, results, NULL, "all");
  list_behind(f, results);
  fputs("(hx/it: hx's speed over the library's, the median of paired ratios and its 95 % interval; *: a second run)\n",
        f);
}
