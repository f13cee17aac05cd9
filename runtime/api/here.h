/* SPDX-License-Identifier: Apache-2.0
 * Computing a task on the calling thread; private to this folder. */
#ifndef HX_API_HERE_H
#define HX_API_HERE_H

#include "runtime/api/context.h"
#include "runtime/base/thresholds.h"
#include "runtime/task/quick.h"

/* Computes a task that is not empty, and not a batch: a product, or a reduction whose slots fit on the stack. The host
 * has its operands. No lock, no allocation and no clock, unless the program has given memory advice. */
void hx__compute_here(hx_context *hx, const hx__work *work);

/* The same, if its outputs have been claimed, as a part of a larger task. */
void hx__compute_claimed(hx_context *hx, const hx__work *work);

/* Whether the slots of a reduction fit on the stack of the calling thread. */
static inline bool hx__fits_stack(const hx__work *w) {
  const size_t together = w->kernel && w->nfields ? w->nfields : 1; /* otherwise one field after the other */
  return hx__slots_are_values(w) || hx__work_slots(w) <= HX__STACK_SLOTS / together;
}

/* Traces a call, or a task of one, that began at from_ns and ends now. Without a trace it does nothing. */
void hx__trace_work(const hx_context *hx, const hx__work *work, uint64_t from_ns, hx_status status);

/* Whether there is nothing to compute; then sets the results of empty reductions. */
bool hx__finish_if_empty(const hx__work *work);

/* Whether the program has given memory advice, or has memory that the host maps for writing. */
static inline bool hx__is_watched(const hx_context *hx) {
  return __builtin_expect(atomic_load_explicit(&hx->memory.watched_ranges, memory_order_relaxed) != 0, 0);
}

/* A task was computed without a claim, and another thread gave the first advice while it ran: a device may have
 * copied what the task has replaced. */
void hx__note_late_advice(hx_context *hx, const hx_task *task) __attribute__((cold));

static inline bool hx__compute_small(const hx_context *hx, const hx_task *task, const hx__gemm_operands *next) {
  if (task->kind == HX_MATMUL) {
    hx__gemm g;
    if (!hx__quick_product_is_valid(&task->matmul, HX__ONE_THREAD_UNITS, &g)) return false;
    if (next) g.next = *next;
    return hx->table.kernels->gemm_direct(&g);
  }
  const struct hx_reduce_args *const r = &task->reduce;
  if (task->kind != HX_REDUCE || r->n - 1 >= HX__ONE_THREAD_ELEMENTS || !hx__quick_reduce_is_valid(r)) return false;
  if (r->n <= HX__LEAF) {
    *r->out = hx__join_one(r->op, r->type, hx->table.kernels->one_leaf[r->op][r->type](r->x, r->y, r->n));
    return true;
  }
  uint64_t slots[HX__ONE_THREAD_ELEMENTS / HX__LEAF];
  hx->table.kernels->leaf[r->op][r->type](r->x, r->y, r->n, HX__IN_L2, slots);
  *r->out = hx__join(r->op, r->type, slots, (r->n + HX__LEAF - 1) / HX__LEAF);
  return true;
}

/* The usual small calls: one reduction of few elements, or a small product, for which no device may be used. They are
 * computed here without reading anything that they do not need. False for any other task and for an invalid one, and
 * then nothing has been done. next: what a product prefetches, or NULL. */
static inline bool hx__offload_small(hx_context *hx, const hx_task *task, const hx__gemm_operands *next) {
  if (!task || !hx->small_silent || !hx__task_is_plain(task) || hx__is_watched(hx)) return false;
  if (!hx__compute_small(hx, task, next)) return false;
  if (hx__is_watched(hx)) hx__note_late_advice(hx, task);
  return true;
}

#endif
