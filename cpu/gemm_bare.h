/* SPDX-License-Identifier: Apache-2.0
 * The product for a thread that gets no memory for scratch: one register tile of C at a time, with all its panels one
 * after the other. The tile's columns of B are packed on the stack, again for every tile, and its sums stay there until
 * the last panel. A quarter as fast as with scratch (AVX2 and AVX-512), with the same roundings in the same order. */
#ifndef HX_CPU_GEMM_BARE_H
#define HX_CPU_GEMM_BARE_H

#include "cpu/gemm_pack.h"
#include "cpu/gemm_store.h"

/* Columns of a tile. Its strip takes 16 KB of a stack that the program may have made small. */
#define GEMM_BARE (GEMM_NR < 8 ? GEMM_NR : (size_t)8)

static __attribute__((noinline)) void gemm_bare(const hx__gemm *g) {
  float strip[HX__PANEL * GEMM_BARE] __attribute__((aligned(64)));
  float sums[GEMM_MR * GEMM_BARE] __attribute__((aligned(64)));
  for (size_t j = 0; j < g->n; j += GEMM_BARE) {
    const size_t nr = least(GEMM_BARE, g->n - j);
    for (size_t i = 0, mr; i < g->m; i += mr) {
      mr = tile_rows(g->m - i);
      for (size_t p = 0; p < g->k; p += HX__PANEL) {
        const tile_args t = {.k = least(HX__PANEL, g->k - p),
                             .a = g->a + i * g->a_rs + p * g->a_cs,
                             .a_rs = g->a_rs,
                             .a_cs = g->a_cs,
                             .b = strip,
                             .b_rs = GEMM_BARE,
                             .nr = nr,
                             .d = sums,
                             .ldd = GEMM_BARE,
                             .add = p != 0};
        const float *const b = g->b + p * g->b_rs + j * g->b_cs;
        for (size_t q = 0; q < t.k; q++)
          for (size_t v = 0; v < nr; v++) strip[q * GEMM_BARE + v] = b[q * g->b_rs + v * g->b_cs];
        tile_table[tile_vectors(nr) - 1][mr - 1](&t);
      }
      store_scaled(sums, GEMM_BARE, mr, nr, g->c + i * g->ldc + j, g->ldc, g->alpha, g->beta);
    }
  }
}

#endif
