/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/alike.h"

#include <stddef.h>
#include <stdio.h>

#include "runtime/api/bring_up.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/base/thresholds.h"
#include "runtime/plan/share.h"
#include "runtime/task/check.h"

#define LEAST_ALIKE 4u     /* fewer are not worth a task of their own */
#define MOST_BETWEEN 1023u /* elements: less than a page */

enum { ARRAYS = 3 }; /* of a task: A, B and C, or x, y and out */

/* Their addresses, or the bytes from each to that of the next task. */
typedef struct arrays {
  uintptr_t p[ARRAYS];
} arrays;

static arrays arrays_of(const hx_task *t) {
  if (t->kind == HX_MATMUL) return (arrays){{(uintptr_t)t->matmul.a, (uintptr_t)t->matmul.b, (uintptr_t)t->matmul.c}};
  const void *const y = t->reduce.op == HX_DOT ? t->reduce.y : NULL;
  return (arrays){{(uintptr_t)t->reduce.x, (uintptr_t)y, (uintptr_t)t->reduce.out}};
}

bool hx__products_are_alike(const struct hx_matmul_args *s, const struct hx_matmul_args *t) {
  return s->m == t->m && s->n == t->n && s->k == t->k && s->lda == t->lda && s->ldb == t->ldb && s->ldc == t->ldc &&
         s->alpha == t->alpha && s->beta == t->beta && s->trans_a == t->trans_a && s->trans_b == t->trans_b;
}

/* Whether two tasks differ in their arrays alone. */
static bool is_like(const hx_task *s, const hx_task *t) {
  if (s->kind != t->kind || s->gpu_share != t->gpu_share || hx__batch_bits(t) || hx__reserved_bits(t)) return false;
  if (s->kind == HX_MATMUL) return hx__products_are_alike(&s->matmul, &t->matmul);
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
    for (int i = 0; i < ARRAYS; i++) {
      const uintptr_t bytes = here.p[i] - first.p[i];
      if (count == 1) apart->p[i] = bytes;
      equal = equal && bytes == count * apart->p[i] && bytes % ELEMENT == 0 && bytes <= PTRDIFF_MAX;
    }
    if (!equal) break;
  }
  return count;
}

/* Whether arrays of `extent` elements so many bytes apart are near enough to count as one: a device that copies reads
 * what is between them, so both have to touch each page of it. */
static bool is_near(uintptr_t apart, size_t extent) {
  const size_t elements = apart / ELEMENT;
  return elements <= extent || elements - extent <= MOST_BETWEEN;
}

static size_t matrix_extent(size_t rows, size_t cols, size_t ld) {
  return rows ? (rows - 1) * (ld ? ld : cols) + cols : 0;
}

/* A batch of `count` products like this one. */
static bool make_batch(const struct hx_matmul_args *t, const arrays *apart, hx__alike *a) {
  const size_t extent[] = {t->trans_a ? matrix_extent(t->k, t->m, t->lda) : matrix_extent(t->m, t->k, t->lda),
                           t->trans_b ? matrix_extent(t->n, t->k, t->ldb) : matrix_extent(t->k, t->n, t->ldb),
                           matrix_extent(t->m, t->n, t->ldc)};
  for (int i = 0; i < ARRAYS; i++)
    if (!is_near(apart->p[i], extent[i])) return false;
  a->one.kind = HX_MATMUL_BATCHED;
  a->one.batch = (struct hx_batch){a->count, apart->p[0] / ELEMENT, apart->p[1] / ELEMENT, apart->p[2] / ELEMENT};
  return true;
}

/* A reduction of `count` lines, each like this one. */
static bool make_lines(const struct hx_reduce_args *t, const arrays *apart, hx__alike *a) {
  const bool dot = t->op == HX_DOT;
  if (t->n == 0 || apart->p[0] == 0 || !is_near(apart->p[0], t->n) || apart->p[2] != sizeof(hx_value) ||
      (dot && (apart->p[1] == 0 || !is_near(apart->p[1], t->n))))
    return false;
  a->one.kind = HX_REDUCE_LINES;
  a->one.lines = (struct hx_lines_args){.op = t->op,
                                        .type = t->type,
                                        .x = t->x,
                                        .y = t->y,
                                        .lines = a->count,
                                        .n = t->n,
                                        .line_stride = apart->p[0] / ELEMENT,
                                        .stride = 1,
                                        .y_line_stride = apart->p[1] / ELEMENT,
                                        .y_stride = 1,
                                        .out = t->out};
  return true;
}

/* Makes the task that stands for `count` tasks like this one. False: there is none, or it is refused, as it is if
 * outputs share elements. That is no failure of the call, so its detail stays as it was. */
static bool make_one(const hx_task *t, const arrays *apart, hx__alike *a) {
  char detail[HX__DETAIL_BYTES];
  a->one = *t;
  if (!(t->kind == HX_MATMUL ? make_batch(&t->matmul, apart, a) : make_lines(&t->reduce, apart, a))) return false;
  snprintf(detail, sizeof detail, "%s", hx_error_detail());
  if (hx__task_check(&a->one, &a->work) == HX_OK) return true;
  hx__set_detail(detail);
  return false;
}

/* Whether a device may be worth it. Small lists stay on the CPU, unless devices are asked for. Sums that are asked for
 * or are large go to devices one by one: their kernels are ready sooner than those of lines. */
static bool is_for_devices(const hx_context *hx, const hx_task *first, const hx__work *w) {
  const double share = hx__share_of(&hx->config, w);
  const bool asked = share > 0.0 || hx->config.min_offload != UINT64_MAX;
  if (share == 0.0 || !w->needs || (share < 0.0 && !hx__devices_may_do(hx, w))) return false;
  if (w->matmul) return asked || w->units > HX__QUICK_UNITS;
  return !asked && !w->lines.sparse && w->units > HX__QUICK_ELEMENTS && first->reduce.n <= HX__PIECE_ELEMENTS &&
         hx->config.offload != HX__OFFLOAD_MANDATORY;
}

bool hx__find_alike(const hx_context *hx, const hx_task *tasks, size_t n, size_t from, hx__alike *found) {
  if (!hx->wants_devices || hx__in_forked_child()) return false;
  for (size_t at = from; at < n; at += found->count) {
    arrays apart = {{0, 0, 0}};
    const bool joins = tasks[at].kind == HX_MATMUL || tasks[at].kind == HX_REDUCE;
    found->first = at;
    found->count = joins ? count_alike(&tasks[at], n - at, &apart) : 1;
    if (found->count >= LEAST_ALIKE && make_one(&tasks[at], &apart, found) &&
        is_for_devices(hx, &tasks[at], &found->work))
      return true;
  }
  return false;
}
