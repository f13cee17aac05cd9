/* SPDX-License-Identifier: Apache-2.0
 * One panel of a block of C from operands that are packed before, or while their tiles multiply. */
#ifndef HX_CPU_GEMM_BLOCK_H
#define HX_CPU_GEMM_BLOCK_H

#include "cpu/cpu.h"
#include "cpu/gemm_ahead.h"
#include "cpu/gemm_edge.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_store.h"
#include "runtime/base/thresholds.h"

#define GEMM_ROW_GAP ((size_t)16) /* floats between copied rows: one cache line */

/* The memory of a block's sums until the last panel, and how they are then stored in C. */
typedef struct gemm_target {
  float *sums, *buffer; /* buffer: for the sums of one tile, GEMM_NR wide, if there is one panel and C must be read */
  size_t lds;           /* the leading dimension of either one */
  float *c;
  size_t ldc;
  float alpha, beta;
  gemm_ahead *ahead; /* what tiles prefetch for the next product of a batch; NULL: nothing */
  bool add, scaled; /* add: the sums continue earlier panels; scaled: this is the last panel, so they are stored in C */
} gemm_target;

/* One panel of one tile at (i, j) of the block. What tiles share is set in *t before the loop: if a member were written
 * between two tiles as part of a vector, the next tile would wait for the store behind the products of the last one. */
GEMM_INLINE void run_tile(tile_fn *fn, tile_args *t, size_t mr, const gemm_target *target, size_t i, size_t j) {
  float *const c = target->c + i * target->ldc + j;
  t->d = target->buffer ? target->buffer : target->sums + i * target->lds + j;
  for (size_t r = 0; target->scaled && r < mr; r++) { /* prefetches C as tile_full does */
    for (size_t v = 0; v < t->nr; v += 16) __builtin_prefetch(c + r * target->ldc + v, 1);
  }
  fn(t);
  if (target->scaled) store_scaled(t->d, t->ldd, mr, t->nr, c, target->ldc, target->alpha, target->beta);
}

/* A panel of a block of an operand, in place or packed. Of A: copy is where tiles copy their rows, NULL if they read
 * them in place. Of B: packed ahead, so that it comes from memory; near: to be packed by the tiles. */
typedef struct gemm_side {
  const float *p;
  size_t rs, cs;
  bool packed, near;
  float *copy;
} gemm_side;

/* Whether the first row of tiles packs B's strips while it multiplies. It reads one or two lines of a row at a time, at
 * half the rate of whole rows of a block, or less if rows share sets of the caches: docs/measurements/cpu-thin.tsv. */
static bool tiles_pack(const hx__gemm *g) {
  return g->b_cs == 1 && g->b_rs % 1024 != 0 && g->n <= HX__NEAR_FLOATS / g->k;
}

/* Packs a strip of nr columns of B. True: the tile packs it while it multiplies, which takes a full tile. */
GEMM_INLINE bool tile_packs_strip(const gemm_side *b, size_t j, size_t nr, size_t k, bool full, float *strip) {
  if (!full) {
    pack_strip(b->p + j * b->cs, b->cs, b->rs, nr, GEMM_NR, k, strip);
    return false;
  }
  for (size_t p = 0; p < least(k, GEMM_AHEAD); p++) { /* the first rows of the next strip */
    for (size_t v = 0; v < GEMM_NR; v += 16) __builtin_prefetch(b->p + j + GEMM_NR + p * b->rs + v, 0, 2);
  }
  return true;
}

/* Not memcpy: it uses string instructions here, which take longer to start than a row takes to copy. */
GEMM_INLINE void copy_row(const float *x, size_t n, float *out) {
  size_t p = 0;
  for (; p + GEMM_VL <= n; p += GEMM_VL) vf_store(out + p, vf_load(x + p));
  for (; p < n; p++) out[p] = x[p];
}

/* Whether tiles that read A in place prefetch what later tiles read of it. Tiles of 256-bit vectors do so only if the
 * rows of A are contiguous and the tile has at least two vectors of columns (with one it loads as much as it
 * multiplies): docs/measurements/cpu-rows-walk.tsv. */
GEMM_INLINE bool tiles_walk(size_t vectors, size_t a_cs) {
  return HX__V_BYTES == 64 || (HX__V_BYTES == 32 && vectors > 1 && a_cs == 1);
}

/* A walk over mr contiguous rows of A that later tiles read: a line of each row in turn. After a turn it advances by mr
 * floats, so at the end of the tile it has walked over as many columns as the tile has steps. */
GEMM_INLINE void walk_rows(const float *a, size_t a_rs, size_t mr, tile_walk *walk) {
  walk->next = a;
  walk->turns = walk->left = mr;
  walk->step = (ptrdiff_t)a_rs;
  walk->wrap = (ptrdiff_t)mr - (ptrdiff_t)((mr - 1) * a_rs);
}

/* One panel of a block of C. A tile of A stays in L1 while it meets every strip of B's block, which stays in L2. The
 * block is packed before, or by the first row of tiles. If all of B is packed, the tiles prefetch the next block
 * instead, because the CPU's own prefetchers begin too late; after the last one nothing is read: a prefetch does not
 * fault. If A is not packed, the first of a row of tiles prefetches the rows of A for the next one. edge: one
 * more column follows the n. */
static void packed_block(size_t m, size_t n, bool edge, size_t k, const gemm_side *a, const gemm_side *b, float *strips,
                         const gemm_target *target) {
  tile_fn *const inner = !a->packed ? tile_rows_of_a : b->packed ? tile_packed_ahead : tile_packed;
  const size_t apart = k + GEMM_ROW_GAP;
  const bool may_walk = !a->packed && tiles_walk(tile_vectors(least(GEMM_NR, n)), a->cs);
  const float *rows = a->p;
  tile_walk walk;
  tile_args t = {.k = k, .a_rs = a->copy ? apart : a->rs, .a_cs = a->cs, .ldd = target->lds, .add = target->add};
  t.walk = &walk;
  t.next = strips + n * k;
  t.next_step = (GEMM_NR * GEMM_MR + m - 1) / m;
  if (!b->packed && !b->near) pack_b(b->p, b->rs, b->cs, k, n, strips);
  for (size_t i = 0, mr; i < m; i += mr, rows += a->packed ? GEMM_MR * k : mr * a->rs) {
    float *strip = strips;
    mr = tile_rows(m - i);
    t.a = rows;
    if (a->copy) {
      for (size_t r = 0; r < mr; r++) copy_row(rows + r * a->rs, k, a->copy + r * apart);
      t.a = a->copy;
    }
    walk_rows(i + mr < m ? rows + mr * a->rs : a->p + k, a->rs, mr, &walk);
    for (size_t j = 0; j < n; j += GEMM_NR, strip += GEMM_NR * k) {
      t.nr = least(GEMM_NR, n - j);
      const bool full = mr == GEMM_MR && t.nr == GEMM_NR;
      const bool packs = i == 0 && b->near && tile_packs_strip(b, j, t.nr, k, full, strip);
      t.b = packs ? b->p + j : strip;
      t.b_rs = packs ? b->rs : GEMM_NR;
      t.packed = strip;
      const bool walks = may_walk && !packs && j == 0 && t.nr % GEMM_VL == 0;
      const bool looks_ahead =
          target->ahead && !walks && !packs && t.nr % GEMM_VL == 0 && ahead_walks(target->ahead, k, &walk);
      tile_fn *const fn = walks || looks_ahead ? tile_rows_ahead[tile_vectors(t.nr) - 1][mr - 1]
                          : !full              ? tile_table[tile_vectors(t.nr) - 1][mr - 1]
                          : packs              ? tile_packing
                                               : inner;
      run_tile(fn, &t, mr, target, i, j);
      t.next += t.next_step * k;
    }
  }
  if (!edge) return;
  const edge_target last = {.sums = target->buffer ? NULL : target->sums + n,
                            .lds = target->lds,
                            .c = target->c + n,
                            .ldc = target->ldc,
                            .alpha = target->alpha,
                            .beta = target->beta,
                            .add = target->add,
                            .scaled = target->scaled};
  edge_panel(a->p, a->rs, b->p + n * b->cs, b->rs, m, k, &last);
}

#endif
