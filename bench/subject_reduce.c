/* SPDX-License-Identifier: Apache-2.0
 * Reductions as subjects. */
#include <string.h>

#include "bench/ceiling.h"
#include "bench/subject.h"
#include "runtime/base/hash.h"
#include "reference/ref.h"

#define SEED 1u
#define ELEMENT 4u /* bytes, of every type */

static double work_of(const bench_subject *subject) {
  const struct hx_reduce_args *args = &subject->task.reduce;
  return 1e-9 * ELEMENT * (double)args->n * (args->y ? 2 : 1);
}

static void poison(bench_subject *subject, bool whole) {
  (void)whole;
  memset(&subject->out, 0xa5, sizeof subject->out);
}

static bool check(bench_subject *subject, bool whole) {
  if (whole) subject->bits = hx__hash(HX__HASH_START, &subject->out, sizeof subject->out);
  return subject->out.u64 == subject->expected.u64;
}

static double ceiling(bench_subject *subject, size_t way, unsigned threads) {
  const struct hx_reduce_args *args = &subject->task.reduce;
  bench_ceiling_read(way, threads, args->x, args->y, args->n * ELEMENT, 1);
  return work_of(subject);
}

static const bench_kind reduce_kind = {"GB/s", work_of, poison, check, ceiling};

bool bench_subject_reduce(bench_session *session, const bench_task *task, bench_subject *subject) {
  const size_t n = task->size.n;
  const hx_type type = task->type;
  const bool near_one = task->op == HX_PROD;
  *subject = (bench_subject){.kind = &reduce_kind};
  subject->row =
      (bench_row){.op = bench_op_name(task->op), .type = bench_type_name(type), .n = n, .unit = reduce_kind.unit};
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
