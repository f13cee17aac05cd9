/* SPDX-License-Identifier: Apache-2.0
 * A subject is what is timed: one task with its arrays and the right result. Each kind of task is a table of functions
 * that the engine calls. */
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
  /* Overwrites the outputs, so that an old result cannot pass for a new one. */
  void (*poison)(bench_subject *subject, bool whole);
  /* Whether the outputs agree with the scalar definition. whole: compares all of them, and sets subject->bits. */
  bool (*check)(bench_subject *subject, bool whole);
  /* Does the ceiling's work (ceiling.h) for this task once. Returns the amount of work in 1e9 units. */
  double (*ceiling)(bench_subject *subject, size_t loop, unsigned threads);
} bench_kind;

struct bench_subject {
  const bench_kind *kind;
  bench_row row; /* the task's part of each of its rows: op, type, m, n, k and unit */
  hx_task task;
  void *x, *y;            /* the operands */
  hx_value out, expected; /* reductions */
  float *c;               /* products: the output */
  size_t *place;          /* indices of the elements of c that are compared */
  float *wanted;          /* the right values of these elements */
  size_t places;
  uint64_t bits, first_bits; /* hash of the output in the last whole check, and in the first one that passed */
  bool has_first;
};

/* The part of a row that depends on the task alone: op, type, m, n, k, unit and the file of the shape. */
bench_row bench_row_of_task(const bench_task *task);
/* Makes and fills the arrays, and computes the right result. On failure prints one sentence to stderr, frees everything
 * and returns false. */
bool bench_subject_make(bench_session *session, const bench_task *task, bench_subject *subject);
void bench_subject_free(bench_session *session, bench_subject *subject);
/* The two kinds of subjects. On failure the caller calls bench_subject_free. */
bool bench_subject_reduce(bench_session *session, const bench_task *task, bench_subject *subject);
bool bench_subject_matmul(bench_session *session, const bench_task *task, bench_subject *subject);
/* Makes and fills an array that the subject reads. Returns NULL after printing one sentence to stderr. */
void *bench_operand(bench_session *session, hx_type type, unsigned seed, bool near_one, size_t elements);

/* The loop with which this CPU does the ceiling's work fastest, and the time that this takes once. */
typedef struct bench_ceiling {
  bench_subject *subject;
  size_t loop;
  unsigned threads;
  double seconds;
} bench_ceiling;

void bench_ceiling_choose(bench_ceiling *ceiling, bench_subject *subject, unsigned threads);
double bench_ceiling_rate(void *ceiling, unsigned calls); /* the `sample` function of a contestant */

#endif
