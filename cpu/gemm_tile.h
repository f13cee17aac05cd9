/* SPDX-License-Identifier: Apache-2.0
 * The register tile: up to GEMM_MR x GEMM_NR elements of C summed over one panel of k, all accumulators in registers.
 * Each element is one chain acc = fma(a, b, acc), k ascending from +0. */
#ifndef HX_CPU_GEMM_TILE_H
#define HX_CPU_GEMM_TILE_H

#include <stdbool.h>

#include "cpu/gemm_simd.h"

/* GEMM_MR rows and GEMM_NV vectors of columns: accumulators, a row of B and a broadcast of A fill the register file. */
#if HX__V_REGS == 32 && HX__V_BYTES == 64
#define GEMM_MR ((size_t)14)
#define GEMM_NV ((size_t)2)
#elif HX__V_REGS == 32
#define GEMM_MR ((size_t)8)
#define GEMM_NV ((size_t)3)
#elif HX__HAVE_FMA
#define GEMM_MR ((size_t)6)
#define GEMM_NV ((size_t)2)
#else
#define GEMM_MR ((size_t)4)
#define GEMM_NV ((size_t)1)
#endif
#define GEMM_NR (GEMM_NV * GEMM_VL)

/* One tile of one panel:  d(i,j) = (add ? d(i,j) : 0 +) sum over p of a[i*a_rs + p*a_cs] * b[p*b_rs + j]
 * with NaN canonical, for the kernel's mr rows and the first nr of its nv vectors of columns. */
typedef struct tile_args {
  size_t k;
  const float *a;
  size_t a_rs, a_cs;
  const float *b;
  size_t b_rs, nr;
  float *d;
  size_t ldd;
  bool add;
} tile_args;

typedef void tile_fn(const tile_args *t);

/* The chains of a tile. mr, nv and masked are constants at every call; masked: the last vector of B is. Rows go by
 * threes, for x86 addresses base, base + s and base + 2s. */
GEMM_INLINE void tile_chains(const tile_args *t, const size_t mr, const size_t nv, const bool masked, const size_t a_rs,
                             const size_t a_cs, const size_t b_rs, vf acc[GEMM_MR][GEMM_NV]) {
  const float *row[(GEMM_MR + 2) / 3], *b = t->b;
  const vf_mask mask = vf_mask_of(t->nr - (nv - 1) * GEMM_VL);
  GEMM_UNROLL for (size_t g = 0; 3 * g < mr; g++) row[g] = t->a + 3 * g * a_rs;
  GEMM_UNROLL for (size_t i = 0; i < mr; i++) { GEMM_UNROLL for (size_t v = 0; v < nv; v++) acc[i][v] = (vf){0}; }
  for (size_t p = t->k; p; p--) {
    vf bv[GEMM_NV];
    GEMM_UNROLL for (size_t v = 0; v < nv; v++) {
      bv[v] = masked && v + 1 == nv ? vf_load_mask(b + v * GEMM_VL, mask) : vf_load(b + v * GEMM_VL);
    }
    GEMM_UNROLL for (size_t i = 0; i < mr; i++) {
      const vf av = vf_set1(row[i / 3][i % 3 * a_rs]);
      GEMM_UNROLL for (size_t v = 0; v < nv; v++) acc[i][v] = vf_fma(av, bv[v], acc[i][v]);
    }
    GEMM_UNROLL for (size_t g = 0; 3 * g < mr; g++) row[g] += a_cs;
    b += b_rs;
  }
}

/* Whether a sum is NaN; true where asking costs as much as making all of them canonical. */
GEMM_INLINE bool tile_has_nan(const size_t mr, const size_t nv, vf acc[GEMM_MR][GEMM_NV]) {
#if HX__V_BYTES == 64
  __mmask16 any = 0;
  GEMM_UNROLL for (size_t i = 0; i < mr; i++) any |= _mm512_cmp_ps_mask(acc[i][0], acc[i][nv - 1], _CMP_UNORD_Q);
  return any;
#elif HX__V_BYTES == 32
  vf any = _mm256_cmp_ps(acc[0][0], acc[0][nv - 1], _CMP_UNORD_Q);
  GEMM_UNROLL for (size_t i = 1; i < mr; i++) any =
      _mm256_or_ps(any, _mm256_cmp_ps(acc[i][0], acc[i][nv - 1], _CMP_UNORD_Q));
  return _mm256_movemask_ps(any);
#else
  (void)mr, (void)nv, (void)acc;
  return true;
#endif
}

/* From the accumulators to d; mr, nv and masked as above; add, nan: whether there may be any. */
GEMM_INLINE void tile_write(const tile_args *t, const size_t mr, const size_t nv, const bool masked, const bool add,
                            const bool nan, vf acc[GEMM_MR][GEMM_NV]) {
  const vf_mask mask = vf_mask_of(t->nr - (nv - 1) * GEMM_VL);
  const size_t ldd = t->ldd;
  float *d = t->d;
  GEMM_UNROLL for (size_t i = 0; i < mr; i++, d += ldd) {
    GEMM_UNROLL for (size_t v = 0; v < nv; v++) {
      float *const at = d + v * GEMM_VL;
      const bool part = masked && v + 1 == nv;
      vf x = acc[i][v];
      if (add) x += part ? vf_load_mask(at, mask) : vf_load(at);
      if (nan) x = vf_canonical(x);
      if (part)
        vf_store_mask(at, x, mask);
      else
        vf_store(at, x);
    }
  }
}

GEMM_INLINE void tile_store(const tile_args *t, const size_t mr, const size_t nv, const bool masked,
                            vf acc[GEMM_MR][GEMM_NV]) {
  if (t->add)
    tile_write(t, mr, nv, masked, true, true, acc);
  else if (nv > 2 || tile_has_nan(mr, nv, acc))
    tile_write(t, mr, nv, masked, false, true, acc);
  else
    tile_write(t, mr, nv, masked, false, false, acc);
}

/* Any tile and strides. Masks cost nothing with AVX-512; elsewhere they do, so whole vectors go without. */
GEMM_INLINE void tile_any(const tile_args *t, const size_t mr, const size_t nv) {
  vf acc[GEMM_MR][GEMM_NV];
  if (HX__V_BYTES == 64 || t->nr < nv * GEMM_VL) {
    tile_chains(t, mr, nv, true, t->a_rs, t->a_cs, t->b_rs, acc);
    tile_store(t, mr, nv, true, acc);
  } else {
    tile_chains(t, mr, nv, false, t->a_rs, t->a_cs, t->b_rs, acc);
    tile_store(t, mr, nv, false, acc);
  }
}

/* The tile of the inner loop: whole, both operands packed. C comes from far: asked for now, there when the sums are. */
static void tile_packed(const tile_args *t) {
  vf acc[GEMM_MR][GEMM_NV];
  GEMM_UNROLL for (size_t i = 0; i < GEMM_MR; i++) {
    GEMM_UNROLL for (size_t v = 0; v < GEMM_NR; v += 16) __builtin_prefetch(t->d + i * t->ldd + v, 1);
  }
  tile_chains(t, GEMM_MR, GEMM_NV, false, 1, GEMM_MR, GEMM_NR, acc);
  tile_store(t, GEMM_MR, GEMM_NV, false, acc);
}

/* Every smaller tile, any strides. */
#define GEMM_TILE(mr, nv) \
  static void tile_##mr##_##nv(const tile_args *t) { tile_any(t, mr, nv); }
#define GEMM_ROWS_4(XX, nv) XX(1, nv) XX(2, nv) XX(3, nv) XX(4, nv)
#define GEMM_ROWS_6(XX, nv) GEMM_ROWS_4(XX, nv) XX(5, nv) XX(6, nv)
#define GEMM_ROWS_8(XX, nv) GEMM_ROWS_6(XX, nv) XX(7, nv) XX(8, nv)
#define GEMM_ROWS_14(XX, nv) GEMM_ROWS_8(XX, nv) XX(9, nv) XX(10, nv) XX(11, nv) XX(12, nv) XX(13, nv) XX(14, nv)
#if HX__V_REGS == 32 && HX__V_BYTES == 64
#define GEMM_TILE_ROWS GEMM_ROWS_14
#define GEMM_TILE_COLUMNS(XX) XX(1) XX(2)
#elif HX__V_REGS == 32
#define GEMM_TILE_ROWS GEMM_ROWS_8
#define GEMM_TILE_COLUMNS(XX) XX(1) XX(2) XX(3)
#elif HX__HAVE_FMA
#define GEMM_TILE_ROWS GEMM_ROWS_6
#define GEMM_TILE_COLUMNS(XX) XX(1) XX(2)
#else
#define GEMM_TILE_ROWS GEMM_ROWS_4
#define GEMM_TILE_COLUMNS(XX) XX(1)
#endif
#define GEMM_TILE_DEFINE(nv) GEMM_TILE_ROWS(GEMM_TILE, nv)
#define GEMM_TILE_NAME(mr, nv) tile_##mr##_##nv,
#define GEMM_TILE_LIST(nv) {GEMM_TILE_ROWS(GEMM_TILE_NAME, nv)},
GEMM_TILE_COLUMNS(GEMM_TILE_DEFINE)
static tile_fn *const tile_table[GEMM_NV][GEMM_MR] = {GEMM_TILE_COLUMNS(GEMM_TILE_LIST)}; /* [nv - 1][mr - 1] */

GEMM_INLINE size_t tile_vectors(size_t nr) { return (nr + GEMM_VL - 1) / GEMM_VL; }

/* Rows of the next tile when `rest` remain: the last two tiles share evenly, so that none is left with a row or two. */
GEMM_INLINE size_t tile_rows(size_t rest) {
  return rest >= 2 * GEMM_MR ? GEMM_MR : rest > GEMM_MR ? (rest + 1) / 2 : rest;
}

#endif
