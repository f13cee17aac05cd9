/* SPDX-License-Identifier: Apache-2.0
 * A checked task: what it reads, what it writes, and the slices into which it can be cut. */
#ifndef HX_TASK_TASK_H
#define HX_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/gemm.h"
#include "runtime/base/slot.h"
#include "runtime/base/trace.h"

#define HX__PLACEMENTS 32u
#define HX__RESIDENT_C (1u << 4) /* bit of placement: C is to stay on the device, if one device computes all of it */

/* A checked task. A slice is a leaf of a reduction (of all its fields), or a row of C (a column if C is wider than
 * high). Work is distributed in slices: they are the smallest units whose results do not depend on which device
 * computes them. */
typedef struct hx__work {
  bool matmul;
  bool by_columns; /* matmul: slices are columns of C */
  bool trans_a, trans_b;
  float gpu_share; /* the task's gpu_share; negative: not set */
  size_t slices;
  uint64_t units;     /* elements of all fields, or multiply-adds; UINT64_MAX if there are more */
  uint32_t placement; /* hx__memory_placement: how its operands reach devices that copy */
  uint64_t needs;     /* bits of hx__need_reduce and HX__NEED_MATMUL: the kernels that a device needs */

  const hx_field *fields; /* reductions: nfields fields of n elements each */
  size_t nfields, n;
  hx_value *out;
  hx_field single; /* fields points to it for a reduction without a list of fields */

  hx__gemm gemm; /* the product; matmul only */
} hx__work;

/* A range of slices. */
typedef struct hx__chunk {
  size_t first, count;
} hx__chunk;

/* Needs are bits, one for each kernel that a device may have: the reductions, then the product. */
#define HX__NEED_MATMUL (1ull << HX__REDUCTIONS)
#define HX__NEED_ALL ((HX__NEED_MATMUL << 1) - 1u)
#define HX__NEED_TILES (1ull << 62) /* not one kernel, but further ones that make the product faster on some shapes */
#define HX__NEED_OPEN (1ull << 63)  /* not a kernel: the memory modes of the device are known */
static inline uint64_t hx__need_reduce(hx_op op, hx_type type) { return 1ull << hx__reduction_index(op, type); }

/* The extent of C in the dimension that is not cut into slices. */
static inline size_t hx__work_cross_extent(const hx__work *work) {
  return work->by_columns ? work->gemm.m : work->gemm.n;
}

/* Checks *task as hx.h promises and fills *work, which refers to the fields and arrays of *task. HX_INVALID_ARGUMENT,
 * with a sentence that names the value at fault. */
hx_status hx__task_check(const hx_task *task, hx__work *work);

/* The product as strides. No leading dimension may be 0. */
static inline hx__gemm hx__strides_of(const struct hx_matmul_args *t, size_t lda, size_t ldb, size_t ldc) {
  return (hx__gemm){.m = t->m,
                    .n = t->n,
                    .k = t->k,
                    .a = t->a,
                    .b = t->b,
                    .a_rs = t->trans_a ? 1 : lda,
                    .a_cs = t->trans_a ? lda : 1,
                    .b_rs = t->trans_b ? 1 : ldb,
                    .b_cs = t->trans_b ? ldb : 1,
                    .c = t->c,
                    .ldc = ldc,
                    .alpha = t->alpha,
                    .beta = t->beta};
}

/* A share from 0 to 1 in slices, rounded to the nearest, halves up. */
size_t hx__share_slices(const hx__work *work, double share);

/* The units of a chunk. The last leaf of a reduction may be short. */
uint64_t hx__chunk_units(const hx__work *work, hx__chunk chunk);

/* The elements of each field in a reduction's chunk. */
size_t hx__chunk_elements(const hx__work *work, hx__chunk chunk);

/* The product that computes only a chunk: its rows or columns of C. hx__block_gemm also restricts the other dimension,
 * to the range `cross`. */
hx__gemm hx__chunk_gemm(const hx__work *work, hx__chunk chunk);
hx__gemm hx__block_gemm(const hx__work *work, hx__chunk chunk, hx__chunk cross);

/* The value of a reduction from its slots (base/slot.h), one for each of its leaves > 0. The slots are overwritten. */
hx_value hx__join(hx_op op, hx_type type, uint64_t *slots, size_t leaves);

/* The same for one leaf: its slot is already the value of a sum or product. */
static inline hx_value hx__join_one(hx_op op, hx_type type, uint64_t slot) {
  return op >= HX_MIN && op <= HX_ARGMAX ? hx__join(op, type, &slot, 1) : (hx_value){.u64 = slot};
}

/* The value of a reduction of no elements: +0 for sums, 1 for products. */
hx_value hx__empty_value(hx_op op, hx_type type);

/* The task as a trace names it. */
hx__trace_task hx__work_trace(const hx__work *work);

/* Whether two matrices share an element. A matrix has rows x cols elements of 4 bytes at base, and ld >= cols elements
 * from row to row. */
typedef struct hx__matrix {
  const float *base;
  size_t rows, cols, ld;
} hx__matrix;
bool hx__matrices_share(const hx__matrix *x, const hx__matrix *y);

#endif
