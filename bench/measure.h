/* SPDX-License-Identifier: Apache-2.0
 * Measures times: contestants run one after another in rounds, so that heat, other programs and the clock rate affect
 * all of them equally. README.md in this folder explains the method. */
#ifndef HX_BENCH_MEASURE_H
#define HX_BENCH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "bench/bench.h"

static inline double bench_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct bench_contestant {
  /* Makes `calls` calls and returns the seconds per call (for a ceiling, the rate); negative: a call failed. */
  double (*sample)(void *self, unsigned calls);
  void *self;
  unsigned calls; /* calls of one sample, enough to be timed by the clock */
  double *samples;
  size_t room;
} bench_contestant;

typedef struct bench_limits {
  size_t reps, least;       /* reps: exactly this many rounds; 0: at least `least`, and as many as the time allows */
  bool whole;               /* never fewer than `least` rounds, however long they take */
  double seconds, deadline; /* deadline: 0: none */
} bench_limits;

/* The limits of the options and the session, with this least number of rounds, and this time if the options give none.
 * */
bench_limits bench_session_limits(const bench_session *session, size_t least, double seconds);
/* Runs rounds until the limits are reached or the run is stopped. Returns their number, which is also that of each
 * contestant's samples; 0: a sample failed. */
size_t bench_measure(bench_contestant *contestants, size_t count, const bench_limits *limits);

/* The number of calls that make a sample long enough for the clock if one call takes `seconds`. */
unsigned bench_calls(double seconds);

void bench_sort(double *values, size_t count);
/* A quantile of sorted values, interpolated linearly; fraction: from 0 to 1. */
double bench_quantile(const double *sorted, size_t count, double fraction);
/* The 95 % confidence interval of the median, by the binomial distribution: two of the sorted values. */
void bench_median_interval(const double *sorted, size_t count, double *low, double *high);
double bench_median(const double *values, size_t count); /* of values in any order; NaN if there are none */
/* Statistics of values in any order; NaN if there are none. */
typedef struct bench_times {
  double median, least, most, low, high; /* low, high: as bench_median_interval */
} bench_times;
bench_times bench_times_of(const double *values, size_t count);

#endif
