/* SPDX-License-Identifier: Apache-2.0
 * Bands of a panel of B whose rows are far apart. If they share sets of the caches, as those of a matrix with 1024,
 * 2048 or 4096 columns do, L1 and L2 have fewer lines in a set than a panel has rows, and the buffers of page
 * translations fewer entries, so a strip that is prefetched is lost before it is used. A band has so few rows that it
 * stays. The chains of fma stop at its end and go on with the next one: docs/measurements/cpu-bands.tsv. Other rows are
 * on as many pages, and on Intel's cores a band of them is faster, too, if several tiles read it: the first one copies
 * it. */
#ifndef HX_CPU_GEMM_BANDS_H
#define HX_CPU_GEMM_BANDS_H

#include "cpu/cpu.h"
#include "cpu/gemm_tile.h"

#define GEMM_BAND_ROWS ((size_t)64)
#define GEMM_BAND_APART ((size_t)4096)   /* floats between rows; if they are farther apart, a band has fewer */
#define GEMM_BAND_FAR ((size_t)512)      /* floats between rows that do not share sets, at least */
#define GEMM_BAND_LEAST ((size_t)16)     /* rows; with fewer, chains would be stored too often */
#define GEMM_BAND_COLUMNS ((size_t)1024) /* of a block of bands: 4 KiB, a page */
#define GEMM_BANDED_ROWS ((size_t)32)    /* of C, at most: with more, threads that share B packed are faster */
#define GEMM_BANDED_LEAST (HX__V_BYTES == 64 ? GEMM_MR : (size_t)4) /* of C, more than that, if rows share no sets */
#define GEMM_ROWS_SHARED ((size_t)8) /* of C, at most, if B has no bands: rows of B are read one after the other */

/* Whether rows that are so many floats apart share sets of L1 and L2. */
GEMM_INLINE bool rows_share_sets(size_t apart) { return apart % 1024 == 0; }

/* The rows of a band: half of the lines of a set of L2 have room for as many if they share it. 0: bands do not pay. */
GEMM_INLINE size_t band_rows(size_t b_rs) {
  const size_t most = GEMM_BAND_ROWS * GEMM_BAND_APART;
  if (b_rs < GEMM_BAND_FAR || b_rs > most / GEMM_BAND_LEAST) return 0;
  return b_rs > GEMM_BAND_APART ? most / b_rs : GEMM_BAND_ROWS;
}

/* Whether B is read band by band if C has m rows. With 512-bit vectors, AMD's cores read B faster in place if C has one
 * or two tiles of many rows and the rows of B are no multiple of 16 KiB apart (docs/measurements/cpu-bands-zen4.tsv);
 * and with any vectors if its rows share no sets (docs/measurements/cpu-bands-far.tsv). */
GEMM_INLINE bool has_bands(size_t m, size_t b_rs, size_t k) {
  const size_t rows = band_rows(b_rs);
  if (!rows || k <= rows) return false;
  if (!rows_share_sets(b_rs))
    return m > GEMM_BANDED_LEAST && m <= GEMM_BANDED_ROWS && HX__V_BYTES >= 32 && !hx__cpu_prefetches();
  const bool has_tiles = HX__V_BYTES == 64 && m > GEMM_ROWS_SHARED && m <= 2 * GEMM_MR && b_rs % 4096 != 0;
  return !(has_tiles && hx__cpu_prefetches());
}

/* Tiles of a band, with A packed. The first of several packs its part of the strip, which shares a set of L1 in place;
 * the second, or the only one, walks. Sums that are stored and loaded again have the same bits. */
#define GEMM_TILE_BANDED(mr, nv)                                                                                    \
  static void tile_banded_##mr(const tile_args *t) {                                                                \
    tile_sums s;                                                                                                    \
    if (t->packed)                                                                                                  \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, t->b_rs, TILE_BANDS_PACKS, &s);                            \
    else if (t->walk)                                                                                               \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, t->b_rs, TILE_BANDS_WALKS, &s);                            \
    else                                                                                                            \
      tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, t->b_rs, TILE_BANDS, &s);                                  \
    if (t->ends) {                                                                                                  \
      tile_store(t, mr, GEMM_NV, TILE_FULL, &s);                                                                    \
      return;                                                                                                       \
    }                                                                                                               \
    GEMM_UNROLL for (size_t i = 0; i < mr; i++) {                                                                   \
      GEMM_UNROLL for (size_t v = 0; v < GEMM_NV; v++) vf_store(t->chain + i * GEMM_NR + v * GEMM_VL, s.acc[i][v]); \
    }                                                                                                               \
  }
#define GEMM_TILE_BANDED_NAME(mr, nv) tile_banded_##mr,
GEMM_TILE_ROWS(GEMM_TILE_BANDED, )
static tile_fn *const tile_banded[GEMM_MR] = {GEMM_TILE_ROWS(GEMM_TILE_BANDED_NAME, )}; /* [mr - 1] */

#endif
