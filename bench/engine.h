/* SPDX-License-Identifier: Apache-2.0
 * Verifies and times one subject in several modes, and makes rows of it. */
#ifndef HX_BENCH_ENGINE_H
#define HX_BENCH_ENGINE_H

#include "bench/subject.h"

#define BENCH_MOST_MODES 102 /* 0..100 % by 1, and hx's own */

typedef struct bench_mode {
  const char *name;
  float share; /* of the GPUs; negative: hx decides */
} bench_mode;

typedef struct bench_run {
  double seconds;   /* for all modes together, beside warming up, if the options do not say */
  size_t least;     /* rounds */
  bool whole;       /* the least number of rounds is done even if that is slow */
  double **samples; /* if not NULL: count pointers to the samples in order of time, the caller's to free */
  size_t rounds;    /* out */
} bench_run;

/* Adds a row for each mode that ran. False when memory ran out; a mode that fails, or is wrong, sets
 * results->failed and is told on stderr. */
bool bench_engine_run(bench_session *session, bench_subject *subject, const bench_mode *modes, size_t count,
                      bench_run *run, bench_results *results);

/* CPU alone, devices alone, both: those that these devices allow. Returns how many (at most 3). */
size_t bench_compare_modes(const bench_session *session, bench_mode modes[3]);

#endif
