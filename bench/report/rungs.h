/* SPDX-License-Identifier: Apache-2.0
 * Which rungs of a ladder belong together: the bars of one figure, the lines of another. The charts of a page, those of
 * `ladder --svg` and the bars in the terminal share it. */
#ifndef HX_BENCH_REPORT_RUNGS_H
#define HX_BENCH_REPORT_RUNGS_H

#include "bench/report/chart.h"
#include "bench/report/lines.h"

bool rungs_is_timed(const facts_rung *rung);
/* Whether two rungs are of the same ladder, device and task, at whatever size. */
bool rungs_same_ladder(const facts_rung *a, const facts_rung *b);
/* Whether two rungs are of the same ladder, device and size. */
bool rungs_go_together(const facts_rung *a, const facts_rung *b);
/* Whether the rung is a point of a line: at least three rungs of its family were timed. */
bool rungs_is_point(const facts *f, const facts_rung *rung);
/* Whether it has a bar: it is no point of a line, or the fastest of its line, or the one to which speed-ups refer. */
bool rungs_has_bar(const facts *f, const facts_rung *rung);
/* Whether two rungs are points of lines over the same axis, of the same ladder, device and size. */
bool rungs_same_axis(const facts_rung *a, const facts_rung *b);

/* The first timed rung of the largest size, for each ladder and device. Returns how many there are. */
size_t rungs_figures(const facts *f, size_t figures[CHART_FIGURES]);
/* How many of the figures before this one are of the same ladder. */
size_t rungs_before(const facts *f, const size_t *figures, size_t count, size_t figure);

/* The families on the axis of a rung, as lines of the rate times `factor`. */
void rungs_lines(const facts *f, const facts_rung *at, double factor, lines *l);
/* The splits of each task at its largest size, as lines of the speed-up over one thread of C. */
#define RUNGS_SHARES "percent on the CPU" /* their axis */
void rungs_shares(const facts *f, lines *l);

plot_style rungs_style(const facts_rung *rung);
void rungs_step_text(const facts_rung *rung, char *text, size_t bytes);
/* Where it ran. */
void rungs_device_text(const facts *f, const facts_rung *rung, char *text, size_t bytes);

#endif
