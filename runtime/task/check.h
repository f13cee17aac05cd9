/* SPDX-License-Identifier: Apache-2.0
 * What the parts of hx__task_check share; private to this folder. */
#ifndef HX_TASK_CHECK_H
#define HX_TASK_CHECK_H

#include "runtime/base/status.h"
#include "runtime/task/task.h"

#define REFUSE(...) return hx__fail(HX_INVALID_ARGUMENT, __VA_ARGS__)
#define ELEMENT 4u

static inline bool misaligned(const void *p, size_t alignment) { return ((uintptr_t)p & (alignment - 1u)) != 0; }

/* Check a product and a batch of products, and fill all members of *work that hx__task_check has not set. A batch whose
 * products are the rows, or the columns, of a single one becomes that product. */
hx_status hx__check_matmul(const struct hx_matmul_args *task, hx__work *work);
hx_status hx__check_batch(const hx_task *task, hx__work *work);

#endif
