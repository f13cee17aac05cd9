/* SPDX-License-Identifier: Apache-2.0
 * Taking times: contestants run one after another, round by round, so that heat, other programs and the clock rate hit
 * all of them alike. README.md beside this file says how a number is taken. */
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
  /* Does `calls` calls and returns the seconds of one (or its rate, for a ceiling); negative: it failed. */
  double (*sample)(void *self, unsigned calls);
  void *self;
  unsigned calls; /* of one sample: enough for the clock */
  double *samples;
  size_t room;
} bench_contestant;

typedef struct bench_limits {
  size_t reps, least;       /* reps: exactly so many rounds; 0: at least `least`, and as many as fit */
  bool whole;               /* never fewer than `least`, however slow */
  double seconds, deadline; /* deadline: 0 for none */
  const char *label;        /* of the progress bar */
  bool progress;
} bench_limits;

/* Those of the options and of the session; at least so many rounds, and so many seconds if the options name none. */
bench_limits bench_session_limits(const bench_session *session, const char *label, size_t least, double seconds);
/* Rounds until the limits are met or the run is stopped; 0 when a sample failed. Each contestant then has as many
 * samples. */
size_t bench_measure(bench_contestant *contestants, size_t count, const bench_limits *limits);

/* How many calls make a sample long enough for the clock, if one takes `seconds`. */
unsigned bench_calls(double seconds);

void bench_sort(double *values, size_t count);
/* Of sorted values; fraction in [0,1], linear between neighbours. */
double bench_quantile(const double *sorted, size_t count, double fraction);
/* Where the median lies with 95 % confidence, by the binomial law: two of the sorted values. */
void bench_median_interval(const double *sorted, size_t count, double *low, double *high);
double bench_median(const double *values, size_t count); /* of values in any order; NaN for none */
/* Of values in any order; NaNs for none. */
typedef struct bench_times {
  double median, least, most;
} bench_times;
bench_times bench_times_of(const double *values, size_t count);

#endif
