/* SPDX-License-Identifier: Apache-2.0
 * A checked task: what it reads, what it writes, and the slices into which it can be cut. */
#ifndef HX_TASK_TASK_H
#define HX_TASK_TASK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/expr_code.h"
#include "runtime/base/gemm.h"
#include "runtime/base/slot.h"
#include "runtime/base/thresholds.h"
#include "runtime/base/trace.h"

/* What hx_map_reduce makes of an operation that is 0, which must not make a map of the task. */
#define HX__NO_OP ((hx_op)INT_MIN)

#define HX__PLACEMENTS 32u
#define HX__PRESENT 2u           /* the value of an operand's two bits: a device has most of it already */
#define HX__RESIDENT_C (1u << 4) /* bit of placement: C is to stay on the device that computes all of it */

/* The lines of HX_REDUCE_LINES: `count` of them, with hx__work.n elements each. Each leaf of a line has a slot. There
 * are two orders of slots and slices: line by line, with the leaves of a line together; or leaf by leaf (`across`),
 * with the same leaf of all lines together, if the lines are nearer to each other than the elements of a line. */
typedef struct hx__lines {
  size_t count, line_stride, stride, y_line_stride, y_stride; /* in elements; no stride is 0 */
  size_t leaves;                                              /* of a line */
  size_t together; /* lines of a slice, if they are shorter than a leaf: as many as have 4096 elements or fewer */
  bool across;
  bool sparse; /* less than half of the memory between the first and the last element is read: devices are not used */
} hx__lines;

/* A checked task. A slice is a leaf of a reduction (of all its fields), as many leaves of lines as have 4096 elements
 * or fewer, a row of C (a column if C is wider than high), or a product of a batch. Work is distributed in slices: they
 * are the smallest units whose results do not depend on which device computes them. */
typedef struct hx__work {
  bool matmul;
  bool by_lines;    /* a reduction of each of many lines */
  bool by_columns;  /* matmul: slices are columns of C */
  bool by_products; /* a batch: slices are its products (hx__batch_as_one) */
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
  hx__lines lines; /* by_lines only */

  const struct hx_kernel *kernel; /* map or map-reduce: what is computed of each element; else NULL */
  bool map;                       /* the results are elements: there are no fields */
  void *output[HX__EXPR_OUTPUTS]; /* map only: what the kernel writes */
  size_t cols, ld_out; /* elements of a row, units / cols of which there are; map: of outputs from row to row */
  const void *input[HX__EXPR_INPUTS];
  size_t ld[HX__EXPR_INPUTS]; /* elements from row to row; 0: every row is the first one, or has the first value */
  uint32_t parameter[HX__EXPR_PARAMETERS];

  hx__gemm gemm;         /* the product, or the first of a batch; matmul only */
  struct hx_batch batch; /* count 0: no batch. units: of all products. Without by_products, slices are of one product */
} hx__work;

/* A range of slices. */
typedef struct hx__chunk {
  size_t first, count;
} hx__chunk;

/* rows x cols elements of 4 bytes at base, and ld >= cols elements from row to row. */
typedef struct hx__matrix {
  const float *base;
  size_t rows, cols, ld;
} hx__matrix;

/* Needs are bits, one for each kernel that a device may have: the reductions, then the product (with up to HX__TILES
 * values of HX_TILE that one process may use on a device), then the reductions of lines. HX__NEED_ALL: without those,
 * which are built when a call first needs one. */
#define HX__TILES 7u
#define HX__NEED_MATMUL (1ull << HX__REDUCTIONS)
#define HX__NEED_ALL ((HX__NEED_MATMUL << 1) - 1u)
#define HX__NEED_MAPS (1ull << 61)  /* the user kernels that calls have requested are decided: built, or refused */
#define HX__NEED_TILES (1ull << 62) /* not one kernel, but further ones that make the product faster on some shapes */
#define HX__NEED_OPEN (1ull << 63)  /* not a kernel: the memory modes of the device are known */
static inline uint64_t hx__need_reduce(hx_op op, hx_type type) { /* op and type have been checked */
  return 1ull << (hx__reduction_index(op, type) & 63u);
}

/* The needs above the products' are the reductions of lines. */
#define HX__FIRST_LINES (HX__REDUCTIONS + HX__TILES)
static inline uint64_t hx__need_lines(hx_op op, hx_type type) {
  return 1ull << (HX__FIRST_LINES + hx__reduction_index(op, type));
}
/* The need of a field of the work. */
static inline uint64_t hx__need_of(const hx__work *work, const hx_field *field) {
  return (work->by_lines ? hx__need_lines : hx__need_reduce)(field->op, field->type);
}

/* The elements of C in a slice: the extent of C in the dimension that is not cut, or all of one product. */
static inline size_t hx__work_cross_extent(const hx__work *work) {
  if (work->by_products) return work->gemm.m * work->gemm.n;
  return work->by_columns ? work->gemm.m : work->gemm.n;
}

/* The words of hx_task.reserved of which a batch consists. */
enum { HX__BATCH_WORDS = sizeof(struct hx_batch) / sizeof(uint64_t) };

/* 0 if the task has no batch, and if all words are zero that every task reserves. */
static inline uint64_t hx__batch_bits(const hx_task *task) {
  const uint64_t *const r = task->reserved;
  _Static_assert(HX__BATCH_WORDS == 4, "every word of a batch is read");
  return r[0] | r[1] | r[2] | r[3];
}
static inline uint64_t hx__reserved_bits(const hx_task *task) {
  const uint64_t *const r = task->reserved + HX__BATCH_WORDS;
  _Static_assert(sizeof task->reserved == (HX__BATCH_WORDS + 4) * sizeof *r, "every reserved word is read");
  return r[0] | r[1] | r[2] | r[3];
}

/* Checks *task as hx.h promises and fills *work, which refers to the fields and arrays of *task. HX_INVALID_ARGUMENT,
 * with a sentence that names the value at fault. */
hx_status hx__task_check(const hx_task *task, hx__work *work);

/* Stores the product as strides, every member by itself: compilers build a whole structure on the stack and copy it by
 * vectors, and each of these loads then waits for two stores. No leading dimension may be 0. */
static inline void hx__store_strides(const struct hx_matmul_args *t, size_t lda, size_t ldb, size_t ldc, hx__gemm *g) {
  g->m = t->m;
  g->n = t->n;
  g->k = t->k;
  g->a = t->a;
  g->b = t->b;
  g->a_rs = t->trans_a ? 1 : lda;
  g->a_cs = t->trans_a ? lda : 1;
  g->b_rs = t->trans_b ? 1 : ldb;
  g->b_cs = t->trans_b ? ldb : 1;
  g->c = t->c;
  g->ldc = ldc;
  g->alpha = t->alpha;
  g->beta = t->beta;
  g->full_extent = 0;
  g->next = (hx__gemm_operands){NULL, NULL, NULL};
  g->apart = 0;
}

/* A share from 0 to 1 in slices, rounded to the nearest, halves up. */
size_t hx__share_slices(const hx__work *work, double share);

/* The units of a chunk. The last leaf of a reduction may be short. */
uint64_t hx__chunk_units(const hx__work *work, hx__chunk chunk);

/* Results of a reduction: one for each field or line. */
static inline size_t hx__work_values(const hx__work *work) {
  return work->by_lines ? work->lines.count : work->nfields;
}

/* Slots of each field of a reduction, and the first slot of a slice; of the slice after the last one: their number. */
size_t hx__first_slot(const hx__work *work, size_t slice);
static inline size_t hx__work_slots(const hx__work *work) { return hx__first_slot(work, work->slices); }
static inline size_t hx__chunk_slots(const hx__work *work, hx__chunk chunk) {
  return hx__first_slot(work, chunk.first + chunk.count) - hx__first_slot(work, chunk.first);
}

/* The leaf of a slot: of which line, where it begins in it, and its elements. */
typedef struct hx__line_leaf {
  size_t line, first, count;
} hx__line_leaf;
hx__line_leaf hx__leaf_of_slot(const hx__work *work, size_t slot);

/* Whether the results of lines are stored where their slots would be, because every line is one leaf. */
static inline bool hx__slots_are_values(const hx__work *work) { return work->by_lines && work->lines.leaves <= 1; }

/* The matrix that holds the elements of x (y) of all lines: of adjacent lines, a row of it is one element of each;
 * otherwise there is one row with everything from the first element to the last. */
hx__matrix hx__lines_matrix(const hx__work *work, bool of_y);

/* The elements of each field in a reduction's chunk. Not for lines. */
size_t hx__chunk_elements(const hx__work *work, hx__chunk chunk);

/* Elements that a user kernel computes, counted row by row. */
typedef struct hx__elements {
  size_t first, count;
} hx__elements;
/* Those of a chunk, and those of the leaf of a slot, with or without lines. */
hx__elements hx__elements_of(const hx__work *work, hx__chunk chunk);
hx__elements hx__elements_of_slot(const hx__work *work, size_t slot);

/* The product that computes only a chunk: its rows or columns of C; not for slices that are products. hx__block_gemm
 * also restricts the other dimension, to the range `cross`. */
hx__gemm hx__chunk_gemm(const hx__work *work, hx__chunk chunk);
hx__gemm hx__block_gemm(const hx__work *work, hx__chunk chunk, hx__chunk cross);

/* The first rectangle of `left` elements of a map, or of what a map-reduce reduces, counted row by row, that begin with
 * `element`: the rest of a row, or whole rows, or the beginning of a row. left > 0. */
typedef struct hx__map_part {
  size_t row, col, rows, cols;
} hx__map_part;
static inline hx__map_part hx__map_part_at(const hx__work *work, size_t element, size_t left) {
  const size_t row = element / work->cols, col = element % work->cols, most = work->cols - col;
  if (col || left < work->cols) return (hx__map_part){row, col, 1, left < most ? left : most};
  return (hx__map_part){row, 0, left / work->cols, work->cols};
}

/* The elements of an input of a user kernel; of one value per row they are a column. An input of which every row is the
 * first one has one row. */
static inline hx__matrix hx__input_matrix(const hx__work *work, size_t input) {
  const size_t ld = work->ld[input], cols = work->kernel->expr.per_row[input] ? 1 : work->cols;
  return (hx__matrix){work->input[input], ld ? work->units / work->cols : 1, cols, ld ? ld : cols};
}

/* How many arrays the task writes. */
static inline unsigned hx__work_outputs(const hx__work *work) {
  return work->map && work->kernel ? work->kernel->expr.outputs : 1;
}

/* The inputs from an element on. */
typedef struct hx__inputs {
  const void *p[HX__EXPR_INPUTS];
} hx__inputs;
static inline hx__inputs hx__inputs_at(const hx__work *work, size_t row, size_t col) {
  hx__inputs inputs = {{NULL}};
  for (unsigned i = 0; i < work->kernel->expr.inputs; i++)
    inputs.p[i] = (const uint32_t *)work->input[i] + row * work->ld[i] + (work->kernel->expr.per_row[i] ? 0 : col);
  return inputs;
}
static inline hx__inputs hx__inputs_from(const hx__work *work, size_t element) {
  return hx__inputs_at(work, element / work->cols, element % work->cols);
}

/* The value of a reduction from its slots (base/slot.h), one for each of its leaves > 0. The slots are overwritten. */
hx_value hx__join(hx_op op, hx_type type, uint64_t *slots, size_t leaves);

/* Writes the values of lines of several leaves. line: room for the slots of one line, to bring them together. The slots
 * are overwritten. */
void hx__join_lines(const hx__work *work, uint64_t *slots, uint64_t *line);

/* The same for one leaf: its slot is already the value of a sum or product. */
static inline hx_value hx__join_one(hx_op op, hx_type type, uint64_t slot) {
  return op >= HX_MIN && op <= HX_ARGMAX ? hx__join(op, type, &slot, 1) : (hx_value){.u64 = slot};
}

/* The value of a reduction of no elements: +0 for sums, 1 for products. */
hx_value hx__empty_value(hx_op op, hx_type type);

/* The task as a trace names it. */
hx__trace_task hx__work_trace(const hx__work *work);

/* Product i of a batch: as strides, and as a task of its own. */
hx__gemm hx__batch_gemm(const hx__work *work, size_t i);
/* The same with the operands of the next product, so that the CPU prefetches them. */
hx__gemm hx__batch_gemm_ahead(const hx__work *work, size_t i);
/* Whether that pays for products of this size. */
static inline bool hx__product_looks_ahead(const hx__gemm *g) { return g->m * g->n * g->k > HX__AHEAD_UNITS; }
/* The elements of all matrices of a batch. */
uint64_t hx__batch_elements(const hx__work *work);
hx__work hx__batch_product(const hx__work *work, size_t i);

/* Makes one task of a batch that is not empty, whose slices are the products. False if a device would have to get much
 * more memory than the matrices have: some are interleaved, or far apart. */
bool hx__batch_as_one(const hx__work *work, hx__work *one);

/* Whether two matrices share an element. */
bool hx__matrices_share(const hx__matrix *x, const hx__matrix *y);

/* `count` matrices like `first`, `stride` elements apart. Their last element is in the address space. */
typedef struct hx__matrices {
  hx__matrix first;
  size_t stride, count;
} hx__matrices;

/* Whether a matrix of x shares an element with one of y. Also true if matrices of one lie between those of the other,
 * unless both have the same stride and no matrix reaches as far as the next one. */
bool hx__batches_share(const hx__matrices *x, const hx__matrices *y);
/* Whether two matrices of x share an element: exactly. count > 1. */
bool hx__batch_shares_within(const hx__matrices *x);

/* The matrices of A, B or C of a batch. If a stride is 0, there is one matrix. */
enum { HX__BATCH_A, HX__BATCH_B, HX__BATCH_C };
hx__matrices hx__batch_matrices(const hx__work *work, unsigned which);
/* How many elements there are from the first of `count` matrices like these to the last one; 0 of none. */
size_t hx__matrices_extent(const hx__matrices *x, size_t count);

#endif
