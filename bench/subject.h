/* SPDX-License-Identifier: Apache-2.0
 * What is timed: one task with its arrays and its right answer. A kind of task is a row of functions; the engine runs
 * any of them. */
#ifndef HX_BENCH_SUBJECT_H
#define HX_BENCH_SUBJECT_H

#include "bench/bench.h"

/* One operation on one size. op BENCH_OP_MATMUL: a product. */
typedef struct bench_task {
  hx_op op;
  hx_type type;
  bench_size size;
} bench_task;

typedef struct bench_subject bench_subject;

typedef struct bench_kind {
  /* Writes over the outputs, so that a result left from before is not taken for one. */
  void (*poison)(bench_subject *subject, bool whole);
  /* Whether the outputs are the scalar definition's. whole: look at all of them, and set subject->bits. */
  bool (*check)(bench_subject *subject, bool whole);
  /* The least that this work costs this CPU (ceiling.h), once; returns how much it was, in 1e-9 units. */
  double (*ceiling)(bench_subject *subject, size_t loop, unsigned threads);
} bench_kind;

struct bench_subject {
  const bench_kind *kind;
  bench_row row; /* op, type, m, n, k and unit are set: the start of each of its rows */
  hx_task task;
  void *x, *y;            /* the operands */
  hx_value out, expected; /* reductions */
  float *c;               /* products: the output, */
  size_t *place;          /* the elements of it that are compared, */
  float *wanted;          /* and what they have to be */
  size_t places;
  uint64_t bits, first_bits; /* of the last whole check, and of the first right one */
  bool has_first;
};

/* The start of each of a task's rows: op, type, m, n, k, unit and where the shape is from. */
bench_row bench_row_of_task(const bench_task *task);
/* Makes the arrays, fills them, and computes the right answer. False after one sentence to stderr, with nothing to
 * free. */
bool bench_subject_make(bench_session *session, const bench_task *task, bench_subject *subject);
void bench_subject_free(bench_session *session, bench_subject *subject);
/* The two kinds; on failure the subject is left for bench_subject_free. */
bool bench_subject_reduce(bench_session *session, const bench_task *task, bench_subject *subject);
bool bench_subject_matmul(bench_session *session, const bench_task *task, bench_subject *subject);
/* Of what the subject reads: an array of so many elements, filled; NULL after one sentence to stderr. */
void *bench_operand(bench_session *session, hx_type type, unsigned seed, bool near_one, size_t elements);

/* The fastest loop to do the least work of a subject on this CPU, and how long that takes once. */
typedef struct bench_ceiling {
  bench_subject *subject;
  size_t loop;
  unsigned threads;
  double seconds;
} bench_ceiling;

void bench_ceiling_choose(bench_ceiling *ceiling, bench_subject *subject, unsigned threads);
double bench_ceiling_rate(void *ceiling, unsigned calls); /* a sample of bench_measure */

#endif
