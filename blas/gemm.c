/* SPDX-License-Identifier: Apache-2.0 */
#include "blas/gemm.h"

#include "blas/blas.h"
#include "blas/covered.h"

/* A product with a shorter side is thin. hx is faster for many thin products and slower for many. If both matrices are
 * transposed, it is slower for larger ones, too: for single products with AVX2 (docs/measurements/blas-zen4.tsv), and
 * for batches with AVX-512 (batches-small.tsv). */
#define SHORTEST_SIDE 32
#define SHORTEST_SIDE_TRANSPOSED 64
/* Of a batch: hx needs one call for all of its products and divides them among its threads. A forwarded batch takes a
 * call for each product. */
#define SHORTEST_SIDE_OF_BATCH 8

static inline int at_least_one(int n) { return n > 1 ? n : 1; }

static int check(hx__blas_trans ta, hx__blas_trans tb, int m, int n, int k, int lda, int ldb, int ldc) {
  if (ta == HX__NO_SUCH_TRANS) return 1;
  if (tb == HX__NO_SUCH_TRANS) return 2;
  if (m < 0) return 3;
  if (n < 0) return 4;
  if (k < 0) return 5;
  if (lda < at_least_one(ta == HX__TRANSPOSED ? k : m)) return 8;
  if (ldb < at_least_one(tb == HX__TRANSPOSED ? n : k)) return 10;
  if (ldc < at_least_one(m)) return 13;
  return 0;
}

static inline bool is_shorter(int m, int n, int k, int least) { return (m < least) | (n < least) | (k < least); }

/* Whether a product is thin whatever is transposed. */
static inline bool is_thin(int m, int n, int k) { return is_shorter(m, n, k, SHORTEST_SIDE); }

static inline int shortest_side(hx__blas_trans ta, hx__blas_trans tb, int size) {
  if (ta != HX__PLAIN && tb != HX__PLAIN) return SHORTEST_SIDE_TRANSPOSED;
  return size == 1 ? SHORTEST_SIDE : SHORTEST_SIDE_OF_BATCH;
}

static inline uint64_t units_of(int m, int n, int k) { return hx__blas_units((uint64_t)m, (uint64_t)n, (uint64_t)k); }

/* Whether check() finds nothing, and the product is forwarded at once. Small calls pay for this, so it has no branch
 * for each argument. */
static inline bool forwards(hx__blas_trans ta, hx__blas_trans tb, int m, int n, int k, int lda, int ldb, int ldc) {
  const int rows_a = ta == HX__TRANSPOSED ? k : m, rows_b = tb == HX__TRANSPOSED ? n : k;
  const bool right = (ta != HX__NO_SUCH_TRANS) & (tb != HX__NO_SUCH_TRANS) & ((m | n | k) >= 0) & (lda >= rows_a) &
                     (ldb >= rows_b) & (ldc >= m) & (lda > 0) & (ldb > 0) & (ldc > 0);
  const bool thin = is_shorter(m, n, k, shortest_side(ta, tb, 1));
  return right && hx__blas_forwards(thin ? HX__BLAS_SGEMM_THIN : HX__BLAS_SGEMM, units_of(m, n, k));
}

int hx__blas_gemm_check(const hx__blas_gemm *g) {
  return check(g->transa, g->transb, *g->m, *g->n, *g->k, *g->lda, *g->ldb, *g->ldc);
}

void hx__blas_gemm_begin(hx__blas_call *call, const hx__blas_gemm *g, int size) {
  const bool thin = is_shorter(*g->m, *g->n, *g->k, shortest_side(g->transa, g->transb, size));
  uint64_t units;
  if (__builtin_mul_overflow(units_of(*g->m, *g->n, *g->k), (uint64_t)size, &units)) units = UINT64_MAX;
  const hx__blas_routine usual = size == 1 ? HX__BLAS_SGEMM : HX__BLAS_SGEMM_BATCH;
  hx__blas_call_begin(call, thin ? HX__BLAS_SGEMM_THIN : usual, units);
}

hx_task hx__blas_gemm_task(const hx__blas_gemm *g) {
  hx_task task = hx_matmul((size_t)*g->n, (size_t)*g->m, (size_t)*g->k, g->b, g->a, g->c);
  task.matmul.lda = (size_t)*g->ldb;
  task.matmul.ldb = (size_t)*g->lda;
  task.matmul.ldc = (size_t)*g->ldc;
  task.matmul.alpha = *g->alpha;
  task.matmul.beta = *g->beta;
  task.matmul.trans_a = g->transb == HX__TRANSPOSED;
  task.matmul.trans_b = g->transa == HX__TRANSPOSED;
  return task;
}

void hx__blas_gemm_forward(const hx__blas_gemm *g) {
  hx__covered_sgemm(hx__blas_letter(g->transa), hx__blas_letter(g->transb), g->m, g->n, g->k, g->alpha, g->a, g->lda,
                    g->b, g->ldb, g->beta, g->c, g->ldc, 1, 1);
}

static __attribute__((noinline)) void multiply(const hx__blas_gemm *g, hx__blas_caller caller) {
  const int info = hx__blas_gemm_check(g);
  if (info) {
    hx__blas_wrong_argument("SGEMM ", info, caller);
    return;
  }
  if (hx__blas_gemm_is_empty(g)) return;
  hx__blas_call call;
  hx__blas_gemm_begin(&call, g, 1);
  if (call.by_hx) {
    const hx_task task = hx__blas_gemm_task(g);
    call.by_hx = hx__blas_offload(&call, &task);
  }
  if (!call.by_hx) hx__blas_gemm_forward(g);
  if (call.logs)
    hx__blas_call_log(&call, "sgemm_", "sgemm(%s,%s,%d,%d,%d,%g,%d,%d,%g,%d)", hx__blas_letter(g->transa),
                      hx__blas_letter(g->transb), *g->m, *g->n, *g->k, *g->alpha, *g->lda, *g->ldb, *g->beta, *g->ldc);
}

/* A call of sgemm_ that is not forwarded at once. */
static __attribute__((noinline)) void multiply_fortran(const char *transa, const char *transb, const int *m,
                                                       const int *n, const int *k, const float *alpha, const float *a,
                                                       const int *lda, const float *b, const int *ldb,
                                                       const float *beta, float *c, const int *ldc) {
  const hx__blas_trans ta = hx__blas_trans_of(transa), tb = hx__blas_trans_of(transb);
  const hx__blas_gemm g = {ta, tb, m, n, k, lda, ldb, ldc, alpha, a, b, beta, c};
  multiply(&g, HX__FROM_FORTRAN);
}

/* Thin products are forwarded without a look at the other arguments, which would take a tenth of the time of the
 * smallest ones: the covered BLAS checks them, and calls the same xerbla_. */
void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,
            const float *a, const int *lda, const float *b, const int *ldb, const float *beta, float *c,
            const int *ldc) {
  if (is_thin(*m, *n, *k) && hx__blas_forwards(HX__BLAS_SGEMM_THIN, units_of(*m, *n, *k)))
    hx__covered_sgemm_(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else
    multiply_fortran(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* A call of cblas_sgemm that is not forwarded at once. */
static __attribute__((noinline)) void multiply_c(int layout, int transa, int transb, int m, int n, int k, float alpha,
                                                 const float *a, int lda, const float *b, int ldb, float beta, float *c,
                                                 int ldc) {
  const hx__blas_trans ta = hx__blas_cblas_trans(transa), tb = hx__blas_cblas_trans(transb);
  const bool rows = layout == HX__ROW_MAJOR;
  const hx__blas_caller caller = rows ? HX__FROM_C_BY_ROWS : HX__FROM_C_BY_COLUMNS;
  if (!rows && layout != HX__COL_MAJOR) {
    hx__blas_wrong_value("cblas_sgemm", 1, "layout", layout, HX__FROM_C_BY_COLUMNS);
    return;
  }
  if (ta == HX__NO_SUCH_TRANS || tb == HX__NO_SUCH_TRANS) {
    const bool first = ta == HX__NO_SUCH_TRANS;
    hx__blas_wrong_value("cblas_sgemm", first ? 2 : 3, first ? "TransA" : "TransB", first ? transa : transb, caller);
    return;
  }
  const hx__blas_gemm by_columns = {ta, tb, &m, &n, &k, &lda, &ldb, &ldc, &alpha, a, b, &beta, c};
  const hx__blas_gemm by_rows = {tb, ta, &n, &m, &k, &ldb, &lda, &ldc, &alpha, b, a, &beta, c};
  multiply(rows ? &by_rows : &by_columns, caller);
}

void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a, int lda,
                 const float *b, int ldb, float beta, float *c, int ldc) {
  const hx__blas_trans ta = hx__blas_cblas_trans(transa), tb = hx__blas_cblas_trans(transb);
  if (layout == HX__COL_MAJOR ? forwards(ta, tb, m, n, k, lda, ldb, ldc)
      // NOLINTNEXTLINE(readability-suspicious-call-argument): by rows, the operands are swapped
      : layout == HX__ROW_MAJOR ? forwards(tb, ta, n, m, k, ldb, lda, ldc)
                                : false)
    hx__covered_cblas_sgemm(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  else
    multiply_c(layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
