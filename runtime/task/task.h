/* SPDX-License-Identifier: Apache-2.0
 * A task after its check: what is read, what is written, and the slices it can be cut into. */
#ifndef HX_TASK_TASK_H
#define HX_TASK_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/gemm.h"
#include "runtime/base/slot.h"

#define HX__PLACEMENTS 32u
#define HX__RESIDENT_C (1u << 4) /* of residence: C is to stay where it is computed, if one device does all of it */

/* A checked task. A slice is a leaf of a reduction (of all fields), or a row of C (a column where C is wider than
 * high): the unit in which work is handed out, and the smallest one whose result does not depend on who made it. */
typedef struct hx__work {
  bool matmul;
  bool by_columns; /* matmul: slices are columns of C */
  bool trans_a, trans_b;
  float gpu_share; /* of the task: negative where the caller leaves it open */
  size_t slices;
  uint64_t units;     /* elements of all fields, or multiply-adds; saturates */
  uint32_t placement; /* how its arrays reach devices that copy (memory.h); less than HX__PLACEMENTS */
  uint64_t needs;     /* bits of hx__need_reduce and HX__NEED_MATMUL: the kernels a device must have */

  const hx_field *fields; /* reductions: nfields of them over n elements each */
  size_t nfields, n;
  hx_value *out;
  hx_field single; /* what fields points to for a plain reduction */

  hx__gemm gemm; /* matmul only */
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

/* The lines of a product that slices cross. */
static inline size_t hx__work_cross_extent(const hx__work *work) {
  return work->by_columns ? work->gemm.m : work->gemm.n;
}

/* Checks *task as hx.h promises and fills *work, which points into *task's fields and arrays. HX_INVALID_ARGUMENT. */
hx_status hx__task_check(const hx_task *task, hx__work *work);

/* A product as strides; no leading dimension is 0. */
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

/* The caller's share in slices, rounded half up: share of [0, 1]. */
size_t hx__share_slices(const hx__work *work, double share);

/* Units of a chunk, and of the slices before `first` that are in it: the last leaf may be short. */
uint64_t hx__chunk_units(const hx__work *work, hx__chunk chunk);

/* Elements of a reduction's chunk. */
size_t hx__chunk_elements(const hx__work *work, hx__chunk chunk);

/* The product of a chunk alone: rows or columns first .. first+count of C; of a block, those of the other kind too. */
hx__gemm hx__chunk_gemm(const hx__work *work, hx__chunk chunk);
hx__gemm hx__block_gemm(const hx__work *work, hx__chunk chunk, hx__chunk across);

/* The value of a reduction from its slots (base/slot.h), leaves > 0 of them; they are overwritten. */
hx_value hx__join(hx_op op, hx_type type, uint64_t *slots, size_t leaves);

/* The same for a single leaf: a sum or product is its slot. */
static inline hx_value hx__join_one(hx_op op, hx_type type, uint64_t slot) {
  return op >= HX_MIN && op <= HX_ARGMAX ? hx__join(op, type, &slot, 1) : (hx_value){.u64 = slot};
}

/* The value over nothing: sums +0, products 1. */
hx_value hx__empty_value(hx_op op, hx_type type);

/* Whether two strided matrices share an element. rows x cols at base, ld >= cols elements from row to row, 4-byte
 * elements. */
typedef struct hx__matrix {
  const float *base;
  size_t rows, cols, ld;
} hx__matrix;
bool hx__matrices_share(const hx__matrix *x, const hx__matrix *y);

#endif
