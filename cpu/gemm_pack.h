/* SPDX-License-Identifier: Apache-2.0
 * Packing: a strip of an operand, `width` rows of A or columns of B by k, becomes k rows of `width` floats in the order
 * in which the tile reads them. Rows and columns beyond the operand have any values (no tile uses them); k is never
 * padded. A strip that is narrower than a vector is written by full vectors in ascending order, except for the last.
 * Nothing beyond a strip is written, so strips can be packed in any order by any threads. */
#ifndef HX_CPU_GEMM_PACK_H
#define HX_CPU_GEMM_PACK_H

#include "cpu/gemm_tile.h"
#include "runtime/base/gemm.h"

#define GEMM_PACK_ROWS ((size_t)8) /* measured: 4 and 16 are slower, complete strips two to five times */
#define GEMM_UNIT ((size_t)64) /* lines of a unit of packing: about 10 us, and enough units for all threads at 256 */

GEMM_INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }
GEMM_INLINE size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

/* Quads x[r] to their transpose, in every 128-bit part of the registers. */
GEMM_INLINE void transpose_quads(vf x[4]) {
#if HX__V_BYTES == 64
  const __m512 a = _mm512_unpacklo_ps(x[0], x[1]), b = _mm512_unpackhi_ps(x[0], x[1]);
  const __m512 c = _mm512_unpacklo_ps(x[2], x[3]), d = _mm512_unpackhi_ps(x[2], x[3]);
  x[0] = _mm512_shuffle_ps(a, c, 0x44), x[1] = _mm512_shuffle_ps(a, c, 0xee);
  x[2] = _mm512_shuffle_ps(b, d, 0x44), x[3] = _mm512_shuffle_ps(b, d, 0xee);
#elif HX__V_BYTES == 32
  const __m256 a = _mm256_unpacklo_ps(x[0], x[1]), b = _mm256_unpackhi_ps(x[0], x[1]);
  const __m256 c = _mm256_unpacklo_ps(x[2], x[3]), d = _mm256_unpackhi_ps(x[2], x[3]);
  x[0] = _mm256_shuffle_ps(a, c, 0x44), x[1] = _mm256_shuffle_ps(a, c, 0xee);
  x[2] = _mm256_shuffle_ps(b, d, 0x44), x[3] = _mm256_shuffle_ps(b, d, 0xee);
#elif defined(__SSE2__)
  _MM_TRANSPOSE4_PS(x[0], x[1], x[2], x[3]);
#else
  const float32x4x2_t a = vtrnq_f32(x[0], x[1]), b = vtrnq_f32(x[2], x[3]);
  x[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
  x[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
  x[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
  x[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
#endif
}

/* Loads four floats from each of the rows r, r + 4, r + 8, ... into one vector. Intel's cores have one port for
 * shuffles, to which an insertion into 512 bits goes, and two for masked loads; Zen 4 inserts into 256 bits at twice
 * the rate. */
GEMM_INLINE vf load_quads(const float *const row[], size_t r, size_t p) {
#if HX__V_BYTES == 64
  const __m256 one = _mm256_castps128_ps256(_mm_loadu_ps(row[r] + p));
  const __m512 two = _mm512_castps256_ps512(_mm256_insertf128_ps(one, _mm_loadu_ps(row[r + 4] + p), 1));
  const __m512 three = _mm512_mask_broadcast_f32x4(two, 0x0f00, _mm_loadu_ps(row[r + 8] + p));
  return _mm512_mask_broadcast_f32x4(three, 0xf000, _mm_loadu_ps(row[r + 12] + p));
#elif HX__V_BYTES == 32
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row[r] + p)), _mm_loadu_ps(row[r + 4] + p), 1);
#else
  return *(const vf_quad *)(row[r] + p);
#endif
}

/* Loads `depth` floats from p on of each of GEMM_VL rows into `depth` vectors. All floats of a row are read at once,
 * because rows that are a power of two apart share a set of L1, which has fewer lines than there are rows. */
#if HX__V_BYTES == 64
#define GEMM_TRANSPOSE ((size_t)16)
#else
#define GEMM_TRANSPOSE ((size_t)4)
#endif
GEMM_INLINE void load_transposed(const float *const row[], size_t p, const size_t depth, vf x[]) {
  GEMM_UNROLL for (size_t r = 0; r < 4; r++) {
    GEMM_UNROLL for (size_t q = 0; q < depth; q += 4) x[q + r] = load_quads(row, r, p + q);
  }
  GEMM_UNROLL for (size_t q = 0; q < depth; q += 4) transpose_quads(x + q);
}

/* Stores rows of a strip, the last one only up to its width. */
GEMM_INLINE void store_rows(float *out, const size_t width, const size_t rows, const vf x[]) {
  GEMM_UNROLL for (size_t q = 0; q + 1 < rows; q++) vf_store(out + q * width, x[q]);
  float *const last = out + (rows - 1) * width;
  if (width < GEMM_VL)
    memcpy(last, &x[rows - 1], width * sizeof *out);
  else
    vf_store(last, x[rows - 1]);
}

/* Packs x(w, p) = x[w*ld + p], which is contiguous along k. The width is a multiple of a vector, or less than one. */
GEMM_INLINE void pack_transposed(const float *x, size_t ld, size_t valid, const size_t width, size_t k, float *out) {
  for (size_t first = 0; first < width; first += GEMM_VL, out += GEMM_VL) {
    const float *row[GEMM_VL];
    vf t[GEMM_TRANSPOSE];
    for (size_t w = 0; w < GEMM_VL; w++) row[w] = x + least(first + w, valid - 1) * ld;
    size_t p = 0;
    for (; p + GEMM_TRANSPOSE <= k; p += GEMM_TRANSPOSE) {
      load_transposed(row, p, GEMM_TRANSPOSE, t);
      store_rows(out + p * width, width, GEMM_TRANSPOSE, t);
    }
    for (; p + 4 <= k; p += 4) {
      load_transposed(row, p, 4, t);
      store_rows(out + p * width, width, 4, t);
    }
    if (p < k && k >= 4) { /* the last four once more */
      load_transposed(row, k - 4, 4, t);
      store_rows(out + (k - 4) * width, width, 4, t);
      p = k;
    }
    for (; p < k; p++) {
      for (size_t w = 0; w < least(GEMM_VL, width); w++) out[p * width + w] = row[w][p];
    }
  }
}

/* Packs x(w, p) = x[p*ld + w], which is contiguous along the width. Prefetches the rows that are packed next, as far as
 * pack_depth goes. The last row is written only up to its width, because the next strip may be packed already. */
GEMM_INLINE void pack_copied(const float *x, size_t ld, size_t valid, const size_t width, size_t k, float *out) {
  if (valid == width && width % GEMM_VL == 0) {
    for (size_t p = 0; p < k; p++, x += ld, out += width) {
      for (size_t w = 0; w < width; w += 16) __builtin_prefetch(x + GEMM_PACK_ROWS * ld + w, 0, 3);
      GEMM_UNROLL for (size_t w = 0; w < width; w += GEMM_VL) vf_store(out + w, vf_load(x + w));
    }
    return;
  }
  const size_t whole = (valid - 1) / GEMM_VL * GEMM_VL; /* the last vector, full or not, is masked */
  const vf_mask mask = vf_mask_of(valid - whole);
  for (size_t p = 0; p + 1 < k; p++, x += ld, out += width) {
    for (size_t w = 0; w < whole; w += GEMM_VL) vf_store(out + w, vf_load(x + w));
    vf_store(out + whole, vf_load_mask(x + whole, mask));
  }
  memcpy(out, x, valid * sizeof *out);
}

/* Packs x(w, p) = x[w*w_stride + p*k_stride], of which `valid` of `width` rows exist. */
GEMM_INLINE void pack_strip(const float *x, size_t w_stride, size_t k_stride, size_t valid, const size_t width,
                            size_t k, float *out) {
  if (k_stride == 1) {
    pack_transposed(x, w_stride, valid, width, k, out);
  } else if (w_stride == 1) {
    pack_copied(x, k_stride, valid, width, k, out);
  } else {
    for (size_t p = 0; p < k; p++) {
      for (size_t w = 0; w < width; w++) out[p * width + w] = x[least(w, valid - 1) * w_stride + p * k_stride];
    }
  }
}

/* The same with a strip that is as wide as its vectors, of which a tile has at most three. */
GEMM_INLINE void pack_vectors(const float *x, size_t w_stride, size_t k_stride, size_t valid, size_t vectors, size_t k,
                              float *out) {
  if (vectors == 1) pack_strip(x, w_stride, k_stride, valid, GEMM_VL, k, out);
  if (GEMM_WIDE_NV > 1 && vectors == 2) pack_strip(x, w_stride, k_stride, valid, 2 * GEMM_VL, k, out);
  if (GEMM_WIDE_NV > 2 && vectors == 3) pack_strip(x, w_stride, k_stride, valid, 3 * GEMM_VL, k, out);
}

/* The rows of k that are packed at a time. If a strip is narrow and contiguous along its width, all strips advance
 * together by a few rows of k, so that memory is read in long pieces. */
GEMM_INLINE size_t pack_depth(size_t w_stride, size_t k_stride, size_t k) {
  return w_stride == 1 && k_stride != 1 ? least(k, GEMM_PACK_ROWS) : k;
}

/* Packs m rows of A into strips for tiles, with GEMM_MR floats for each k. */
static void pack_a(const float *a, size_t a_rs, size_t a_cs, size_t m, size_t k, float *out) {
  const size_t depth = pack_depth(a_rs, a_cs, k);
  for (size_t p = 0; p < k; p += depth) {
    float *to = out + p * GEMM_MR;
    for (size_t i = 0, rows; i < m; i += rows, to += GEMM_MR * k) {
      rows = tile_rows(m - i);
      pack_strip(a + i * a_rs + p * a_cs, a_rs, a_cs, rows, GEMM_MR, least(depth, k - p), to);
    }
  }
}

/* Packs n columns of B into strips of GEMM_NR columns. */
static void pack_b(const float *b, size_t b_rs, size_t b_cs, size_t k, size_t n, float *out) {
  const size_t depth = pack_depth(b_cs, b_rs, k);
  for (size_t p = 0; p < k; p += depth) {
    float *to = out + p * GEMM_NR;
    for (size_t j = 0; j < n; j += GEMM_NR, to += GEMM_NR * k) {
      pack_strip(b + j * b_cs + p * b_rs, b_cs, b_rs, least(GEMM_NR, n - j), GEMM_NR, least(depth, k - p), to);
    }
  }
}

/* The rows (columns) of the next block if `rest` remain. A block has at most `most`, a multiple of the strip; the last
 * block may be up to a strip longer, so that blocks and the full operand have the same strips. */
GEMM_INLINE size_t block_of(size_t rest, size_t most, size_t strip) { return rest < most + strip ? rest : most; }

/* The layout of a completely packed operand: one panel of k after another, each with all strips. A unit is one panel of
 * one block. */
typedef struct gemm_units {
  size_t width, strip, block, blocks; /* of m or n */
} gemm_units;

GEMM_INLINE gemm_units units_of(const hx__gemm *g, bool of_b) {
  const size_t width = of_b ? g->n : g->m, strip = of_b ? GEMM_NR : GEMM_MR, block = GEMM_UNIT / strip * strip;
  return (gemm_units){width, strip, block, width < block + strip ? 1 : (width - strip) / block + 1};
}

static size_t pack_units(const hx__gemm *g, bool of_b) {
  return units_of(g, of_b).blocks * ((g->k + HX__PANEL - 1) / HX__PANEL);
}

static void pack(const hx__gemm *g, bool of_b, size_t unit, void *packed) {
  const gemm_units u = units_of(g, of_b);
  const size_t p = unit / u.blocks * HX__PANEL, at = unit % u.blocks * u.block;
  const size_t k = least(HX__PANEL, g->k - p), count = block_of(u.width - at, u.block, u.strip);
  float *const out = (float *)packed + p * round_up(u.width, u.strip) + at * k;
  if (of_b)
    pack_b(g->b + p * g->b_rs + at * g->b_cs, g->b_rs, g->b_cs, k, count, out);
  else
    pack_a(g->a + at * g->a_rs + p * g->a_cs, g->a_rs, g->a_cs, count, k, out);
}

#endif
