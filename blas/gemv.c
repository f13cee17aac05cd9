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
  const char *trans;
  const int *m, *n, *lda, *incx, *incy;
  const float *alpha, *a, *x, *beta;
  float *y;
} gemv;

static inline int check(const gemv *g) {
  bool valid;
  hx__blas_transposes(g->trans, &valid);
  if (!valid) return 1;
  if (*g->m < 0) return 2;
  if (*g->n < 0) return 3;
  if (*g->lda < (*g->m > 1 ? *g->m : 1)) return 6;
  if (*g->incx == 0) return 8;
  if (*g->incy == 0) return 11;
  return 0;
}

/* By rows, the memory of A holds A^T, n x m. */
static hx_task task_of(const gemv *g) {
  bool valid;
  const bool trans = hx__blas_transposes(g->trans, &valid);
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
  reversed x = {NULL}, y = {NULL};
  hx_task task = task_of(g);
  bool done = (*g->incx > 0 || copy(&x, g->x, (int)task.matmul.k, *g->incx)) &&
              (*g->incy > 0 || copy(&y, g->y, (int)task.matmul.m, *g->incy));
  if (x.copy) task.matmul.b = x.copy, task.matmul.ldb = 1;
  if (y.copy) task.matmul.c = y.copy, task.matmul.ldc = 1;
  done = done && hx__blas_offload(call, &task);
  for (size_t i = 0; done && i < y.n; i++) *element(&y, i) = y.copy[i];
  free(x.copy);
  free(y.copy);
  return done;
}

static inline void forward(const gemv *g) {
  hx__covered_sgemv_(g->trans, g->m, g->n, g->alpha, g->a, g->lda, g->x, g->incx, g->beta, g->y, g->incy, 1);
}

static inline hx__blas_routine routine_of(const gemv *g) {
  return hx__blas_is(g->trans, 'N') ? HX__BLAS_SGEMV : HX__BLAS_SGEMV_T;
}

static __attribute__((noinline)) void compute(const gemv *g, uint64_t units) {
  hx__blas_call call;
  hx__blas_call_begin(&call, routine_of(g), units);
  if (call.by_hx) call.by_hx = by_hx(g, &call);
  if (!call.by_hx) forward(g);
  if (call.logs)
    hx__blas_call_log(&call, "sgemv_", "sgemv(%c,%d,%d,%g,%d,%d,%g,%d)", *g->trans, *g->m, *g->n, *g->alpha, *g->lda,
                      *g->incx, *g->beta, *g->incy);
}

static inline void multiply(const gemv *g, hx__blas_caller caller) {
  const int info = check(g);
  if (__builtin_expect(info, 0)) {
    hx__blas_wrong_argument("SGEMV ", info, caller);
    return;
  }
  if (*g->m == 0 || *g->n == 0 || (*g->alpha == 0 && *g->beta == 1)) return;
  const uint64_t units = (uint64_t)*g->m * (uint64_t)*g->n;
  if (hx__blas_forwards(routine_of(g), units))
    forward(g);
  else
    compute(g, units);
}

void sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a, const int *lda,
            const float *x, const int *incx, const float *beta, float *y, const int *incy) {
  const gemv g = {trans, m, n, lda, incx, incy, alpha, a, x, beta, y};
  multiply(&g, HX__FROM_FORTRAN);
}

void cblas_sgemv(int layout, int trans, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                 float beta, float *y, int incy) {
  const bool rows = layout == HX__ROW_MAJOR;
  const hx__blas_caller caller = rows ? HX__FROM_C_BY_ROWS : HX__FROM_C_BY_COLUMNS;
  char t = hx__blas_trans_of(trans);
  if (!rows && layout != HX__COL_MAJOR) {
    hx__blas_wrong_value("cblas_sgemv", 1, "layout", layout, HX__FROM_C_BY_COLUMNS);
    return;
  }
  if (!t) {
    hx__blas_wrong_value("cblas_sgemv", 2, "TransA", trans, caller);
    return;
  }
  if (rows) t = t == 'N' ? 'T' : 'N';
  const gemv g = {&t, rows ? &n : &m, rows ? &m : &n, &lda, &incx, &incy, &alpha, a, x, &beta, y};
  multiply(&g, caller);
}
