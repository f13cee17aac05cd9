/* SPDX-License-Identifier: Apache-2.0
 * Reductions as subjects. */
#include <string.h>

#include "bench/ceiling.h"
#include "bench/subject.h"
#include "runtime/base/hash.h"
#include "reference/data.h"
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

bool bench_reduce_arrays(bench_session *session, hx_op op, hx_type type, size_t most, bench_arrays *arrays) {
  *arrays = (bench_arrays){0};
  data_kind kind = op == HX_PROD ? DATA_NEAR_ONE : DATA_SIGNED;
  arrays->x = bench_session_alloc(session, most * ELEMENT);
  if (!arrays->x) return false;
  data_fill(type, kind, SEED, arrays->x, most);
  if (op != HX_DOT) return true;
  arrays->y = bench_session_alloc(session, most * ELEMENT);
  if (!arrays->y) {
    bench_arrays_free(session, arrays);
    return false;
  }
  data_fill(type, kind, SEED + 1, arrays->y, most);
  return true;
}

void bench_reduce_subject(const bench_arrays *arrays, hx_op op, hx_type type, size_t n, bench_subject *subject) {
  *subject = (bench_subject){.kind = &reduce_kind};
  subject->row = (bench_row){.op = bench_op_name(op), .type = bench_type_name(type), .n = n, .unit = reduce_kind.unit};
  subject->task = op == HX_DOT ? hx_dot(type, arrays->x, arrays->y, n, &subject->out)
                               : hx_reduce(op, type, arrays->x, n, &subject->out);
  subject->expected = ref_reduce(op, type, arrays->x, arrays->y, n);
}
