/* SPDX-License-Identifier: Apache-2.0
 * Thin products: C is narrow, or small with a long k, so that packing a large operand costs more than it gains. The
 * elements of one operand fill vectors (its elements with the same k are contiguous), and those of the other are
 * broadcast with any strides. So a large operand can be read in place in either role, and only the small one is packed.
 * Computing C or its transpose decides which operand has which role. */
#ifndef HX_CPU_GEMM_THIN_H
#define HX_CPU_GEMM_THIN_H

#include "cpu/gemm_bands.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_store.h"
#include "cpu/gemm_wide.h"
#include "runtime/base/thresholds.h"

#define THIN_SUMS ((size_t)32 * 1024)          /* floats of a block of sums, at least a strip */
#define THIN_CHAINS ((size_t)32 * 1024)        /* floats of chains between bands of a panel */
#define THIN_VECTOR_FLOATS ((size_t)64 * 1024) /* the same of the vector operand, 256 KiB, at least a panel */

/* The product or its transpose. Either c_rs or c_cs is 1. */
typedef struct thin {
  size_t m, n, k;
  const float *a;
  size_t a_rs, a_cs;
  const float *b;
  size_t b_rs, b_cs;
  float *c;
  size_t c_rs, c_cs;
  float alpha, beta;
  size_t apart; /* as in hx__gemm */
  float *sums;  /* sums of the block at (i0, j0) */
  size_t lds, i0, j0;
} thin;

/* Whether the sums are kept outside C. */
GEMM_INLINE bool thin_beside(const thin *t) { return t->beta != 0 || t->c_cs != 1; }

static size_t thin_sums(size_t m, size_t n) {
  return least(round_up(least(m, THIN_SUMS), GEMM_NR) * round_up(least(n, THIN_SUMS), GEMM_NR), THIN_SUMS);
}

/* Stores the finished sums of a tile in C, or those of a panel in its own place. */
static void thin_store(const thin *t, size_t panel, const float *s, size_t lds, size_t i, size_t j, size_t mr,
                       size_t nr) {
  float *const c = t->c + panel * t->apart + i * t->c_rs + j * t->c_cs;
  if (t->c_cs == 1) {
    store_scaled(s, lds, mr, nr, c, t->c_rs, t->alpha, t->beta);
    return;
  }
  float turned[GEMM_NR * GEMM_TALL];
  for (size_t q = 0; q < nr; q++) {
    for (size_t r = 0; r < mr; r++) turned[q * mr + r] = s[r * lds + q];
  }
  store_scaled(turned, mr, nr, mr, c, t->c_cs, t->alpha, t->beta);
}

/* Computes a tile at (i, j) of one panel, which has kc rows from p on, or a band of it. ends: with it the panel ends.
 */
GEMM_INLINE void thin_tile(const thin *t, tile_fn *fn, tile_args *args, size_t i, size_t j, size_t mr, size_t p,
                           size_t kc, bool ends) {
  const size_t panel = t->apart ? p / HX__PANEL : 0;
  const bool beside = thin_beside(t), last = t->apart || p + kc == t->k;
  args->d = t->sums + (i - t->i0) * t->lds + (j - t->j0) + (beside ? 0 : panel * t->apart);
  args->ldd = t->lds;
  args->add = p != 0 && !t->apart;
  fn(args);
  if (ends && last && (beside || t->alpha != 1)) thin_store(t, panel, args->d, t->lds, i, j, mr, args->nr);
}

GEMM_INLINE void thin_block(thin *t, size_t i0, size_t j0, size_t width, float *scratch) {
  const bool beside = thin_beside(t);
  t->i0 = i0, t->j0 = j0;
  t->sums = beside ? scratch : t->c + i0 * t->c_rs + j0;
  t->lds = beside ? width : t->c_rs;
}

/* The walk of the tiles of a strip of columns over the next one, a row after the other. Lines are those of the last
 * element that a vector touches. */
static tile_walk thin_next_strip(const float *b, size_t b_rs, size_t tiles) {
  const size_t step = (GEMM_NR + tiles - 1) / tiles;
  return (tile_walk){.next = b + GEMM_NR + least(GEMM_NR, 16) - 1,
                     .turns = tiles,
                     .left = tiles,
                     .step = (ptrdiff_t)step,
                     .wrap = (ptrdiff_t)(b_rs - (tiles - 1) * step)};
}

/* For few rows: reads the rows of B in place, a strip of columns at a time, and prefetches the next strip into L2. Four
 * strips at a time were slower (docs/measurements/cpu-thin-strips.tsv). */
static void thin_b_in_place(thin *t, float *scratch) {
  float *const pa = scratch + thin_sums(t->m, t->n);
  const size_t block = thin_beside(t) ? THIN_SUMS / t->m / GEMM_NR * GEMM_NR : t->n;
  const size_t tiles = GEMM_WALKS ? (t->m + GEMM_MR - 1) / GEMM_MR : 1, fetch = tile_fetch(t->b_rs, t->k);
  for (size_t j0 = 0, nb; j0 < t->n; j0 += nb) {
    nb = least(t->n - j0, block);
    thin_block(t, 0, j0, round_up(nb, GEMM_NR), scratch);
    for (size_t p = 0, kc; p < t->k; p += kc) {
      kc = least(t->k - p, HX__PANEL);
      pack_a(t->a + p * t->a_cs, t->a_rs, t->a_cs, t->m, kc, pa);
      for (size_t j = j0; j < j0 + nb; j += GEMM_NR) {
        const size_t nr = least(GEMM_NR, j0 + nb - j);
        const float *strip = pa, *const b = t->b + p * t->b_rs + j;
        tile_walk walk = thin_next_strip(b, t->b_rs, tiles);
        for (size_t i = 0, mr; i < t->m; i += mr, strip += GEMM_MR * kc) {
          mr = tile_rows(t->m - i);
          tile_args args = {.k = kc,
                            .a = strip,
                            .a_rs = 1,
                            .a_cs = GEMM_MR,
                            .b = b,
                            .b_rs = t->b_rs,
                            .nr = nr,
                            .fetch = fetch,
                            .walk = &walk};
          tile_fn *const fn =
              (GEMM_WALKS || i == 0) && nr == GEMM_NR ? tile_ahead[mr - 1] : tile_table[tile_vectors(nr) - 1][mr - 1];
          thin_tile(t, fn, &args, i, j, mr, p, kc, true);
        }
      }
    }
  }
}

/* One panel, from p on, of the columns [j0, j1), full strips: band by band of its rows, so that a strip that is
 * walked over is still in L2 when it is used. near: room for a band of a strip. */
static void thin_bands(thin *t, size_t p, size_t kc, size_t j0, size_t j1, const float *pa, float *chains,
                       float *near) {
  const size_t depth = band_rows(t->b_rs), first = tile_rows(t->m), walker = first < t->m ? first : 0;
  for (size_t q = 0, rows; q < kc; q += rows) {
    const float *const b = t->b + (p + q) * t->b_rs;
    rows = least(kc - q, depth);
    for (size_t j = j0; j < j1; j += GEMM_NR) {
      const float *const next = j + GEMM_NR < j1 ? b + j : b + rows * t->b_rs + j0 - GEMM_NR, *strip = pa + q * GEMM_MR;
      float *chain = chains + (j - j0) * t->m;
      tile_walk walk = thin_next_strip(next, t->b_rs, 1);
      tile_args args = {.k = rows, .a_rs = 1, .a_cs = GEMM_MR, .nr = GEMM_NR, .begins = q == 0, .ends = q + rows == kc};
      for (size_t i = 0, mr; i < t->m; i += mr, strip += GEMM_MR * kc, chain += mr * GEMM_NR) {
        mr = tile_rows(t->m - i);
        args.a = strip;
        args.b = i ? near : b + j;
        args.b_rs = i ? GEMM_NR : t->b_rs;
        args.packed = i == 0 && walker ? near : NULL;
        args.walk = i == walker ? &walk : NULL;
        args.chain = chain;
        thin_tile(t, tile_banded[mr - 1], &args, i, j, mr, p, kc, args.ends);
      }
    }
  }
}

/* The same as thin_b_in_place if B has bands. */
static void thin_b_in_bands(thin *t, float *scratch) {
  float near[GEMM_BAND_ROWS * GEMM_NR] __attribute__((aligned(64)));
  float *const chains = scratch + thin_sums(t->m, t->n), *const pa = chains + THIN_CHAINS;
  const size_t fit = least(GEMM_BAND_COLUMNS, THIN_CHAINS / t->m) / GEMM_NR * GEMM_NR;
  const size_t block = thin_beside(t) ? THIN_SUMS / t->m / GEMM_NR * GEMM_NR : t->n;
  for (size_t j0 = 0, nb; j0 < t->n; j0 += nb) {
    nb = least(t->n - j0, block);
    const size_t end = j0 + nb, whole = end - nb % GEMM_NR;
    thin_block(t, 0, j0, round_up(nb, GEMM_NR), scratch);
    for (size_t p = 0, kc; p < t->k; p += kc) {
      kc = least(t->k - p, HX__PANEL);
      pack_a(t->a + p * t->a_cs, t->a_rs, t->a_cs, t->m, kc, pa);
      for (size_t j = j0; j < whole; j += fit) thin_bands(t, p, kc, j, least(whole, j + fit), pa, chains, near);
      const float *strip = pa;
      for (size_t i = 0, mr; i < t->m && whole < end; i += mr, strip += GEMM_MR * kc) { /* the last columns */
        mr = tile_rows(t->m - i);
        tile_args args = {.k = kc,
                          .a = strip,
                          .a_rs = 1,
                          .a_cs = GEMM_MR,
                          .b = t->b + p * t->b_rs + whole,
                          .b_rs = t->b_rs,
                          .nr = end - whole};
        thin_tile(t, tile_table[tile_vectors(end - whole) - 1][mr - 1], &args, i, whole, mr, p, kc, true);
      }
    }
  }
}

/* Packs the vector operand into strips that are as wide as their vectors. */
static void thin_pack(const thin *t, size_t p, size_t k, float *out) {
  for (size_t j = 0; j < t->n; j += GEMM_NR) {
    const size_t nr = least(GEMM_NR, t->n - j), vectors = tile_vectors(nr);
    pack_vectors(t->b + p * t->b_rs + j * t->b_cs, t->b_cs, t->b_rs, nr, vectors, k, out);
    out += vectors * GEMM_VL * k;
  }
}

/* Walks over the rows of A that are read after those of the tile at (i, p), which has mr rows and kc columns; or, if
 * elements with the same k are contiguous, over the line of the last of each mr of them. They are those of the next
 * panel of the block from p0 to `end`, or else of the next rows. */
static void thin_walk(const thin *t, size_t i, size_t mr, size_t p, size_t kc, size_t p0, size_t end, tile_walk *walk) {
  const float *const next = p + kc < end    ? t->a + i * t->a_rs + (p + kc) * t->a_cs
                            : i + mr < t->m ? t->a + (i + mr) * t->a_rs + p0 * t->a_cs
                                            : t->a + end * t->a_cs;
  if (t->a_cs == 1)
    walk_rows(next, t->a_rs, mr, walk);
  else
    *walk = (tile_walk){.next = next + (t->a_rs == 1 ? mr - 1 : 0), .turns = 1, .left = 1, .wrap = (ptrdiff_t)t->a_cs};
}

/* Whether B is read in place although its rows are far apart: C has so few tiles of rows that packing B would take
 * longer than they do (docs/measurements/cpu-thin-far.tsv). More tiles would read rows that share sets again from L2.
 */
static bool thin_reads_far(const thin *t) {
  return t->b_cs == 1 && t->a_cs == 1 && t->m <= t->n && (!rows_share_sets(t->b_rs) || t->m <= 2 * GEMM_MR);
}

/* For few columns or a small C: reads the rows of A in place, as many at a time as a tile has. If they share a set of
 * L1, which has fewer lines, reads half as many. */
static void thin_a_in_place(thin *t, float *scratch) {
  const size_t width = round_up(t->n, GEMM_VL), near = THIN_VECTOR_FLOATS / width / HX__PANEL * HX__PANEL;
  const size_t depth = least(t->k, near ? near : HX__PANEL);
  const size_t fit = THIN_SUMS / width / GEMM_MR * GEMM_MR, block = thin_beside(t) ? fit : t->m;
  const bool near_rows = t->b_cs == 1 && t->b_rs < 2 * width && (t->b_rs % GEMM_VL == 0 || t->m <= 4 * GEMM_MR),
             far = !near_rows && thin_reads_far(t), place = near_rows || far,
             shared_set = t->a_cs == 1 && rows_share_sets(t->a_rs);
  const bool tall = t->n <= GEMM_VL;
  const bool singles_walk = tiles_walk(1, t->a_cs), pairs_walk = tiles_walk(2, t->a_cs);
  const size_t rows = tall ? GEMM_TALL : GEMM_MR, most = shared_set ? least(rows, 8) : rows;
  float *const pb = scratch + thin_sums(t->m, t->n);
  for (size_t i0 = 0, mb; i0 < t->m; i0 += mb) {
    mb = least(t->m - i0, block);
    thin_block(t, i0, 0, width, scratch);
    for (size_t p0 = 0, kb; p0 < t->k; p0 += kb) {
      kb = least(t->k - p0, depth);
      if (!place) thin_pack(t, p0, kb, pb);
      const size_t strips = (t->n + GEMM_NR - 1) / GEMM_NR,
                   tiles = (mb + most - 1) / most * (strips > 1 ? strips - 1 : 1);
      const bool more = near_rows && p0 + kb < t->k; /* a next block of B */
      bool fetches_b = false;
      tile_walk of_a, of_b = {.next = t->b + (p0 + kb) * t->b_rs, /* the next block */
                              .turns = 1,
                              .left = 1,
                              .wrap = (ptrdiff_t)((t->b_rs + tiles - 1) / tiles)};
      for (size_t i = i0, mr; i < i0 + mb; i += mr) {
        mr = tile_share(i0 + mb - i, most);
        fetches_b = more && strips == 1 && !fetches_b;
        for (size_t p = p0, kc; p < p0 + kb; p += kc) {
          kc = least(p0 + kb - p, HX__PANEL);
          thin_walk(t, i, mr, p, kc, p0, p0 + kb, &of_a);
          for (size_t j = 0; j < t->n; j += GEMM_NR) {
            const size_t nr = least(GEMM_NR, t->n - j), vectors = tile_vectors(nr), width_of_strip = vectors * GEMM_VL;
            tile_args args = {.k = kc,
                              .a = t->a + i * t->a_rs + p * t->a_cs,
                              .a_rs = t->a_rs,
                              .a_cs = t->a_cs,
                              .b = place ? t->b + p * t->b_rs + j : pb + j * kb + (p - p0) * width_of_strip,
                              .b_rs = place ? t->b_rs : width_of_strip,
                              .nr = nr,
                              .fetch = far ? tile_fetch(t->b_rs, kc) : 0,
                              .walk = j != 0 || fetches_b ? &of_b : &of_a};
            const bool walks =
                !far && nr == width_of_strip && (j == 0 || more) && (vectors > 1 ? pairs_walk : singles_walk);
            tile_fn *const fn = (walks ? tile_rows_ahead : tile_table)[vectors - 1][mr - 1];
            thin_tile(t, fn, &args, i, j, mr, p, kc, true);
          }
        }
      }
    }
  }
}

static size_t thin_scratch_floats(size_t m, size_t n, size_t k) {
  const size_t width =
      round_up(least(m > n ? m : n, HX__SMALL_SIDE), GEMM_NR) + GEMM_MR; /* Either may be the vector operand. */
  const size_t near = width * least(k, THIN_VECTOR_FLOATS), panel = width * least(k, HX__PANEL);
  return thin_sums(m, n) + THIN_CHAINS +
         (near < THIN_VECTOR_FLOATS    ? near
          : panel > THIN_VECTOR_FLOATS ? panel
                                       : THIN_VECTOR_FLOATS);
}

/* The rows of C up to which rows of B are read in place. Rows that are a multiple of 4 KB apart and have no bands
 * share sets of L1 and L2, which have fewer lines than a panel has rows: each tile of rows reads them again from a
 * later cache, and from 16 KB on a strip that is prefetched is lost before it is used (docs/measurements/cpu-thin.tsv).
 */
static size_t thin_rows(const hx__gemm *g) {
  if (g->n <= g->m || g->b_cs != 1 || !rows_share_sets(g->b_rs)) return HX__THIN_ROWS;
  if (has_bands(g->m, g->b_rs, g->k)) return GEMM_BANDED_ROWS;
  return g->b_rs % 4096 ? 2 * GEMM_MR : 0;
}

/* Whether the transpose of C would be computed of a long C with a short k: to turn each element of C then takes longer
 * than to pack the large operand, which is read in place otherwise (docs/measurements/cpu-thin-turned.tsv). */
static bool thin_turns_too_much(const hx__gemm *g) {
  const bool wide = g->n > g->m, turns = wide ? g->b_cs != 1 : g->a_rs == 1;
  return turns && !g->apart && g->k <= (wide ? HX__TURNED_K + 2 * g->m : 2 * g->n);
}

static bool thin_takes(const hx__gemm *g) {
  if (wide_takes(g) || thin_turns_too_much(g)) return false;
  return g->m <= thin_rows(g) || g->n <= HX__THIN_COLUMNS ||
         (g->m <= HX__SMALL_SIDE && g->n <= HX__SMALL_SIDE && (g->k >= HX__LONG_K || g->apart));
}

/* Whether the transpose of C is computed: if the vector operand is then contiguous, or else is the smaller one. */
static bool thin_small(const hx__gemm *g) { return g->m <= HX__SMALL_SIDE && g->n <= HX__SMALL_SIDE; }
static bool thin_swaps(const hx__gemm *g) {
  const bool wide = g->n > g->m;
  return thin_small(g) ? g->b_cs != 1 && (g->a_rs == 1 || wide) : wide ? g->b_cs != 1 : g->a_rs == 1;
}
static bool thin_reads_b_in_place(const hx__gemm *g, bool swap) { return !thin_small(g) && swap == (g->m > g->n); }

/* The width of the vector operand if the broadcast operand is the large one, else 0. */
GEMM_INLINE size_t thin_width(const hx__gemm *g) {
  const bool swap = thin_swaps(g);
  return !thin_takes(g) || thin_reads_b_in_place(g, swap) ? 0 : swap ? g->m : g->n;
}

static void gemm_thin(const hx__gemm *g, float *scratch) {
  thin t = {.m = g->m,
            .n = g->n,
            .k = g->k,
            .a = g->a,
            .a_rs = g->a_rs,
            .a_cs = g->a_cs,
            .b = g->b,
            .b_rs = g->b_rs,
            .b_cs = g->b_cs,
            .c = g->c,
            .c_rs = g->ldc,
            .c_cs = 1,
            .alpha = g->alpha,
            .beta = g->beta,
            .apart = g->apart};
  const bool swap = thin_swaps(g);
  if (swap) {
    t.m = g->n, t.n = g->m, t.c_rs = 1, t.c_cs = g->ldc;
    t.a = g->b, t.a_rs = g->b_cs, t.a_cs = g->b_rs;
    t.b = g->a, t.b_rs = g->a_cs, t.b_cs = g->a_rs;
  }
  if (thin_reads_b_in_place(g, swap) && has_bands(t.m, t.b_rs, t.k))
    thin_b_in_bands(&t, scratch);
  else if (thin_reads_b_in_place(g, swap))
    thin_b_in_place(&t, scratch);
  else
    thin_a_in_place(&t, scratch);
}

#endif
