/* SPDX-License-Identifier: Apache-2.0
 * Neighbours in a list of tasks that one task stands for, so that a device does all of them in one launch. Private to
 * this folder. */
#ifndef HX_API_ALIKE_H
#define HX_API_ALIKE_H

#include "runtime/api/context.h"

/* `count` tasks of a list from number `first` on, and the task that stands for them: a batch of products, or a
 * reduction of lines. The work is checked, and refers to that task. */
typedef struct hx__alike {
  size_t first, count;
  hx_task one;
  hx__work work;
} hx__alike;

/* Whether two products differ in their matrices alone. */
bool hx__products_are_alike(const struct hx_matmul_args *s, const struct hx_matmul_args *t);

/* Finds the next such tasks from number `from` on: products or small reductions that differ in their arrays alone,
 * which are at equal distances and next to each other; together they are enough work for a device. False: there are
 * none. */
bool hx__find_alike(const hx_context *hx, const hx_task *tasks, size_t n, size_t from, hx__alike *found);

#endif
