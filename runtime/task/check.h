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

/* The same of a map or map-reduce. */
hx_status hx__check_map(const struct hx_map_args *task, hx__work *work);

/* Fills the rest of work->lines, and the slices: the lines in the order that reads memory with the fewest jumps. */
void hx__order_lines(hx__work *work);

/* Whether op is known; its name. Checks of an array of n elements, and of a value with its name. */
hx_status hx__check_op(const hx_field *field, size_t index);

/* " of field 3", or "" for HX__NO_INDEX: the task has no list of fields. */
#define HX__NO_INDEX SIZE_MAX
typedef struct hx__index_text {
  char text[32];
} hx__index_text;
hx__index_text hx__field_text(size_t index);

const char *hx__op_enumerator(hx_op op);
static inline bool hx__needs_an_element(hx_op op) { return op >= HX_MIN && op <= HX_ARGMAX; }

/* Whether [x, x+xb) and [y, y+yb) share a byte. */
static inline bool hx__ranges_share(const void *x, size_t xb, const void *y, size_t yb) {
  const uintptr_t a = (uintptr_t)x, b = (uintptr_t)y;
  return a < b ? b - a < xb : a - b < yb;
}

#endif
