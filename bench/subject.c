/* SPDX-License-Identifier: Apache-2.0
 * The common part of reductions and products as subjects: their arrays, and the ceiling of this CPU for them. */
#include "bench/subject.h"

#include <stdlib.h>

#include "bench/ceiling.h"
#include "bench/measure.h"
#include "reference/data.h"

bench_row bench_row_of_task(const bench_task *task) {
  const bench_size *const size = &task->size;
  return (bench_row){.op = bench_op_name(task->op),
                     .type = bench_type_name(task->type),
                     .unit = size->m ? "GFLOP/s" : "GB/s",
                     .m = size->m,
                     .n = size->n,
                     .k = size->k,
                     .trans_a = size->trans_a,
                     .trans_b = size->trans_b,
                     .file = size->file};
}

bool bench_subject_make(bench_session *session, const bench_task *task, bench_subject *subject) {
  const bool product = task->op == (hx_op)BENCH_OP_MATMUL;
  if ((product ? bench_subject_matmul : bench_subject_reduce)(session, task, subject)) return true;
  bench_subject_free(session, subject);
  return false;
}

void bench_subject_free(bench_session *session, bench_subject *subject) {
  bench_session_free(session, subject->x);
  bench_session_free(session, subject->y);
  bench_session_free(session, subject->c);
  free(subject->place);
  free(subject->wanted);
  *subject = (bench_subject){0};
}

void *bench_operand(bench_session *session, hx_type type, unsigned seed, bool near_one, size_t elements) {
  void *const x = bench_session_alloc(
      session, (elements ? elements : 1) * sizeof(float)); /* elements of all types have this size */
  if (x) data_fill(type, near_one ? DATA_NEAR_ONE : DATA_SIGNED, seed, x, elements);
  return x;
}

double bench_ceiling_rate(void *ceiling, unsigned calls) {
  const bench_ceiling *const p = ceiling;
  double work = 0, start = bench_now();
  for (unsigned i = 0; i < calls; i++) work += p->subject->kind->ceiling(p->subject, p->loop, p->threads);
  return work / (bench_now() - start);
}

void bench_ceiling_choose(bench_ceiling *ceiling, bench_subject *subject, unsigned threads) {
  double best = 0;
  bench_ceiling candidate = {.subject = subject, .threads = 1};
  *ceiling = candidate;
  for (int round = 0; round < 2; round++) /* the first round may include the cost of waking threads */
    for (candidate.loop = 0; candidate.loop < bench_ceiling_loops(); candidate.loop++)
      for (candidate.threads = 1;; candidate.threads = threads) {
        const double start = bench_now();
        subject->kind->ceiling(subject, candidate.loop, candidate.threads);
        candidate.seconds = bench_now() - start;
        const double rate = bench_ceiling_rate(&candidate, bench_calls(candidate.seconds));
        if (rate > best) best = rate, *ceiling = candidate;
        if (candidate.threads == threads) break;
      }
}
