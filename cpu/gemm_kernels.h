/* SPDX-License-Identifier: Apache-2.0
 * The matrix product of one ISA: a template, included once by each isa_*.c (gemm_simd.h names the macros it reads). It
 * gives GEMM_MR, GEMM_NR and the product's functions of cpu/cpu.h. The order of every rounding
 * is docs/ARITHMETIC.md's: panels of HX__PANEL along k, one chain of fma each, and panels are added in order. So k
 * is cut nowhere else, while m and n may be cut anywhere. */
#ifndef HX_CPU_GEMM_KERNELS_H
#define HX_CPU_GEMM_KERNELS_H

#include "cpu/cpu.h"
#include "cpu/gemm_ahead.h"
#include "cpu/gemm_bare.h"
#include "cpu/gemm_block.h"
#include "cpu/gemm_pack.h"
#include "cpu/gemm_rows.h"
#include "cpu/gemm_thin.h"
#include "cpu/gemm_wide.h"
#include "runtime/base/thresholds.h"

#define GEMM_NEAR_STRIP ((size_t)4096) /* floats of a strip of B on the stack */

/* A block of B fills three eighths of L2. A panel of A has 2 MiB: it passes through L2 once for each block of B. The
 * sizes were measured on Zen 5 and Sapphire Rapids: docs/measurements/cpu-block-sizes.tsv and cpu-blocking.tsv. */
static hx__gemm_blocking gemm_blocking(size_t l2_bytes) {
  const size_t l2 = l2_bytes ? l2_bytes : 256 * 1024, nc = l2 * 3 / 8 / (HX__PANEL * sizeof(float)) / GEMM_NR * GEMM_NR;
  return (hx__gemm_blocking){1008 / GEMM_MR * GEMM_MR, nc > 2 * GEMM_NR ? nc : 2 * GEMM_NR, 4096};
}

/* Size of the next block of at most `most` rows or columns, a multiple of the strip, if `rest` remain: blocks are of
 * nearly equal size. */
static size_t even_block(size_t rest, size_t most, size_t strip) {
  const size_t blocks = rest < most + strip ? 1 : (rest + most - 1) / most;
  return block_of(rest, round_up((rest + blocks - 1) / blocks, strip), strip);
}

/* The parts of the scratch, in floats. */
typedef struct gemm_scratch {
  size_t a, b, sums;
} gemm_scratch;

static gemm_scratch scratch_parts(hx__gemm_blocking blocking, size_t m, size_t n, size_t k) {
  const size_t kc = least(k, HX__PANEL), nc = round_up(least(n, blocking.nc + GEMM_NR), GEMM_NR);
  const size_t rows = least(m, blocking.mc + GEMM_MR);
  const size_t columns = round_up(least(n, blocking.columns + GEMM_NR), GEMM_NR);
  gemm_scratch parts;
  parts.a = round_up(round_up(rows, GEMM_MR) * kc + GEMM_MR * GEMM_ROW_GAP, 16);
  parts.b = round_up(nc * kc, 16);
  parts.sums = k > HX__PANEL ? rows * columns : 0;
  return parts;
}

static size_t gemm_scratch_bytes(hx__gemm_blocking blocking, size_t m, size_t n, size_t k) {
  if (!m || !n || !k) return 0;
  const gemm_scratch parts = scratch_parts(blocking, m, n, k);
  const size_t packed = parts.a + parts.b + parts.sums, rows = rows_scratch_floats(m, n, k);
  const size_t thin = thin_scratch_floats(m, n, k), most = packed > rows ? packed : rows;
  return (most > thin ? most : thin) * sizeof(float);
}

/* A panel of a block, from line i on, of a completely packed operand with strips of that width. */
GEMM_INLINE const float *packed_panel(const hx__gemm_packed *x, size_t strip, size_t p, size_t i, size_t kc) {
  return (const float *)x->p + p * round_up(x->lines, strip) + (x->first + i) * kc;
}

/* A panel of a block of A. If few columns use it, contiguous rows are read in place, because packing costs more. Rows
 * that are a multiple of 4 KB apart share sets of L1: tiles copy them to rows that do not, and wide_block, whose tiles
 * read all of A for each strip, has them packed. */
static gemm_side side_of_a(const hx__gemm *g, size_t i, size_t p, size_t mc, size_t kc, bool wide, float *out) {
  const float *const a = g->a + i * g->a_rs + p * g->a_cs;
  const bool share_sets = g->a_rs * sizeof *a % 4096 == 0;
  const size_t most = !wide ? HX__UNPACKED_A_COLUMNS : share_sets ? 0 : HX__WIDE_UNPACKED_COLUMNS;
  if (g->a_cs != 1 || g->n > most) {
    pack_a(a, g->a_rs, g->a_cs, mc, kc, out);
    return (gemm_side){.p = out, .rs = 1, .cs = GEMM_MR, .packed = true};
  }
  return (gemm_side){.p = a, .rs = g->a_rs, .cs = 1, .copy = share_sets ? out : NULL};
}

static bool scales(const hx__gemm *g) { return g->alpha != 1 || g->beta != 0; }

/* The panels of a block of C, which has `rows` x `columns` elements from (r, j) on. */
static void gemm_block(const hx__gemm *g, hx__gemm_blocking blocking, const hx__gemm_packed *packed_a,
                       const hx__gemm_packed *packed_b, float *scratch, size_t r, size_t rows, size_t j, size_t columns,
                       gemm_ahead *ahead) {
  const gemm_scratch parts = scratch_parts(blocking, g->m, g->n, g->k);
  float *const pa = scratch, *const pb = pa + parts.a, *const sums = pb + parts.b;
  const bool beside = g->beta != 0 && g->k > HX__PANEL; /* the sums cannot be in C */
  float tile[GEMM_MR * GEMM_NR] __attribute__((aligned(64)));
  float *const buffer = g->beta != 0 && !beside ? tile : NULL;
  /* The rows of A stay in L2 while strips pass: as many as a block of B has columns, or few. */
  const bool wide =
      !packed_b && rows == g->m && wide_takes(g) && g->m <= (blocking.nc > HX__THIN_ROWS ? blocking.nc : HX__THIN_ROWS);
  for (size_t p = 0; p < g->k; p += HX__PANEL) {
    const size_t kc = least(HX__PANEL, g->k - p), end = j + columns;
    const gemm_side a =
        packed_a ? (gemm_side){.p = packed_panel(packed_a, GEMM_MR, p, r, kc), .rs = 1, .cs = GEMM_MR, .packed = true}
                 : side_of_a(g, r, p, rows, kc, wide, pa);
    for (size_t at = j, nc; at < end; at += nc) {
      nc = wide ? end - at : even_block(end - at, blocking.nc, GEMM_NR);
      float *const c = g->c + r * g->ldc + at;
      const gemm_target target = {.sums = beside ? sums + (at - j) : c,
                                  .buffer = buffer,
                                  .lds = beside   ? columns
                                         : buffer ? GEMM_NR
                                                  : g->ldc,
                                  .c = c,
                                  .ldc = g->ldc,
                                  .alpha = g->alpha,
                                  .beta = g->beta,
                                  .ahead = ahead,
                                  .add = p != 0,
                                  .scaled = p + kc == g->k && scales(g)};
      const gemm_side b = {.p = g->b + p * g->b_rs + at * g->b_cs,
                           .rs = g->b_rs,
                           .cs = g->b_cs,
                           .packed = packed_b != NULL,
                           .near = !packed_b && tiles_pack(g)};
      float *const strips = packed_b ? (float *)(uintptr_t)packed_panel(packed_b, GEMM_NR, p, at, kc) : pb;
      const bool edge = !a.packed && at + nc == g->n && edge_takes(g->n);
      if (wide)
        wide_block(rows, nc, kc, &a, &b, strips, &target);
      else
        packed_block(rows, nc - edge, edge, kc, &a, &b, strips, &target);
    }
  }
}

static void gemm_packed(const hx__gemm *g, hx__gemm_blocking blocking, const hx__gemm_packed *packed_a,
                        const hx__gemm_packed *packed_b, float *scratch) {
  gemm_ahead ahead;
  const bool has_next = ahead_pays(g);
  if (has_next) ahead = ahead_of(g);
  for (size_t j = 0, columns; j < g->n; j += columns) {
    columns = even_block(g->n - j, blocking.columns, GEMM_NR);
    for (size_t r = 0, rows; r < g->m; r += rows) {
      rows = even_block(g->m - r, blocking.mc, GEMM_MR);
      gemm_block(g, blocking, packed_a, packed_b, scratch, r, rows, j, columns, has_next ? &ahead : NULL);
    }
  }
}

/* Whether a B whose rows are not contiguous is packed on the stack, a strip at a time: that of a small product, and
 * that of a narrow one with a short k. Not if C is tall and the rows of A are contiguous, because gemm_thin prefetches
 * them; and not if a tall C has more than few strips, because each strip reads all of A again. */
static bool strip_takes(const hx__gemm *g) {
  if (g->k > least(HX__PANEL, GEMM_NEAR_STRIP / GEMM_NR)) return false;
  const bool narrow = g->n > g->m ? g->m <= HX__STRIP_ROWS : g->n <= HX__THIN_COLUMNS && g->a_cs != 1;
  if (g->k <= HX__STRIP_K && narrow) return true;
  return g->m <= HX__STRIP_UNITS && g->n <= HX__STRIP_UNITS && g->m * g->n * g->k <= HX__STRIP_UNITS;
}

/* Whether C is tall with two to four columns and k is so short that it takes longer to turn rows of A than to compute
 * with vectors that are mostly empty: docs/measurements/cpu-tall-short.tsv. Masks cost more without AVX-512. */
static bool is_tall_and_short(const hx__gemm *g) {
  return HX__V_BYTES == 64 && g->n > 1 && g->n <= GEMM_ROWS && g->m > GEMM_ROWS && g->a_rs != 1 &&
         g->k <= HX__TALL_K * (g->n - 1);
}

/* Whether gemm_thin is faster than tiles that read both operands in place. It prefetches the large one, and packs the
 * small one. That pays if the large operand has many elements; with fewer, if its rows share sets of L1, or if those
 * that are read one after the other, with the same k, are far apart. Few columns of a C whose A is transposed would
 * also leave vectors in place partly empty (docs/measurements/cpu-thin-direct.tsv). */
static bool thin_beats_direct(const hx__gemm *g) {
  const bool wide = g->n > g->m;
  const size_t floats = (wide ? g->n : g->m) * g->k;
  if (floats < HX__THIN_TALL_FLOATS || !thin_takes(g) || thin_small(g)) return false;
  if (!wide && g->a_rs == 1) {
    const bool partly_empty = g->n % GEMM_VL && (g->n < GEMM_VL || !hx__cpu_prefetches());
    return floats >= (partly_empty ? HX__THIN_TURNED_FLOATS : HX__THIN_SETS_FLOATS);
  }
  if (!wide) return rows_share_sets(g->a_rs);
  if (floats >= HX__THIN_FLOATS) return true;
  if (HX__V_BYTES == 64 && hx__cpu_prefetches()) return false;
  if (g->a_rs == 1 && g->a_cs >= GEMM_BAND_FAR && floats >= HX__THIN_TURNED_FLOATS) return true;
  const size_t readers = g->m > GEMM_MR ? 2 : 1; /* of a strip of B, which its sets do not keep */
  return rows_share_sets(g->b_rs) && floats >= HX__THIN_SETS_FLOATS / readers;
}

/* Products of one panel whose tiles read A in place, and B, or a strip of it. */
static bool direct_takes(const hx__gemm *g) {
  if (is_tall_and_short(g)) return true;
  if (g->b_cs != 1) return strip_takes(g);
  return g->k <= HX__PANEL && g->m <= HX__IN_PLACE_UNITS && g->n <= HX__IN_PLACE_UNITS &&
         g->m * g->n * g->k <= HX__IN_PLACE_UNITS && !thin_beats_direct(g);
}

/* How many vectors the next strip of an operand in place has if `rest` columns remain. The last strip is not widened by
 * half a vector. wide: others are GEMM_WIDE_NV wide, but none of the last two has only one vector. */
GEMM_INLINE size_t free_vectors(size_t rest, bool wide) {
  const size_t vectors = tile_vectors(rest);
  const bool half = GEMM_HALVES && vectors > GEMM_NV && (rest - 1) % GEMM_VL < GEMM_VL / 2;
  if (wide && vectors > GEMM_WIDE_NV + 1) return GEMM_WIDE_NV;
  return vectors <= GEMM_WIDE_NV && !half ? vectors : least(vectors, GEMM_NV);
}

/* Whether so few rows are computed in wide tiles: they read each row of A less often. AMD's cores take as long. */
GEMM_INLINE bool direct_is_wide(const hx__gemm *g) {
  return HX__V_BYTES == 64 && g->m > GEMM_ROWS && g->m <= GEMM_WIDE_MR && !hx__cpu_prefetches();
}

/* strip: NULL, or room for a strip of B, which is packed. */
GEMM_INLINE void direct_tiles(const hx__gemm *g, float *strip) {
  float tile[GEMM_TALL * GEMM_WIDE_NV * GEMM_VL] __attribute__((aligned(64)));
  const size_t fit = strip ? GEMM_NEAR_STRIP / GEMM_VL / g->k : GEMM_WIDE_NV; /* vectors of a strip */
  const gemm_target target = {.sums = g->c,
                              .buffer = g->beta != 0 ? tile : NULL,
                              .lds = g->beta != 0 ? GEMM_WIDE_NV * GEMM_VL : g->ldc,
                              .c = g->c,
                              .ldc = g->ldc,
                              .alpha = g->alpha,
                              .beta = g->beta,
                              .scaled = scales(g)};
  tile_walk walk;
  gemm_ahead ahead;
  const bool has_next = ahead_pays(g);
  if (has_next) ahead = ahead_of(g);
  const bool wide = direct_is_wide(g);
  tile_args t = {.k = g->k,
                 .a_rs = g->a_rs,
                 .a_cs = g->a_cs,
                 .b_rs = g->b_rs,
                 .fetch = strip ? 0 : tile_fetch(g->b_rs, g->k),
                 .ldd = target.lds,
                 .walk = &walk};
  for (size_t j = 0; j < g->n; j += t.nr) {
    const size_t rest = g->n - j, vectors = least(free_vectors(rest, wide), fit);
    const size_t most = vectors > GEMM_NV ? GEMM_WIDE_MR : vectors == 1 ? GEMM_TALL : GEMM_FREE_MR;
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): m is at least 1
    const size_t tiles = (g->m + most - 1) / most, rows = g->m / tiles, longer = g->m % tiles;
    t.a = g->a;
    t.b = g->b + j;
    t.nr = least(rest, vectors * GEMM_VL);
    if (strip) {
      pack_vectors(g->b + j * g->b_cs, g->b_cs, g->b_rs, t.nr, vectors, g->k, strip);
      t.b = strip, t.b_rs = vectors * GEMM_VL;
    }
    for (size_t i = 0, s = 0, mr; s < tiles; s++, i += mr, t.a += mr * g->a_rs) {
      mr = rows + (s < longer);
      const bool walks = has_next && t.nr % GEMM_VL == 0 && ahead_walks(&ahead, g->k, &walk);
      // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): vectors and mr are at least 1
      run_tile((walks ? tile_rows_ahead : tile_table)[vectors - 1][mr - 1], &t, mr, &target, i, j);
    }
  }
}

static __attribute__((noinline)) void direct_with_strip(const hx__gemm *g) {
  float strip[GEMM_NEAR_STRIP] __attribute__((aligned(64)));
  direct_tiles(g, strip);
}

static void gemm_direct(const hx__gemm *g) {
  if (g->b_cs == 1)
    direct_tiles(g, NULL);
  else
    direct_with_strip(g);
}

/* Computes so few multiply-adds that scalar code is faster than vectors with masks. */
static void gemm_tiny(const hx__gemm *g) {
  for (size_t i = 0; i < g->m; i++) {
    for (size_t j = 0; j < g->n; j++) {
      const float *a = g->a + i * g->a_rs, *b = g->b + j * g->b_cs;
      float sum = 0, *const c = g->c + i * g->ldc + j;
      for (size_t p = 0; p < g->k; p++, a += g->a_cs, b += g->b_rs) sum = __builtin_fmaf(*a, *b, sum);
      sum = g->alpha * sum;
      if (g->beta != 0) sum = __builtin_fmaf(g->beta, *c, sum);
      const uint32_t nan = HX__CANONICAL_NAN;
      memcpy(c, sum != sum ? (const void *)&nan : &sum, sizeof *c);
    }
  }
}

/* Whether gemm_rows computes this product of few rows or columns faster than gemm_direct. */
static bool rows_beat_direct(const hx__gemm *g) {
  const bool packs = g->b_cs != 1;
  if (is_tall_and_short(g)) return false;
  if (!rows_takes(g) || !direct_takes(g) || (packs && rows_swaps(g))) return rows_takes(g);
  if (!packs && g->m > 1 && g->m <= GEMM_ROWS && g->n <= HX__FEW_ROWS_COLUMNS * g->m) return false;
  return g->m * g->n * g->k > (g->n == 1 ? HX__ONE_COLUMN_UNITS : packs ? HX__FEW_PACKED_UNITS : HX__FEW_UNITS);
}

static bool gemm_in_place(const hx__gemm *g) {
  if (g->m * g->n * g->k <= HX__TINY_UNITS && g->m <= HX__TINY_UNITS && g->n <= HX__TINY_UNITS &&
      g->k <= HX__TINY_UNITS)
    gemm_tiny(g);
  else if (!rows_beat_direct(g) && direct_takes(g))
    gemm_direct(g);
  else if (rows_near(g))
    gemm_rows_near(g);
  else
    return false;
  return true;
}

/* The size of a completely packed operand; 0 if the product is not computed from packed operands. */
static size_t packed_bytes(const hx__gemm *g, bool of_b) {
  if (!g->m || !g->n || !g->k || g->alpha == 0 || rows_takes(g) || direct_takes(g) || thin_takes(g)) return 0;
  size_t bytes;
  const size_t width = round_up(of_b ? g->n : g->m, of_b ? GEMM_NR : GEMM_MR);
  return __builtin_mul_overflow(width * sizeof(float), g->k, &bytes) ? 0 : bytes;
}

static void gemm(const hx__gemm *g, hx__gemm_blocking blocking, const hx__gemm_packed *packed_a,
                 const hx__gemm_packed *packed_b, void *scratch) {
  if (!g->m || !g->n) return;
  if (g->apart && g->k > HX__PANEL && (!scratch || !thin_takes(g) || rows_takes(g))) {
    hx__gemm panel = *g;
    for (size_t p = 0; p < g->k; p += HX__PANEL, panel.c += g->apart) {
      panel.k = least(HX__PANEL, g->k - p);
      panel.a = g->a + p * g->a_cs;
      panel.b = g->b + p * g->b_rs;
      gemm(&panel, blocking, NULL, NULL, scratch);
    }
  } else if (!g->k || g->alpha == 0) {
    store_no_product(g->m, g->n, g->c, g->ldc, g->beta);
  } else if (!scratch) {
    gemm_bare(g);
  } else if (packed_a || packed_b) {
    gemm_packed(g, blocking, packed_a, packed_b, scratch);
  } else if (rows_takes(g)) {
    gemm_rows(g, scratch);
  } else if (direct_takes(g)) {
    gemm_direct(g);
  } else if (thin_takes(g)) {
    gemm_thin(g, scratch);
  } else {
    gemm_packed(g, blocking, NULL, NULL, scratch);
  }
}

#endif
