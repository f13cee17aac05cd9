/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/alike.h"

#include <stddef.h>

#include "runtime/base/thread.h"
#include "runtime/base/thresholds.h"
#include "runtime/plan/share.h"
#include "runtime/task/check.h"

#define LEAST_ALIKE 4u /* fewer are not worth a task of their own */

/* The arrays of a task, and the bytes from each to that of the next task. */
typedef struct arrays {
  uintptr_t p[3];
} arrays;

static arrays arrays_of(const hx_task *t) {
  if (t->kind == HX_MATMUL) return (arrays){{(uintptr_t)t->matmul.a, (uintptr_t)t->matmul.b, (uintptr_t)t->matmul.c}};
  const void *const y = t->reduce.op == HX_DOT ? t->reduce.y : NULL;
  return (arrays){{(uintptr_t)t->reduce.x, (uintptr_t)y, (uintptr_t)t->reduce.out}};
}

static bool is_product_like(const struct hx_matmul_args *s, const struct hx_matmul_args *t) {
  return s->m == t->m && s->n == t->n && s->k == t->k && s->lda == t->lda && s->ldb == t->ldb && s->ldc == t->ldc &&
         s->alpha == t->alpha && s->beta == t->beta && s->trans_a == t->trans_a && s->trans_b == t->trans_b;
}

/* Whether two tasks differ in their arrays alone. */
static bool is_like(const hx_task *s, const hx_task *t) {
  if (s->kind != t->kind || s->gpu_share != t->gpu_share || hx__batch_bits(t) || hx__reserved_bits(t)) return false;
  if (s->kind == HX_MATMUL) return is_product_like(&s->matmul, &t->matmul);
  return s->kind == HX_REDUCE && s->reduce.op == t->reduce.op && s->reduce.type == t->reduce.type &&
         s->reduce.n == t->reduce.n;
}

/* How many tasks from the first on are alike, with arrays at equal distances, which `apart` gets. */
static size_t count_alike(const hx_task *tasks, size_t n, arrays *apart) {
  const arrays first = arrays_of(tasks);
  size_t count = 1;
  for (; count < n && is_like(tasks, &tasks[count]); count++) {
    const arrays here = arrays_of(&tasks[count]);
    bool equal = true;
    for (int i = 0; i < 3; i++) {
      const uintptr_t bytes = here.p[i] - first.p[i];
      if (count == 1) apart->p[i] = bytes;
      equal = equal && bytes == count * apart->p[i] && bytes % 4 == 0 && bytes <= PTRDIFF_MAX;
    }
    if (!equal) break;
  }
  return count;
}

/* The task that stands for `count` tasks like this one. False: there is none, or it is refused, as it is if outputs
 * share elements. */
static bool make_one(const hx_task *t, const arrays *apart, hx__alike *a) {
  const size_t floats[] = {apart->p[0] / 4, apart->p[1] / 4, apart->p[2] / 4};
  a->one = *t;
  if (t->kind == HX_MATMUL) {
    a->one.kind = HX_MATMUL_BATCHED;
    a->one.batch = (struct hx_batch){a->count, floats[0], floats[1], floats[2]};
  } else {
    if (floats[0] == 0 || apart->p[2] != sizeof(hx_value) || t->reduce.n == 0) return false;
    a->one.kind = HX_REDUCE_LINES;
    a->one.lines = (struct hx_lines_args){.op = t->reduce.op,
                                          .type = t->reduce.type,
                                          .x = t->reduce.x,
                                          .y = t->reduce.y,
                                          .lines = a->count,
                                          .n = t->reduce.n,
                                          .line_stride = floats[0],
                                          .stride = 1,
                                          .y_line_stride = floats[1],
                                          .y_stride = 1,
                                          .out = t->reduce.out};
    if (t->reduce.op == HX_DOT && floats[1] == 0) return false;
  }
  return hx__task_check(&a->one, &a->work) == HX_OK;
}

/* Whether a device may be worth it: small lists stay on the CPU, unless devices are asked for. */
static bool is_for_devices(const hx_context *hx, const hx__work *w) {
  const double share = hx__share_of(&hx->config, w);
  const bool asked = share > 0.0 || hx->config.min_offload != UINT64_MAX;
  return share != 0.0 && w->needs && (asked || w->units > (w->matmul ? HX__QUICK_UNITS : HX__QUICK_ELEMENTS));
}

bool hx__find_alike(const hx_context *hx, const hx_task *tasks, size_t n, size_t from, hx__alike *found) {
  if (!hx->wants_devices || hx__in_forked_child()) return false;
  for (size_t at = from; at < n; at += found->count) {
    arrays apart = {{0, 0, 0}};
    const bool joins = tasks[at].kind == HX_MATMUL || tasks[at].kind == HX_REDUCE;
    found->first = at;
    found->count = joins ? count_alike(&tasks[at], n - at, &apart) : 1;
    if (found->count >= LEAST_ALIKE && make_one(&tasks[at], &apart, found) && is_for_devices(hx, &found->work))
      return true;
  }
  return false;
}
