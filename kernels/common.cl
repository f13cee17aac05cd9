/* SPDX-License-Identifier: Apache-2.0
 * Shared by all device kernels: the arithmetic, written in three ways for different compilers. The order of
 * every rounding is part of hx's interface, so nothing here may be contracted or re-associated. Comes first in every
 * program. HX_ARITHMETIC, HX_OP and HX_TYPE are the numbers of hx__arithmetic, hx_op and hx_type.
 * -D options of every program:
 *   HX_ARITHMETIC        0 plain, 1 sums as fma, 2 fma by integers (hx__arithmetic)
 *   HX_LOCAL0, HX_LOCAL1 the work-group's sides
 *   HX_SOFT_DIVISION     default 0; 1: user kernels divide and take roots by integers (map.cl)
 *   HX_HOOK              default empty: declarations by which the tests emulate sub-groups, as the next two
 *   HX_HOOK_PARAMETER, HX_HOOK_ARGUMENT  default empty: how kernels pass those to functions */
#pragma OPENCL FP_CONTRACT OFF

#define HX_PASTE_(a, b) a##b
#define HX_PASTE(a, b) HX_PASTE_(a, b) /* HX_PASTE(float, 4): a vector type; an empty width means the scalar */

/* The first line of every kernel that uses sub-groups. The tests define it as declarations that emulate them. */
#ifndef HX_HOOK
#define HX_HOOK
#define HX_HOOK_PARAMETER
#define HX_HOOK_ARGUMENT
#endif

#define HX_PLAIN 0
#define HX_FMA_ADD 1
#define HX_SOFT_FMA 2

#define HX_PANEL 512 /* k of a panel of a matrix product */

/* HX_ADD(N, a, b), HX_MUL(N, a, b): of float or floatN, rounded once. */
#if HX_ARITHMETIC == HX_FMA_ADD
/* A fused multiply-add is never re-associated, and these two round exactly as + and * do. If the compiler knew that a
 * factor is 1, it would turn the fma back into a sum; it does not know the global offset, which is 0. */
#define HX_UNIT as_float(0x3f800000u + (uint)get_global_offset(0))
#define HX_ADD(N, a, b) fma((b), (HX_PASTE(float, N))(HX_UNIT), (a))
#define HX_MUL(N, a, b) fma((a), (b), (HX_PASTE(float, N))(-0.0f))
#else
#define HX_ADD(N, a, b) ((a) + (b))
#define HX_MUL(N, a, b) ((a) * (b))
#endif

#if HX_ARITHMETIC == HX_SOFT_FMA || HX_SOFT_DIVISION
/* p * 2^e, rounded to nearest even; 0 < p < 2^63. If the exact value has further bits behind those of p, the lowest bit
 * of p must be set, and p must have at least 26 bits. */
static float hx_rounded(uint sign, ulong p, int e) {
  int shift = 63 - (int)clz(p);
  const int biased = shift + e + 127;
  if (biased >= 255) return as_float(sign | 0x7f800000u);
  shift -= 23;
  if (biased < 1) shift += 1 - biased;
  if (shift > 63) return as_float(sign);
  if (shift <= 0) {
    p <<= -shift;
  } else {
    const ulong rest = p & (((ulong)1 << shift) - 1), half_way = (ulong)1 << (shift - 1);
    p >>= shift;
    p += (ulong)(rest > half_way || (rest == half_way && (p & 1)));
  }
  const uint bits = (uint)p + (biased < 1 ? 0u : (uint)(biased - 1) << 23); /* a carry moves into the exponent */
  return as_float(sign | bits);
}
#endif

/* HX_FMA(N, a, b, c) */
#if HX_ARITHMETIC == HX_SOFT_FMA
/* Exact product and addend as 63-bit integers, aligned with a sticky bit, rounded once to nearest even. */
static float hx_soft_fma(float x, float y, float z) {
  const uint a = as_uint(x), b = as_uint(y), c = as_uint(z);
  int ea = (int)((a >> 23) & 255u), eb = (int)((b >> 23) & 255u), ec = (int)((c >> 23) & 255u);
  if (ec == 255 && ea != 255 && eb != 255) return z;
  if (ea == 255 || eb == 255 || (a << 1) == 0 || (b << 1) == 0) {
    const float product = x * y; /* infinite, NaN or zero: nothing is rounded */
    return product + z;
  }
  ulong p = (ulong)((a & 0x7fffffu) | (ea ? 0x800000u : 0u)) * ((b & 0x7fffffu) | (eb ? 0x800000u : 0u));
  ulong q = (c & 0x7fffffu) | (ec ? 0x800000u : 0u);
  int ep = max(ea, 1) + max(eb, 1) - 300, eq = max(ec, 1) - 150; /* values p * 2^ep, q * 2^eq */
  uint sign = (a ^ b) & 0x80000000u, other = c & 0x80000000u;
  int shift = (int)clz(p) - 1; /* top bit to bit 62 */
  p <<= shift, ep -= shift;
  if (q == 0) eq = ep;
  else shift = (int)clz(q) - 1, q <<= shift, eq -= shift;
  if (eq > ep || (eq == ep && q > p)) { /* p becomes the larger magnitude */
    const ulong large = q;
    const int exponent = eq;
    const uint swapped = other;
    q = p, eq = ep, other = sign;
    p = large, ep = exponent, sign = swapped;
  }
  shift = min(ep - eq, 63);
  q = (q >> shift) | (ulong)((q & (((ulong)1 << shift) - 1)) != 0);
  p = sign == other ? p + q : p - q;
  if (p == 0) return 0.0f;
  if (p >> 63) p = (p >> 1) | (p & 1), ep++;
  return hx_rounded(sign, p, ep);
}
#define HX_BY_HALVES(N, H)                                                                      \
  static float##N hx_soft_fma##N(float##N x, float##N y, float##N z) {                          \
    return (float##N)(hx_soft_fma##H(x.lo, y.lo, z.lo), hx_soft_fma##H(x.hi, y.hi, z.hi));      \
  }
HX_BY_HALVES(2, )
HX_BY_HALVES(4, 2)
HX_BY_HALVES(8, 4)
HX_BY_HALVES(16, 8)
#define HX_FMA(N, a, b, c) HX_PASTE(hx_soft_fma, N)((a), (b), (c))
#else
#define HX_FMA(N, a, b, c) fma((a), (b), (c))
#endif

/* clang 15 computes a 32-bit product plus an addend by a v_mad_u64_u32 whose destination overlaps the addend. GFX11
 * forbids that, and clang's own assembler refuses it. The compiler does not do so if the product is changed before it is
 * added, so kernels change it there by a zero that the compiler does not know. */
#if defined(__GFX11__) && __clang_major__ < 16
#define HX_MAD_OVERLAPS 1
#endif

/* A float as it is stored: every NaN is the canonical one. */
#define HX_CANONICAL(N, v) select((v), (HX_PASTE(float, N))(as_float(0x7fc00000u)), isnan(v))
