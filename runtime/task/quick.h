/* SPDX-License-Identifier: Apache-2.0
 * The checks of hx__task_check for the usual small calls, in as few instructions as such calls can afford. They are
 * false for every task that hx__task_check refuses, and may be false for valid tasks: hx__task_check then decides. */
#ifndef HX_TASK_QUICK_H
#define HX_TASK_QUICK_H

#include "runtime/task/task.h"

/* The task has neither a batch nor a share for devices, and its reserved words are zero. */
static inline bool hx__task_is_plain(const hx_task *task) {
  return !(hx__batch_bits(task) | hx__reserved_bits(task)) && task->gpu_share <= 0.0f;
}
/* The array is not NULL, does not wrap the address space, and does not overlap the 8 bytes of out. */
static inline bool hx__quick_array_is_valid(uintptr_t x, size_t bytes, uintptr_t out) {
  return !(x & 3u) && x - 1 < UINTPTR_MAX - bytes && out - x + (sizeof(hx_value) - 1) >= bytes + (sizeof(hx_value) - 1);
}
/* A valid reduction of n > 0 elements. */
static inline bool hx__quick_reduce_is_valid(const struct hx_reduce_args *r) {
  const uintptr_t out = (uintptr_t)r->out;
  const size_t bytes = r->n * 4u;
  return (unsigned)r->op - HX_SUM < HX__OP_COUNT && (unsigned)r->type - HX_F32 < HX__TYPE_COUNT && out != 0 &&
         !(out & 7u) && hx__quick_array_is_valid((uintptr_t)r->x, bytes, out) &&
         (r->op != HX_DOT || hx__quick_array_is_valid((uintptr_t)r->y, bytes, out));
}

/* A valid product with m, n and k from 1 to HX__QUICK_SIDE, at most `most` multiply-adds and alpha != 0. *g: the
 * product as strides. */
#define HX__QUICK_SIDE 1024u
static inline bool hx__quick_matrix_is_valid(const float *p, size_t rows, size_t cols, size_t ld, uintptr_t *end) {
  *end = (uintptr_t)p + ((rows - 1) * ld + cols) * sizeof *p;
  return p && !((uintptr_t)p & 3u) && ld >= cols && ld <= UINT32_MAX && *end > (uintptr_t)p;
}
static inline bool hx__quick_product_is_valid(const struct hx_matmul_args *t, size_t most, hx__gemm *g) {
  const size_t m = t->m, n = t->n, k = t->k;
  if (((m - 1) | (n - 1) | (k - 1)) >= HX__QUICK_SIDE || m * n * k > most || t->alpha == 0) return false;
  const size_t a_rows = t->trans_a ? k : m, a_cols = t->trans_a ? m : k, lda = t->lda ? t->lda : a_cols;
  const size_t b_rows = t->trans_b ? n : k, b_cols = t->trans_b ? k : n, ldb = t->ldb ? t->ldb : b_cols;
  const size_t ldc = t->ldc ? t->ldc : n;
  uintptr_t a_end, b_end, c_end;
  hx__store_strides(t, lda, ldb, ldc, g);
  return hx__quick_matrix_is_valid(t->a, a_rows, a_cols, lda, &a_end) &&
         hx__quick_matrix_is_valid(t->b, b_rows, b_cols, ldb, &b_end) &&
         hx__quick_matrix_is_valid(t->c, m, n, ldc, &c_end) && (c_end <= (uintptr_t)t->a || a_end <= (uintptr_t)t->c) &&
         (c_end <= (uintptr_t)t->b || b_end <= (uintptr_t)t->c);
}

#endif
