/* SPDX-License-Identifier: Apache-2.0
 * Products of very few rows with columns that are contiguous along k. A vector holds one element of each of several
 * columns, which are transposed in registers. Each step of a chain of fma takes four cycles, so several vectors of
 * columns, or several panels of k, are computed at the same time. */
#ifndef HX_CPU_GEMM_DOTS_H
#define HX_CPU_GEMM_DOTS_H

#include "cpu/cpu.h"
#include "cpu/gemm_pack.h"

#define GEMM_ROWS ((size_t)4)                         /* the most rows that these functions compute */
#define DOTS_VECTORS ((size_t)(GEMM_VL < 16 ? 4 : 2)) /* vectors of columns at once: 32 columns */
#define DOTS_MOST 5                                   /* vectors, or vectors by panels, at once */
/* From so many floats ahead on, columns are prefetched into the second cache instead of the first. */
#define DOTS_FETCH_L2 ((size_t)256)
/* Floats of B up to which it may be in a cache near the core, or in the last-level cache. Of a larger B few columns are
 * read at a time, and prefetched if hx__cpu_prefetches says so. */
#define DOTS_NEAR ((size_t)1 << 19)
#define DOTS_FAR ((size_t)3 << 20)
/* How many columns are read at a time if the CPU itself prefetches enough: docs/measurements/cpu-vectors-xeon.tsv. */
#define DOTS_STREAMS ((size_t)16)

static hx__locality dots_reach(size_t floats) {
  return floats <= DOTS_NEAR ? HX__IN_L2 : floats <= DOTS_FAR ? HX__IN_LLC : HX__IN_DRAM;
}

/* The shape of a group of columns. All members are compile-time constants. */
typedef struct dots_shape {
  size_t m, vectors, panels; /* rows of C, vectors of columns, and panels of k at once */
  size_t depth, run;         /* depth: steps of k of an iteration; run: steps of one vector before those of the next */
  size_t ahead;              /* how many floats ahead each column is prefetched; 0: not at all */
} dots_shape;

/* Prefetches into the first cache, or from far ahead into the second one. */
GEMM_INLINE void dots_fetch(const float *at, const size_t ahead) {
  if (ahead < DOTS_FETCH_L2)
    __builtin_prefetch(at);
  else
    __builtin_prefetch(at, 0, 2);
}

/* `depth` steps of k of every vector. quad: the first of each four columns; fetch: how many floats ahead they are
 * prefetched */
GEMM_INLINE void dots_step(const dots_shape s, const size_t depth, const float *a, size_t a_rs, size_t a_cs,
                           const float *const quad[], size_t ld, ptrdiff_t fetch, vf acc[][GEMM_ROWS]) {
  const size_t run = least(s.run, depth), turn = least(run, GEMM_TRANSPOSE), ld_2 = 2 * ld, ld_3 = 3 * ld;
  GEMM_UNROLL for (size_t d = 0; d < depth; d += run) {
    GEMM_UNROLL for (size_t c = 0; c < s.panels * s.vectors; c++) {
      const size_t first = c % s.vectors * (GEMM_VL / 4), z = c / s.vectors * HX__PANEL;
      if (s.ahead && depth == s.depth && d == c * run % depth) { /* spread over the iteration */
        GEMM_UNROLL for (size_t g = 0; g < GEMM_VL / 4; g++) {
          const float *const at = quad[first + g] + z + fetch;
          dots_fetch(at, s.ahead), dots_fetch(at + ld, s.ahead);
          dots_fetch(at + ld_2, s.ahead), dots_fetch(at + ld_3, s.ahead);
        }
      }
      GEMM_UNROLL for (size_t q = d; q < d + run; q += turn) {
        const float *row[GEMM_VL];
        vf x[GEMM_TRANSPOSE];
        GEMM_UNROLL for (size_t g = 0; g < GEMM_VL / 4; g++) {
          const float *const at = quad[first + g] + z + q;
          row[4 * g] = at, row[4 * g + 1] = at + ld, row[4 * g + 2] = at + ld_2, row[4 * g + 3] = at + ld_3;
        }
        load_transposed(row, 0, turn, x);
        GEMM_UNROLL for (size_t r = 0; r < turn; r++) {
          GEMM_UNROLL for (size_t i = 0; i < s.m; i++) {
            acc[c][i] = vf_fma(vf_set1(a[i * a_rs + (z + q + r) * a_cs]), x[r], acc[c][i]);
          }
        }
      }
    }
  }
}

/* Computes `panels` panels of k steps for `vectors` vectors of columns, which are ld floats apart in b; the last vector
 * begins with column `last`. The sums are acc[z * vectors + v][i]. What is read after a panel is not what follows it in
 * memory, but begins `jump` floats behind its end. */
GEMM_INLINE void dots_panels(const dots_shape s, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld,
                             size_t last, size_t k, ptrdiff_t jump, vf acc[][GEMM_ROWS]) {
  const float *quad[DOTS_MOST * 4];
  const size_t own = (s.vectors - 1) * GEMM_VL, quads = s.vectors * GEMM_VL / 4;
  GEMM_UNROLL for (size_t g = 0; g < quads; g++) quad[g] = b + (4 * g < own ? 4 * g : last + 4 * g - own) * ld;
  GEMM_UNROLL for (size_t c = 0; c < s.panels * s.vectors; c++) {
    GEMM_UNROLL for (size_t i = 0; i < s.m; i++) acc[c][i] = (vf){0};
  }
  size_t p = 0;
  for (; p + s.depth <= k; p += s.depth, a += s.depth * a_cs) {
    const ptrdiff_t fetch = (ptrdiff_t)s.ahead + (s.ahead >= DOTS_FETCH_L2 && p + s.ahead >= k ? jump : 0);
    dots_step(s, s.depth, a, a_rs, a_cs, quad, ld, fetch, acc);
    GEMM_UNROLL for (size_t g = 0; g < quads; g++) quad[g] += s.depth;
  }
  for (; s.depth > 4 && p + 4 <= k; p += 4, a += 4 * a_cs) {
    dots_step(s, 4, a, a_rs, a_cs, quad, ld, 0, acc);
    GEMM_UNROLL for (size_t g = 0; g < quads; g++) quad[g] += 4;
  }
  for (; p < k; p++, a += a_cs) {
    GEMM_UNROLL for (size_t c = 0; c < s.panels * s.vectors; c++) {
      const size_t first = c % s.vectors * (GEMM_VL / 4), z = c / s.vectors * HX__PANEL;
      vf x = {0};
      GEMM_UNROLL for (size_t w = 0; w < GEMM_VL; w++) x[w] = quad[first + w / 4][w % 4 * ld + z];
      GEMM_UNROLL for (size_t i = 0; i < s.m; i++) {
        acc[c][i] = vf_fma(vf_set1(a[i * a_rs + z * a_cs]), x, acc[c][i]);
      }
    }
    GEMM_UNROLL for (size_t g = 0; g < quads; g++) quad[g]++;
  }
}

/* Computes all of k for one group of columns. After its last panels the next group of columns is read. */
GEMM_INLINE void dots_group(const dots_shape s, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld,
                            size_t last, size_t k, float *sums, size_t lds) {
  const dots_shape one = {s.m, s.vectors, 1, s.depth, s.run, s.ahead};
  const ptrdiff_t group = (ptrdiff_t)(s.vectors * GEMM_VL * ld);
  vf sum[DOTS_MOST][GEMM_ROWS] = {{{0}}}, acc[DOTS_MOST][GEMM_ROWS];
  size_t p = 0;
  for (; k >= s.panels * HX__PANEL && p <= k - s.panels * HX__PANEL; p += s.panels * HX__PANEL) {
    const size_t end = p + s.panels * HX__PANEL;
    const ptrdiff_t jump = end < k ? (ptrdiff_t)(end - p - HX__PANEL) : group - (ptrdiff_t)(p + HX__PANEL);
    dots_panels(s, a + p * a_cs, a_rs, a_cs, b + p, ld, last, HX__PANEL, jump, acc);
    GEMM_UNROLL for (size_t c = 0; c < s.panels * s.vectors; c++) {
      GEMM_UNROLL for (size_t i = 0; i < s.m; i++) {
        vf *const x = &sum[c % s.vectors][i];
        *x = p == 0 && c < s.vectors ? acc[c][i] : *x + acc[c][i];
      }
    }
  }
  for (size_t kc; p < k; p += kc) {
    kc = least(k - p, HX__PANEL);
    const ptrdiff_t jump = p + kc < k ? 0 : group - (ptrdiff_t)k;
    dots_panels(one, a + p * a_cs, a_rs, a_cs, b + p, ld, last, kc, jump, acc);
    GEMM_UNROLL for (size_t v = 0; v < s.vectors; v++) {
      GEMM_UNROLL for (size_t i = 0; i < s.m; i++) sum[v][i] = p == 0 ? acc[v][i] : sum[v][i] + acc[v][i];
    }
  }
  GEMM_UNROLL for (size_t v = 0; v < s.vectors; v++) {
    float *const to = sums + (v + 1 < s.vectors ? v * GEMM_VL : last);
    GEMM_UNROLL for (size_t i = 0; i < s.m; i++) vf_store(to + i * lds, sum[v][i]);
  }
}

/* Computes the full groups of n columns. Returns how many columns these have. */
GEMM_INLINE size_t dots_full_groups(const dots_shape s, const float *a, size_t a_rs, size_t a_cs, const float *b,
                                    size_t ld, size_t n, size_t k, float *sums, size_t lds) {
  const size_t width = s.vectors * GEMM_VL;
  size_t j = 0;
  for (; j + width <= n; j += width) {
    dots_group(s, a, a_rs, a_cs, b + j * ld, ld, width - GEMM_VL, k, sums + j, lds);
  }
  return j;
}

/* Computes fewer columns than a vector has, and the last one once more for the rest of it. sums has room for a full
 * vector. */
GEMM_INLINE void dots_few_rows(const size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld,
                               size_t n, size_t k, float *sums, size_t lds) {
  const float *column[GEMM_VL];
  for (size_t w = 0; w < GEMM_VL; w++) column[w] = b + least(w, n - 1) * ld;
  for (size_t p = 0; p < k; p += HX__PANEL) {
    const size_t end = least(k, p + HX__PANEL);
    vf acc[GEMM_ROWS], x[4];
    GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = (vf){0};
    size_t q = p;
    for (; q + 4 <= end; q += 4) {
      load_transposed(column, q, 4, x);
      GEMM_UNROLL for (size_t r = 0; r < 4; r++) {
        GEMM_UNROLL for (size_t i = 0; i < m; i++) {
          acc[i] = vf_fma(vf_set1(a[i * a_rs + (q + r) * a_cs]), x[r], acc[i]);
        }
      }
    }
    for (; q < end; q++) {
      vf last = {0};
      GEMM_UNROLL for (size_t w = 0; w < GEMM_VL; w++) last[w] = column[w][q];
      GEMM_UNROLL for (size_t i = 0; i < m; i++) acc[i] = vf_fma(vf_set1(a[i * a_rs + q * a_cs]), last, acc[i]);
    }
    GEMM_UNROLL for (size_t i = 0; i < m; i++) {
      vf_store(sums + i * lds, p ? vf_load(sums + i * lds) + acc[i] : acc[i]);
    }
  }
}

static void dots_few(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t n, size_t k,
                     float *sums, size_t lds) {
  if (m == 1) dots_few_rows(1, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 2) dots_few_rows(2, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 3) dots_few_rows(3, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 4) dots_few_rows(4, a, a_rs, a_cs, b, ld, n, k, sums, lds);
}

/* Whether columns that are read at the same time share a few sets of L1: two of them are within `gap` floats of a
 * multiple of 4 KB. */
static bool dots_crowded(size_t ld, size_t gap) {
  const size_t two = 2 * ld % 1024;
  return two < gap || two > 1024 - gap;
}

/* Computes one row with B in a cache. Vectors are grouped so that none is alone, because a single chain would stall.
 * The last vector overlaps columns that are already done. Two lines are prefetched, because B may be in L3. */
static void dots_shared(const float *a, const float *b, size_t ld, size_t n, size_t k, float *sums) {
  for (size_t j = 0, count; j < n; j += count * GEMM_VL) {
    const size_t rest = (n - j + GEMM_VL - 1) / GEMM_VL;
    count = rest <= DOTS_VECTORS + 1 ? rest : rest == DOTS_VECTORS + 2 ? rest / 2 : DOTS_VECTORS;
    const size_t last = least((count - 1) * GEMM_VL, n - j - GEMM_VL);
    const float *const at = b + j * ld;
    float *const to = sums + j;
    if (count == 1) dots_group((dots_shape){1, 1, 2, 8, 8, 0}, a, 0, 1, at, ld, last, k, to, 0);
    if (count == 2) dots_group((dots_shape){1, 2, 1, 16, 4, 32}, a, 0, 1, at, ld, last, k, to, 0);
    if (count == 3) dots_group((dots_shape){1, 3, 1, 16, 4, 32}, a, 0, 1, at, ld, last, k, to, 0);
    if (count == 4) dots_group((dots_shape){1, 4, 1, 16, 4, 32}, a, 0, 1, at, ld, last, k, to, 0);
    if (count == 5) dots_group((dots_shape){1, 5, 1, 16, 4, 32}, a, 0, 1, at, ld, last, k, to, 0);
  }
}

/* Columns that are a multiple of 4 KB apart share a set of L1, so all of each line is used at once. */
static size_t dots_groups(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t n,
                          size_t k, hx__locality reach, float *sums, size_t lds) {
  const bool shared_set = ld % 1024 == 0, crowded = dots_crowded(ld, 8), distant = reach == HX__IN_DRAM;
  if (m == 1 && reach != HX__IN_L2 && (crowded || distant) && !hx__cpu_prefetches())
    return dots_full_groups((dots_shape){1, DOTS_STREAMS / GEMM_VL, 1, 16, 16, 0}, a, a_rs, a_cs, b, ld, n, k, sums,
                            lds);
  if (m == 1 && shared_set && reach == HX__IN_L2)
    return dots_full_groups((dots_shape){1, 1, 2, 8, 8, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 1 && shared_set && reach == HX__IN_LLC)
    return dots_full_groups((dots_shape){1, 1, 2, 16, 16, 256}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 1 && !crowded && !distant && n >= DOTS_VECTORS * GEMM_VL)
    return dots_full_groups((dots_shape){1, DOTS_VECTORS, 1, 4, 4, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 1) return dots_full_groups((dots_shape){1, 2, 1, 16, 16, 256}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 2 && shared_set)
    return dots_full_groups((dots_shape){2, 1, 1, 16, 16, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 2) return dots_full_groups((dots_shape){2, 2, 1, 4, 4, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 3 && shared_set)
    return dots_full_groups((dots_shape){3, 1, 1, 16, 16, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (m == 3) return dots_full_groups((dots_shape){3, 2, 1, 4, 4, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  if (shared_set) return dots_full_groups((dots_shape){4, 1, 1, 16, 16, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
  return dots_full_groups((dots_shape){4, 2, 1, 4, 4, 0}, a, a_rs, a_cs, b, ld, n, k, sums, lds);
}

/* reach: of all of B. The columns after the last full group are computed vector by vector. The last vector overlaps
 * columns that are done and computes the same sums again. */
static void dots_sum(size_t m, const float *a, size_t a_rs, size_t a_cs, const float *b, size_t ld, size_t n, size_t k,
                     hx__locality reach, float *sums, size_t lds) {
  if (n < GEMM_VL) {
    dots_few(m, a, a_rs, a_cs, b, ld, n, k, sums, lds);
    return;
  }
  if (m == 1 && reach != HX__IN_DRAM && a_cs == 1 && !dots_crowded(ld, 16)) {
    dots_shared(a, b, ld, n, k, sums);
    return;
  }
  for (size_t j = dots_groups(m, a, a_rs, a_cs, b, ld, n, k, reach, sums, lds); j < n; j += GEMM_VL) {
    const size_t at = least(j, n - GEMM_VL);
    if (m == 1)
      dots_full_groups((dots_shape){1, 1, 2, 8, 8, 0}, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
    if (m == 2)
      dots_full_groups((dots_shape){2, 1, 1, 16, 16, 0}, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
    if (m == 3)
      dots_full_groups((dots_shape){3, 1, 1, 16, 16, 0}, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
    if (m == 4)
      dots_full_groups((dots_shape){4, 1, 1, 16, 16, 0}, a, a_rs, a_cs, b + at * ld, ld, GEMM_VL, k, sums + at, lds);
  }
}

#endif
