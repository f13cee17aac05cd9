/* SPDX-License-Identifier: Apache-2.0
 * Draws one chart as SVG: the frame with its axes (plot.c), and the series within it (series.c). Coordinates are CSS
 * pixels, which the browser scales to the width of the page. Colours and fonts are in chart.css; a series is told from
 * others by its marker and dashes as well. */
#ifndef HX_BENCH_REPORT_PLOT_H
#define HX_BENCH_REPORT_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "bench/report/scale.h"

#define PLOT_WIDTH 760.0

/* What a chart is called. All of it is escaped when it is written. */
typedef struct plot_words {
  char id[128]; /* unique within a page, and the name of the SVG file */
  char title[192];
  char subtitle[256]; /* the device, and how it was measured */
  char finding[640];  /* what the chart shows, in a sentence: its description for screen readers, and its caption */
} plot_words;

typedef struct plot {
  FILE *f;
  double left, top, right, bottom, height; /* of the area that the axes enclose, and of the whole chart */
  scale x, y;
} plot;

/* Where a chart is: in a page, which has the style and scales it; a file of its own, with its style and a background;
 * or one of several in a file. */
typedef enum plot_frame { PLOT_IN_PAGE, PLOT_ALONE, PLOT_IN_SHEET } plot_frame;
/* Begins a chart of the given height. */
void plot_open(plot *p, FILE *f, const plot_words *words, double height, plot_frame frame);
double plot_close(const plot *p); /* returns the height */
/* Begins and ends the file of several charts, which are in between, each moved down by those before it. */
void plot_sheet_open(FILE *f, const plot_words *words, double height);
void plot_sheet_close(FILE *f);
/* Draw an axis: ticks, their texts, grid lines and the label, which has the unit. The scale is set before. */
void plot_axis_x(const plot *p, const char *label);
void plot_axis_y(const plot *p, const char *label);

typedef enum plot_anchor { PLOT_START, PLOT_MIDDLE, PLOT_END } plot_anchor;
/* Writes text whose baseline is at y. */
void plot_text(const plot *p, const char *class, plot_anchor anchor, double x, double y, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* Shortens text to the given width by "...". Widths are estimates, because the font is the reader's. */
void plot_fit(char *text, double width);
double plot_width(const char *text);

typedef enum plot_style {
  PLOT_CPU,
  PLOT_GPU,
  PLOT_BOTH,
  PLOT_CEILING,
  PLOT_OTHER,
  PLOT_PUBLISHED,
  PLOT_STYLES
} plot_style;
const char *plot_style_name(plot_style style); /* "CPU alone", for labels and legends */

typedef struct plot_point {
  double x, y, low, high; /* low, high: the spread; NaN: none */
} plot_point;

/* A line through points that are in order of x, with a marker at each, and a band from low to high. */
void plot_line(const plot *p, plot_style style, const plot_point *points, size_t count);
/* The same with neither markers nor a band: for a limit that was not measured point by point. */
void plot_limit(const plot *p, plot_style style, const plot_point *points, size_t count);
void plot_marker(const plot *p, plot_style style, double x, double y); /* at coordinates */
void plot_whisker(const plot *p, double x, double low, double high);   /* a vertical one at values */
/* Vertical lines at values of x, with texts at their upper ends, each in a row of its own. */
typedef struct plot_rule {
  plot_style style;
  double x;
  const char *text;
} plot_rule;
void plot_rules(const plot *p, const plot_rule *rules, size_t count);

/* Labels beside the right end of lines, moved apart where they would overlap. */
typedef struct plot_label {
  plot_style style;
  double y; /* coordinate of the end of its line */
  char text[48];
  bool is_limit; /* its line has no markers */
} plot_label;
#define PLOT_LABELS 8
void plot_labels(const plot *p, plot_label *labels, size_t count);

/* A horizontal bar from 0 to the value, in the given row of a height, with its spread and text beside it. */
void plot_bar(const plot *p, plot_style style, double y, double height, const plot_point *value, const char *text);

/* A row of markers with their names under the title. */
void plot_legend(const plot *p, const plot_style *styles, size_t count);

#endif
