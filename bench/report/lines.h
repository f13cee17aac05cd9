/* SPDX-License-Identifier: Apache-2.0
 * A few lines over one axis, each with its name at its end. */
#ifndef HX_BENCH_REPORT_LINES_H
#define HX_BENCH_REPORT_LINES_H

#include "bench/report/plot.h"

#define LINES_MOST 4
#define LINES_POINTS 128

typedef struct line {
  const char *name;
  plot_point points[LINES_POINTS];
  size_t count;
} line;

typedef struct lines {
  line line[LINES_MOST];
  size_t count;
} lines;

/* Adds a point in order of x to the line of this name, which is made if there is none and there is room. */
void lines_add(lines *l, const char *name, double x, double y);
/* Opens the plot and draws its axes. x is logarithmic if it spans a factor of 8; y begins with 0 unless it spans one of
 * 100. */
void lines_open(plot *p, const lines *l, FILE *out, const plot_words *words, const char *x, const char *y,
                plot_frame frame);
/* Draws the lines. labels: a name for each, to be drawn by plot_labels. */
void lines_draw(const plot *p, const lines *l, plot_label labels[LINES_MOST]);

#endif
