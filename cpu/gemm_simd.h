/* SPDX-License-Identifier: Apache-2.0
 * One vector register of floats, for the matrix products of all ISAs. It depends on HX__V_BYTES, HX__V_REGS and
 * HX__HAVE_FMA of the including isa_*.c, and on the compiler's own macros. */
#ifndef HX_CPU_GEMM_SIMD_H
#define HX_CPU_GEMM_SIMD_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/slot.h"

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define GEMM_VL ((size_t)HX__V_BYTES / 4)
#define GEMM_INLINE static inline __attribute__((always_inline))

/* An array of vectors stays in registers only if every index is constant, so these loops are fully unrolled. */
#if defined(__clang__)
#define GEMM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GEMM_UNROLL _Pragma("GCC unroll 16")
#endif

typedef float vf __attribute__((vector_size(HX__V_BYTES)));
typedef int32_t vf_bits __attribute__((vector_size(HX__V_BYTES)));
typedef float vf_any __attribute__((vector_size(HX__V_BYTES), aligned(4), may_alias));
typedef float vf_quad __attribute__((vector_size(16), aligned(4), may_alias));

GEMM_INLINE vf vf_load(const float *p) { return *(const vf_any *)p; }
GEMM_INLINE void vf_store(float *p, vf x) { *(vf_any *)p = x; }

/* Stores past the caches; p is aligned to a vector. Other threads see it only after vf_streamed. */
#if defined(__SSE2__)
GEMM_INLINE void vf_stream(float *p, vf x) {
#if HX__V_BYTES == 64
  _mm512_stream_ps(p, x);
#elif HX__V_BYTES == 32
  _mm256_stream_ps(p, x);
#else
  _mm_stream_ps(p, x);
#endif
}
GEMM_INLINE void vf_streamed(void) { _mm_sfence(); }
#else
GEMM_INLINE void vf_stream(float *p, vf x) { vf_store(p, x); }
GEMM_INLINE void vf_streamed(void) {}
#endif

/* vf_mask_of(n) selects the first n elements of a vector, n <= GEMM_VL. A masked load touches no other byte and gives 0
 * for the others. A mask that is used has n >= 1. */
#if HX__V_BYTES == 64
typedef __mmask16 vf_mask;
GEMM_INLINE vf_mask vf_mask_of(size_t n) { return (__mmask16)((1u << n) - 1u); }
GEMM_INLINE vf vf_load_mask(const float *p, vf_mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
GEMM_INLINE void vf_store_mask(float *p, vf x, vf_mask mask) { _mm512_mask_storeu_ps(p, mask, x); }
GEMM_INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
GEMM_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
GEMM_INLINE vf vf_canonical(vf x) { /* NaN to the one NaN of the arithmetic */
  const __m512 nan = _mm512_castsi512_ps(_mm512_set1_epi32((int)HX__CANONICAL_NAN));
  return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
}
/* Half a vector. It takes half the time on cores that split 512-bit operations into halves, and the same time on
 * others. */
#define GEMM_HALVES 1
typedef __m256 vh;
typedef __mmask8 vh_mask;
GEMM_INLINE vh_mask vh_mask_of(size_t n) { return (__mmask8)((1u << n) - 1u); }
GEMM_INLINE vh vh_load_mask(const float *p, vh_mask mask) { return _mm256_maskz_loadu_ps(mask, p); }
GEMM_INLINE void vh_store_mask(float *p, vh x, vh_mask mask) { _mm256_mask_storeu_ps(p, mask, x); }
GEMM_INLINE vh vh_set1(float x) { return _mm256_set1_ps(x); }
GEMM_INLINE vh vh_fma(vh a, vh b, vh c) { return _mm256_fmadd_ps(a, b, c); }
GEMM_INLINE vh vh_canonical(vh x) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int)HX__CANONICAL_NAN));
  return _mm256_mask_mov_ps(x, _mm256_cmp_ps_mask(x, x, _CMP_UNORD_Q), nan);
}
#elif HX__V_BYTES == 32
typedef __m256i vf_mask;
static const int32_t vf_mask_table[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
GEMM_INLINE vf_mask vf_mask_of(size_t n) { return _mm256_loadu_si256((const __m256i *)(vf_mask_table + 8 - n)); }
GEMM_INLINE vf vf_load_mask(const float *p, vf_mask mask) { return _mm256_maskload_ps(p, mask); }
GEMM_INLINE void vf_store_mask(float *p, vf x, vf_mask mask) { _mm256_maskstore_ps(p, mask, x); }
GEMM_INLINE vf vf_set1(float x) { return _mm256_set1_ps(x); }
GEMM_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
GEMM_INLINE vf vf_canonical(vf x) {
  const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32((int)HX__CANONICAL_NAN));
  return _mm256_blendv_ps(x, nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}
#else
typedef size_t vf_mask;
GEMM_INLINE vf_mask vf_mask_of(size_t n) { return n; }
GEMM_INLINE vf vf_load_mask(const float *p, vf_mask n) {
  if (n == GEMM_VL) return vf_load(p);
  vf x = {p[0]};
  if (n > 1) x[1] = p[1];
  if (n > 2) x[2] = p[2];
  return x;
}
GEMM_INLINE void vf_store_mask(float *p, vf x, vf_mask n) {
  if (n == GEMM_VL) {
    vf_store(p, x);
    return;
  }
  p[0] = x[0];
  if (n > 1) p[1] = x[1];
  if (n > 2) p[2] = x[2];
}
GEMM_INLINE vf vf_set1(float x) { return (vf){x, x, x, x}; }
GEMM_INLINE vf vf_canonical(vf x) {
  // NOLINTNEXTLINE(misc-redundant-expression): false for a NaN alone
  const vf_bits is_nan = x != x, nan = (vf_bits){} + (int32_t)HX__CANONICAL_NAN;
  return (vf)((is_nan & nan) | (~is_nan & (vf_bits)x));
}
#if HX__HAVE_FMA
GEMM_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
#else
typedef double vd __attribute__((vector_size(16)));
typedef int64_t vd_bits __attribute__((vector_size(16)));

/* Two elements of fma(a, b, c), exact: the product of two floats is exact in double; sum and error by TwoSum; the sum
 * is moved to the odd neighbour on the error's side, after which rounding to float is the only rounding. With an
 * infinity or NaN the error is NaN, neither over nor under 0, and the sum is left as it is. */
GEMM_INLINE vd vd_fma_odd(vd a, vd b, vd c) {
  const vd product = a * b, sum = product + c;
  const vd c_part = sum - product, error = (product - (sum - c_part)) + (c - c_part);
  const vd_bits outward = (vd_bits)(error < 0) - (vd_bits)(error > 0), negative = (vd_bits)(sum < 0);
  const vd_bits even = ((vd_bits)sum & 1) - 1;
  return (vd)((vd_bits)sum + (((outward ^ negative) - negative) & even));
}
GEMM_INLINE vf vf_fma(vf a, vf b, vf c) {
  const vd low = vd_fma_odd(_mm_cvtps_pd(a), _mm_cvtps_pd(b), _mm_cvtps_pd(c));
  const vd high = vd_fma_odd(_mm_cvtps_pd(_mm_movehl_ps(a, a)), _mm_cvtps_pd(_mm_movehl_ps(b, b)),
                             _mm_cvtps_pd(_mm_movehl_ps(c, c)));
  return _mm_movelh_ps(_mm_cvtpd_ps(low), _mm_cvtpd_ps(high));
}
#endif
#endif

#if HX__V_BYTES != 64
#define GEMM_HALVES 0
typedef vf vh;
typedef vf_mask vh_mask;
#define vh_mask_of vf_mask_of
#define vh_load_mask vf_load_mask
#define vh_store_mask vf_store_mask
#define vh_set1 vf_set1
#define vh_fma vf_fma
#define vh_canonical vf_canonical
#endif

#endif
