/* SPDX-License-Identifier: Apache-2.0
 * Products of very few rows, or of very few columns (computed as their transpose). Their time is that of reading B
 * once. Contiguous rows of B are read in address order, several at a time, over a block of sums that stays in L1; other
 * layouts are packed a strip at a time. */
#ifndef HX_CPU_GEMM_ROWS_H
#define HX_CPU_GEMM_ROWS_H

#include "cpu/cpu.h"
#include "cpu/gemm_bands.h"
#include "cpu/gemm_dots.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_store.h"
#include "runtime/base/thresholds.h"

#define GEMM_ROWS_SUMS ((size_t)4096) /* floats of a block of sums */
#define ROWS_DEPTH ((size_t)8)        /* rows of B that rows_step_many adds at a time */
#define GEMM_ROWS_NEAR ((size_t)4096) /* floats of scratch on the stack of a small call, without gaps */
#define GEMM_ROWS_GAP ((size_t)16)    /* floats, a cache line */
#define GEMM_ROWS_GAPS (2 * GEMM_ROWS_SHARED * GEMM_ROWS_GAP + HX__PAGE / sizeof(float)) /* in all of the scratch */

/* Adds `depth` rows of B: sums(i,j) = fma(a(i,q), b(q,j), sums(i,j)) for ascending q. Rows of sums consist of full
 * vectors. */
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

/* The same for more rows, whose elements of A are read from memory again for each vector of columns. */
GEMM_INLINE void rows_step_many(const size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t b_rs,
                                size_t n, float *sums, size_t lds) {
  float x[ROWS_DEPTH][GEMM_ROWS_SHARED];
  for (size_t q = 0; q < ROWS_DEPTH; q++) {
    for (size_t i = 0; i < m; i++) x[q][i] = a[i * a_rs + q * a_cs];
  }
  for (size_t j = 0; j < n; j += GEMM_VL) {
    const vf_mask mask = vf_mask_of(least(n - j, GEMM_VL));
    vf acc[GEMM_ROWS_SHARED];
    GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_load(sums + i * lds + j);
    GEMM_UNROLL for (size_t q = 0; q < ROWS_DEPTH; q++) {
      const vf bv = n - j >= GEMM_VL ? vf_load(b + q * b_rs + j) : vf_load_mask(b + q * b_rs + j, mask);
      GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_fma(vf_set1(x[q][i]), bv, acc[i]);
    }
    GEMM_UNROLL for (size_t i = 0; i < m; i++) vf_store(sums + i * lds + j, acc[i]);
  }
}

static void rows_panel_many(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t b_rs, size_t n,
                            size_t k, float *sums, size_t lds) {
  for (size_t i = 0; i < m; i++) memset(sums + i * lds, 0, round_up(n, GEMM_VL) * sizeof *sums);
  size_t p = 0;
  for (; p + ROWS_DEPTH <= k; p += ROWS_DEPTH, a += ROWS_DEPTH * a_cs, b += ROWS_DEPTH * b_rs) {
    if (m == 5) rows_step_many(5, a, a_rs, a_cs, b, b_rs, n, sums, lds);
    if (m == 6) rows_step_many(6, a, a_rs, a_cs, b, b_rs, n, sums, lds);
    if (m == 7) rows_step_many(7, a, a_rs, a_cs, b, b_rs, n, sums, lds);
    if (m == 8) rows_step_many(8, a, a_rs, a_cs, b, b_rs, n, sums, lds);
  }
  for (; p < k; p++, a += a_cs, b += b_rs) {
    for (size_t i = 0; i < m; i++) rows_step(1, 1, a + i * a_rs, 0, 0, b, b_rs, n, sums + i * lds, lds);
  }
}

GEMM_INLINE void rows_panel(const size_t m, const size_t depth, const float *a, size_t a_rs, size_t a_cs,
                            const float *b, size_t b_rs, size_t n, size_t k, float *sums, size_t lds) {
  for (size_t i = 0; i < m; i++) memset(sums + i * lds, 0, round_up(n, GEMM_VL) * sizeof *sums);
  size_t p = 0;
  for (; p + depth <= k; p += depth) rows_step(m, depth, a + p * a_cs, a_rs, a_cs, b + p * b_rs, b_rs, n, sums, lds);
  for (; p < k; p++) rows_step(m, 1, a + p * a_cs, a_rs, a_cs, b + p * b_rs, b_rs, n, sums, lds);
}

/* Computes one panel of k for n columns into sums. strip: GEMM_NR * k floats for packing. */
static void rows_sum(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t b_rs, size_t b_cs,
                     size_t n, size_t k, float *sums, size_t lds, float *strip) {
  if (b_cs == 1) {
    if (m == 1) rows_panel(1, 8, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 2) rows_panel(2, 8, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 3) rows_panel(3, 4, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m == 4) rows_panel(4, 4, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
    if (m > 4) rows_panel_many(m, a, a_rs, a_cs, b, b_rs, n, k, sums, lds);
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

/* The floats from one row of sums to the next. Rows that are a multiple of 2 KB apart would share sets of L1. */
GEMM_INLINE size_t rows_sums_apart(size_t columns) { return columns % 512 ? columns : columns + GEMM_ROWS_GAP; }

static size_t rows_scratch_floats(size_t m, size_t n, size_t k) {
  const size_t columns = m > n ? m : n; /* after transposing, either may be the columns */
  return 2 * least(GEMM_ROWS_SUMS, GEMM_ROWS_SHARED * round_up(least(columns, GEMM_ROWS_SUMS), GEMM_VL)) +
         GEMM_ROWS_GAPS + GEMM_NR * least(k, HX__PANEL);
}

/* A tile would read a line or two of a row of B and go on to the next row. If these share sets of the caches, what was
 * prefetched is lost, so rows are read one after the other, unless they are read in bands. Without AVX-512, Intel's
 * cores also read rows one after the other faster than bands that two tiles use (docs/measurements/cpu-bands-far.tsv).
 */
static bool rows_shared(const hx__gemm *g) {
  if (g->m <= GEMM_ROWS || g->m > GEMM_ROWS_SHARED || g->n <= GEMM_ROWS || g->b_cs != 1) return false;
  if (g->n * g->k <= HX__NEAR_FLOATS) return false; /* B is an array, so this does not overflow; k may be 0 */
  if (HX__V_BYTES == 32 && g->m > GEMM_MR && g->b_rs >= GEMM_BAND_FAR && !hx__cpu_prefetches()) return true;
  return rows_share_sets(g->b_rs) && !has_bands(g->m, g->b_rs, g->k);
}

static bool rows_takes(const hx__gemm *g) { return g->m <= GEMM_ROWS || g->n <= GEMM_ROWS || rows_shared(g); }

/* Whether C has few columns: its transpose is computed. */
static bool rows_swaps(const hx__gemm *g) { return g->m > GEMM_ROWS && !rows_shared(g); }

static void gemm_rows(const hx__gemm *g, float *scratch) {
  const bool swap = rows_swaps(g);
  const size_t m = swap ? g->n : g->m, n = swap ? g->m : g->n;
  const float *a = swap ? g->b : g->a, *b = swap ? g->a : g->b;
  const size_t a_rs = swap ? g->b_cs : g->a_rs, a_cs = swap ? g->b_rs : g->a_cs;
  const size_t b_rs = swap ? g->a_cs : g->b_rs, b_cs = swap ? g->a_rs : g->b_cs;
  const size_t c_cs = swap ? g->ldc : 1, columns = GEMM_ROWS_SUMS / m / GEMM_VL * GEMM_VL;
  const size_t lds = rows_sums_apart(least(columns, round_up(n, GEMM_VL)));
  const hx__locality reach =
      dots_reach(least(SIZE_MAX / sizeof *b / g->k, g->full_extent > n ? g->full_extent : n) * g->k);
  float *const sums = hx__half_a_page_from(scratch, b), *const panel = sums + m * lds, *const strip = panel + m * lds;
  for (size_t j = 0; j < n; j += columns) {
    const size_t nb = least(columns, n - j);
    if (b_rs == 1 && b_cs != 1) dots_sum(m, a, a_rs, a_cs, b + j * b_cs, b_cs, nb, g->k, reach, sums, lds);
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

/* Whether GEMM_ROWS_NEAR floats are enough scratch: B is not packed then. */
static bool rows_near(const hx__gemm *g) {
  const bool swap = rows_swaps(g);
  const size_t m = swap ? g->n : g->m, n = swap ? g->m : g->n;
  const bool contiguous = swap ? g->a_rs == 1 || g->a_cs == 1 : g->b_rs == 1 || g->b_cs == 1;
  return rows_takes(g) && contiguous && n <= GEMM_ROWS_NEAR && 2 * m * round_up(n, GEMM_VL) <= GEMM_ROWS_NEAR;
}

static __attribute__((noinline)) void gemm_rows_near(const hx__gemm *g) {
  float scratch[GEMM_ROWS_NEAR + GEMM_ROWS_GAPS] __attribute__((aligned(64)));
  gemm_rows(g, scratch);
}

#endif
