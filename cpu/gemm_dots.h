/* SPDX-License-Identifier: Apache-2.0
 * Products of very few rows with columns that are contiguous along k: lanes are columns, transposed in registers. A
 * chain of fma takes four cycles a step, so several vectors of columns, or panels of k, go at once. */
#ifndef HX_CPU_GEMM_DOTS_H
#define HX_CPU_GEMM_DOTS_H

#include "cpu/cpu.h"
#include "cpu/gemm_pack.h"

#define GEMM_ROWS ((size_t)4)                 /* rows this path takes */
#define DOTS_VECTORS (GEMM_VL < 16 ? 4u : 2u) /* at once: 32 columns */
#define DOTS_NEAR ((size_t)2 << 20)           /* floats of B that a cache may hold: beyond, few columns at a time */

/* One panel of each of `panels` x `vectors`, k steps from p on, of columns ld apart; `depth` steps of one vector, then
 * of the next. All but the strides and k are constants. acc[z * vectors + v][i] */
GEMM_INLINE void dots_panels(const size_t m, const size_t vectors, const size_t panels, const size_t depth,
                             const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t k,
                             vf acc[][GEMM_ROWS]) {
  const float *quad[4 * 4]; /* the first of each four columns */
  const size_t ld_2 = 2 * ld, ld_3 = 3 * ld, quads = vectors * GEMM_VL / 4;
  GEMM_UNROLL for (size_t g = 0; g < quads; g++) quad[g] = b + 4 * g * ld;
  GEMM_UNROLL for (size_t c = 0; c < panels * vectors; c++) {
    GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[c][i] = (vf){0};
  }
  size_t p = 0;
  for (; p + depth <= k; p += depth, a += depth * a_cs) {
    GEMM_UNROLL for (size_t c = 0; c < panels * vectors; c++) {
      const size_t first = c % vectors * (GEMM_VL / 4), z = c / vectors * HX__PANEL;
      GEMM_UNROLL for (size_t q = 0; q < depth; q += 4) {
        const float *row[GEMM_VL];
        vf x[4];
        GEMM_UNROLL for (size_t g = 0; g < GEMM_VL / 4; g++) {
          const float *const at = quad[first + g] + z + q;
          row[4 * g] = at, row[4 * g + 1] = at + ld, row[4 * g + 2] = at + ld_2, row[4 * g + 3] = at + ld_3;
        }
        load_transposed(row, 0, 4, x);
        GEMM_UNROLL for (size_t r = 0; r < 4; r++) {
          GEMM_UNROLL for (size_t i = 0; i < m; i++) {
            acc[c][i] = vf_fma(vf_set1(a[i * a_rs + (z + q + r) * a_cs]), x[r], acc[c][i]);
          }
        }
      }
    }
    GEMM_UNROLL for (size_t g = 0; g < quads; g++) quad[g] += depth;
  }
  for (; p < k; p++, a += a_cs) {
    GEMM_UNROLL for (size_t c = 0; c < panels * vectors; c++) {
      const size_t first = c % vectors * GEMM_VL, z = c / vectors * HX__PANEL;
      float x[GEMM_VL];
      for (size_t w = 0; w < GEMM_VL; w++) x[w] = b[(first + w) * ld + z + p];
      GEMM_UNROLL for (size_t i = 0; i < m; i++) {
        acc[c][i] = vf_fma(vf_set1(a[i * a_rs + z * a_cs]), vf_load(x), acc[c][i]);
      }
    }
  }
}

/* All of k over the whole groups of columns among n; returns how many columns that are. */
GEMM_INLINE size_t dots(const size_t m, const size_t vectors, const size_t panels, const size_t depth, const float *a,
                        size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t n, size_t k, float *sums,
                        size_t lds) {
  size_t j = 0;
  for (; j + vectors * GEMM_VL <= n; j += vectors * GEMM_VL, b += vectors * GEMM_VL * ld) {
    vf sum[4][GEMM_ROWS] = {{{0}}}, acc[4][GEMM_ROWS];
    size_t p = 0;
    for (; k >= panels * HX__PANEL && p <= k - panels * HX__PANEL; p += panels * HX__PANEL) {
      dots_panels(m, vectors, panels, depth, a + p * a_cs, a_rs, a_cs, b + p, ld, HX__PANEL, acc);
      GEMM_UNROLL for (size_t c = 0; c < panels * vectors; c++) {
        GEMM_UNROLL for (size_t i = 0; i < m; i++) {
          vf *const s = &sum[c % vectors][i];
          *s = p == 0 && c < vectors ? acc[c][i] : *s + acc[c][i];
        }
      }
    }
    for (size_t kc; p < k; p += kc) {
      kc = least(k - p, HX__PANEL);
      dots_panels(m, vectors, 1, depth, a + p * a_cs, a_rs, a_cs, b + p, ld, kc, acc);
      GEMM_UNROLL for (size_t v = 0; v < vectors; v++) {
        GEMM_UNROLL for (size_t i = 0; i < m; i++) sum[v][i] = p == 0 ? acc[v][i] : sum[v][i] + acc[v][i];
      }
    }
    GEMM_UNROLL for (size_t v = 0; v < vectors; v++) {
      GEMM_UNROLL for (size_t i = 0; i < m; i++) vf_store(sums + i * lds + j + v * GEMM_VL, sum[v][i]);
    }
  }
  return j;
}

/* Fewer columns than a vector has: lane by lane. sums has a whole vector. */
static void dots_few(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t n, size_t k,
                     float *sums, size_t lds) {
  for (size_t p = 0; p < k; p += HX__PANEL) {
    vf acc[GEMM_ROWS] = {{0}};
    for (size_t q = p; q < least(k, p + HX__PANEL); q++) {
      float x[GEMM_VL];
      for (size_t w = 0; w < GEMM_VL; w++) x[w] = b[least(w, n - 1) * ld + q];
      for (size_t i = 0; i < m; i++) acc[i] = vf_fma(vf_set1(a[i * a_rs + q * a_cs]), vf_load(x), acc[i]);
    }
    for (size_t i = 0; i < m; i++) vf_store(sums + i * lds, p ? vf_load(sums + i * lds) + acc[i] : acc[i]);
  }
}

/* Columns a multiple of 4 KB apart share a set of L1, and two panels use two: a line of each column is used whole. */
static size_t dots_groups(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t n,
                          size_t k, bool near, float *sums, size_t lds) {
  const bool shared_set = ld % 1024 == 0;
  if (m == 1 && shared_set && near) return dots(1, 1, 2, 8, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 1 && !shared_set && near && n >= DOTS_VECTORS * GEMM_VL)
    return dots(1, DOTS_VECTORS, 1, 4, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 1) return dots(1, 2, 1, 16, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 2 && shared_set) return dots(2, 1, 1, 16, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 2) return dots(2, 2, 1, 4, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 3) return dots(3, 1, 1, 16, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  return dots(4, 1, 1, 16, a, a_rs, a_cs, b, ld, n, k, sums, lds);
}

/* near: B may be in a cache. What is left of n after whole groups is done by vectors, the last one beginning among
 * columns that are done: the same sums once more. */
static void dots_sum(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t n, size_t k,
                     bool near, float *sums, size_t lds) {
  if (n < GEMM_VL) {
    dots_few(m, a, a_rs, a_cs, b, ld, n, k, sums, lds);
    return;
  }
  for (size_t j = dots_groups(m, a, a_rs, a_cs, b, ld, n, k, near, sums, lds); j < n; j += GEMM_VL) {
    const size_t at = least(j, n - GEMM_VL);
    if (m == 1) dots(1, 1, 2, 8, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
    if (m == 2) dots(2, 1, 1, 16, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
    if (m == 3) dots(3, 1, 1, 16, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
    if (m == 4) dots(4, 1, 1, 16, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
  }
}

#endif
