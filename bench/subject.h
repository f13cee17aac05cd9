/* SPDX-License-Identifier: Apache-2.0
 * What is timed: one task with its arrays and its right answer. A kind of task is a row of functions; the engine runs
 * any of them. */
#ifndef HX_BENCH_SUBJECT_H
#define HX_BENCH_SUBJECT_H

#include "bench/bench.h"

typedef struct bench_subject bench_subject;

typedef struct bench_kind {
  const char *unit;                             /* of rates */
  double (*work)(const bench_subject *subject); /* of one call, in 1e-9 units */
  /* Writes over the outputs, so that a result left from before is not taken for one. */
  void (*poison)(bench_subject *subject, bool whole);
  /* Whether the outputs are the scalar definition's. whole: look at all of them, and set subject->bits. */
  bool (*check)(bench_subject *subject, bool whole);
  /* The least that this work costs this CPU (ceiling.h), once; returns how much it was, in 1e-9 units. */
  double (*ceiling)(bench_subject *subject, size_t way, unsigned threads);
} bench_kind;

struct bench_subject {
  const bench_kind *kind;
  bench_row row; /* op, type, m, n, k and unit are set: the start of each of its rows */
  hx_task task;
  hx_value out, expected; /* reductions */
  float *c;               /* products: the output, */
  size_t *place;          /* the elements of it that are compared, */
  float *wanted;          /* and what they have to be */
  size_t places;
  uint64_t bits, first_bits; /* of the last whole check, and of the first right one */
  bool has_first;
};

/* Arrays for subjects; those of reductions are filled once, for the largest. */
typedef struct bench_arrays {
  void *x, *y, *c;
} bench_arrays;

/* Each that returns bool: false after one sentence to stderr, with nothing to free. */
bool bench_reduce_arrays(bench_session *session, hx_op op, hx_type type, size_t most, bench_arrays *arrays);
void bench_reduce_subject(const bench_arrays *arrays, hx_op op, hx_type type, size_t n, bench_subject *subject);
bool bench_matmul_arrays(bench_session *session, const bench_size *size, bench_arrays *arrays);
bool bench_matmul_subject(const bench_arrays *arrays, const bench_size *size, bench_subject *subject);
void bench_subject_free(bench_subject *subject);
void bench_arrays_free(bench_session *session, bench_arrays *arrays);

#endif
