/* SPDX-License-Identifier: Apache-2.0
 * Products of column-major matrices as tasks of hx, which are row-major: the same memory, read by rows, holds the
 * transposed matrices, and C^T = op(B)^T op(A)^T. */
#ifndef HX_BLAS_GEMM_H
#define HX_BLAS_GEMM_H

#include "blas/call.h"
#include "blas/errors.h"

/* Arguments of a product by Fortran's interface. */
typedef struct hx__blas_gemm {
  hx__blas_trans transa, transb;
  const int *m, *n, *k, *lda, *ldb, *ldc;
  const float *alpha, *a, *b, *beta;
  float *c;
} hx__blas_gemm;

/* The position of the first wrong argument by the interface of SGEMM; 0 if all are right. */
int hx__blas_gemm_check(const hx__blas_gemm *g);

/* Whether C stays as it is. */
static inline bool hx__blas_gemm_is_empty(const hx__blas_gemm *g) {
  return *g->m == 0 || *g->n == 0 || ((*g->alpha == 0 || *g->k == 0) && *g->beta == 1);
}

/* hx__blas_call_begin with the row of thresholds.inc and the units of `size` such products. */
void hx__blas_gemm_begin(hx__blas_call *call, const hx__blas_gemm *g, int size);

/* The task of a product whose arguments are right. */
hx_task hx__blas_gemm_task(const hx__blas_gemm *g);

/* Has the covered BLAS compute it. */
void hx__blas_gemm_forward(const hx__blas_gemm *g);

#endif
