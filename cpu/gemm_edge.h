/* SPDX-License-Identifier: Apache-2.0
 * The last column of C, if it would be alone in half a vector. It is a product of rows with a vector: each vector holds
 * one element of several rows of A, which the tiles beside it have brought into the caches. */
#ifndef HX_CPU_GEMM_EDGE_H
#define HX_CPU_GEMM_EDGE_H

#include "cpu/gemm_dots.h"
#include "cpu/gemm_store.h"

#define EDGE_ROWS ((size_t)64) /* of A at a time */
#define EDGE_HALF ((size_t)8)  /* columns of the narrowest tile: half of 64 bytes, all of 32 */

/* The column of sums and that of C. */
typedef struct edge_target {
  float *sums;
  size_t lds;
  float *c;
  size_t ldc;
  float alpha, beta;
  bool add, scaled;
} edge_target;

/* Whether one column is left over when the others fill tiles. Two left-over columns are no faster here. */
GEMM_INLINE bool edge_takes(size_t n) { return GEMM_VL >= EDGE_HALF && n > 4 * EDGE_HALF && n % EDGE_HALF == 1; }

/* Computes one panel of k for m contiguous rows of A and a column of B. */
static void edge_panel(const float *a, size_t a_rs, const float *b, size_t b_rs, size_t m, size_t k,
                       const edge_target *t) {
  float column[HX__PANEL], sums[EDGE_ROWS], old[EDGE_ROWS];
  const float alpha = t->scaled ? t->alpha : 1.0f, beta = t->scaled ? t->beta : 0.0f;
  for (size_t p = 0; p < k; p++) column[p] = b[p * b_rs];
  for (size_t i = 0, mb; i < m; i += mb) {
    mb = least(m - i, EDGE_ROWS);
    dots_sum(1, column, 0, 1, a + i * a_rs, a_rs, mb, k, true, sums, 0);
    float *const s = t->sums + i * t->lds, *const c = t->c + i * t->ldc, *const to = t->scaled ? c : s;
    const size_t ld = t->scaled ? t->ldc : t->lds;
    for (size_t r = 0; t->add && r < mb; r++) sums[r] = s[r * t->lds] + sums[r];
    for (size_t r = 0; beta != 0 && r < mb; r++) old[r] = c[r * t->ldc];
    store_scaled(sums, 0, 1, mb, old, 0, alpha, beta);
    for (size_t r = 0; r < mb; r++) to[r * ld] = old[r];
  }
}

#endif
