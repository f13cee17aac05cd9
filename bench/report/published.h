/* SPDX-License-Identifier: Apache-2.0
 * The figures of the published studies, to be drawn beside measured ones. They are of other machines, so each is a
 * multiple of a rung of the same ladder, and is drawn at this multiple of what that rung reaches here. */
#ifndef HX_BENCH_REPORT_PUBLISHED_H
#define HX_BENCH_REPORT_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct published {
  const char *ladder;
  const char *step, *base; /* step: the rung beside which it is drawn; its rate is that of `base`, times ... */
  double low, high;        /* ... from low to high */
  const char *text;
} published;
extern const published published_rates[];
extern const size_t published_rate_count;

/* A place on an axis of a ladder. */
typedef struct published_place {
  const char *ladder, *axis;
  double x;
  const char *text;
} published_place;
extern const published_place published_places[];
extern const size_t published_place_count;

/* A line of which the rate at x is that of the first point, divided by x. */
typedef struct published_fall {
  const char *ladder, *axis, *text;
} published_fall;
extern const published_fall published_falls[];
extern const size_t published_fall_count;

#endif
