/* SPDX-License-Identifier: Apache-2.0
 * Slices of a panel of B whose rows share sets of the caches, as those of a matrix with 1024, 2048 or 4096 columns do.
 * L1 and L2 have fewer lines in a set than a panel has rows, and the buffers of page translations fewer entries, so a
 * strip that is prefetched is lost before it is used. A slice has so few rows that it stays. The chains of fma stop at
 * its end and go on with the next one: docs/measurements/cpu-slices.tsv. */
#ifndef HX_CPU_GEMM_SLICES_H
#define HX_CPU_GEMM_SLICES_H

#include "cpu/cpu.h"
#include "cpu/gemm_tile.h"

#define GEMM_SLICE_ROWS ((size_t)64)
#define GEMM_SLICE_APART ((size_t)4096)   /* floats between rows; if they are farther apart, a slice has fewer */
#define GEMM_SLICE_LEAST ((size_t)16)     /* rows; with fewer, chains would be stored too often */
#define GEMM_SLICE_COLUMNS ((size_t)1024) /* of a block of slices: 4 KiB, a page */

/* The rows of a slice if those of B share sets: half of the lines of a set of L2 have room for as many. 0: they do not,
 * or slices do not pay. Not on AMD's cores, on which they were never measured. */
GEMM_INLINE size_t slice_rows(size_t b_rs) {
  const size_t most = GEMM_SLICE_ROWS * GEMM_SLICE_APART;
  if (b_rs == 0 || b_rs % 1024 != 0 || b_rs > most / GEMM_SLICE_LEAST || hx__cpu_prefetches()) return 0;
  return b_rs > GEMM_SLICE_APART ? most / b_rs : GEMM_SLICE_ROWS;
}

/* Whether B is read slice by slice. */
GEMM_INLINE bool has_slices(size_t b_rs, size_t k) {
  const size_t rows = slice_rows(b_rs);
  return rows && k > rows;
}

/* Tiles of a slice, with A packed. The first of several packs its part of the strip, which shares a set of L1 in place;
 * the second, or the only one, walks. Sums that are stored and loaded again have the same bits. */
#define GEMM_TILE_SLICED(mr, nv)                                                                                    \
  static void tile_sliced_##mr(const tile_args *t) {                                                                \
    tile_sums s;                                                                                                    \
    if (t->packed)                                                                                                  \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, t->b_rs, TILE_SLICES_PACKS, &s);                           \
    else if (t->walk)                                                                                               \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, t->b_rs, TILE_SLICES_WALKS, &s);                           \
    else                                                                                                            \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, t->b_rs, TILE_SLICES, &s);                                 \
    if (t->ends) {                                                                                                  \
      tile_store(t, mr, GEMM_NV, TILE_FULL, &s);                                                                    \
      return;                                                                                                       \
    }                                                                                                               \
    GEMM_UNROLL for (size_t i = 0; i < mr; i++) {                                                                   \
      GEMM_UNROLL for (size_t v = 0; v < GEMM_NV; v++) vf_store(t->chain + i * GEMM_NR + v * GEMM_VL, s.acc[i][v]); \
    }                                                                                                               \
  }
#define GEMM_TILE_SLICED_NAME(mr, nv) tile_sliced_##mr,
GEMM_TILE_ROWS(GEMM_TILE_SLICED, )
static tile_fn *const tile_sliced[GEMM_MR] = {GEMM_TILE_ROWS(GEMM_TILE_SLICED_NAME, )}; /* [mr - 1] */

#endif
