/* SPDX-License-Identifier: Apache-2.0
 * errors: wrong arguments reach the xerbla_ and cblas_xerbla of the program, with the name and the position that
 * netlib's routines give; nothing is written. */
#include "blas/blas.h"
#include "tests/check.h"

enum { ROWS = 101, COLUMNS = 102, N = 111, UPPER = 121 };

static char seen_name[64];
static int seen_info, reports;
static float a[64], x[64], c[64];

extern int RowMajorStrg, CBLAS_CallFromC;
static int seen_rows, seen_from_c;

static void note(const char *name, size_t length, int info) {
  memset(seen_name, 0, sizeof seen_name);
  memcpy(seen_name, name, length < sizeof seen_name - 1 ? length : sizeof seen_name - 1);
  seen_info = info, seen_rows = RowMajorStrg, seen_from_c = CBLAS_CallFromC;
  reports++;
}
void xerbla_(const char *routine, const int *info, size_t length) { note(routine, length, *info); }
void cblas_xerbla(int info, const char *routine, const char *form, ...) {
  (void)form;
  note(routine, strlen(routine), info);
}

static void expect(const char *name, int info, int from_c, int rows) {
  CHECK(reports == 1 && strcmp(seen_name, name) == 0 && seen_info == info && seen_from_c == from_c && seen_rows == rows,
        "%d reports, the last of \"%s\" %d (from C %d, by rows %d), not \"%s\" %d (%d, %d)", reports, seen_name,
        seen_info, seen_from_c, seen_rows, name, info, from_c, rows);
  for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) CHECK(c[i] == 7.0f, "C is written");
  reports = 0;
}

/* Right arguments of each routine, of which the tests change one. */
typedef struct arguments {
  const char *ta, *tb, *uplo;
  int m, n, k, lda, ldb, ldc, incx, incy, sa, sb, sc, size;
} arguments;
static const arguments right = {"N", "N", "U", 2, 3, 4, 4, 4, 4, 1, 1, 8, 12, 12, 2};

#define WITH(member, value) \
  ({                        \
    arguments w = right;    \
    w.member = value;       \
    w;                      \
  })

static const float one = 1;

static void gemm(arguments w, int info) {
  sgemm_(w.ta, w.tb, &w.m, &w.n, &w.k, &one, a, &w.lda, x, &w.ldb, &one, c, &w.ldc);
  expect("SGEMM ", info, 0, 0);
}
static void gemv(arguments w, int info) {
  sgemv_(w.ta, &w.m, &w.n, &one, a, &w.lda, x, &w.incx, &one, c, &w.incy);
  expect("SGEMV ", info, 0, 0);
}
static void syrk(arguments w, int info) {
  ssyrk_(w.uplo, w.ta, &w.n, &w.k, &one, a, &w.lda, &one, c, &w.ldc);
  expect("SSYRK ", info, 0, 0);
}
static void batch(arguments w, int info) {
  sgemm_batch_strided(w.ta, w.tb, &w.m, &w.n, &w.k, &one, a, &w.lda, &w.sa, x, &w.ldb, &w.sb, &one, c, &w.ldc, &w.sc,
                      &w.size);
  expect("SGEMM_BATCH_STRIDED", info, 0, 0);
}

static void by_fortran(void) {
  gemm(WITH(ta, "X"), 1), gemm(WITH(tb, "/"), 2), gemm(WITH(m, -1), 3), gemm(WITH(n, -1), 4), gemm(WITH(k, -1), 5);
  gemm(WITH(lda, 1), 8), gemm(WITH(ldb, 3), 10), gemm(WITH(ldc, 1), 13), gemm(WITH(lda, 0), 8);
  gemv(WITH(ta, "U"), 1), gemv(WITH(m, -1), 2), gemv(WITH(n, -1), 3), gemv(WITH(lda, 1), 6), gemv(WITH(incx, 0), 8);
  gemv(WITH(incy, 0), 11);
  syrk(WITH(uplo, "N"), 1), syrk(WITH(ta, "U"), 2), syrk(WITH(n, -1), 3), syrk(WITH(k, -1), 4), syrk(WITH(lda, 2), 7);
  syrk(WITH(ldc, 2), 10);
  batch(WITH(ta, "X"), 1), batch(WITH(tb, "X"), 2), batch(WITH(m, -1), 3), batch(WITH(n, -1), 4), batch(WITH(k, -1), 5);
  batch(WITH(lda, 1), 8), batch(WITH(sa, -1), 9), batch(WITH(ldb, 3), 11), batch(WITH(sb, -1), 12);
  batch(WITH(ldc, 1), 15), batch(WITH(sc, 11), 16), batch(WITH(size, -1), 17);
}

/* Values without a counterpart in Fortran go to cblas_xerbla, sizes to xerbla_ as of the call that netlib's makes. */
static void by_c(void) {
  cblas_sgemm(0, N, N, 2, 2, 2, 1, a, 2, x, 2, 1, c, 2), expect("cblas_sgemm", 1, 1, 0);
  cblas_sgemm(COLUMNS, 0, N, 2, 2, 2, 1, a, 2, x, 2, 1, c, 2), expect("cblas_sgemm", 2, 1, 0);
  cblas_sgemm(ROWS, N, 0, 2, 2, 2, 1, a, 2, x, 2, 1, c, 2), expect("cblas_sgemm", 3, 1, 1);
  cblas_sgemm(COLUMNS, N, N, -1, 2, 2, 1, a, 2, x, 2, 1, c, 2), expect("SGEMM ", 3, 1, 0);
  cblas_sgemm(ROWS, N, N, -1, 2, 2, 1, a, 2, x, 2, 1, c, 2), expect("SGEMM ", 4, 1, 1);
  cblas_sgemm(ROWS, N, N, 2, 2, 4, 1, a, 3, x, 2, 1, c, 2), expect("SGEMM ", 10, 1, 1);
  cblas_sgemv(0, N, 2, 2, 1, a, 2, x, 1, 1, c, 1), expect("cblas_sgemv", 1, 1, 0);
  cblas_sgemv(ROWS, 0, 2, 2, 1, a, 2, x, 1, 1, c, 1), expect("cblas_sgemv", 2, 1, 1);
  cblas_sgemv(ROWS, N, -1, 2, 1, a, 2, x, 1, 1, c, 1), expect("SGEMV ", 3, 1, 1);
  cblas_ssyrk(0, UPPER, N, 2, 2, 1, a, 2, 1, c, 2), expect("cblas_ssyrk", 1, 1, 0);
  cblas_ssyrk(COLUMNS, 0, N, 2, 2, 1, a, 2, 1, c, 2), expect("cblas_ssyrk", 2, 1, 0);
  cblas_ssyrk(ROWS, UPPER, 0, 2, 2, 1, a, 2, 1, c, 2), expect("cblas_ssyrk", 3, 1, 1);
  cblas_ssyrk(ROWS, UPPER, N, 2, 4, 1, a, 2, 1, c, 2), expect("SSYRK ", 7, 1, 1);
  cblas_sgemm_batch_strided(0, N, N, 2, 2, 2, 1, a, 2, 4, x, 2, 4, 1, c, 2, 4, 1),
      expect("cblas_sgemm_batch_strided", 1, 1, 0);
  cblas_sgemm_batch_strided(ROWS, N, N, 2, 2, 2, 1, a, 2, 4, x, 2, 4, 1, c, 2, 3, 2),
      expect("SGEMM_BATCH_STRIDED", 16, 1, 1);
  CHECK(RowMajorStrg == 0 && CBLAS_CallFromC == 0, "netlib's flags stay set");
}

/* Nothing is computed, reported or written. */
static void empty(void) {
  const int zero = 0, two = 2;
  const float none = 0;
  sgemm_("N", "N", &zero, &two, &two, &one, a, &two, x, &two, &none, c, &two);
  sgemm_("N", "N", &two, &two, &zero, &one, a, &two, x, &two, &one, c, &two);
  sgemm_("N", "N", &two, &two, &two, &none, a, &two, x, &two, &one, c, &two);
  sgemv_("N", &two, &zero, &one, a, &two, x, &two, &none, c, &two);
  ssyrk_("U", "N", &two, &zero, &one, a, &two, &one, c, &two);
  CHECK(reports == 0, "%d reports of right arguments", reports);
  CHECK(c[0] == 7.0f && c[1] == 7.0f && c[3] == 7.0f, "C is written");
}

int main(void) {
  for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) c[i] = 7;
  by_fortran();
  by_c();
  empty();
  return checks_end("errors");
}
