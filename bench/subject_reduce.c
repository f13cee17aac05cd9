/* SPDX-License-Identifier: Apache-2.0
 * Reductions as subjects. */
#include <string.h>

#include "bench/ceiling.h"
#include "bench/subject.h"
#include "runtime/base/hash.h"
#include "reference/ref.h"

#define SEED 1u
#define ELEMENT 4u /* bytes; elements of all types have this size */

static void poison_result(bench_subject *subject, bool whole) {
  (void)whole;
  memset(&subject->out, 0xa5, sizeof subject->out);
}

static bool check_result(bench_subject *subject, bool whole) {
  if (whole) subject->bits = hx__hash(HX__HASH_START, &subject->out, sizeof subject->out);
  return subject->out.u64 == subject->expected.u64;
}

static double reading_ceiling(bench_subject *subject, size_t loop, unsigned threads) {
  const struct hx_reduce_args *args = &subject->task.reduce;
  bench_ceiling_read(loop, threads, args->x, args->y, args->n * ELEMENT, 1);
  return bench_row_amount(&subject->row);
}

static const bench_kind reduce_kind = {poison_result, check_result, reading_ceiling};

bool bench_subject_reduce(bench_session *session, const bench_task *task, bench_subject *subject) {
  const size_t n = task->size.n;
  const hx_type type = task->type;
  const bool near_one = task->op == HX_PROD;
  *subject = (bench_subject){.kind = &reduce_kind, .row = bench_row_of_task(task)};
  subject->x = bench_operand(session, type, SEED, near_one, n);
  if (!subject->x) return false;
  subject->task = hx_reduce(task->op, type, subject->x, n, &subject->out);
  if (task->op == HX_DOT) {
    subject->y = bench_operand(session, type, SEED + 1, near_one, n);
    if (!subject->y) return false;
    subject->task = hx_dot(type, subject->x, subject->y, n, &subject->out);
  }
  subject->expected = ref_reduce(task->op, type, subject->x, subject->y, n);
  return true;
}
