/* SPDX-License-Identifier: Apache-2.0
 * What the tiles of a small product prefetch of the next product of its batch: a cache line in each step of k. The
 * operands of a batch are often in memory, and the CPU's own prefetchers stop at the end of each matrix and page, so
 * that every product would wait for memory before it multiplies: docs/measurements/cpu-batches-ahead.tsv. */
#ifndef HX_CPU_GEMM_AHEAD_H
#define HX_CPU_GEMM_AHEAD_H

#include "cpu/gemm_tile.h"
#include "runtime/base/gemm.h"

#define AHEAD_WALKS (HX__V_BYTES >= 32) /* There are tiles that walk (tile_rows_ahead). */
#define AHEAD_LINE ((size_t)16)         /* floats */
enum { AHEAD_OPERANDS = 3 };            /* A, B and C */

/* One of them, row by row, or column by column if its columns are contiguous. */
typedef struct ahead_operand {
  const float *p;
  size_t lines, of_row, ld; /* lines: of all rows; 0: it is not prefetched */
} ahead_operand;

typedef struct gemm_ahead {
  ahead_operand operand[AHEAD_OPERANDS];
  size_t which, done; /* the operand whose turn it is, and its lines so far */
} gemm_ahead;

GEMM_INLINE ahead_operand ahead_operand_of(const float *p, size_t rows, size_t columns, size_t rs, size_t cs) {
  const bool by_row = cs == 1;
  const size_t of_row = ((by_row ? columns : rows) + AHEAD_LINE - 1) / AHEAD_LINE;
  return (ahead_operand){p, p ? of_row * (by_row ? rows : columns) : 0, of_row, by_row ? rs : cs};
}

GEMM_INLINE gemm_ahead ahead_of(const hx__gemm *g) {
  return (gemm_ahead){.operand = {ahead_operand_of(g->next.a, g->m, g->k, g->a_rs, g->a_cs),
                                  ahead_operand_of(g->next.b, g->k, g->n, g->b_rs, g->b_cs),
                                  ahead_operand_of(g->next.c, g->m, g->n, g->ldc, 1)}};
}

/* Whether anything is prefetched. If a product has one strip and short rows of A, all in place, the prefetchers of
 * AMD's cores follow it by themselves, and wide vectors leave few steps in which to prefetch more:
 * docs/measurements/cpu-batches-ahead-zen4.tsv. */
GEMM_INLINE bool ahead_pays(const hx__gemm *g) {
  const bool in_place = HX__V_BYTES == 64 && g->a_cs == 1 && g->b_cs == 1;
  const bool followed = in_place && g->n <= GEMM_WIDE_NV * GEMM_VL && g->k <= 3 * AHEAD_LINE;
  return AHEAD_WALKS && g->next.c && !(followed && hx__cpu_prefetches());
}

/* Sets *walk for a tile with k steps. False: nothing is left to prefetch. */
GEMM_INLINE bool ahead_walks(gemm_ahead *ahead, size_t k, tile_walk *walk) {
  while (ahead->which < AHEAD_OPERANDS && ahead->done >= ahead->operand[ahead->which].lines)
    ahead->which++, ahead->done = 0;
  if (ahead->which == AHEAD_OPERANDS) return false;
  const ahead_operand *const x = &ahead->operand[ahead->which];
  const size_t row = ahead->done / x->of_row, line = ahead->done % x->of_row;
  *walk = (tile_walk){.next = x->p + row * x->ld + line * AHEAD_LINE,
                      .turns = x->of_row,
                      .left = x->of_row - line,
                      .step = (ptrdiff_t)AHEAD_LINE,
                      .wrap = (ptrdiff_t)x->ld - (ptrdiff_t)(AHEAD_LINE * (x->of_row - 1))};
  ahead->done += k;
  return true;
}

#endif
