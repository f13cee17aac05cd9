/* SPDX-License-Identifier: Apache-2.0
 * y = alpha op(A) x + beta y: a product with one column, whose leading dimensions are the increments. Those may be
 * negative in BLAS, and not in hx, so such vectors are copied. */
#include <stdlib.h>

#include "blas/blas.h"
#include "blas/call.h"
#include "blas/covered.h"
#include "blas/errors.h"

/* Arguments by Fortran's interface. */
typedef struct gemv {
  hx__blas_trans trans;
  const int *m, *n, *lda, *incx, *incy;
  const float *alpha, *a, *x, *beta;
  float *y;
} gemv;

static int check(hx__blas_trans trans, int m, int n, int lda, int incx, int incy) {
  if (trans == HX__NO_SUCH_TRANS) return 1;
  if (m < 0) return 2;
  if (n < 0) return 3;
  if (lda < (m > 1 ? m : 1)) return 6;
  if (incx == 0) return 8;
  if (incy == 0) return 11;
  return 0;
}

static inline hx__blas_routine routine_of(hx__blas_trans trans) {
  return trans == HX__PLAIN ? HX__BLAS_SGEMV : HX__BLAS_SGEMV_T;
}

static inline uint64_t units_of(int m, int n) { return (uint64_t)m * (uint64_t)n; }

/* Whether check() finds nothing, and the product is forwarded at once: small calls pay for this. */
static inline bool forwards(hx__blas_trans trans, int m, int n, int lda, int incx, int incy) {
  const bool right = (trans != HX__NO_SUCH_TRANS) & ((m | n) >= 0) & (lda >= m) & (lda > 0) & (incx != 0) & (incy != 0);
  return right && hx__blas_forwards(routine_of(trans), units_of(m, n));
}

/* By rows, the memory of A holds A^T, n x m. */
static hx_task task_of(const gemv *g) {
  const bool trans = g->trans == HX__TRANSPOSED;
  hx_task task = hx_matmul((size_t)(trans ? *g->n : *g->m), 1, (size_t)(trans ? *g->m : *g->n), g->a, g->x, g->y);
  task.matmul.trans_a = !trans;
  task.matmul.lda = (size_t)*g->lda;
  task.matmul.ldb = (size_t)*g->incx;
  task.matmul.ldc = (size_t)*g->incy;
  task.matmul.alpha = *g->alpha;
  task.matmul.beta = *g->beta;
  return task;
}

/* A vector with a negative increment, of which the last element in memory is the first. */
typedef struct reversed {
  float *copy; /* without gaps, in order */
  float *memory;
  size_t n, step;
} reversed;

static float *element(const reversed *v, size_t i) { return v->memory + (v->n - 1 - i) * v->step; }

static bool copy(reversed *v, const float *memory, int n, int inc) {
  *v = (reversed){malloc((size_t)n * sizeof *v->copy), (float *)(uintptr_t)memory, (size_t)n, (size_t) - (int64_t)inc};
  for (size_t i = 0; v->copy && i < v->n; i++) v->copy[i] = *element(v, i);
  return v->copy != NULL;
}

static bool by_hx(const gemv *g, hx__blas_call *call) {
  reversed x = {.copy = NULL}, y = {.copy = NULL};
  hx_task task = task_of(g);
  bool done = (*g->incx > 0 || copy(&x, g->x, (int)task.matmul.k, *g->incx)) &&
              (*g->incy > 0 || copy(&y, g->y, (int)task.matmul.m, *g->incy));
  if (x.copy) task.matmul.b = x.copy, task.matmul.ldb = 1;
  if (y.copy) task.matmul.c = y.copy, task.matmul.ldc = 1;
  done = done && hx__blas_offload(call, &task);
  for (size_t i = 0; done && y.copy && i < y.n; i++) *element(&y, i) = y.copy[i];
  free(x.copy);
  free(y.copy);
  return done;
}

static __attribute__((noinline)) void multiply(const gemv *g, hx__blas_caller caller) {
  const int info = check(g->trans, *g->m, *g->n, *g->lda, *g->incx, *g->incy);
  if (info) {
    hx__blas_wrong_argument("SGEMV ", info, caller);
    return;
  }
  if (*g->m == 0 || *g->n == 0 || (*g->alpha == 0 && *g->beta == 1)) return;
  hx__blas_call call;
  hx__blas_call_begin(&call, routine_of(g->trans), units_of(*g->m, *g->n));
  if (call.by_hx) call.by_hx = by_hx(g, &call);
  if (!call.by_hx)
    hx__covered_sgemv(hx__blas_letter(g->trans), g->m, g->n, g->alpha, g->a, g->lda, g->x, g->incx, g->beta, g->y,
                      g->incy, 1);
  if (call.logs)
    hx__blas_call_log(&call, "sgemv_", "sgemv(%s,%d,%d,%g,%d,%d,%g,%d)", hx__blas_letter(g->trans), *g->m, *g->n,
                      *g->alpha, *g->lda, *g->incx, *g->beta, *g->incy);
}

/* A call of sgemv_ that is not forwarded at once. */
static __attribute__((noinline)) void multiply_fortran(const char *trans, const int *m, const int *n,
                                                       const float *alpha, const float *a, const int *lda,
                                                       const float *x, const int *incx, const float *beta, float *y,
                                                       const int *incy) {
  const gemv g = {hx__blas_trans_of(trans), m, n, lda, incx, incy, alpha, a, x, beta, y};
  multiply(&g, HX__FROM_FORTRAN);
}

/* Small calls are forwarded without a look at the other arguments (gemm.c). The limit of SGEMV_T is not lower. */
void sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a, const int *lda,
            const float *x, const int *incx, const float *beta, float *y, const int *incy) {
  if (hx__blas_forwards(HX__BLAS_SGEMV, units_of(*m, *n)))
    hx__covered_sgemv_(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
  else
    multiply_fortran(trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}

/* The transpose by columns of a matrix by rows. */
static inline hx__blas_trans other(hx__blas_trans t) {
  return t == HX__NO_SUCH_TRANS ? t : t == HX__PLAIN ? HX__TRANSPOSED : HX__PLAIN;
}

/* A call of cblas_sgemv that is not forwarded at once. */
static __attribute__((noinline)) void multiply_c(int layout, int trans, int m, int n, float alpha, const float *a,
                                                 int lda, const float *x, int incx, float beta, float *y, int incy) {
  const bool rows = layout == HX__ROW_MAJOR;
  const hx__blas_caller caller = rows ? HX__FROM_C_BY_ROWS : HX__FROM_C_BY_COLUMNS;
  const hx__blas_trans t = hx__blas_cblas_trans(trans);
  if (!rows && layout != HX__COL_MAJOR) {
    hx__blas_wrong_value("cblas_sgemv", 1, "layout", layout, HX__FROM_C_BY_COLUMNS);
    return;
  }
  if (t == HX__NO_SUCH_TRANS) {
    hx__blas_wrong_value("cblas_sgemv", 2, "TransA", trans, caller);
    return;
  }
  const gemv g = {rows ? other(t) : t, rows ? &n : &m, rows ? &m : &n, &lda, &incx, &incy, &alpha, a, x, &beta, y};
  multiply(&g, caller);
}

void cblas_sgemv(int layout, int trans, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                 float beta, float *y, int incy) {
  const hx__blas_trans t = hx__blas_cblas_trans(trans);
  if (layout == HX__COL_MAJOR   ? forwards(t, m, n, lda, incx, incy)
      : layout == HX__ROW_MAJOR ? forwards(other(t), n, m, lda, incx, incy)
                                : false)
    hx__covered_cblas_sgemv(layout, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
  else
    multiply_c(layout, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
}
