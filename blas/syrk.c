/* SPDX-License-Identifier: Apache-2.0
 * C = alpha op(A) op(A)^T + beta C in one triangle. hx writes rectangles, so the triangle is cut: two triangles of half
 * the side on the diagonal and the square between them, and so on. A triangle of up to SIDE rows is computed as a
 * square in memory of its own, from which only the triangle is copied. So each element of C has the bits that it would
 * have in the whole product. */
#include <stdlib.h>

#include "blas/blas.h"
#include "blas/call.h"
#include "blas/covered.h"
#include "blas/errors.h"

#define SIDE \
  192 /* of the smallest triangles: half of their multiply-adds are wasted, and smaller ones cost more calls */

/* Arguments by Fortran's interface. By rows, the memory of C holds the other triangle, and that of A holds A^T. */
typedef struct syrk {
  bool upper;
  hx__blas_trans trans;
  const int *n, *k, *lda, *ldc;
  const float *alpha, *a, *beta;
  float *c;
} syrk;

typedef struct work {
  const syrk *s;
  hx__blas_call *call;
  bool lower; /* by rows, row i of C has the columns up to i; else those from i on */
  bool trans;
  size_t k, lda, ldc;
  float *square; /* SIDE x SIDE */
} work;

/* uplo: whether it is one of the two. */
static int check(bool uplo, hx__blas_trans trans, int n, int k, int lda, int ldc) {
  const int rows = trans == HX__TRANSPOSED ? k : n;
  if (!uplo) return 1;
  if (trans == HX__NO_SUCH_TRANS) return 2;
  if (n < 0) return 3;
  if (k < 0) return 4;
  if (lda < (rows > 1 ? rows : 1)) return 7;
  if (ldc < (n > 1 ? n : 1)) return 10;
  return 0;
}

static inline uint64_t units_of(int n, int k) { return hx__blas_units((uint64_t)n, (uint64_t)n + 1, (uint64_t)k) / 2; }

/* Whether check() finds nothing, and the call is forwarded at once: small calls pay for this. */
static inline bool forwards(bool uplo, hx__blas_trans trans, int n, int k, int lda, int ldc) {
  const bool right = uplo & (trans != HX__NO_SUCH_TRANS) & ((n | k) >= 0) & (lda >= (trans == HX__TRANSPOSED ? k : n)) &
                     (ldc >= n) & (lda > 0) & (ldc > 0);
  return right && hx__blas_forwards(HX__BLAS_SSYRK, units_of(n, k));
}

/* Where the part of A begins that row (or column) i of C is made of. */
static const float *a_of(const work *w, size_t i) { return w->s->a + i * (w->trans ? w->lda : 1); }

/* The rows x columns elements of C from row i and column j on, by rows, into c. */
static hx_task rectangle(const work *w, size_t i, size_t j, size_t rows, size_t columns, float *c, size_t ldc) {
  hx_task task = hx_matmul(rows, columns, w->k, a_of(w, i), a_of(w, j), c);
  task.matmul.lda = task.matmul.ldb = w->lda;
  task.matmul.ldc = ldc;
  task.matmul.trans_a = !w->trans;
  task.matmul.trans_b = w->trans;
  task.matmul.alpha = *w->s->alpha;
  task.matmul.beta = *w->s->beta;
  return task;
}

/* The columns of a row of a triangle. */
static size_t first_column(const work *w, size_t row) { return w->lower ? 0 : row; }
static size_t column_count(const work *w, size_t row, size_t side) { return w->lower ? row + 1 : side - row; }

static void copy_triangle(const work *w, const float *from, size_t from_ld, float *to, size_t to_ld, size_t side) {
  for (size_t i = 0; i < side; i++) {
    const size_t first = first_column(w, i), count = column_count(w, i, side);
    for (size_t j = first; j < first + count; j++) to[i * to_ld + j] = from[i * from_ld + j];
  }
}

/* The triangle of `side` rows whose corner is element (i, i). Parts that hx does not compute are forwarded one by one,
 * because others have been written by then. */
static void small_triangle(const work *w, size_t i, size_t side) {
  float *const c = w->s->c + i * w->ldc + i;
  if (*w->s->beta != 0) {
    for (size_t e = 0; e < side * side; e++) w->square[e] = 0;
    copy_triangle(w, c, w->ldc, w->square, side, side);
  }
  const hx_task task = rectangle(w, i, i, side, side, w->square, side);
  if (hx__blas_offload(w->call, &task)) {
    copy_triangle(w, w->square, side, c, w->ldc, side);
    return;
  }
  const int n = (int)side;
  hx__covered_ssyrk(w->s->upper ? "U" : "L", hx__blas_letter(w->s->trans), &n, w->s->k, w->s->alpha, a_of(w, i),
                    w->s->lda, w->s->beta, c, w->s->ldc, 1, 1);
}

static void square_between(const work *w, size_t i, size_t half, size_t rest) {
  const size_t row = w->lower ? i + half : i, column = w->lower ? i : i + half;
  const size_t rows = w->lower ? rest : half, columns = w->lower ? half : rest;
  float *const c = w->s->c + row * w->ldc + column;
  const hx_task task = rectangle(w, row, column, rows, columns, c, w->ldc);
  if (hx__blas_offload(w->call, &task)) return;
  const int m = (int)columns, n = (int)rows; /* by columns */
  hx__covered_sgemm(w->trans ? "T" : "N", w->trans ? "N" : "T", &m, &n, w->s->k, w->s->alpha, a_of(w, column),
                    w->s->lda, a_of(w, row), w->s->lda, w->s->beta, c, w->s->ldc, 1, 1);
}

static void triangle(const work *w, size_t i, size_t side) { /* recursion of depth log2(2^31 / SIDE) at most */
  if (side <= SIDE) {
    small_triangle(w, i, side);
    return;
  }
  const size_t half = (side / 2 + SIDE - 1) / SIDE * SIDE;
  triangle(w, i, half);
  square_between(w, i, half, side - half);
  triangle(w, i + half, side - half);
}

static bool by_hx(const syrk *s, hx__blas_call *call) {
  float *const square = malloc(SIDE * SIDE * sizeof *square);
  if (!square) return false;
  const work w = {.s = s,
                  .call = call,
                  .lower = s->upper,
                  .trans = s->trans == HX__TRANSPOSED,
                  .k = (size_t)*s->k,
                  .lda = (size_t)*s->lda,
                  .ldc = (size_t)*s->ldc,
                  .square = square};
  triangle(&w, 0, (size_t)*s->n);
  free(square);
  return true;
}

/* uplo: whether the caller's argument was right. */
static __attribute__((noinline)) void update(const syrk *s, bool uplo, hx__blas_caller caller) {
  const int info = check(uplo, s->trans, *s->n, *s->k, *s->lda, *s->ldc);
  if (info) {
    hx__blas_wrong_argument("SSYRK ", info, caller);
    return;
  }
  if (*s->n == 0 || ((*s->alpha == 0 || *s->k == 0) && *s->beta == 1)) return;
  const char *const letter = s->upper ? "U" : "L", *const trans = hx__blas_letter(s->trans);
  hx__blas_call call;
  hx__blas_call_begin(&call, HX__BLAS_SSYRK, units_of(*s->n, *s->k));
  if (call.by_hx) call.by_hx = by_hx(s, &call);
  if (!call.by_hx) hx__covered_ssyrk(letter, trans, s->n, s->k, s->alpha, s->a, s->lda, s->beta, s->c, s->ldc, 1, 1);
  if (call.logs)
    hx__blas_call_log(&call, "ssyrk_", "ssyrk(%s,%s,%d,%d,%g,%d,%g,%d)", letter, trans, *s->n, *s->k, *s->alpha,
                      *s->lda, *s->beta, *s->ldc);
}

static inline bool is_uplo(const char *uplo) { return hx__blas_is(uplo, 'U') || hx__blas_is(uplo, 'L'); }

/* A call of ssyrk_ that is not forwarded at once. */
static __attribute__((noinline)) void update_fortran(const char *uplo, const char *trans, const int *n, const int *k,
                                                     const float *alpha, const float *a, const int *lda,
                                                     const float *beta, float *c, const int *ldc) {
  const syrk s = {hx__blas_is(uplo, 'U'), hx__blas_trans_of(trans), n, k, lda, ldc, alpha, a, beta, c};
  update(&s, is_uplo(uplo), HX__FROM_FORTRAN);
}

/* Small calls are forwarded without a look at the other arguments (gemm.c). */
void ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha, const float *a,
            const int *lda, const float *beta, float *c, const int *ldc) {
  if (hx__blas_forwards(HX__BLAS_SSYRK, units_of(*n, *k)))
    hx__covered_ssyrk_(uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  else
    update_fortran(uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}

/* By rows, both arguments mean the other one by columns. */
static inline hx__blas_trans by_columns(bool rows, hx__blas_trans t) {
  return t == HX__NO_SUCH_TRANS || !rows ? t : t == HX__PLAIN ? HX__TRANSPOSED : HX__PLAIN;
}

/* A call of cblas_ssyrk that is not forwarded at once. */
static __attribute__((noinline)) void update_c(int layout, int uplo, int trans, int n, int k, float alpha,
                                               const float *a, int lda, float beta, float *c, int ldc) {
  const bool rows = layout == HX__ROW_MAJOR, upper = uplo == HX__UPPER;
  const hx__blas_caller caller = rows ? HX__FROM_C_BY_ROWS : HX__FROM_C_BY_COLUMNS;
  const hx__blas_trans t = hx__blas_cblas_trans(trans);
  if (!rows && layout != HX__COL_MAJOR) {
    hx__blas_wrong_value("cblas_ssyrk", 1, "layout", layout, HX__FROM_C_BY_COLUMNS);
    return;
  }
  if (!upper && uplo != HX__LOWER) {
    hx__blas_wrong_value("cblas_ssyrk", 2, "Uplo", uplo, caller);
    return;
  }
  if (t == HX__NO_SUCH_TRANS) {
    hx__blas_wrong_value("cblas_ssyrk", 3, "Trans", trans, caller);
    return;
  }
  const syrk s = {upper != rows, by_columns(rows, t), &n, &k, &lda, &ldc, &alpha, a, &beta, c};
  update(&s, true, caller);
}

void cblas_ssyrk(int layout, int uplo, int trans, int n, int k, float alpha, const float *a, int lda, float beta,
                 float *c, int ldc) {
  const bool known = (uplo == HX__UPPER || uplo == HX__LOWER) && (layout == HX__ROW_MAJOR || layout == HX__COL_MAJOR);
  if (forwards(known, by_columns(layout == HX__ROW_MAJOR, hx__blas_cblas_trans(trans)), n, k, lda, ldc))
    hx__covered_cblas_ssyrk(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
  else
    update_c(layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}
