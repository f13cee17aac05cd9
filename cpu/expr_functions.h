/* SPDX-License-Identifier: Apache-2.0
 * Elementary functions as one step each, of one vector: the sequence of docs/ELEMENTARY.md, which is otherwise as
 * many steps as it has operations, most of which load and save what they work on. They are no inlined functions because
 * each step has eight vectors, and up to seven forms. */
#ifndef HX_CPU_EXPR_FUNCTIONS_H
#define HX_CPU_EXPR_FUNCTIONS_H

#include <math.h>

#include "cpu/expr_ops.h"

#define EXPR_FUNCTION static __attribute__((noinline))

INLINED v_f32 f_fma(v_f32 x, v_f32 y, v_f32 z) { return (v_f32)vf_fma((vf)x, (vf)y, (vf)z); }
/* x * y + z of one factor and summands that are one value for all. */
#define F_STEP(x, y, z) f_fma(x, y, F_VECTOR(z))
INLINED v_f32 f_chosen(v_u32 mask, v_f32 a, v_f32 b) { return (v_f32)v_chosen(mask, (v_u32)a, (v_u32)b); }
INLINED v_f32 f_within(v_f32 x, float least, float most) {
  const v_f32 below = (v_f32)expr_LESSER((v_u32)F_VECTOR(most), (v_u32)x);
  return (v_f32)expr_GREATER((v_u32)F_VECTOR(least), (v_u32)below);
}

/* |x| = 2^k (1 + f). */
INLINED v_f32 f_split(v_f32 a, v_f32 *k) {
  const v_u32 denormal = F_MASK(a, <, F_VECTOR(0x1p-126f));
  const v_u32 b = v_chosen(denormal, (v_u32)(a * 0x1p+23f), (v_u32)a);
  const v_i32 e = (v_i32)(b - 0x3f3504f3u) >> 23;
  *k = __builtin_convertvector(e - (v_i32)(denormal & 23u), v_f32);
  return (v_f32)(b - ((v_u32)e << 23)) - 1.0f;
}

/* 2^(v + low) */
INLINED v_f32 f_power_of_2(v_f32 v, v_f32 low) {
  const v_f32 c = f_within(v, -151.0f, 129.0f), j = c + 0x1.8p+23f, r = c - (j - 0x1.8p+23f) + low;
  const v_u32 i = (v_u32)j - 0x4b400000u, h = (v_u32)((v_i32)i >> 1);
  const v_f32 p = F_STEP(F_VECTOR(0x1.417a70p-13f), r, 0x1.5f0948p-10f);
  const v_f32 p2 = F_STEP(F_STEP(p, r, 0x1.3b2dd2p-7f), r, 0x1.c6af7ap-5f);
  const v_f32 p3 = F_STEP(F_STEP(p2, r, 0x1.ebfbdcp-3f), r, 0x1.62e430p-1f);
  const v_f32 p4 = F_STEP(p3, r, 1.0f);
  return p4 * (v_f32)((h + 127u) << 23) * (v_f32)((i - h + 127u) << 23);
}

/* log2 of 2^k (1 + f) in two floats. */
INLINED v_f32 f_log2_of_two(v_f32 f, v_f32 k, v_f32 *low) {
  const v_f32 d = f + 2.0f, dl = f - (d - 2.0f);
  const v_f32 g = F_STEP(F_STEP(F_VECTOR(-0x1.deab1ap-4f), d, 0x1.71e3eep-1f), d, -0x1.7a4e14p+0f);
  const v_f32 g2 = F_STEP(g, d, 1.0f), inv = f_fma(f_fma(g2, g2, g2), g, g);
  const v_f32 s = f * inv, sl = f_fma(s, dl, f_fma(s, d, f)) * inv;
  const v_f32 q = s * s, ql = f_fma(s + s, sl, f_fma(s, s, -q));
  const v_f32 u2 = F_STEP(F_STEP(F_VECTOR(-0x1.5c72f8p-2f), q, -0x1.a595b2p-2f), q, -0x1.277768p-1f);
  const v_f32 u = F_STEP(u2, q, 0x1.752c8ap-26f), t = u - 0x1.ec709ep-1f, tl = u - (t + 0x1.ec709ep-1f);
  const v_f32 w = q * t, wl = f_fma(q, t, -w) + f_fma(q, tl, ql * t);
  const v_f32 v = w - 0x1.715476p+1f, vl = w - (v + 0x1.715476p+1f) + (wl - 0x1.4ae0c0p-25f);
  const v_f32 m = s * v, ml = f_fma(s, v, -m) + f_fma(s, vl, sl * v);
  const v_f32 z = k + m;
  *low = m - (z - k) + ml;
  return z;
}

EXPR_FUNCTION v_u32 expr_POW_F(v_u32 x_bits, v_u32 y_bits) {
  const v_f32 x = (v_f32)x_bits, y = (v_f32)y_bits, a = (v_f32)(x_bits & ~F_SIGN), zero = {0};
  v_f32 k, zl;
  const v_f32 f = f_split(a, &k), z = f_log2_of_two(f, k, &zl);
  const v_u32 finite = F_MASK(a, <, F_VECTOR(INFINITY));
  const v_f32 zs = f_chosen(finite, f_chosen(F_MASK(a, >, zero), z, F_VECTOR(-INFINITY)), a);
  const v_f32 yc = f_within(y, -0x1p+60f, 0x1p+60f), o = yc * zs, ol = f_fma(yc, zl, f_fma(yc, zs, -o));
  const v_u32 bounded = F_MASK(expr_ABS_F((v_u32)o), <, F_VECTOR(192.0f));
  const v_f32 power = f_power_of_2(o, (v_f32)(bounded & (v_u32)ol));
  const v_u32 half = (v_u32)(0.5f * y), whole = F_MASK(expr_TRUNC_F(y_bits), ==, y);
  const v_u32 sign = whole & F_MASK(expr_TRUNC_F(half), !=, half) & x_bits & F_SIGN;
  const v_u32 none = F_MASK(x, <, zero) & finite & ~whole;
  const v_u32 one = F_MASK(x, ==, F_VECTOR(1.0f)) | F_MASK(y, ==, zero);
  const v_u32 result = v_chosen(none, v_broadcast(F_QUIET_NAN), (v_u32)power | sign);
  return v_chosen(one, (v_u32)F_VECTOR(1.0f), result);
}

/* |x| modulo pi/2: its quadrant, and the sine z + sl and the cosine w + cl of what is left. */
typedef struct reduced {
  v_u32 k;
  v_f32 z, sl, w, cl;
} reduced;

#define F_OF_BITS(bits) __builtin_convertvector((v_i32)(bits), v_f32)

INLINED reduced f_reduced(v_u32 x) {
  const v_u32 b = x & ~F_SIGN, e = (b >> 23) - 126u, top = (v_u32)((v_i32)e >> 7), t = e - top;
  const v_u32 m = ((b & 0x7fffffu) | 0x800000u) << (top & 31u), last = t & 31u, rest_bits = ~t & 31u;
  const v_u32 far = U_MASK(t & 64u, !=, v_broadcast(0)), odd = U_MASK(t & 32u, !=, v_broadcast(0));
  const v_u32 b0 = v_chosen(far, v_broadcast(0x91054a7fu), v_broadcast(0x00000028u));
  const v_u32 b1 = v_chosen(far, v_broadcast(0x09d5f47du), v_broadcast(0xbe60db93u));
  const v_u32 b2 = v_chosen(far, v_broadcast(0x4d377036u), v_broadcast(0x91054a7fu));
  const v_u32 b3 = v_chosen(far, v_broadcast(0xd8a5664fu), v_broadcast(0x09d5f47du));
  const v_u32 b4 = v_chosen(far, v_broadcast(0x10e4107fu), v_broadcast(0x4d377036u));
  const v_u32 c0 = v_chosen(odd, b1, b0), c1 = v_chosen(odd, b2, b1);
  const v_u32 c2 = v_chosen(odd, b3, b2), c3 = v_chosen(odd, b4, b3);
  const v_u32 d0 = (c0 << last) | (c1 >> 1 >> rest_bits), d1 = (c1 << last) | (c2 >> 1 >> rest_bits);
  const v_u32 d2 = (c2 << last) | (c3 >> 1 >> rest_bits), h = m * d0, i = (v_u32)((v_i32)(h << 2) >> 2);
  const v_f32 f = F_OF_BITS(m), f1 = F_OF_BITS(d1 >> 8) * 0x1p-54f;
  const v_f32 f2 = F_OF_BITS((d1 & 255u) << 16 | d2 >> 16) * 0x1p-78f;
  const v_f32 p = f * f1, low = f_fma(f, f2, f_fma(f, f1, -p)), g = F_OF_BITS(i), u = g * 0x1p-30f;
  const v_f32 s = u + p, v = s - u, gap = F_OF_BITS(i - expr_TO_I32((v_u32)g));
  const v_f32 rest = f_fma(gap, F_VECTOR(0x1p-30f), low) + (u - (s - v) + (p - v)), r = s + rest;
  const v_f32 y = r * 0x1.921fb6p+0f, half_pi = F_VECTOR(0x1.921fb6p+0f);
  const v_f32 y2 = f_fma(rest - (r - s), half_pi, f_fma(r, F_VECTOR(-0x1.777a5cp-25f), f_fma(r, half_pi, -y)));
  const v_u32 near = F_MASK(b, <, F_VECTOR(0.78f));
  const v_f32 z = f_chosen(near, (v_f32)b, y), zl = (v_f32)(~near & (v_u32)y2), q = z * z, hq = 0.5f * q, w = 1.0f - hq;
  const v_f32 sine = F_STEP(F_STEP(F_VECTOR(-0x1.989da6p-13f), q, 0x1.11054cp-7f), q, -0x1.555540p-3f);
  const v_f32 wl = 1.0f - w - hq - f_fma(z, zl, 0.5f * f_fma(z, z, -q));
  const v_f32 cosine = F_STEP(F_STEP(F_VECTOR(0x1.9963b0p-16f), q, -0x1.6c0a5cp-10f), q, 0x1.555548p-5f);
  return (reduced){~near & ((h + 0x20000000u) >> 30), z, f_fma(z * q, sine, zl), w, f_fma(q * q, cosine, wl)};
}

/* A NaN for infinities. */
INLINED v_u32 f_with_signs(v_u32 x, v_f32 one, v_u32 sign) {
  const v_u32 finite = F_MASK(x & ~F_SIGN, <, F_VECTOR(INFINITY));
  return v_chosen(finite, (v_u32)one ^ sign, v_broadcast(F_QUIET_NAN));
}
INLINED v_u32 f_is_odd(v_u32 k) { return U_MASK(k & 1u, !=, v_broadcast(0)); }

EXPR_FUNCTION v_u32 expr_SIN_F(v_u32 x) {
  const reduced r = f_reduced(x);
  return f_with_signs(x, f_chosen(f_is_odd(r.k), r.w + r.cl, r.z + r.sl), (x & F_SIGN) ^ (r.k & 2u) << 30);
}
EXPR_FUNCTION v_u32 expr_COS_F(v_u32 x) {
  const reduced r = f_reduced(x);
  return f_with_signs(x, f_chosen(f_is_odd(r.k), r.z + r.sl, r.w + r.cl), ((r.k + 1u) & 2u) << 30);
}
EXPR_FUNCTION v_u32 expr_TAN_F(v_u32 x) {
  const reduced r = f_reduced(x);
  const v_u32 odd = f_is_odd(r.k);
  const v_f32 n = f_chosen(odd, r.w, r.z), nl = f_chosen(odd, r.cl, r.sl);
  const v_f32 o = f_chosen(odd, r.z, r.w), ol = f_chosen(odd, r.sl, r.cl);
  const v_f32 inv = 1.0f / (o + ol), ratio = n * inv;
  const v_f32 tangent = f_fma(f_fma(-ratio, o, n) + f_fma(-ratio, ol, nl), inv, ratio);
  return f_with_signs(x, tangent, (x & F_SIGN) ^ r.k << 31);
}

#endif
