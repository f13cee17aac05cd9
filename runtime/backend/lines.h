/* SPDX-License-Identifier: Apache-2.0
 * The reduction of lines by the kernels of the CPU. */
#ifndef HX_BACKEND_LINES_H
#define HX_BACKEND_LINES_H

#include "cpu/cpu.h"
#include "runtime/task/task.h"

/* Where to compute: the kernels, the arrays, and memory that is aligned to 64 bytes. */
typedef struct hx__lines_place {
  const hx__cpu_kernels *kernels;
  const void *x, *y; /* of the work's field, or copies of them */
  hx__locality reach;
  void *scratch;
  size_t scratch_bytes; /* HX__LEAST_COLUMNS_SCRATCH at least */
} hx__lines_place;

/* Stores the slots of the chunk's leaves in slots[0] and on. */
void hx__compute_lines(const hx__lines_place *place, const hx__work *work, hx__chunk chunk, uint64_t *slots);

/* If slots of the work's lines are values in the end, makes values of `count` slots. */
static inline void hx__make_values(const hx__cpu_kernels *kernels, const hx__work *work, uint64_t *slots,
                                   size_t count) {
  if (hx__slots_are_values(work)) kernels->lines->values(work->fields->op, work->fields->type, slots, count);
}

/* The slot of one leaf. */
uint64_t hx__compute_line_leaf(const hx__lines_place *place, const hx__work *work, size_t slot);

#endif
