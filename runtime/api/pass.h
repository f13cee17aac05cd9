/* SPDX-License-Identifier: Apache-2.0
 * Neighbours in a list of tasks that read the same large arrays: the CPU's threads compute a few leaves of all of them,
 * then the next ones, so that memory is read once and not once for each task. Private to this folder. */
#ifndef HX_API_PASS_H
#define HX_API_PASS_H

#include "runtime/api/context.h"
#include "runtime/base/thresholds.h"

/* The tasks [first, first + count) of a list: reductions and map-reduces. */
typedef struct hx__pass {
  size_t first, count;
} hx__pass;

/* Whether it is worth looking for a pass: lists of small tasks take less than a microsecond for each. */
static inline bool hx__may_join_pass(const hx_task *t) {
  const size_t n = t->kind == HX_REDUCE       ? t->reduce.n
                   : t->kind == HX_REDUCE_SOA ? t->soa.n
                   : t->kind == HX_MAP        ? t->map.n
                                              : 0;
  return n > HX__ONE_THREAD_ELEMENTS;
}

/* Finds the next pass among the tasks from number `from` on and before n: at least two neighbours of equally many
 * leaves, each with an array of the first one, which only the CPU is to compute. The tasks are valid. False: there is
 * none. */
bool hx__find_pass(const hx_context *hx, const hx_task *tasks, size_t n, size_t from, hx__pass *found);

/* Computes the tasks of a pass; `tasks` is the list. *failed: the number of the task to which a failure belongs. As
 * hx__offload_checked. */
hx_status hx__offload_pass(hx_context *hx, const hx_task *tasks, const hx__pass *pass, size_t *failed,
                           hx_report *report);

#endif
