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

/* In whole numbers, in the direction of an immediate, which counts instead of the thread's own: SSE2 has no such
 * instruction. NaNs stay NaNs, and infinities what they are; a result 0 has the sign of x. */
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

/* Divisions are not vectorised, so they are functions. A divisor of 0 or -1 is replaced before. */
static __attribute__((noinline, unused)) v_u32 expr_DIV_I(v_u32 x, v_u32 y) {
  const v_u32 none = U_MASK(y, ==, v_broadcast(0)), minus = U_MASK(y, ==, v_broadcast(UINT32_MAX));
  const v_i32 quotient = (v_i32)x / (v_i32)v_chosen(none | minus, v_broadcast(1), y);
  return ~none & v_chosen(minus, 0u - x, (v_u32)quotient);
}
static __attribute__((noinline, unused)) v_u32 expr_DIV_U(v_u32 x, v_u32 y) {
  const v_u32 none = U_MASK(y, ==, v_broadcast(0));
  return ~none & (x / (y | (none & 1u)));
}
static __attribute__((noinline, unused)) v_u32 expr_MOD_I(v_u32 x, v_u32 y) { return x - expr_DIV_I(x, y) * y; }
static __attribute__((noinline, unused)) v_u32 expr_MOD_U(v_u32 x, v_u32 y) { return x - expr_DIV_U(x, y) * y; }

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
