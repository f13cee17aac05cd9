/* SPDX-License-Identifier: Apache-2.0 */
#include "blas/gemm.h"

#include "blas/blas.h"
#include "blas/covered.h"

/* A product with a shorter side is thin. Many thin ones are faster by hx, and many are slower, most of all those with a
 * transposed A, whose rows hx reads across (docs/measurements/blas.tsv). */
#define SHORTEST_SIDE 32
#define SHORTEST_SIDE_TRANSPOSED 64

static inline int at_least_one(int n) { return n > 1 ? n : 1; }

static inline int check(const hx__blas_gemm *g) {
  bool a_valid, b_valid;
  const bool ta = hx__blas_transposes(g->transa, &a_valid), tb = hx__blas_transposes(g->transb, &b_valid);
  const int m = *g->m, n = *g->n, k = *g->k;
  if (!a_valid) return 1;
  if (!b_valid) return 2;
  if (m < 0) return 3;
  if (n < 0) return 4;
  if (k < 0) return 5;
  if (*g->lda < at_least_one(ta ? k : m)) return 8;
  if (*g->ldb < at_least_one(tb ? n : k)) return 10;
  if (*g->ldc < at_least_one(m)) return 13;
  return 0;
}

int hx__blas_gemm_check(const hx__blas_gemm *g) { return check(g); }

static inline hx__blas_routine routine_of(const hx__blas_gemm *g) {
  const int least = hx__blas_is(g->transa, 'N') ? SHORTEST_SIDE : SHORTEST_SIDE_TRANSPOSED;
  return *g->m < least || *g->n < least || *g->k < least ? HX__BLAS_SGEMM_THIN : HX__BLAS_SGEMM;
}

hx__blas_routine hx__blas_gemm_routine(const hx__blas_gemm *g) { return routine_of(g); }

hx_task hx__blas_gemm_task(const hx__blas_gemm *g) {
  bool valid;
  hx_task task = hx_matmul((size_t)*g->n, (size_t)*g->m, (size_t)*g->k, g->b, g->a, g->c);
  task.matmul.lda = (size_t)*g->ldb;
  task.matmul.ldb = (size_t)*g->lda;
  task.matmul.ldc = (size_t)*g->ldc;
  task.matmul.alpha = *g->alpha;
  task.matmul.beta = *g->beta;
  task.matmul.trans_a = hx__blas_transposes(g->transb, &valid);
  task.matmul.trans_b = hx__blas_transposes(g->transa, &valid);
  return task;
}

void hx__blas_gemm_forward(const hx__blas_gemm *g) {
  hx__covered_sgemm_(g->transa, g->transb, g->m, g->n, g->k, g->alpha, g->a, g->lda, g->b, g->ldb, g->beta, g->c,
                     g->ldc, 1, 1);
}

static __attribute__((noinline)) void compute(const hx__blas_gemm *g, uint64_t units) {
  hx__blas_call call;
  hx__blas_call_begin(&call, routine_of(g), units);
  if (call.by_hx) {
    const hx_task task = hx__blas_gemm_task(g);
    call.by_hx = hx__blas_offload(&call, &task);
  }
  if (!call.by_hx) hx__blas_gemm_forward(g);
  if (call.logs)
    hx__blas_call_log(&call, "sgemm_", "sgemm(%c,%c,%d,%d,%d,%g,%d,%d,%g,%d)", *g->transa, *g->transb, *g->m, *g->n,
                      *g->k, *g->alpha, *g->lda, *g->ldb, *g->beta, *g->ldc);
}

static inline void multiply(const hx__blas_gemm *g, hx__blas_caller caller) {
  const int info = check(g);
  if (__builtin_expect(info, 0)) {
    hx__blas_wrong_argument("SGEMM ", info, caller);
    return;
  }
  if (hx__blas_gemm_is_empty(g)) return;
  const uint64_t units = hx__blas_units((uint64_t)*g->m, (uint64_t)*g->n, (uint64_t)*g->k);
  if (hx__blas_forwards(routine_of(g), units))
    hx__blas_gemm_forward(g);
  else
    compute(g, units);
}

void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc) {
  const hx__blas_gemm g = {transa, transb, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c};
  multiply(&g, HX__FROM_FORTRAN);
}

void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) {
  const char ta = hx__blas_trans_of(transa), tb = hx__blas_trans_of(transb);
  const bool rows = layout == HX__ROW_MAJOR;
  const hx__blas_caller caller = rows ? HX__FROM_C_BY_ROWS : HX__FROM_C_BY_COLUMNS;
  if (!rows && layout != HX__COL_MAJOR) {
    hx__blas_wrong_value("cblas_sgemm", 1, "layout", layout, HX__FROM_C_BY_COLUMNS);
    return;
  }
  if (!ta || !tb) {
    hx__blas_wrong_value("cblas_sgemm", ta ? 3 : 2, ta ? "TransB" : "TransA", ta ? transb : transa, caller);
    return;
  }
  const hx__blas_gemm by_columns = {&ta, &tb, &m, &n, &k, &lda, &ldb, &ldc, &alpha, a, b, &beta, c};
  const hx__blas_gemm by_rows = {&tb, &ta, &n, &m, &k, &ldb, &lda, &ldc, &alpha, b, a, &beta, c};
  multiply(rows ? &by_rows : &by_columns, caller);
}
