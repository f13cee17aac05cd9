/* SPDX-License-Identifier: Apache-2.0
 * Verifies and times one subject in several modes, and makes a row of results for each. */
#ifndef HX_BENCH_ENGINE_H
#define HX_BENCH_ENGINE_H

#include "bench/subject.h"

#define BENCH_MOST_MODES 102 /* shares from 0 to 100 % in steps of 1 %, and hx's own choice */

typedef struct bench_mode {
  const char *name;
  float share; /* share of the GPUs; negative: hx decides */
} bench_mode;

typedef struct bench_run {
  double seconds;   /* for all modes together, without the warm-up; the options override it */
  size_t least;     /* the least number of rounds */
  bool whole;       /* measures the least number of rounds even if that takes long */
  double **samples; /* if not NULL: receives `count` pointers to samples in order of time, which the caller frees */
  size_t rounds;    /* output: the number of rounds */
} bench_run;

/* Adds a row for each mode that ran. If a mode fails or its result is wrong, sets results->failed and prints a sentence
 * to stderr. Returns false if there is no memory. */
bool bench_engine_run(bench_session *session, bench_subject *subject, const bench_mode *modes, size_t count,
                      bench_run *run, bench_results *results);

/* Lists the modes that are possible with the session's devices: CPU alone, devices alone, both. Returns how many there
 * are. */
size_t bench_compare_modes(const bench_session *session, bench_mode modes[3]);

#endif
