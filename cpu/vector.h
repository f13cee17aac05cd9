/* SPDX-License-Identifier: Apache-2.0
 * The vectors of the reductions, for the ISA of the including file: HX__V_BYTES bytes of 32-bit elements. Arithmetic,
 * bit operations and comparisons are the compiler's vector extensions; here is what those lack. The NEON forms have
 * never run. */
#ifndef HX_CPU_VECTOR_H
#define HX_CPU_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cpu/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* Arrays of vectors stay in registers only if every index is constant, so loops over them are fully unrolled. */
#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 64")
#endif

#define INLINED static inline __attribute__((always_inline))

/* The bits of an element of any of the three types. */
typedef uint32_t element __attribute__((may_alias));

#define V_LANES (HX__V_BYTES / 4u)
typedef float v_f32 __attribute__((vector_size(HX__V_BYTES)));
typedef int32_t v_i32 __attribute__((vector_size(HX__V_BYTES)));
typedef uint32_t v_u32 __attribute__((vector_size(HX__V_BYTES)));
typedef int64_t v_i64 __attribute__((vector_size(HX__V_BYTES)));
typedef uint64_t v_u64 __attribute__((vector_size(HX__V_BYTES)));
typedef uint32_t v_u32_unaligned __attribute__((vector_size(HX__V_BYTES), aligned(4), may_alias));

/* Searches for an index use vectors of at most 32 bytes, because comparisons of 64 bytes write mask registers, which
 * halves the speed on Zen 4. */
#if HX__V_BYTES == 64
#define E_BYTES 32
#else
#define E_BYTES HX__V_BYTES
#endif
#define E_LANES (E_BYTES / 4u)

typedef float e_f32 __attribute__((vector_size(E_BYTES)));
typedef int32_t e_i32 __attribute__((vector_size(E_BYTES)));
typedef uint32_t e_u32 __attribute__((vector_size(E_BYTES)));
typedef uint32_t e_u32_unaligned __attribute__((vector_size(E_BYTES), aligned(4), may_alias));

/* Prefetches the next leaf (HX__IN_DRAM) while elements [at, at + count) of this one are read; count is a multiple of
 * ASK_STEP that divides at. It fetches every second line into the second cache, because the CPU fetches pairs of lines,
 * and reads in four pages at the same time: the CPU's own prefetchers start again at each page and wait for its
 * address. After the end of an array nothing is read: a prefetch does not fault. */
#define ASK_STEP 32u
#define ASK_PLACES 4u
INLINED void ask_ahead(const element *leaf, size_t at, size_t count) {
  UNROLLED for (size_t i = 0; i < count / ASK_STEP; i++) {
    const size_t line = at / ASK_STEP + i, place = line % ASK_PLACES;
    __builtin_prefetch(leaf + HX__LEAF + place * (HX__LEAF / ASK_PLACES) + line / ASK_PLACES * ASK_STEP, 0, 2);
  }
}

INLINED v_u32 v_load(const void *p) { return *(const v_u32_unaligned *)p; }
INLINED e_u32 e_load(const void *p) { return *(const e_u32_unaligned *)p; }
/* Stores past the caches, at a multiple of HX__V_BYTES, where there are such stores. v_past_caches_end comes after
 * them, before another thread may read what they have stored. */
#if defined(__x86_64__)
#if defined(__clang__)
#define PAST_CACHES(p, v) __builtin_nontemporal_store(v, (v_f32 *)(p))
#elif HX__V_BYTES == 64
#define PAST_CACHES(p, v) __builtin_ia32_movntps512((float *)(p), v)
#elif HX__V_BYTES == 32
#define PAST_CACHES(p, v) __builtin_ia32_movntps256((float *)(p), v)
#else
#define PAST_CACHES(p, v) __builtin_ia32_movntps((float *)(p), v)
#endif
INLINED void v_past_caches_end(void) { __builtin_ia32_sfence(); }
#else
#define PAST_CACHES(p, v) (void)(*(v_f32 *)(p) = (v))
INLINED void v_past_caches_end(void) {}
#endif

INLINED v_u32 v_broadcast(uint32_t b) { return b - (v_u32){0}; }
INLINED e_u32 e_broadcast(uint32_t b) { return b - (e_u32){0}; }

/* Marks a value that is used more than once. The compiler must not load it again for each use, because the core has
 * only two loads per cycle. */
#if defined(__x86_64__)
#define ONCE(v) __asm__("" : "+v"(v))
#define IN_ORDER(v) \
  __asm__ volatile("" : "+v"(v)) /* Values that are marked so are computed in the order of the marks. */
#else
#define ONCE(v) __asm__("" : "+w"(v))
#define IN_ORDER(v) __asm__ volatile("" : "+w"(v))
#endif

/* Marks an index that is added to many pointers. The compiler must not add it to them ahead of the loads, because there
 * are not enough registers for the sums. */
#define OPAQUE(i) __asm__("" : "+r"(i))

/* v = COMBINE(v, v with its halves swapped), then with quarters swapped, and so on, until every element is the
 * combination of all. Element 0 combines t[j] with t[j+h] for h = lanes/2, ..., 2, 1. */
#define SHUFFLE __builtin_shufflevector
#define FOLD_4(v, COMBINE) (v = COMBINE(v, SHUFFLE(v, v, 2, 3, 0, 1)), v = COMBINE(v, SHUFFLE(v, v, 1, 0, 3, 2)))
#define FOLD_8(v, COMBINE)                                                                                       \
  (v = COMBINE(v, SHUFFLE(v, v, 4, 5, 6, 7, 0, 1, 2, 3)), v = COMBINE(v, SHUFFLE(v, v, 2, 3, 0, 1, 6, 7, 4, 5)), \
   v = COMBINE(v, SHUFFLE(v, v, 1, 0, 3, 2, 5, 4, 7, 6)))
#define FOLD_16(v, COMBINE)                                                             \
  (v = COMBINE(v, SHUFFLE(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)), \
   v = COMBINE(v, SHUFFLE(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)), \
   v = COMBINE(v, SHUFFLE(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)), \
   v = COMBINE(v, SHUFFLE(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)))
#if HX__V_BYTES == 64
#define V_FOLD FOLD_16
#elif HX__V_BYTES == 32
#define V_FOLD FOLD_8
#else
#define V_FOLD FOLD_4
#endif

/* Below, by ISA:
 *   v_load_part, e_load_part   the first count elements at p, the other lanes pad; count in [0, lanes)
 *   v_absolute(a)             |a| of i32, as u32
 *   v_product(a, b, type)      64-bit products of the even lanes
 *   v_best(type, most, a, b)   lane by lane the larger (most) or smaller, as integers of the type
 *   v_float_best(most, a, b)   the same of floats; of a NaN anything; of zeros either, unless V_ORDERS_ZEROS
 *   e_unordered(a, b)          all ones where a or b is a NaN
 *   e_signs(a)                 bit i: the sign of lane i */
#if defined(__AVX2__)

INLINED e_u32 e_load_part(const void *p, size_t count, uint32_t pad) {
  e_u32 mask = (e_u32)((e_i32){0, 1, 2, 3, 4, 5, 6, 7} < (int32_t)count);
  return (e_u32)_mm256_maskload_epi32(p, (__m256i)mask) | (~mask & pad);
}

#if HX__V_BYTES == 64
INLINED v_u32 v_load_part(const void *p, size_t count, uint32_t pad) {
  return (v_u32)_mm512_mask_loadu_epi32((__m512i)v_broadcast(pad), (__mmask16)((1u << count) - 1u), p);
}
INLINED v_u32 v_absolute(v_u32 a) { return (v_u32)_mm512_abs_epi32((__m512i)a); }
INLINED v_u32 v_best(hx_type type, bool most, v_u32 a, v_u32 b) {
  const __m512i i = (__m512i)a, j = (__m512i)b;
  if (type == HX_I32) return most ? (v_u32)_mm512_max_epi32(i, j) : (v_u32)_mm512_min_epi32(i, j);
  return most ? (v_u32)_mm512_max_epu32(i, j) : (v_u32)_mm512_min_epu32(i, j);
}
INLINED v_u64 v_product(v_u32 a, v_u32 b, hx_type type) {
  return type == HX_I32 ? (v_u64)_mm512_mul_epi32((__m512i)a, (__m512i)b)
                        : (v_u64)_mm512_mul_epu32((__m512i)a, (__m512i)b);
}
#else
INLINED v_u32 v_load_part(const void *p, size_t count, uint32_t pad) { return e_load_part(p, count, pad); }
INLINED v_u32 v_absolute(v_u32 a) { return (v_u32)_mm256_abs_epi32((__m256i)a); }
INLINED v_u32 v_best(hx_type type, bool most, v_u32 a, v_u32 b) {
  const __m256i i = (__m256i)a, j = (__m256i)b;
  if (type == HX_I32) return most ? (v_u32)_mm256_max_epi32(i, j) : (v_u32)_mm256_min_epi32(i, j);
  return most ? (v_u32)_mm256_max_epu32(i, j) : (v_u32)_mm256_min_epu32(i, j);
}
INLINED v_u64 v_product(v_u32 a, v_u32 b, hx_type type) {
  return type == HX_I32 ? (v_u64)_mm256_mul_epi32((__m256i)a, (__m256i)b)
                        : (v_u64)_mm256_mul_epu32((__m256i)a, (__m256i)b);
}
INLINED v_f32 v_float_best(bool most, v_f32 a, v_f32 b) {
  return most ? (v_f32)_mm256_max_ps((__m256)a, (__m256)b) : (v_f32)_mm256_min_ps((__m256)a, (__m256)b);
}
#endif

INLINED e_u32 e_unordered(e_u32 a, e_u32 b) { return (e_u32)_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q); }
INLINED unsigned e_signs(e_u32 a) { return (unsigned)_mm256_movemask_ps((__m256)a); }

#else /* 16 bytes */

INLINED v_u32 v_load_part(const void *p, size_t count, uint32_t pad) {
  uint32_t t[3] = {pad, pad, pad};
  memcpy(t, p, count > 0 ? 4 : 0);
  if (count > 1) memcpy(t + 1, (const char *)p + 4, 4);
  if (count > 2) memcpy(t + 2, (const char *)p + 8, 4);
  return (v_u32){t[0], t[1], t[2], pad};
}
INLINED e_u32 e_load_part(const void *p, size_t count, uint32_t pad) { return v_load_part(p, count, pad); }

INLINED v_u32 v_absolute(v_u32 a) {
  v_u32 sign = (v_u32)((v_i32)a >> 31);
  return (a ^ sign) - sign;
}

#if defined(__SSE2__)
INLINED v_u64 v_product(v_u32 a, v_u32 b, hx_type type) {
  v_u64 p = (v_u64)_mm_mul_epu32((__m128i)a, (__m128i)b);
  if (type != HX_I32) return p;
  v_u32 above =
      (a & (v_u32)((v_i32)b >> 31)) + (b & (v_u32)((v_i32)a >> 31)); /* what a sign bit adds to the high half */
  return p - ((v_u64)above << 32);
}
INLINED v_u32 v_best(hx_type type, bool most, v_u32 a, v_u32 b) {
  const uint32_t flip = type == HX_I32 ? 0 : 0x80000000u;
  const v_u32 larger = (v_u32)((v_i32)(a ^ flip) > (v_i32)(b ^ flip));
  return most ? (larger & a) | (~larger & b) : (larger & b) | (~larger & a);
}
INLINED v_f32 v_float_best(bool most, v_f32 a, v_f32 b) {
  return most ? (v_f32)_mm_max_ps((__m128)a, (__m128)b) : (v_f32)_mm_min_ps((__m128)a, (__m128)b);
}
INLINED e_u32 e_unordered(e_u32 a, e_u32 b) { return (e_u32)_mm_cmpunord_ps((__m128)a, (__m128)b); }
INLINED unsigned e_signs(e_u32 a) { return (unsigned)_mm_movemask_ps((__m128)a); }

#elif defined(__aarch64__)
INLINED v_u64 v_product(v_u32 a, v_u32 b, hx_type type) {
  uint32x2_t i = vmovn_u64((uint64x2_t)a), j = vmovn_u64((uint64x2_t)b);
  return type == HX_I32 ? (v_u64)vmull_s32((int32x2_t)i, (int32x2_t)j) : (v_u64)vmull_u32(i, j);
}
INLINED v_u32 v_best(hx_type type, bool most, v_u32 a, v_u32 b) {
  if (type == HX_I32)
    return most ? (v_u32)vmaxq_s32((int32x4_t)a, (int32x4_t)b) : (v_u32)vminq_s32((int32x4_t)a, (int32x4_t)b);
  return most ? (v_u32)vmaxq_u32((uint32x4_t)a, (uint32x4_t)b) : (v_u32)vminq_u32((uint32x4_t)a, (uint32x4_t)b);
}
INLINED e_u32 e_unordered(e_u32 a, e_u32 b) { return ~((e_u32)((e_f32)a == (e_f32)a) & (e_u32)((e_f32)b == (e_f32)b)); }
INLINED unsigned e_signs(e_u32 a) { return vaddvq_u32((uint32x4_t)((a >> 31) << (e_u32){0, 1, 2, 3})); }
INLINED v_f32 v_float_best(bool most, v_f32 a, v_f32 b) {
  return most ? (v_f32)vmaxq_f32((float32x4_t)a, (float32x4_t)b) : (v_f32)vminq_f32((float32x4_t)a, (float32x4_t)b);
}
#endif

#endif

/* Intel's cores have two ports for 512-bit operations, three for shorter ones, and none to spare, so what a load can do
 * is left to it, and integers are added by dot products. Compiled with VNNI (isa.c): only for those cores.
 *   V_DOT_CHAINS               independent dot products that hide their latency; 0: they are not used
 *   v_add_upper_halves(s, x)   adds the upper halves of i32
 *   v_add_upper_bytes(s, x)    adds the upper bytes of u32
 *   v_odd(p, v)                the odd elements of v, which has been loaded from p, in even lanes; the others: any */
#if HX__V_BYTES == 64 && defined(__AVX512VNNI__)
#define V_DOT_CHAINS 8u
INLINED v_u32 v_add_upper_halves(v_u32 s, v_u32 x) {
  return (v_u32)_mm512_dpwssd_epi32((__m512i)s, (__m512i)x, (__m512i)v_broadcast(0x00010000u));
}
INLINED v_u32 v_add_upper_bytes(v_u32 s, v_u32 x) {
  return (v_u32)_mm512_dpbusd_epi32((__m512i)s, (__m512i)x, (__m512i)v_broadcast(0x01000000u));
}
#elif HX__V_BYTES == 32 && defined(__AVXVNNI__)
#define V_DOT_CHAINS 8u
INLINED v_u32 v_add_upper_halves(v_u32 s, v_u32 x) {
  return (v_u32)_mm256_dpwssd_avx_epi32((__m256i)s, (__m256i)x, (__m256i)v_broadcast(0x00010000u));
}
INLINED v_u32 v_add_upper_bytes(v_u32 s, v_u32 x) {
  return (v_u32)_mm256_dpbusd_avx_epi32((__m256i)s, (__m256i)x, (__m256i)v_broadcast(0x01000000u));
}
#else
#define V_DOT_CHAINS 0
#endif

INLINED v_u32 v_odd(const void *p, v_u32 v) {
#if V_DOT_CHAINS
  __asm__("vmovshdup %1, %0" : "=v"(v) : "m"(*(const v_u32_unaligned *)p)); /* a compiler would load once */
  return v;
#else
  (void)p;
  return (v_u32)((v_u64)v >> 32);
#endif
}

/* v_best in other units, for one chain of several: Intel's cores have one port for minima and maxima of integers. */
INLINED v_u32 v_best_elsewhere(hx_type type, bool most, v_u32 a, v_u32 b) {
#if HX__V_BYTES == 64 && V_DOT_CHAINS
  const __m512i i = (__m512i)(most ? a : b), j = (__m512i)(most ? b : a);
  const __mmask16 larger = type == HX_I32 ? _mm512_cmpgt_epi32_mask(i, j) : _mm512_cmpgt_epu32_mask(i, j);
  return (v_u32)_mm512_mask_mov_epi32((__m512i)b, larger, (__m512i)a);
#else
  return v_best(type, most, a, b);
#endif
}

/* Which lanes have had a NaN, because v_float_best loses NaNs. One comparison serves two vectors. A sum would keep
 * NaNs, too, but needs an addition for every vector, and additions share ports with minima.
 *   V_ORDERS_ZEROS   whether v_float_best takes -0 for less than +0 */
#if HX__V_BYTES == 64
#define V_ORDERS_ZEROS 1
typedef __mmask16 v_nans; /* a bit for each lane that has had none */
INLINED v_nans v_nans_add_two(v_nans s, v_f32 a, v_f32 b) {
  return _mm512_mask_cmp_ps_mask(s, (__m512)a, (__m512)b, _CMP_ORD_Q);
}
INLINED v_nans v_nans_of(v_f32 a) { return v_nans_add_two(0xffff, a, a); }
INLINED bool v_nans_are_there(const v_nans s[4]) { return (s[0] & s[1] & s[2] & s[3]) != 0xffff; }
INLINED bool v_has_nan(v_f32 a) { return v_nans_of(a) != 0xffff; }
INLINED v_f32 v_float_best(bool most, v_f32 a, v_f32 b) {
  enum { LEAST = 4, MOST = 5 }; /* with the sign of the result */
  return most ? (v_f32)_mm512_range_ps((__m512)a, (__m512)b, MOST)
              : (v_f32)_mm512_range_ps((__m512)a, (__m512)b, LEAST);
}
#else
#define V_ORDERS_ZEROS 0
typedef e_u32 v_nans; /* all ones in each lane that has had one */
INLINED v_nans v_nans_add_two(v_nans s, v_f32 a, v_f32 b) { return s | e_unordered((e_u32)a, (e_u32)b); }
INLINED v_nans v_nans_of(v_f32 a) { return e_unordered((e_u32)a, (e_u32)a); }
INLINED bool v_nans_are_there(const v_nans s[4]) { return e_signs((s[0] | s[1]) | (s[2] | s[3])) != 0; }
INLINED bool v_has_nan(v_f32 a) { return e_signs(v_nans_of(a)) != 0; }
#endif
INLINED v_nans v_nans_add(v_nans s, v_f32 a) { return v_nans_add_two(s, a, a); }

#endif
