/* SPDX-License-Identifier: Apache-2.0
 * A scale maps values to a coordinate of a chart, and chooses where its ticks are. */
#ifndef HX_BENCH_REPORT_SCALE_H
#define HX_BENCH_REPORT_SCALE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum scale_kind {
  SCALE_LINEAR, /* ticks at 1, 2 or 5 times a power of ten */
  SCALE_LOG10,  /* ticks at powers of ten, and 2 and 5 times these if there is room */
  SCALE_LOG2    /* ticks at powers of two */
} scale_kind;

typedef struct scale {
  scale_kind kind;
  double low, high; /* values */
  double from, to;  /* their coordinates */
} scale;

#define SCALE_TICKS 24

/* A scale that contains all values from low to high, extended to ticks. From 0 on if it is linear. */
scale scale_make(scale_kind kind, double low, double high, double from, double to);
double scale_at(const scale *s, double value); /* the coordinate; values outside are moved to the nearest end */
size_t scale_ticks(const scale *s, double ticks[SCALE_TICKS]);
/* The text of a tick: "0.5", "20", "2^24", "1/4". */
void scale_text(const scale *s, double value, char *text, size_t bytes);

/* The unit in which values up to `most` are easiest to read, and how many of it one `unit` is: GFLOP/s becomes TFLOP/s
 * from 10000 on, s becomes ms or us. */
const char *scale_unit(const char *unit, double most, double *factor);

#endif
