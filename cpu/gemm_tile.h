/* SPDX-License-Identifier: Apache-2.0
 * The register tile: up to GEMM_MR x GEMM_NR elements of C summed over one panel of k, all accumulators in registers.
 * Each element is one chain acc = fma(a, b, acc), k ascending from +0. */
#ifndef HX_CPU_GEMM_TILE_H
#define HX_CPU_GEMM_TILE_H

#include <stdbool.h>

#include "cpu/cpu.h"
#include "cpu/gemm_simd.h"

/* GEMM_MR rows and GEMM_NV vectors of columns: accumulators, a row of B and a broadcast of A fill the register file.
 * Operands that are read in place can be cut into other tiles. GEMM_FREE_MR: a tile with fewer rows leaves registers
 * for renaming, so the next tile begins while its sums are stored. GEMM_WIDE_MR x GEMM_WIDE_NV: the tile if an odd
 * number of vectors would leave a tile of one vector, which loads as much as it multiplies. */
#if HX__V_REGS == 32 && HX__V_BYTES == 64
#define GEMM_MR ((size_t)14)
#define GEMM_NV ((size_t)2)
#define GEMM_FREE_MR ((size_t)11)
#define GEMM_WIDE_MR ((size_t)7)
#define GEMM_WIDE_NV ((size_t)3)
#elif HX__V_REGS == 32
#define GEMM_MR ((size_t)8)
#define GEMM_NV ((size_t)3)
#elif HX__HAVE_FMA
#define GEMM_MR ((size_t)6)
#define GEMM_NV ((size_t)2)
#define GEMM_FREE_MR GEMM_MR
#define GEMM_WIDE_MR ((size_t)4)
#define GEMM_WIDE_NV ((size_t)3)
#else
#define GEMM_MR ((size_t)4)
#define GEMM_NV ((size_t)1)
#endif
#ifndef GEMM_WIDE_NV
#define GEMM_FREE_MR GEMM_MR
#define GEMM_WIDE_MR GEMM_MR
#define GEMM_WIDE_NV GEMM_NV
#endif
#define GEMM_NR (GEMM_NV * GEMM_VL)
#define GEMM_TALL (GEMM_MR > 8 ? GEMM_MR : (size_t)8) /* rows of a tile of one vector, for two fma per cycle */
#define GEMM_AHEAD ((size_t)16)                       /* rows ahead that a strip is prefetched while it is packed */
#define GEMM_FETCH ((size_t)8)                        /* rows ahead that B in place is prefetched into L1, */
#define GEMM_FETCH_K ((size_t)64)                     /* from this k on */

/* How many floats ahead B in place is prefetched into L1. 0: the row that is being read, which has no effect. If k is
 * short, the rows after its end, which are not read, would be too many; and rows so far apart share so few of the eight
 * lines in a set of L1 of AMD's cores that they are lost before they are used (docs/measurements/cpu-thin-fetch.tsv).
 */
GEMM_INLINE size_t tile_fetch(size_t b_rs, size_t k) {
  return k < GEMM_FETCH_K || (b_rs % 256 == 0 && hx__cpu_prefetches()) ? 0 : GEMM_FETCH * b_rs;
}

/* Whether every tile that reads B in place walks over the next strip, or only the first tile of each strip: a step of
 * shorter vectors takes so few cycles that two more prefetches slow it (docs/measurements/cpu-thin-walk.tsv). */
#define GEMM_WALKS (HX__V_BYTES == 64)

/* What tiles prefetch into L2 for later tiles, a place in each step of k: `turns` places that are `step` floats apart,
 * then, `wrap` floats behind the last of them, the next ones. A place is as wide as the tile (TILE_WALKS), or one cache
 * line (TILE_WALKS_LINES). */
typedef struct tile_walk {
  const float *next;
  size_t turns, left; /* left: of these turns */
  ptrdiff_t step, wrap;
} tile_walk;

/* One tile of one panel:  d(i,j) = (add ? d(i,j) : 0 +) sum over p of a[i*a_rs + p*a_cs] * b[p*b_rs + j]
 * with NaN canonical, for the kernel's mr rows and the first nr of its nv vectors of columns. */
typedef struct tile_args {
  size_t k;
  const float *a;
  size_t a_rs, a_cs;
  const float *b;
  size_t b_rs, nr;
  size_t fetch; /* tiles that do nothing ahead or walk: how many floats ahead b is prefetched into L1 */
  float *d;
  size_t ldd;
  bool add;
  float *packed;     /* tile_packing: destination of B, in rows of GEMM_NR */
  const float *next; /* tile_packed_ahead: the data to prefetch, */
  size_t next_step;  /* and how many floats of it in each step of k */
  tile_walk *walk;   /* tiles that walk: what to prefetch; left where the tile ends */
  float *chain;      /* tiles of bands: the chains so far, in rows of GEMM_NR; */
  bool begins, ends; /* whether the chains begin with this band, and end with it */
} tile_args;

typedef void tile_fn(const tile_args *t);

/* The last vector of a tile's columns: all of it, its first columns, or its first half or less. */
typedef enum tile_end { TILE_FULL, TILE_PART, TILE_HALF } tile_end;

/* The accumulators of a tile; half: those of a last vector of TILE_HALF. */
typedef struct tile_sums {
  vf acc[GEMM_TALL][GEMM_WIDE_NV];
  vh half[GEMM_TALL];
} tile_sums;

/* What a tile does besides multiplying: prefetches its own packed operands into L1; also prefetches its part of a block
 * of B that is needed later into L2, a little in each step; packs its strip of B; goes on with a walk; or computes
 * a band of the panel, whose chains go on from those in memory, and does nothing else, packs or walks. */
typedef enum tile_ahead_work {
  TILE_NOTHING_AHEAD,
  TILE_FETCHES_ROWS,
  TILE_FETCHES_BLOCK,
  TILE_PACKS,
  TILE_WALKS,
  TILE_WALKS_LINES,
  TILE_BANDS, /* this one and those after it are for bands */
  TILE_BANDS_PACKS,
  TILE_BANDS_WALKS
} tile_ahead_work;

/* The chains of a tile. mr, nv, end and ahead are constants in every call. Rows are addressed in groups of three,
 * because x86 can address base, base + s and base + 2s. */
GEMM_INLINE void tile_chains(const tile_args *t, const size_t mr, const size_t nv, const tile_end end,
                             const size_t a_rs, const size_t a_cs, const size_t b_rs, const tile_ahead_work ahead,
                             tile_sums *s) {
  const float *row[(GEMM_TALL + 2) / 3], *b = t->b;
  const size_t whole = end == TILE_FULL ? nv : nv - 1, full = end == TILE_HALF ? nv - 1 : nv,
               rest = t->nr - (nv - 1) * GEMM_VL;
  const vf_mask mask = vf_mask_of(end == TILE_PART ? rest : 1);
  const vh_mask half_mask = vh_mask_of(end == TILE_HALF ? rest : 1);
  GEMM_UNROLL for (size_t g = 0; 3 * g < mr; g++) row[g] = t->a + 3 * g * a_rs;
  GEMM_UNROLL for (size_t i = 0; i < mr; i++) {
    GEMM_UNROLL for (size_t v = 0; v < full; v++) {
      s->acc[i][v] = ahead >= TILE_BANDS && !t->begins ? vf_load(t->chain + i * GEMM_NR + v * GEMM_VL) : (vf){0};
    }
    s->half[i] = (vh){0};
  }
  const bool walks = ahead == TILE_WALKS || ahead == TILE_WALKS_LINES || ahead == TILE_BANDS_WALKS;
  const bool packs = ahead == TILE_PACKS || ahead == TILE_BANDS_PACKS;
  float *out = packs ? t->packed : NULL;
  const tile_walk walk = walks ? *t->walk : (tile_walk){0};
  const float *next = walks ? walk.next : t->next;
  size_t left = walk.left;
  for (size_t p = t->k; p; p--) {
    if (ahead == TILE_FETCHES_ROWS || ahead == TILE_FETCHES_BLOCK) {
      if (a_rs == 1) __builtin_prefetch(row[0] + GEMM_AHEAD * a_cs, 0, 3);
      for (size_t v = 0; v < nv * GEMM_VL; v += 16) __builtin_prefetch(b + GEMM_AHEAD * b_rs + v, 0, 3);
    }
    if (ahead == TILE_FETCHES_BLOCK) {
      __builtin_prefetch(next, 0, 2);
      next += t->next_step;
    }
    if (walks) {
      for (size_t v = 0; v < (ahead == TILE_WALKS_LINES ? 16 : nv * GEMM_VL); v += 16)
        __builtin_prefetch(next + v, 0, 2);
      next += --left ? walk.step : walk.wrap;
      left = left ? left : walk.turns;
    }
    if (ahead == TILE_NOTHING_AHEAD || ahead == TILE_WALKS) {
      for (size_t v = 0; v < nv * GEMM_VL; v += 16) __builtin_prefetch(b + t->fetch + v, 0, 3);
    }
    vf bv[GEMM_WIDE_NV];
    vh bh = {0};
    GEMM_UNROLL for (size_t v = 0; v < whole; v++) bv[v] = vf_load(b + v * GEMM_VL);
    if (end == TILE_PART) bv[nv - 1] = vf_load_mask(b + whole * GEMM_VL, mask);
    if (end == TILE_HALF) bh = vh_load_mask(b + whole * GEMM_VL, half_mask);
    if (packs) {
      for (size_t v = 0; ahead == TILE_PACKS && v < nv * GEMM_VL; v += 16)
        __builtin_prefetch(b + GEMM_AHEAD * b_rs + v, 0, 2);
      GEMM_UNROLL for (size_t v = 0; v < nv; v++) vf_store(out + v * GEMM_VL, bv[v]);
      out += nv * GEMM_VL;
    }
    GEMM_UNROLL for (size_t i = 0; i < mr; i++) {
      const float a = row[i / 3][i % 3 * a_rs];
      GEMM_UNROLL for (size_t v = 0; v < full; v++) s->acc[i][v] = vf_fma(vf_set1(a), bv[v], s->acc[i][v]);
      if (end == TILE_HALF) s->half[i] = vh_fma(vh_set1(a), bh, s->half[i]);
    }
    GEMM_UNROLL for (size_t g = 0; 3 * g < mr; g++) row[g] += a_cs;
    b += b_rs;
  }
  if (walks) t->walk->next = next, t->walk->left = left;
}

/* Whether a sum may be NaN. Always true if the test would cost as much as making all sums canonical. */
GEMM_INLINE bool tile_has_nan(const size_t mr, const size_t full, const tile_end end, const tile_sums *s) {
#if HX__V_BYTES == 64
  __mmask16 even = 0xffff, odd = 0xffff; /* elements without NaN, in two chains of compares */
  __mmask8 half = 0xff;
  GEMM_UNROLL for (size_t i = 0; full && i < mr; i++) {
    __mmask16 *const chain = i % 2 ? &odd : &even;
    *chain = _mm512_mask_cmp_ps_mask(*chain, s->acc[i][0], s->acc[i][full > 1], _CMP_ORD_Q);
    if (full == 3 && i % 2 == 0)
      odd = _mm512_mask_cmp_ps_mask(odd, s->acc[i][2], s->acc[i + 1 < mr ? i + 1 : i][2], _CMP_ORD_Q);
  }
  GEMM_UNROLL for (size_t i = 0; end == TILE_HALF && i < mr; i += 2) {
    half = _mm256_mask_cmp_ps_mask(half, s->half[i], s->half[i + 1 < mr ? i + 1 : i], _CMP_ORD_Q);
  }
  return (even & odd) != 0xffff || (end == TILE_HALF && half != 0xff);
#elif HX__V_BYTES == 32
  (void)end;
  vf any = {0};
  GEMM_UNROLL for (size_t i = 0; i < mr; i++) {
    any = _mm256_or_ps(any, _mm256_cmp_ps(s->acc[i][0], s->acc[i][full > 1], _CMP_UNORD_Q));
    if (full == 3 && i % 2 == 0)
      any = _mm256_or_ps(any, _mm256_cmp_ps(s->acc[i][2], s->acc[i + 1 < mr ? i + 1 : i][2], _CMP_UNORD_Q));
  }
  return _mm256_movemask_ps(any);
#else
  (void)mr, (void)full, (void)end, (void)s;
  return true;
#endif
}

/* Stores the accumulators in d; mr, nv and end as above. add: to what is there; nan: a sum may be NaN. */
GEMM_INLINE void tile_write(const tile_args *t, const size_t mr, const size_t nv, const tile_end end, const bool add,
                            const bool nan, const tile_sums *s) {
  const size_t rest = t->nr - (nv - 1) * GEMM_VL, ldd = t->ldd;
  const vf_mask mask = vf_mask_of(end == TILE_PART ? rest : 1);
  const vh_mask half_mask = vh_mask_of(end == TILE_HALF ? rest : 1);
  float *d = t->d;
  GEMM_UNROLL for (size_t i = 0; i < mr; i++, d += ldd) {
    GEMM_UNROLL for (size_t v = 0; v < nv; v++) {
      float *const at = d + v * GEMM_VL;
      if (end == TILE_HALF && v + 1 == nv) {
        vh x = s->half[i];
        if (add) x += vh_load_mask(at, half_mask);
        if (nan) x = vh_canonical(x);
        vh_store_mask(at, x, half_mask);
        continue;
      }
      const bool part = end == TILE_PART && v + 1 == nv;
      vf x = s->acc[i][v];
      if (add) x += part ? vf_load_mask(at, mask) : vf_load(at);
      if (nan) x = vf_canonical(x);
      if (part)
        vf_store_mask(at, x, mask);
      else
        vf_store(at, x);
    }
  }
}

GEMM_INLINE void tile_store(const tile_args *t, const size_t mr, const size_t nv, const tile_end end,
                            const tile_sums *s) {
  const size_t full = end == TILE_HALF ? nv - 1 : nv;
  if (t->add)
    tile_write(t, mr, nv, end, true, true, s);
  else if (tile_has_nan(mr, full, end, s))
    tile_write(t, mr, nv, end, false, true, s);
  else
    tile_write(t, mr, nv, end, false, false, s);
}

GEMM_INLINE void tile_ending(const tile_args *t, const size_t mr, const size_t nv, const tile_end end) {
  tile_sums s;
  tile_chains(t, mr, nv, end, t->a_rs, t->a_cs, t->b_rs, TILE_NOTHING_AHEAD, &s);
  tile_store(t, mr, nv, end, &s);
}

/* Computes any tile with any strides. */
GEMM_INLINE void tile_any(const tile_args *t, const size_t mr, const size_t nv) {
  const size_t rest = t->nr - (nv - 1) * GEMM_VL;
  if (rest == GEMM_VL)
    tile_ending(t, mr, nv, TILE_FULL);
  else if (GEMM_HALVES && rest <= GEMM_VL / 2)
    tile_ending(t, mr, nv, TILE_HALF);
  else
    tile_ending(t, mr, nv, TILE_PART);
}

/* C may be in memory, so it is prefetched first and arrives by the time the sums are complete. */
GEMM_INLINE void tile_prefetch_c(const tile_args *t, const size_t mr) {
  GEMM_UNROLL for (size_t i = 0; i < mr; i++) {
    GEMM_UNROLL for (size_t v = 0; v < GEMM_NR; v += 16) __builtin_prefetch(t->d + i * t->ldd + v, 1);
    /* A row that does not begin at a cache line touches one more line. */
    __builtin_prefetch(t->d + i * t->ldd + GEMM_NR - 1, 1);
  }
}

/* Computes the full tiles of the inner loop, with A in place or packed and B packed. */
GEMM_INLINE void tile_full(const tile_args *t, const size_t a_rs, const size_t a_cs, const size_t b_rs,
                           const tile_ahead_work ahead) {
  tile_sums s;
  tile_prefetch_c(t, GEMM_MR);
  tile_chains(t, GEMM_MR, GEMM_NV, TILE_FULL, a_rs, a_cs, b_rs, ahead, &s);
  tile_store(t, GEMM_MR, GEMM_NV, TILE_FULL, &s);
}
static void tile_packed(const tile_args *t) { tile_full(t, 1, GEMM_MR, GEMM_NR, TILE_FETCHES_ROWS); }
static void tile_packed_ahead(const tile_args *t) { tile_full(t, 1, GEMM_MR, GEMM_NR, TILE_FETCHES_BLOCK); }
static void tile_rows_of_a(const tile_args *t) { tile_full(t, t->a_rs, 1, GEMM_NR, TILE_FETCHES_ROWS); }

/* Computes the first tile of a strip of B, and packs the strip for the other tiles. A is packed, or has contiguous
 * rows. */
static void tile_packing(const tile_args *t) {
  if (t->a_cs == 1)
    tile_full(t, t->a_rs, 1, t->b_rs, TILE_PACKS);
  else
    tile_full(t, 1, GEMM_MR, t->b_rs, TILE_PACKS);
}

/* All smaller tiles, with any strides. */
#define GEMM_TILE(mr, nv) \
  static void tile_##mr##_##nv(const tile_args *t) { tile_any(t, mr, nv); }
#define GEMM_ROWS_4(XX, nv) XX(1, nv) XX(2, nv) XX(3, nv) XX(4, nv)
#define GEMM_ROWS_6(XX, nv) GEMM_ROWS_4(XX, nv) XX(5, nv) XX(6, nv)
#define GEMM_ROWS_8(XX, nv) GEMM_ROWS_6(XX, nv) XX(7, nv) XX(8, nv)
#define GEMM_ROWS_14(XX, nv) GEMM_ROWS_8(XX, nv) XX(9, nv) XX(10, nv) XX(11, nv) XX(12, nv) XX(13, nv) XX(14, nv)
#if HX__V_REGS == 32 && HX__V_BYTES == 64
#define GEMM_TILES(XX, YY) YY(GEMM_ROWS_14(XX, 1)) YY(GEMM_ROWS_14(XX, 2)) YY(GEMM_ROWS_8(XX, 3))
#define GEMM_TILE_ROWS GEMM_ROWS_14
#elif HX__V_REGS == 32
#define GEMM_TILES(XX, YY) YY(GEMM_ROWS_8(XX, 1)) YY(GEMM_ROWS_8(XX, 2)) YY(GEMM_ROWS_8(XX, 3))
#define GEMM_TILE_ROWS GEMM_ROWS_8
#elif HX__HAVE_FMA
#define GEMM_TILES(XX, YY) YY(GEMM_ROWS_8(XX, 1)) YY(GEMM_ROWS_6(XX, 2)) YY(GEMM_ROWS_4(XX, 3))
#define GEMM_TILE_ROWS GEMM_ROWS_6
#else
#define GEMM_TILES(XX, YY) YY(GEMM_ROWS_8(XX, 1))
#define GEMM_TILE_ROWS GEMM_ROWS_4
#endif
#define GEMM_TILE_PLAIN(...) __VA_ARGS__
#define GEMM_TILE_NAME(mr, nv) tile_##mr##_##nv,
#define GEMM_TILE_LIST(...) {__VA_ARGS__},
GEMM_TILES(GEMM_TILE, GEMM_TILE_PLAIN)
static tile_fn *const tile_table[GEMM_WIDE_NV][GEMM_TALL] = {
    GEMM_TILES(GEMM_TILE_NAME, GEMM_TILE_LIST)}; /* [nv - 1][mr - 1] */

/* Tiles of full vectors with B in place and A packed, which go on with a walk. */
#define GEMM_TILE_AHEAD(mr, nv)                                                  \
  static void tile_ahead_##mr(const tile_args *t) {                              \
    tile_sums s;                                                                 \
    tile_chains(t, mr, GEMM_NV, TILE_FULL, 1, GEMM_MR, t->b_rs, TILE_WALKS, &s); \
    tile_store(t, mr, GEMM_NV, TILE_FULL, &s);                                   \
  }
#define GEMM_TILE_AHEAD_NAME(mr, nv) tile_ahead_##mr,
GEMM_TILE_ROWS(GEMM_TILE_AHEAD, )
static tile_fn *const tile_ahead[GEMM_MR] = {GEMM_TILE_ROWS(GEMM_TILE_AHEAD_NAME, )}; /* [mr - 1] */

#if HX__V_BYTES >= 32
/* The same with A in place, whose rows are walked over line by line. */
#define GEMM_TILE_ROWS_AHEAD(mr, nv)                                                    \
  static void tile_rows_ahead_##mr##_##nv(const tile_args *t) {                         \
    tile_sums s;                                                                        \
    tile_chains(t, mr, nv, TILE_FULL, t->a_rs, t->a_cs, t->b_rs, TILE_WALKS_LINES, &s); \
    tile_store(t, mr, nv, TILE_FULL, &s);                                               \
  }
#define GEMM_TILE_ROWS_AHEAD_NAME(mr, nv) tile_rows_ahead_##mr##_##nv,
GEMM_TILES(GEMM_TILE_ROWS_AHEAD, GEMM_TILE_PLAIN)
static tile_fn *const tile_rows_ahead[GEMM_WIDE_NV][GEMM_TALL] = {
    GEMM_TILES(GEMM_TILE_ROWS_AHEAD_NAME, GEMM_TILE_LIST)}; /* [nv - 1][mr - 1] */
#else
#define tile_rows_ahead tile_table
#endif

GEMM_INLINE size_t tile_vectors(size_t nr) { return (nr + GEMM_VL - 1) / GEMM_VL; }

/* The rows of the next tile, at most `most`, if `rest` remain. The last two tiles share their rows evenly, so that none
 * has only one or two. */
GEMM_INLINE size_t tile_share(size_t rest, size_t most) {
  return rest >= 2 * most ? most : rest > most ? (rest + 1) / 2 : rest;
}
GEMM_INLINE size_t tile_rows(size_t rest) { return tile_share(rest, GEMM_MR); }

#endif
