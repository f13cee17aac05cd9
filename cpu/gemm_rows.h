/* SPDX-License-Identifier: Apache-2.0
 * Products of very few rows, and of one column (then seen as its transpose, one row): bound by reading B once. Rows of
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

/* `depth` steps of k, from p on, of a vector of columns that are contiguous along k. */
GEMM_INLINE void dots_step(const size_t m, const size_t depth, const float *a, size_t a_rs, size_t a_cs,
                           const float *const column[], size_t p, vf acc[]) {
  vf x[GEMM_TRANSPOSE];
  load_transposed(column, p, depth, x);
  GEMM_UNROLL for (size_t q = 0; q < depth; q++) {
    GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_fma(vf_set1(a[i * a_rs + (p + q) * a_cs]), x[q], acc[i]);
  }
}

/* One panel: lanes are columns, transposed in registers. Missing columns repeat the last one. */
GEMM_INLINE void dots_panel(const size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t b_cs,
                            size_t n, size_t k, float *sums, size_t lds) {
  for (size_t j = 0; j < n; j += GEMM_VL) {
    const float *column[GEMM_VL];
    vf acc[GEMM_ROWS];
    for (size_t w = 0; w < GEMM_VL; w++) column[w] = b + least(j + w, n - 1) * b_cs;
    GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = (vf){0};
    size_t p = 0;
    for (; p + GEMM_TRANSPOSE <= k; p += GEMM_TRANSPOSE) dots_step(m, GEMM_TRANSPOSE, a, a_rs, a_cs, column, p, acc);
    for (; p + 4 <= k; p += 4) dots_step(m, 4, a, a_rs, a_cs, column, p, acc);
    for (; p < k; p++) {
      float x[GEMM_VL];
      for (size_t w = 0; w < GEMM_VL; w++) x[w] = column[w][p];
      GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_fma(vf_set1(a[i * a_rs + p * a_cs]), vf_load(x), acc[i]);
    }
    GEMM_UNROLL for (size_t i = 0; i < m; i++) vf_store(sums + i * lds + j, acc[i]);
  }
}

/* One panel of k over n columns into sums; strip: GEMM_NR * k floats for packing. */
static void rows_sum(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t b_rs, size_t b_cs,
                     size_t n, size_t k, float *sums, size_t lds, float *strip) {
  if (b_cs == 1) {
    if (m == 1) rows_panel(1, 8, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 2) rows_panel(2, 8, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 3) rows_panel(3, 4, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 4) rows_panel(4, 4, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
  } else if (b_rs == 1) {
    if (m == 1) dots_panel(1, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
    if (m == 2) dots_panel(2, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
    if (m == 3) dots_panel(3, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
    if (m == 4) dots_panel(4, a, a_rs, a_cs, b, b_cs, n, k, sums, lds);
  } else {
    for (size_t j = 0; j < n; j += GEMM_NR) {
      const size_t nr = least(GEMM_NR, n - j);
      pack_b(b + j * b_cs, b_rs, b_cs, k, nr, strip);
      const tile_args t = {k, a, a_rs, a_cs, strip, GEMM_NR, nr, sums + j, lds, false};
      tile_table[tile_vectors(nr) - 1][m - 1](&t);
    }
  }
}

static size_t rows_scratch_floats(size_t m, size_t n, size_t k) {
  const size_t columns = m > n ? m : n; /* either may be what is seen as columns */
  return 2 * least(GEMM_ROWS_SUMS, GEMM_ROWS * round_up(least(columns, GEMM_ROWS_SUMS), GEMM_VL)) +
         GEMM_NR * least(k, HX__PANEL);
}

static bool rows_takes(const hx__gemm *g) { return g->m <= GEMM_ROWS || g->n == 1; }

static void gemm_rows(const hx__gemm *g, float *scratch) {
  const bool swap = g->m > GEMM_ROWS; /* one column: C' = B' A' */
  const size_t m = swap ? 1 : g->m, n = swap ? g->m : g->n;
  const float *a = swap ? g->b : g->a, *b = swap ? g->a : g->b;
  const size_t a_rs = swap ? g->b_cs : g->a_rs, a_cs = swap ? g->b_rs : g->a_cs;
  const size_t b_rs = swap ? g->a_cs : g->b_rs, b_cs = swap ? g->a_rs : g->b_cs;
  const size_t c_cs = swap ? g->ldc : 1, columns = GEMM_ROWS_SUMS / m / GEMM_VL * GEMM_VL;
  const size_t lds = least(columns, round_up(n, GEMM_VL));
  float *const sums = scratch, *const panel = sums + m * lds, *const strip = panel + m * lds;
  for (size_t j = 0; j < n; j += columns) {
    const size_t nb = least(columns, n - j);
    for (size_t p = 0; p < g->k; p += HX__PANEL) {
      rows_sum(m, a + p * a_cs, a_rs, a_cs, b + p * b_rs + j * b_cs, b_rs, b_cs, nb, least(HX__PANEL, g->k - p),
               p ? panel : sums, lds, strip);
      for (size_t i = 0; p && i < m * lds; i += GEMM_VL) vf_store(sums + i, vf_load(sums + i) + vf_load(panel + i));
    }
    float *const c = g->c + j * c_cs;
    if (c_cs == 1) {
      store_scaled(sums, lds, m, nb, c, g->ldc, g->alpha, g->beta);
      continue;
    }
    for (size_t i = 0; g->beta != 0 && i < nb; i++) panel[i] = c[i * c_cs];
    store_scaled(sums, lds, 1, nb, panel, lds, g->alpha, g->beta);
    for (size_t i = 0; i < nb; i++) c[i * c_cs] = panel[i];
  }
}

#endif
