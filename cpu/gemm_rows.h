/* SPDX-License-Identifier: Apache-2.0
 * Products of very few rows, or of very few columns (then seen as their transpose): bound by reading B once. Rows of
 * B that are contiguous are streamed in address order, several at a time, over a block of sums that stays in L1; other
 * layouts are packed a strip at a time. */
#ifndef HX_CPU_GEMM_ROWS_H
#define HX_CPU_GEMM_ROWS_H

#include "cpu/cpu.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_store.h"

#define GEMM_ROWS ((size_t)4)         /* rows this path takes */
#define GEMM_ROWS_SUMS ((size_t)4096) /* floats of a block of sums */

/* Adds `depth` rows of B: sums(i,j) = fma(a(i,q), b(q,j), sums(i,j)), q ascending. sums has whole vectors. */
GEMM_INLINE void rows_step(const size_t m, const size_t depth, const float *a, size_t a_rs, size_t a_cs, const float *b,
                           size_t b_rs, size_t n, float *sums, size_t lds) {
  vf av[GEMM_ROWS][8];
  GEMM_UNROLL for (size_t i = 0; i < m; i++) {
    GEMM_UNROLL for (size_t q = 0; q < depth; q++) av[i][q] = vf_set1(a[i * a_rs + q * a_cs]);
  }
  for (size_t j = 0; j < n; j += GEMM_VL) {
    vf acc[GEMM_ROWS];
    GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_load(sums + i * lds + j);
    if (n - j >= GEMM_VL) {
      GEMM_UNROLL for (size_t q = 0; q < depth; q++) {
        const vf bv = vf_load(b + q * b_rs + j);
        GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_fma(av[i][q], bv, acc[i]);
      }
    } else {
      const vf_mask mask = vf_mask_of(n - j);
      GEMM_UNROLL for (size_t q = 0; q < depth; q++) {
        const vf bv = vf_load_mask(b + q * b_rs + j, mask);
        GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_fma(av[i][q], bv, acc[i]);
      }
    }
    GEMM_UNROLL for (size_t i = 0; i < m; i++) vf_store(sums + i * lds + j, acc[i]);
  }
}

GEMM_INLINE void rows_panel(const size_t m, const size_t depth, const float *a, size_t a_rs, size_t a_cs,
                            const float *b, size_t b_rs, size_t n, size_t k, float *sums, size_t lds) {
  for (size_t i = 0; i < m; i++) memset(sums + i * lds, 0, round_up(n, GEMM_VL) * sizeof *sums);
  size_t p = 0;
  for (; p + depth <= k; p += depth) rows_step(m, depth, a + p * a_cs, a_rs, a_cs, b + p * b_rs, b_rs, n, sums, lds);
  for (; p < k; p++) rows_step(m, 1, a + p * a_cs, a_rs, a_cs, b + p * b_rs, b_rs, n, sums, lds);
}

/* `depth` steps of k of a vector of columns that are contiguous along k. */
GEMM_INLINE void dots_step(const size_t m, const size_t depth, const float *a, size_t a_rs, size_t a_cs,
                           const float *const column[], size_t p, vf acc[]) {
  vf x[GEMM_TRANSPOSE];
  load_transposed(column, p, depth, x);
  GEMM_UNROLL for (size_t q = 0; q < depth; q++) {
    GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_fma(vf_set1(a[i * a_rs + (p + q) * a_cs]), x[q], acc[i]);
  }
}

/* One panel, k in [p, end), of `vectors` vectors of columns, `depth` steps of one and of the next. */
GEMM_INLINE void dots_panel(const size_t m, const size_t vectors, const size_t depth, const float *a, size_t a_rs,
                            size_t a_cs, const float *const column[], size_t p, size_t end, vf acc[][GEMM_ROWS]) {
  GEMM_UNROLL for (size_t v = 0; v < vectors; v++) { GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[v][i] = (vf){0}; }
  for (; p + depth <= end; p += depth) {
    GEMM_UNROLL for (size_t v = 0; v < vectors; v++) {
      GEMM_UNROLL for (size_t q = 0; q < depth; q += GEMM_TRANSPOSE)
          dots_step(m, GEMM_TRANSPOSE, a, a_rs, a_cs, column + v * GEMM_VL, p + q, acc[v]);
    }
  }
  for (; p < end; p++) {
    GEMM_UNROLL for (size_t v = 0; v < vectors; v++) {
      float x[GEMM_VL];
      for (size_t w = 0; w < GEMM_VL; w++) x[w] = column[v * GEMM_VL + w][p];
      GEMM_UNROLL for (size_t i = 0; i < m; i++) {
        acc[v][i] = vf_fma(vf_set1(a[i * a_rs + p * a_cs]), vf_load(x), acc[v][i]);
      }
    }
  }
}

/* All of k over n columns, each read from end to end: lanes are columns, transposed in registers. Missing columns
 * repeat the last one. Prefetches, copies to a near buffer and more vectors at once: measured, all slower. */
GEMM_INLINE void dots(const size_t m, const size_t vectors, const float *a, size_t a_rs, size_t a_cs, const float *b,
                      size_t b_cs, size_t n, size_t k, float *sums, size_t lds) {
  for (size_t j = 0; j < n; j += vectors * GEMM_VL) {
    const float *column[2 * GEMM_VL];
    vf sum[2][GEMM_ROWS], acc[2][GEMM_ROWS];
    for (size_t w = 0; w < vectors * GEMM_VL; w++) column[w] = b + least(j + w, n - 1) * b_cs;
    dots_panel(m, vectors, vectors == 1 ? 16 : GEMM_TRANSPOSE, a, a_rs, a_cs, column, 0, least(k, HX__PANEL), sum);
    for (size_t p = HX__PANEL; p < k; p += HX__PANEL) {
      dots_panel(m, vectors, vectors == 1 ? 16 : GEMM_TRANSPOSE, a, a_rs, a_cs, column, p, p + least(HX__PANEL, k - p),
                 acc);
      GEMM_UNROLL for (size_t v = 0; v < vectors; v++) {
        GEMM_UNROLL for (size_t i = 0; i < m; i++) sum[v][i] += acc[v][i];
      }
    }
    for (size_t v = 0; v < vectors && j + v * GEMM_VL < n; v++) {
      GEMM_UNROLL for (size_t i = 0; i < m; i++) vf_store(sums + i * lds + j + v * GEMM_VL, sum[v][i]);
    }
  }
}

static void dots_sum(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t b_cs, size_t n,
                     size_t k, float *sums, size_t lds) {
  /* Columns a multiple of 4 KB apart share a set of L1: a line of each is used whole, and no more than 8 at a time. */
  const bool shared_set = b_cs % 1024 == 0;
  if (m == 1 && shared_set) dots(1, 1, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
  if (m == 1 && !shared_set) dots(1, 2, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
  if (m == 2 && shared_set) dots(2, 1, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
  if (m == 2 && !shared_set) dots(2, 2, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
  if (m == 3) dots(3, 1, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
  if (m == 4) dots(4, 1, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
}

/* One panel of k over n columns into sums; strip: GEMM_NR * k floats for packing. */
static void rows_sum(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t b_rs, size_t b_cs,
                     size_t n, size_t k, float *sums, size_t lds, float *strip) {
  if (b_cs == 1) {
    if (m == 1) rows_panel(1, 8, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 2) rows_panel(2, 8, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 3) rows_panel(3, 4, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 4) rows_panel(4, 4, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
  } else {
    for (size_t j = 0; j < n; j += GEMM_NR) {
      const size_t nr = least(GEMM_NR, n - j);
      pack_b(b + j * b_cs, b_rs, b_cs, k, nr, strip);
      const tile_args t = {
          .k = k, .a = a, .a_rs = a_rs, .a_cs = a_cs, .b = strip, .b_rs = GEMM_NR, .nr = nr, .d = sums + j, .ldd = lds};
      tile_table[tile_vectors(nr) - 1][m - 1](&t);
    }
  }
}

static size_t rows_scratch_floats(size_t m, size_t n, size_t k) {
  const size_t columns = m > n ? m : n; /* either may be what is seen as columns */
  return 2 * least(GEMM_ROWS_SUMS, GEMM_ROWS * round_up(least(columns, GEMM_ROWS_SUMS), GEMM_VL)) +
         GEMM_NR * least(k, HX__PANEL);
}

static bool rows_takes(const hx__gemm *g) { return g->m <= GEMM_ROWS || g->n <= GEMM_ROWS; }

static void gemm_rows(const hx__gemm *g, float *scratch) {
  const bool swap = g->m > GEMM_ROWS; /* few columns: C' = B' A' */
  const size_t m = swap ? g->n : g->m, n = swap ? g->m : g->n;
  const float *a = swap ? g->b : g->a, *b = swap ? g->a : g->b;
  const size_t a_rs = swap ? g->b_cs : g->a_rs, a_cs = swap ? g->b_rs : g->a_cs;
  const size_t b_rs = swap ? g->a_cs : g->b_rs, b_cs = swap ? g->a_rs : g->b_cs;
  const size_t c_cs = swap ? g->ldc : 1, columns = GEMM_ROWS_SUMS / m / GEMM_VL * GEMM_VL;
  const size_t lds = least(columns, round_up(n, GEMM_VL));
  float *const sums = scratch, *const panel = sums + m * lds, *const strip = panel + m * lds;
  for (size_t j = 0; j < n; j += columns) {
    const size_t nb = least(columns, n - j);
    if (b_rs == 1 && b_cs != 1) dots_sum(m, a, a_rs, a_cs, b + j * b_cs, b_cs, nb, g->k, sums, lds);
    for (size_t p = b_rs == 1 && b_cs != 1 ? g->k : 0; p < g->k; p += HX__PANEL) {
      rows_sum(m, a + p * a_cs, a_rs, a_cs, b + p * b_rs + j * b_cs, b_rs, b_cs, nb, least(HX__PANEL, g->k - p),
               p ? panel : sums, lds, strip);
      for (size_t i = 0; p && i < m * lds; i += GEMM_VL) vf_store(sums + i, vf_load(sums + i) + vf_load(panel + i));
    }
    float *const c = g->c + j * c_cs;
    if (c_cs == 1) {
      store_scaled(sums, lds, m, nb, c, g->ldc, g->alpha, g->beta);
      continue;
    }
    for (size_t q = 0; g->beta != 0 && q < m; q++) {
      for (size_t i = 0; i < nb; i++) panel[q * lds + i] = c[i * c_cs + q];
    }
    store_scaled(sums, lds, m, nb, panel, lds, g->alpha, g->beta);
    for (size_t i = 0; i < nb; i++) {
      for (size_t q = 0; q < m; q++) c[i * c_cs + q] = panel[q * lds + i];
    }
  }
}

#endif
