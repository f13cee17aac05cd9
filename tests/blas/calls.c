/* SPDX-License-Identifier: Apache-2.0
 * calls exact|near [SEED [CASES]]: random calls of the routines that libhx_blas computes, in Fortran's and C's form,
 * from four threads, compared with plain loops. exact: the settings have hx compute each call that it can, so results
 * must have the bits of docs/ARITHMETIC.md (reference/); near: within the error bound of any order of summation.
 * Elements that a routine must not write hold a NaN of their own. Then: flags of the floating-point environment, a
 * forked child, calls while the process ends. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas/blas.h"
#include "reference/data.h"
#include "reference/ref.h"
#include "tests/check.h"

enum { ROWS = 101, COLUMNS = 102, N = 111, T = 112, C = 113, UPPER = 121, LOWER = 122 };

static bool exact;

#define UNTOUCHED 0x7fedcba9u /* the bits of a NaN that no routine stores */

typedef struct dice {
  uint64_t seed, next;
} dice;
static int roll(dice *d, int below) { return (int)(data_u(d->seed, d->next++) % (unsigned)below); }

/* Sizes around the borders of blocks, and small ones. */
static int size_of(dice *d) {
  static const int sizes[] = {1, 2, 3, 7, 16, 31, 33, 64, 100, 191, 192, 193, 257};
  return sizes[roll(d, (int)(sizeof sizes / sizeof sizes[0]))];
}
static float factor_of(dice *d) {
  static const float factors[] = {0, 1, -1, 0.7f};
  return factors[roll(d, 4)];
}

static float *array(dice *d, size_t n) {
  float *const x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++) x[i] = data_f32(DATA_SIGNED, d->seed ^ 77, d->next + i);
  d->next += n;
  return x;
}
static float *blank(size_t n) {
  const uint32_t bits = UNTOUCHED;
  float *const x = malloc((n + 1) * sizeof *x);
  for (size_t i = 0; i < n; i++) memcpy(&x[i], &bits, sizeof bits);
  return x;
}

/* Whether got is the right value: its bits, or within the bound (depth + 3) 2^-23 size, where size is the sum of the
 * absolute values (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1, with twice the unit). */
static bool is_right(float got, float bits, double value, double size, size_t depth, bool by_hx) {
  if (exact && by_hx) return ref_bits(got) == ref_bits(bits);
  return fabs((double)got - value) <= (double)(depth + 3) * 0x1p-23 * size + FLT_MIN;
}

/* Compares the columns x rows elements of C, of leading dimension ld, of which `part` says which are written. */
static void check_matrix(const char *what, const struct hx_matmul_args *g, const float *old, const float *got,
                         size_t total, int part,
                         bool by_hx) { /* by rows; part: 0 all, 1 the lower triangle, -1 the upper one */
  unsigned wrong = 0, touched = 0;
  for (size_t e = 0; e < total; e++) {
    const size_t i = e / g->ldc, j = e % g->ldc;
    const bool in = i < g->m && j < g->n && (part == 0 || (part > 0 ? j <= i : j >= i));
    if (!in) {
      touched += ref_bits(got[e]) != ref_bits(old[e]);
      continue;
    }
    double sum = 0, size = 0;
    for (size_t p = 0; p < g->k; p++) {
      const double a = g->trans_a ? g->a[p * g->lda + i] : g->a[i * g->lda + p];
      const double b = g->trans_b ? g->b[j * g->ldb + p] : g->b[p * g->ldb + j];
      sum += a * b, size += fabs(a * b);
    }
    struct hx_matmul_args before = *g;
    before.c = (float *)(uintptr_t)old;
    const double rest = g->beta == 0 ? 0 : (double)g->beta * old[e];
    wrong += !is_right(got[e], ref_matmul_element(&before, i, j), g->alpha * sum + rest,
                       fabs((double)g->alpha) * size + fabs(rest), g->k, by_hx);
  }
  CHECK(wrong == 0 && touched == 0, "%s: %u of %zux%zux%zu elements are wrong, %u others are written; alpha %g beta %g",
        what, wrong, g->m, g->n, g->k, touched, g->alpha, g->beta);
}

static void one_gemm(dice *d) {
  const int m = size_of(d), n = size_of(d), k = roll(d, 9) ? size_of(d) : 0, from_c = roll(d, 3);
  const bool ta = roll(d, 2), tb = roll(d, 2), by_rows = from_c == 1;
  /* The product by rows; the caller sees it by columns unless by_rows. */
  struct hx_matmul_args g = {.m = (size_t)m, .n = (size_t)n, .k = (size_t)k, .trans_a = ta, .trans_b = tb};
  g.lda = (size_t)(ta ? m : k) + (size_t)roll(d, 5), g.ldb = (size_t)(tb ? k : n) + (size_t)roll(d, 5);
  if (!g.lda) g.lda = 1;
  if (!g.ldb) g.ldb = 1;
  g.ldc = (size_t)n + (size_t)roll(d, 5), g.alpha = factor_of(d), g.beta = factor_of(d);
  const size_t total = g.m * g.ldc;
  float *const a = array(d, (size_t)(ta ? k : m) * g.lda), *const b = array(d, (size_t)(tb ? n : k) * g.ldb);
  float *const c = g.beta == 0 ? blank(total) : array(d, total), *const old = malloc(total * sizeof *old + 1);
  memcpy(old, c, total * sizeof *c);
  g.a = a, g.b = b, g.c = c;
  const int lda = (int)g.lda, ldb = (int)g.ldb, ldc = (int)g.ldc;
  if (by_rows)
    cblas_sgemm(ROWS, ta ? T : N, tb ? C : N, m, n, k, g.alpha, a, lda, b, ldb, g.beta, c, ldc);
  else if (from_c)
    cblas_sgemm(COLUMNS, tb ? T : N, ta ? T : N, n, m, k, g.alpha, b, ldb, a, lda, g.beta, c, ldc);
  else
    sgemm_(tb ? "t" : "N", ta ? "C" : "n", &n, &m, &k, &g.alpha, b, &ldb, a, &lda, &g.beta, c, &ldc);
  const bool empty = (g.alpha == 0 || k == 0) && g.beta == 1;
  check_matrix("sgemm", &g, old, c, total, 0, !empty);
  free(a), free(b), free(c), free(old);
}

static void one_syrk(dice *d) {
  const int n = size_of(d), k = size_of(d), from_c = roll(d, 3);
  const bool trans = roll(d, 2), lower = roll(d, 2);
  /* By rows: op(A) is n x k, and C the product with its transpose. */
  struct hx_matmul_args g = {.m = (size_t)n, .n = (size_t)n, .k = (size_t)k, .trans_a = trans, .trans_b = !trans};
  g.lda = g.ldb = (size_t)(trans ? n : k) + (size_t)roll(d, 5);
  g.ldc = (size_t)n + (size_t)roll(d, 5), g.alpha = factor_of(d), g.beta = factor_of(d);
  const size_t total = g.m * g.ldc;
  float *const a = array(d, (size_t)(trans ? k : n) * g.lda), *const c = array(d, total);
  float *const old = malloc(total * sizeof *old);
  for (size_t i = 0; i < g.m; i++) /* the other triangle, and the triangle if it is not read */
    for (size_t j = 0; j < g.ldc; j++)
      if (g.beta == 0 || (lower ? j > i : j < i) || j >= g.n) memcpy(&c[i * g.ldc + j], &(uint32_t){UNTOUCHED}, 4);
  memcpy(old, c, total * sizeof *c);
  g.a = g.b = a, g.c = c;
  const int lda = (int)g.lda, ldc = (int)g.ldc;
  if (from_c == 1)
    cblas_ssyrk(ROWS, lower ? LOWER : UPPER, trans ? T : N, n, k, g.alpha, a, lda, g.beta, c, ldc);
  else if (from_c)
    cblas_ssyrk(COLUMNS, lower ? UPPER : LOWER, trans ? N : C, n, k, g.alpha, a, lda, g.beta, c, ldc);
  else
    ssyrk_(lower ? "U" : "l", trans ? "n" : "T", &n, &k, &g.alpha, a, &lda, &g.beta, c, &ldc);
  const bool empty = g.alpha == 0 && g.beta == 1;
  check_matrix("ssyrk", &g, old, c, total, lower ? 1 : -1, !empty);
  free(a), free(c), free(old);
}

static int increment(dice *d) { return (const int[]){1, 1, 2, 5, -1, -3}[roll(d, 6)]; }

/* Element i of a vector of BLAS, of which a negative increment makes the last element in memory the first. */
static size_t place(size_t i, size_t n, int inc) { return inc > 0 ? i * (size_t)inc : (n - 1 - i) * (size_t)-inc; }

static void one_gemv(dice *d) {
  const int m = size_of(d), n = size_of(d), incx = increment(d), incy = increment(d), from_c = roll(d, 3);
  const bool trans = roll(d, 2); /* A is m x n by rows */
  const size_t lx = (size_t)(trans ? m : n), ly = (size_t)(trans ? n : m), ax = (size_t)abs(incx),
               ay = (size_t)abs(incy);
  const int lda = n + roll(d, 5);
  const float alpha = factor_of(d), beta = factor_of(d);
  float *const a = array(d, (size_t)m * (size_t)lda), *const x = array(d, lx * ax);
  float *const y = array(d, ly * ay), *const old = malloc(ly * ay * sizeof *old);
  memcpy(old, y, ly * ay * sizeof *y);
  if (from_c == 1)
    cblas_sgemv(ROWS, trans ? T : N, m, n, alpha, a, lda, x, incx, beta, y, incy);
  else if (from_c)
    cblas_sgemv(COLUMNS, trans ? N : T, n, m, alpha, a, lda, x, incx, beta, y, incy);
  else
    sgemv_(trans ? "N" : "c", &n, &m, &alpha, a, &lda, x, &incx, &beta, y, &incy);
  /* The same with vectors without gaps, and what is between them. */
  float *const px = malloc(lx * sizeof *px), *const py = malloc(ly * sizeof *py), *const pold = malloc(ly * sizeof *py);
  for (size_t i = 0; i < lx; i++) px[i] = x[place(i, lx, incx)];
  for (size_t i = 0; i < ly; i++) {
    const size_t at = place(i, ly, incy);
    py[i] = y[at], pold[i] = old[at], y[at] = old[at];
  }
  CHECK(memcmp(y, old, ly * ay * sizeof *y) == 0, "sgemv writes between the elements of y, incy %d", incy);
  const struct hx_matmul_args g = {ly, 1, lx, (size_t)lda, 1, 1, a, px, py, alpha, beta, trans, false};
  check_matrix("sgemv", &g, pold, py, ly, 0, !(alpha == 0 && beta == 1));
  free(a), free(x), free(y), free(old), free(px), free(py), free(pold);
}

static void one_batch(dice *d) {
  const int m = size_of(d) % 40 + 1, n = size_of(d) % 40 + 1, k = size_of(d) % 40 + 1, size = roll(d, 5),
            from_c = roll(d, 3);
  const int stridea = roll(d, 2) ? m * k + roll(d, 9) : 0, strideb = k * n + roll(d, 2),
            stridec = m * n + roll(d, 2) * 3;
  const float alpha = factor_of(d), beta = factor_of(d);
  const size_t count = (size_t)(size ? size : 1), total = count * (size_t)stridec;
  float *const a = array(d, count * (size_t)stridea + (size_t)(m * k)), *const b = array(d, count * (size_t)strideb);
  float *const c = array(d, total), *const old = malloc(total * sizeof *old);
  memcpy(old, c, total * sizeof *c);
  const bool ta = roll(d, 2), tb = roll(d, 2); /* by rows; Fortran's interface gets the operands in reverse */
  const int ct = ta ? T : N, dt = tb ? T : N, lda = ta ? m : k, ldb = tb ? k : n;
  if (from_c == 1)
    cblas_sgemm_batch_strided(ROWS, ct, dt, m, n, k, alpha, a, lda, stridea, b, ldb, strideb, beta, c, n, stridec,
                              size);
  else if (from_c)
    cblas_sgemm_batch_strided(COLUMNS, dt, ct, n, m, k, alpha, b, ldb, strideb, a, lda, stridea, beta, c, n, stridec,
                              size);
  else
    sgemm_batch_strided(tb ? "T" : "N", ta ? "T" : "N", &n, &m, &k, &alpha, b, &ldb, &strideb, a, &lda, &stridea, &beta,
                        c, &n, &stridec, &size);
  for (int i = 0; i < size; i++) {
    const ptrdiff_t at = (ptrdiff_t)i * stridec;
    const struct hx_matmul_args g = {
        (size_t)m,       (size_t)n, (size_t)k, (size_t)lda, (size_t)ldb, (size_t)n, a + i * stridea,
        b + i * strideb, c + at,    alpha,     beta,        ta,          tb};
    check_matrix("sgemm_batch_strided", &g, old + at, c + at, (size_t)(m * n), 0, !(alpha == 0 && beta == 1));
  }
  free(a), free(b), free(c), free(old);
}

/* isamax by netlib's loop. */
static size_t plain_largest(const float *x, size_t n, size_t inc) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++)
    if (fabsf(x[i * inc]) > fabsf(x[best * inc])) best = i;
  return best;
}

static void one_vector(dice *d) {
  static const int lengths[] = {0, 1, 2, 5, 127, 128, 129, 4095, 4096, 4097, 20000, 40001};
  const int n = lengths[roll(d, 12)], incx = increment(d), incy = roll(d, 2) ? incx : increment(d), kind = roll(d, 4);
  const size_t count = (size_t)n, ax = (size_t)abs(incx), ay = (size_t)abs(incy);
  float *const x = array(d, count * ax + 1), *const y = array(d, count * ay + 1);
  double sum = 0, size = 0, abs_sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double product = (double)x[place(i, count, incx)] * y[place(i, count, incy)];
    sum += product, size += fabs(product), abs_sum += fabsf(x[i * ax]);
  }
  const float dot = kind & 1 ? cblas_sdot(n, x, incx, y, incy) : sdot_(&n, x, &incx, y, &incy);
  const float dot_bits = ref_reduce(HX_DOT, HX_F32, x, y, count).f32;
  CHECK(is_right(dot, dot_bits, sum, size, count, incx == incy && ax == 1), "sdot(%d, %d, %d): %.9g, not %.9g", n, incx,
        incy, dot, sum);
  const float total = kind & 1 ? cblas_sasum(n, x, incx) : sasum_(&n, x, &incx);
  const float total_bits = ref_reduce(HX_SUM_ABS, HX_F32, x, NULL, count).f32;
  if (incx < 0) abs_sum = 0;
  CHECK(is_right(total, total_bits, abs_sum, abs_sum, count, incx == 1), "sasum(%d, %d): %.9g, not %.9g", n, incx,
        total, abs_sum);
  if (exact && incx == 1 && n) { /* NaNs, infinities, ties: other libraries differ from netlib in NaNs */
    if (kind > 1) x[roll(d, n)] = NAN;
    if (kind == 3) x[0] = -NAN;
    x[roll(d, n)] = 3, x[roll(d, n)] = -3;
  }
  const size_t best = n > 0 && incx > 0 ? plain_largest(x, count, ax) : 0;
  const size_t found = kind & 1 ? cblas_isamax(n, x, incx) : (size_t)isamax_(&n, x, &incx);
  const size_t first = kind & 1 || n == 0 || incx < 0 ? 0 : 1;
  CHECK(found == best + first, "isamax(%d, %d): %zu, not %zu", n, incx, found, best + first);
  free(x), free(y);
}

static void *cases(void *argument) {
  dice *const d = argument;
  static void (*const kinds[])(dice *) = {one_gemm, one_syrk, one_gemv, one_batch, one_vector, one_vector};
  for (int i = 0; i < 6; i++) kinds[i](d);
  return NULL;
}

/* ---- Around the call */

static float ones[1 << 20], nans[64];

static void check_flags(void) {
  const int n = 64, inc = 1, side = 8;
  const float one = 1;
  float c[64];
  for (int i = 0; i < n; i++) nans[i] = i % 3 ? INFINITY : NAN;
  feclearexcept(FE_ALL_EXCEPT);
  feraiseexcept(FE_DIVBYZERO);
  sgemm_("N", "N", &side, &side, &side, &one, nans, &side, nans, &side, &one, c, &side);
  ones[0] = sdot_(&n, nans, &inc, nans, &inc);
  const int flags = fetestexcept(FE_ALL_EXCEPT);
  CHECK(!exact || flags == FE_DIVBYZERO, "exception flags are %#x, not FE_DIVBYZERO", (unsigned)flags);
  feclearexcept(FE_ALL_EXCEPT);
}

static void check_child(void) {
  const pid_t child = fork();
  if (child == 0) {
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++) ones[i] = 1;
    _exit(cblas_sasum(1 << 20, ones, 1) == 1 << 20 && cblas_sdot(1 << 20, ones, 1, ones, 1) == 1 << 20 ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  CHECK(status == 0, "a forked child: status %#x", (unsigned)status);
}

static void at_the_end(void) {
  for (int i = 0; i < 1 << 18; i++) ones[i] = 1;
  if (cblas_sasum(1 << 18, ones, 1) != 1 << 18) _exit(1);
}

int main(int count, char **arguments) {
  exact = count > 1 && strcmp(arguments[1], "exact") == 0;
  const uint64_t seed = count > 2 ? strtoull(arguments[2], NULL, 10) : (uint64_t)time(NULL);
  const int rounds = count > 3 ? atoi(arguments[3]) : 40;
  printf("seed %llu\n", (unsigned long long)seed);
  atexit(at_the_end);
  for (int r = 0; r < rounds; r++) {
    pthread_t thread[4];
    dice d[4];
    for (int t = 0; t < 4; t++) {
      d[t] = (dice){seed + (uint64_t)(r * 4 + t) * 1000003, 0};
      if (pthread_create(&thread[t], NULL, cases, &d[t]) != 0) return puts("no thread"), 1;
    }
    for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
  }
  check_flags();
  check_child();
  return checks_end("calls");
}
