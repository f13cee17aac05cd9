/* SPDX-License-Identifier: Apache-2.0
 * Wide products: C has few rows, so that packing B first would cost a tenth of the time or more. B is computed strip by
 * strip: the first tile packs its strip while it multiplies, and the tiles of the other rows prefetch the next strip
 * into L2, so that no tile waits for memory. A stays in L2. With many rows that is slower than packed_block, because
 * all of A is read from L2 for each strip. */
#ifndef HX_CPU_GEMM_WIDE_H
#define HX_CPU_GEMM_WIDE_H

#include "cpu/cpu.h"
#include "cpu/gemm_block.h"

#if HX__V_BYTES >= 32

/* Not if rows of B share sets of the caches, which lose a strip before it is used. */
static bool wide_takes(const hx__gemm *g) {
  return g->m > 3 * GEMM_MR && g->m <= HX__WIDE_ROWS && g->n > HX__UNPACKED_A_COLUMNS && g->k >= HX__WIDE_K &&
         g->b_cs == 1 && g->b_rs % 1024 != 0;
}

/* The walk of `tiles` tiles over a strip: a line of each row in turn. The first line of a row was read with the strip
 * before it, so these are the lines from the last element of the first vector to that of the last. */
static tile_walk walk_strip(const float *b, size_t b_rs, size_t tiles) {
  const size_t step = (GEMM_NR - 16 + tiles - 2) / (tiles - 1);
  return (tile_walk){.next = b + 15,
                     .turns = tiles,
                     .left = tiles,
                     .step = (ptrdiff_t)step,
                     .wrap = (ptrdiff_t)(b_rs - (tiles - 1) * step)};
}

/* Tiles of a packed strip that go on with a walk. A is packed, or has contiguous rows. */
#define GEMM_TILE_WALKING(mr, nv)                                                        \
  static void tile_walking_##mr(const tile_args *t) {                                    \
    tile_sums s;                                                                         \
    if (t->add) tile_prefetch_c(t, mr);                                                  \
    if (t->a_cs == 1)                                                                    \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, t->a_rs, 1, GEMM_NR, TILE_WALKS_LINES, &s); \
    else                                                                                 \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, GEMM_NR, TILE_WALKS_LINES, &s); \
    tile_store(t, mr, GEMM_NV, TILE_FULL, &s);                                           \
  }
#define GEMM_TILE_WALKING_NAME(mr, nv) tile_walking_##mr,
GEMM_TILE_ROWS(GEMM_TILE_WALKING, )
static tile_fn *const tile_walking[GEMM_MR] = {GEMM_TILE_ROWS(GEMM_TILE_WALKING_NAME, )}; /* [mr - 1] */

/* One panel of a block of C with B in place. strip: room for a strip of B. */
static void wide_block(size_t m, size_t n, size_t k, const gemm_side *a, const gemm_side *b, float *strip,
                       const gemm_target *target) {
  const size_t tiles = (m + GEMM_MR - 1) / GEMM_MR;
  tile_args t = {
      .k = k, .a_rs = a->rs, .a_cs = a->cs, .ldd = target->buffer ? GEMM_NR : target->lds, .add = target->add};
  for (size_t j = 0; j < n; j += GEMM_NR) {
    const float *const here = b->p + j;
    tile_walk walk = walk_strip(here + GEMM_NR, b->rs, tiles - 1);
    t.nr = least(GEMM_NR, n - j);
    t.walk = &walk;
    t.packed = strip;
    if (t.nr < GEMM_NR) pack_strip(here, 1, b->rs, t.nr, GEMM_NR, k, strip);
    t.a = a->p;
    for (size_t i = 0, mr; i < m; i += mr, t.a += a->packed ? GEMM_MR * k : mr * a->rs) {
      const bool packs = i == 0 && t.nr == GEMM_NR;
      mr = tile_rows(m - i);
      t.b = packs ? here : strip;
      t.b_rs = packs ? b->rs : GEMM_NR;
      run_tile(t.nr < GEMM_NR ? tile_table[tile_vectors(t.nr) - 1][mr - 1]
               : packs        ? tile_packing
                              : tile_walking[mr - 1],
               &t, mr, target, i, j);
    }
  }
}

#else
static bool wide_takes(const hx__gemm *g) { return (void)g, false; }
#define wide_block(m, n, k, a, b, strip, target) ((void)0)
#endif

#endif
