/* SPDX-License-Identifier: Apache-2.0
 * Products of matrices at equal distances: one task of hx. Most BLAS libraries have no such routine, so those that hx
 * does not compute are forwarded one by one. */
#include "blas/blas.h"
#include "blas/gemm.h"

typedef struct batch {
  hx__blas_gemm first;
  const int *stridea, *strideb, *stridec, *size;
} batch;

static hx__blas_gemm product(const batch *b, int i) {
  hx__blas_gemm g = b->first;
  g.a += (ptrdiff_t)i * *b->stridea;
  g.b += (ptrdiff_t)i * *b->strideb;
  g.c += (ptrdiff_t)i * *b->stridec;
  return g;
}

/* The position of the first wrong argument by the interface of SGEMM_BATCH_STRIDED: each of A, B and C is followed by a
 * leading dimension and a stride. */
static int check(const batch *b) {
  static const int position[] = {[1] = 1, [2] = 2, [3] = 3, [4] = 4, [5] = 5, [8] = 8, [10] = 11, [13] = 15};
  const int info = hx__blas_gemm_check(&b->first);
  if (info) return position[info];
  if (*b->stridea < 0) return 9;
  if (*b->strideb < 0) return 12;
  if (*b->size < 0) return 17;
  if (*b->size > 1 && *b->stridec < (int64_t)*b->first.ldc * *b->first.n) return 16;
  return 0;
}

/* One product with all columns, if A is the same and the columns of B and C follow each other. */
static bool joins(const batch *b, int *columns) {
  const hx__blas_gemm *const g = &b->first;
  return *b->stridea == 0 && g->transb == HX__PLAIN && *b->strideb == (int64_t)*g->ldb * *g->n &&
         *b->stridec == (int64_t)*g->ldc * *g->n && !__builtin_mul_overflow(*g->n, *b->size, columns);
}

/* By rows, A and B change places. */
static bool offload(const batch *b, hx__blas_call *call) {
  hx_task task = hx__blas_gemm_task(&b->first);
  task.kind = HX_MATMUL_BATCHED;
  task.batch = (struct hx_batch){(size_t)*b->size, (size_t)*b->strideb, (size_t)*b->stridea, (size_t)*b->stridec};
  return hx__blas_offload(call, &task);
}

static void forward(const batch *b) {
  for (int i = 0; i < *b->size; i++) {
    const hx__blas_gemm g = product(b, i);
    hx__blas_gemm_forward(&g);
  }
}

static void multiply(const batch *given, hx__blas_caller caller) {
  batch own = *given, *const b = &own;
  hx__blas_gemm *const g = &own.first;
  const int info = check(b);
  if (info) {
    hx__blas_wrong_argument("SGEMM_BATCH_STRIDED", info, caller);
    return;
  }
  if (*b->size == 0 || hx__blas_gemm_is_empty(g)) return;
  int columns, one = 1;
  if (joins(b, &columns)) {
    g->n = &columns;
    b->size = &one;
  }
  hx__blas_call call;
  hx__blas_gemm_begin(&call, g, *b->size);
  call.by_hx = call.by_hx && offload(b, &call);
  if (!call.by_hx) forward(b);
  if (call.logs)
    hx__blas_call_log(&call, "sgemm_", "sgemm_batch_strided(%s,%s,%d,%d,%d,%g,%d,%d,%d,%d,%g,%d,%d,%d)",
                      hx__blas_letter(g->transa), hx__blas_letter(g->transb), *g->m, *g->n, *g->k, *g->alpha, *g->lda,
                      *b->stridea, *g->ldb, *b->strideb, *g->beta, *g->ldc, *b->stridec, *b->size);
}

void sgemm_batch_strided_(HX__BATCH_ARGUMENTS) {
  batch work = {{hx__blas_trans_of(transa), hx__blas_trans_of(transb), m, n, k, lda, ldb, ldc, alpha, a, b, beta, c},
                stridea,
                strideb,
                stridec,
                batch_size};
  multiply(&work, HX__FROM_FORTRAN);
}

void sgemm_batch_strided(HX__BATCH_ARGUMENTS) {
  sgemm_batch_strided_(transa, transb, m, n, k, alpha, a, lda, stridea, b, ldb, strideb, beta, c, ldc, stridec,
                       batch_size);
}

void cblas_sgemm_batch_strided(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a,
                               int lda, int stridea, const float *b, int ldb, int strideb, float beta, float *c,
                               int ldc, int stridec, int batch_size) {
  const hx__blas_trans ta = hx__blas_cblas_trans(transa), tb = hx__blas_cblas_trans(transb);
  const bool rows = layout == HX__ROW_MAJOR;
  const hx__blas_caller caller = rows ? HX__FROM_C_BY_ROWS : HX__FROM_C_BY_COLUMNS;
  if (!rows && layout != HX__COL_MAJOR) {
    hx__blas_wrong_value("cblas_sgemm_batch_strided", 1, "layout", layout, HX__FROM_C_BY_COLUMNS);
    return;
  }
  if (ta == HX__NO_SUCH_TRANS || tb == HX__NO_SUCH_TRANS) {
    const bool first = ta == HX__NO_SUCH_TRANS;
    hx__blas_wrong_value("cblas_sgemm_batch_strided", first ? 2 : 3, first ? "TransA" : "TransB",
                         first ? transa : transb, caller);
    return;
  }
  batch by_columns = {
      {ta, tb, &m, &n, &k, &lda, &ldb, &ldc, &alpha, a, b, &beta, c}, &stridea, &strideb, &stridec, &batch_size};
  batch by_rows = {
      {tb, ta, &n, &m, &k, &ldb, &lda, &ldc, &alpha, b, a, &beta, c}, &strideb, &stridea, &stridec, &batch_size};
  multiply(rows ? &by_rows : &by_columns, caller);
}
