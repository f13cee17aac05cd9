/* SPDX-License-Identifier: Apache-2.0
 * The kinds of charts. Each lists the figures that a document allows, and draws one of them. A page has a section per
 * kind; --svg writes a file per figure. */
#ifndef HX_BENCH_REPORT_CHART_H
#define HX_BENCH_REPORT_CHART_H

#include "bench/report/facts.h"
#include "bench/report/plot.h"

#define CHART_FIGURES 16 /* the most of one kind */

typedef struct chart_kind {
  const char *intro; /* how to read it */
  const char *part;  /* the part of a document whose absence explains why there is no figure */
  /* Stores what identifies each figure to this kind: the index of a row, sweep or rung. Returns how many there are. */
  size_t (*list)(const facts *f, size_t figures[CHART_FIGURES]);
  void (*name)(const facts *f, size_t figure, plot_words *words); /* called by chart_name */
  /* Returns its height. */
  double (*draw)(const facts *f, size_t figure, const plot_words *words, FILE *out, plot_frame frame);
} chart_kind;

/* Names a figure. Its id is a file name whatever the document holds. */
void chart_name(const chart_kind *kind, const facts *f, size_t figure, plot_words *words);

extern const chart_kind chart_rate, chart_modes, chart_split, chart_ladder, chart_lines, chart_shares, chart_sizes,
    chart_roofline;

/* All kinds, in the order of the page; NULL-terminated. */
extern const chart_kind *const chart_kinds[];

#endif
