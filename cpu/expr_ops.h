/* SPDX-License-Identifier: Apache-2.0
 * The operations of expressions on one vector: docs/USER_KERNELS.md, for the ISA of the including file. NaNs may have
 * any payload, because no operation shows it, and the last step writes one. */
#ifndef HX_CPU_EXPR_OPS_H
#define HX_CPU_EXPR_OPS_H

#include "cpu/gemm_simd.h"
#include "cpu/vector.h"

#define F_SIGN 0x80000000u
#define F_QUIET_NAN 0x7fc00000u

/* Lane by lane a if the mask is all ones, b if it is 0. */
INLINED v_u32 v_chosen(v_u32 mask, v_u32 a, v_u32 b) {
#if HX__V_BYTES == 32
  return (v_u32)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)mask);
#else
  return (mask & a) | (~mask & b);
#endif
}

/* A comparison of floats, as a mask. */
#define F_MASK(x, relation, y) ((v_u32)((v_f32)(x)relation(v_f32)(y)))
#define I_MASK(x, relation, y) ((v_u32)((v_i32)(x)relation(v_i32)(y)))
#define U_MASK(x, relation, y) ((v_u32)((x)relation(y)))
#define F_VECTOR(value) ((v_f32){0} + (value))

INLINED v_u32 expr_NEGATE_F(v_u32 x) { return x ^ F_SIGN; }
INLINED v_u32 expr_ABS_F(v_u32 x) { return x & ~F_SIGN; }

INLINED v_u32 expr_SQRT_F(v_u32 x) {
#if defined(__aarch64__)
  return (v_u32)vsqrtq_f32((float32x4_t)x);
#elif HX__V_BYTES == 64
  return (v_u32)_mm512_sqrt_ps((__m512)x);
#elif HX__V_BYTES == 32
  return (v_u32)_mm256_sqrt_ps((__m256)x);
#else
  return (v_u32)_mm_sqrt_ps((__m128)x);
#endif
}

/* Rounds to whole numbers. The direction is part of the instruction, so the thread's rounding mode does not matter.
 * NaNs and infinities stay what they are, and a result 0 has the sign of x. SSE2 has no such instruction. */
#if HX__V_BYTES == 64
#define F_WHOLE(x, direction) ((v_u32)_mm512_roundscale_ps((__m512)(x), (direction) | _MM_FROUND_NO_EXC))
#elif HX__V_BYTES == 32
#define F_WHOLE(x, direction) ((v_u32)_mm256_round_ps((__m256)(x), (direction) | _MM_FROUND_NO_EXC))
#endif
#ifdef F_WHOLE
INLINED v_u32 expr_TRUNC_F(v_u32 x) { return F_WHOLE(x, _MM_FROUND_TO_ZERO); }
INLINED v_u32 expr_FLOOR_F(v_u32 x) { return F_WHOLE(x, _MM_FROUND_TO_NEG_INF); }
INLINED v_u32 expr_CEIL_F(v_u32 x) { return F_WHOLE(x, _MM_FROUND_TO_POS_INF); }
INLINED v_u32 expr_RINT_F(v_u32 x) { return F_WHOLE(x, _MM_FROUND_TO_NEAREST_INT); }
#else
/* Floats from 2^23 on are whole, and so are infinities; NaNs stay as they are. */
INLINED v_u32 expr_has_fraction(v_u32 x) { return F_MASK(x & ~F_SIGN, <, F_VECTOR(8388608.0f)); }

INLINED v_u32 expr_TRUNC_F(v_u32 x) {
  const v_u32 small = expr_has_fraction(x);
  const v_i32 whole = __builtin_convertvector((v_f32)(x & small), v_i32);
  return v_chosen(small, (v_u32) __builtin_convertvector(whole, v_f32) | (x & F_SIGN), x);
}
INLINED v_u32 expr_FLOOR_F(v_u32 x) {
  const v_u32 t = expr_TRUNC_F(x);
  return v_chosen(F_MASK(t, >, x), (v_u32)((v_f32)t - 1.0f), t);
}
INLINED v_u32 expr_CEIL_F(v_u32 x) {
  const v_u32 t = expr_TRUNC_F(x);
  return v_chosen(F_MASK(t, <, x), (v_u32)((v_f32)t + 1.0f), t);
}
INLINED v_u32 expr_RINT_F(v_u32 x) {
  const v_u32 sign = x & F_SIGN;
  const v_f32 shift = (v_f32)((v_u32)F_VECTOR(8388608.0f) | sign); /* leaves no bits for a fraction */
  v_f32 sum = (v_f32)x + shift;
  ONCE(sum);
  return v_chosen(expr_has_fraction(x), (v_u32)(sum - shift) | sign, x);
}
#endif

INLINED v_u32 expr_ADD_F(v_u32 x, v_u32 y) { return (v_u32)((v_f32)x + (v_f32)y); }
INLINED v_u32 expr_SUB_F(v_u32 x, v_u32 y) { return (v_u32)((v_f32)x - (v_f32)y); }
INLINED v_u32 expr_MUL_F(v_u32 x, v_u32 y) { return (v_u32)((v_f32)x * (v_f32)y); }
INLINED v_u32 expr_DIV_F(v_u32 x, v_u32 y) { return (v_u32)((v_f32)x / (v_f32)y); }
/* x, or y if x is NaN. */
INLINED v_u32 expr_unless_nan(v_u32 x, v_u32 y) { return v_chosen(F_MASK(x, ==, x), x, y); }

/* Steps of their own (base/expr_code.h), and the minimum and the maximum of SSE and AVX: y if x and y are equal, or if
 * one is NaN. */
INLINED v_u32 expr_LESSER(v_u32 x, v_u32 y) {
#if HX__V_BYTES == 64
  return (v_u32)_mm512_min_ps((__m512)x, (__m512)y);
#elif HX__V_BYTES == 32
  return (v_u32)_mm256_min_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
  return (v_u32)_mm_min_ps((__m128)x, (__m128)y);
#else
  return v_chosen(F_MASK(x, <, y), x, y);
#endif
}
INLINED v_u32 expr_GREATER(v_u32 x, v_u32 y) {
#if HX__V_BYTES == 64
  return (v_u32)_mm512_max_ps((__m512)x, (__m512)y);
#elif HX__V_BYTES == 32
  return (v_u32)_mm256_max_ps((__m256)x, (__m256)y);
#elif defined(__SSE2__)
  return (v_u32)_mm_max_ps((__m128)x, (__m128)y);
#else
  return v_chosen(F_MASK(x, >, y), x, y);
#endif
}

/* The lesser of two numbers, -0 being below +0, or of a NaN and itself. LESSER gives y if x and y are equal, so of two
 * zeros the bits of both orders are joined; AVX-512 has a minimum that knows the signs of zeros. */
INLINED v_u32 expr_least(v_u32 x, v_u32 y) {
#if HX__V_BYTES == 64
  return (v_u32)_mm512_range_ps((__m512)x, (__m512)y, 4);
#else
  return expr_LESSER(x, y) | expr_LESSER(y, x);
#endif
}
INLINED v_u32 expr_greatest(v_u32 x, v_u32 y) {
#if HX__V_BYTES == 64
  return (v_u32)_mm512_range_ps((__m512)x, (__m512)y, 5);
#else
  return expr_GREATER(x, y) & expr_GREATER(y, x);
#endif
}
/* Two NaNs become the same one, so that the bits that both have are a NaN, too. */
INLINED v_u32 expr_MIN_F(v_u32 x, v_u32 y) {
  const v_u32 first = expr_unless_nan(x, y);
  return expr_least(first, expr_unless_nan(y, first));
}
INLINED v_u32 expr_MAX_F(v_u32 x, v_u32 y) {
  const v_u32 first = expr_unless_nan(x, y);
  return expr_greatest(first, expr_unless_nan(y, first));
}
/* Comparisons are masks; the step TO_ONE makes numbers of them (base/expr_code.h). */
INLINED v_u32 expr_LESS_F(v_u32 x, v_u32 y) { return F_MASK(x, <, y); }
INLINED v_u32 expr_AT_MOST_F(v_u32 x, v_u32 y) { return F_MASK(x, <=, y); }
INLINED v_u32 expr_EQUAL_F(v_u32 x, v_u32 y) { return F_MASK(x, ==, y); }
INLINED v_u32 expr_DIFFER_F(v_u32 x, v_u32 y) { return F_MASK(x, !=, y); }
INLINED v_u32 expr_FMA_F(v_u32 x, v_u32 y, v_u32 z) { return (v_u32)vf_fma((vf)x, (vf)y, (vf)z); }

/* Conversions saturate, and NaN becomes 0. The instructions of x86 give 0x80000000 for an int that is out of range,
 * and 0xffffffff for an unsigned; elsewhere only values in range are given to the instruction. */
#if HX__V_BYTES == 64
INLINED v_u32 expr_TO_I32(v_u32 x) {
  const __mmask16 number = _mm512_cmp_ps_mask((__m512)x, (__m512)x, _CMP_ORD_Q);
  const __mmask16 above = _mm512_cmp_ps_mask((__m512)x, (__m512)F_VECTOR(2147483648.0f), _CMP_GE_OQ);
  return (v_u32)_mm512_mask_mov_epi32(_mm512_maskz_cvttps_epi32(number, (__m512)x), above,
                                      (__m512i)v_broadcast(INT32_MAX));
}
INLINED v_u32 expr_TO_U32(v_u32 x) {
  const __mmask16 positive = _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_GT_OQ);
  return (v_u32)_mm512_maskz_cvttps_epu32(positive, (__m512)x);
}
#elif HX__V_BYTES == 32
INLINED v_u32 expr_TO_I32(v_u32 x) {
  const v_u32 whole = (v_u32)_mm256_cvttps_epi32((__m256)x);
  return (whole ^ F_MASK(x, >=, F_VECTOR(2147483648.0f))) & F_MASK(x, ==, x);
}
/* The lower half of the range is converted as it is, and the upper half without its first bit, which is then the one
 * of the lower half's 0x80000000. */
INLINED v_u32 expr_TO_U32(v_u32 x) {
  const v_f32 positive = (v_f32)expr_GREATER(x, v_broadcast(0));
  const v_u32 lower = (v_u32)_mm256_cvttps_epi32((__m256)positive);
  const v_u32 upper = (v_u32)_mm256_cvttps_epi32((__m256)(positive - 2147483648.0f));
  return lower | (upper & (v_u32)((v_i32)lower >> 31)) | F_MASK(x, >=, F_VECTOR(4294967296.0f));
}
#else
INLINED v_u32 expr_TO_I32(v_u32 x) {
  const v_u32 above = F_MASK(x, >=, F_VECTOR(2147483648.0f)), below = F_MASK(x, <, F_VECTOR(-2147483648.0f));
  const v_u32 inside = F_MASK(x, ==, x) & ~above & ~below;
  const v_u32 whole = (v_u32) __builtin_convertvector((v_f32)(x & inside), v_i32);
  return whole | (above & (uint32_t)INT32_MAX) | (below & F_SIGN);
}
INLINED v_u32 expr_TO_U32(v_u32 x) {
  const v_u32 upper = F_MASK(x, >=, F_VECTOR(2147483648.0f)), above = F_MASK(x, >=, F_VECTOR(4294967296.0f));
  const v_u32 inside = F_MASK(x, >, F_VECTOR(0.0f)) & ~above;
  const v_f32 lower = (v_f32)(x & inside) - (v_f32)((v_u32)F_VECTOR(2147483648.0f) & upper & inside);
  const v_u32 whole = (v_u32) __builtin_convertvector(lower, v_i32);
  return (whole ^ (upper & F_SIGN)) | above;
}
#endif
INLINED v_u32 expr_FROM_I32(v_u32 x) { return (v_u32) __builtin_convertvector((v_i32)x, v_f32); }
/* Both halves are exact as floats, so their sum is rounded once. */
INLINED v_u32 expr_FROM_U32(v_u32 x) {
  const v_f32 upper = __builtin_convertvector((v_i32)(x >> 16), v_f32);
  const v_f32 lower = __builtin_convertvector((v_i32)(x & 0xffffu), v_f32);
  return (v_u32)(upper * 65536.0f + lower);
}

INLINED v_u32 expr_AS_I32(v_u32 x) { return x; }
INLINED v_u32 expr_AS_F32(v_u32 x) { return x; }
INLINED v_u32 expr_NEGATE_I(v_u32 x) { return 0u - x; }
INLINED v_u32 expr_NOT_I(v_u32 x) { return ~x; }
INLINED v_u32 expr_ABS_I(v_u32 x) { return v_absolute(x); }
INLINED v_u32 expr_ADD_I(v_u32 x, v_u32 y) { return x + y; }
INLINED v_u32 expr_SUB_I(v_u32 x, v_u32 y) { return x - y; }
INLINED v_u32 expr_MUL_I(v_u32 x, v_u32 y) { return x * y; }
INLINED v_u32 expr_AND_I(v_u32 x, v_u32 y) { return x & y; }
INLINED v_u32 expr_OR_I(v_u32 x, v_u32 y) { return x | y; }
INLINED v_u32 expr_XOR_I(v_u32 x, v_u32 y) { return x ^ y; }
INLINED v_u32 expr_SHIFT_LEFT(v_u32 x, v_u32 y) { return x << (y & 31u); }
INLINED v_u32 expr_SHIFT_RIGHT_I(v_u32 x, v_u32 y) { return (v_u32)((v_i32)x >> (v_i32)(y & 31u)); }
INLINED v_u32 expr_SHIFT_RIGHT_U(v_u32 x, v_u32 y) { return x >> (y & 31u); }

/* x86 divides no vectors of integers, but vectors of doubles, which are exact enough. Let a and b be integers below
 * 2^32 in magnitude. If b divides a, the quotient is a double. Otherwise a / b is at least 1 / |b| away from every
 * integer, and rounding moves it by at most 2^-53 |a / b| < 2^-21 / |b|: truncated, it is the same. The least int by -1
 * is out of range, for which the instruction gives 0x80000000, and so the least int. What is divided by 0 is replaced.
 */
#if HX__V_BYTES == 64
#define V_LOWER(v) _mm512_castsi512_si256((__m512i)(v))
#define V_UPPER(v) _mm512_extracti64x4_epi64((__m512i)(v), 1)
#define V_JOINED(lower, upper) ((v_u32)_mm512_inserti64x4(_mm512_castsi256_si512(lower), upper, 1))
INLINED __m256i expr_half_DIV_I(__m256i x, __m256i y) {
  return _mm512_cvttpd_epi32(_mm512_div_pd(_mm512_cvtepi32_pd(x), _mm512_cvtepi32_pd(y)));
}
INLINED __m256i expr_half_DIV_U(__m256i x, __m256i y) {
  return _mm512_cvttpd_epu32(_mm512_div_pd(_mm512_cvtepu32_pd(x), _mm512_cvtepu32_pd(y)));
}
#elif HX__V_BYTES == 32
#define V_LOWER(v) _mm256_castsi256_si128((__m256i)(v))
#define V_UPPER(v) _mm256_extracti128_si256((__m256i)(v), 1)
#define V_JOINED(lower, upper) ((v_u32)_mm256_set_m128i(upper, lower))
INLINED __m128i expr_half_DIV_I(__m128i x, __m128i y) {
  return _mm256_cvttpd_epi32(_mm256_div_pd(_mm256_cvtepi32_pd(x), _mm256_cvtepi32_pd(y)));
}
/* AVX2 converts only signed integers: 2^31 is subtracted before, and added to what is a whole number after. */
INLINED __m128i expr_flipped(__m128i x) { return _mm_xor_si128(x, _mm_set1_epi32(INT32_MIN)); }
INLINED __m256d expr_u32_as_f64(__m128i x) { return _mm256_cvtepi32_pd(expr_flipped(x)) + 2147483648.0; }
INLINED __m128i expr_half_DIV_U(__m128i x, __m128i y) {
  const __m256d quotient = _mm256_div_pd(expr_u32_as_f64(x), expr_u32_as_f64(y));
  const __m256d whole = _mm256_round_pd(quotient, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
  return expr_flipped(_mm256_cvttpd_epi32(whole - 2147483648.0));
}
#endif
#ifdef V_JOINED
#define EXPR_DIVISION INLINED
#define EXPR_DIVIDED(name, x, y) \
  V_JOINED(expr_half_##name(V_LOWER(x), V_LOWER(y)), expr_half_##name(V_UPPER(x), V_UPPER(y)))
INLINED v_u32 expr_DIV_I(v_u32 x, v_u32 y) { return EXPR_DIVIDED(DIV_I, x, y) & U_MASK(y, !=, v_broadcast(0)); }
INLINED v_u32 expr_DIV_U(v_u32 x, v_u32 y) { return EXPR_DIVIDED(DIV_U, x, y) & U_MASK(y, !=, v_broadcast(0)); }
#else
/* One by one, and so functions. A divisor of 0 or -1 is replaced before. */
#define EXPR_DIVISION static __attribute__((noinline, unused))
EXPR_DIVISION v_u32 expr_DIV_I(v_u32 x, v_u32 y) {
  const v_u32 none = U_MASK(y, ==, v_broadcast(0)), minus = U_MASK(y, ==, v_broadcast(UINT32_MAX));
  const v_i32 quotient = (v_i32)x / (v_i32)v_chosen(none | minus, v_broadcast(1), y);
  return ~none & v_chosen(minus, 0u - x, (v_u32)quotient);
}
EXPR_DIVISION v_u32 expr_DIV_U(v_u32 x, v_u32 y) {
  const v_u32 none = U_MASK(y, ==, v_broadcast(0));
  return ~none & (x / (y | (none & 1u)));
}
#endif
EXPR_DIVISION v_u32 expr_MOD_I(v_u32 x, v_u32 y) { return x - expr_DIV_I(x, y) * y; }
EXPR_DIVISION v_u32 expr_MOD_U(v_u32 x, v_u32 y) { return x - expr_DIV_U(x, y) * y; }

INLINED v_u32 expr_MIN_I(v_u32 x, v_u32 y) { return v_best(HX_I32, false, x, y); }
INLINED v_u32 expr_MIN_U(v_u32 x, v_u32 y) { return v_best(HX_U32, false, x, y); }
INLINED v_u32 expr_MAX_I(v_u32 x, v_u32 y) { return v_best(HX_I32, true, x, y); }
INLINED v_u32 expr_MAX_U(v_u32 x, v_u32 y) { return v_best(HX_U32, true, x, y); }
INLINED v_u32 expr_LESS_I(v_u32 x, v_u32 y) { return I_MASK(x, <, y); }
INLINED v_u32 expr_LESS_U(v_u32 x, v_u32 y) { return U_MASK(x, <, y); }
INLINED v_u32 expr_AT_MOST_I(v_u32 x, v_u32 y) { return I_MASK(x, <=, y); }
INLINED v_u32 expr_AT_MOST_U(v_u32 x, v_u32 y) { return U_MASK(x, <=, y); }
INLINED v_u32 expr_EQUAL_I(v_u32 x, v_u32 y) { return U_MASK(x, ==, y); }
INLINED v_u32 expr_DIFFER_I(v_u32 x, v_u32 y) { return U_MASK(x, !=, y); }
INLINED v_u32 expr_SELECT(v_u32 x, v_u32 y, v_u32 z) { return v_chosen(U_MASK(x, !=, v_broadcast(0)), y, z); }

/* Of steps alone (base/expr_code.h). */
INLINED v_u32 expr_TO_ONE(v_u32 x) { return x & 1u; }
INLINED v_u32 expr_CHOOSE(v_u32 x, v_u32 y, v_u32 z) { return v_chosen(x, y, z); }
INLINED v_u32 expr_MUL_ADD(v_u32 x, v_u32 y, v_u32 z) { return (v_u32)((v_f32)x * (v_f32)y + (v_f32)z); }
INLINED v_u32 expr_SQUARE(v_u32 x) { return expr_MUL_F(x, x); }
INLINED v_u32 expr_SQUARE_ADD(v_u32 x, v_u32 y) { return expr_MUL_ADD(x, x, y); }
INLINED v_u32 expr_ADD_MUL(v_u32 x, v_u32 y, v_u32 z) { return (v_u32)((v_f32)x + (v_f32)y * (v_f32)z); }

#endif
