/* SPDX-License-Identifier: Apache-2.0
 * The texts of exp2f, log2f, log10f, powf, expm1f and log1pf (elementary.c); private to it. */
#ifndef HX_EXPR_ELEMENTARY_POWERS_H
#define HX_EXPR_ELEMENTARY_POWERS_H

/* a = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): k + log2(1 + f) does not cancel. Denormals are scaled first. */
#define SPLIT(a)                                    \
  "int denormal = " a                               \
  " < 0x1p-126f;"                                   \
  "int b = as_int(denormal ? " a " * 0x1p+23f : " a \
  ");"                                              \
  "int e = (b - 0x3f3504f3) >> 23;"                 \
  "float f = as_float(b - (e << 23)) - 1.0f;"       \
  "float k = (float)(denormal ? e - 23 : e);"

/* Of a positive finite x the finite value, and what C defines of the others. */
#define LOGARITHM(finite) "x > 0.0f ? (x < INFINITY ? " finite " : x) : x == 0.0f ? -INFINITY : NAN"

/* f / ln 2 has a coefficient of two floats, because it is most of the result. */
#define LOG2                                                          \
  SPLIT("x")                                                          \
  "float q = fmaf(-0x1.c68480p-4f, f, 0x1.7f6c90p-3f);"               \
  "float q2 = fmaf(fmaf(q, f, -0x1.878f68p-3f), f, 0x1.a2b5dcp-3f);"  \
  "float q3 = fmaf(fmaf(q2, f, -0x1.eaa98ap-3f), f, 0x1.277fe2p-2f);" \
  "float q4 = fmaf(fmaf(q3, f, -0x1.715aeep-2f), f, 0x1.ec7092p-2f);" \
  "float q5 = fmaf(q4, f, -0x1.715470p-1f);"                          \
  "float r = fmaf(f, 0x1.715476p+0f, fmaf(f * f, q5, f * 0x1.4ae0c0p-26f));" LOGARITHM("k + r")

/* k log10(2) cancels with the rest in part: its upper bits times k are exact, and the sum has two floats. */
#define LOG10                                                                                       \
  SPLIT("x")                                                                                        \
  "float q = fmaf(-0x1.10cac2p-5f, f, 0x1.ccbca6p-5f);"                                             \
  "float q2 = fmaf(fmaf(q, f, -0x1.d755f6p-5f), f, 0x1.f84fc8p-5f);"                                \
  "float q3 = fmaf(fmaf(q2, f, -0x1.276d10p-4f), f, 0x1.63d072p-4f);"                               \
  "float q4 = fmaf(fmaf(q3, f, -0x1.bcbf44p-4f), f, 0x1.287a70p-3f);"                               \
  "float q5 = fmaf(q4, f, -0x1.bcb7aap-3f);"                                                        \
  "float h = f * 0x1.bcb7b2p-2f;"                                                                   \
  "float l = fmaf(f, 0x1.bcb7b2p-2f, -h);"                                                          \
  "float s = k * 0x1.344000p-2f;"                                                                   \
  "float r = s + h;"                                                                                \
  "float low = fmaf(f * f, q5, fmaf(k, 0x1.3509f8p-18f, fmaf(f, -0x1.5b235ep-27f, l)));" LOGARITHM( \
      "r + (h - (r - s) + low)")

/* v = n + r, |r| <= 1/2, where n is an integer, and 2^r. As for exp, 2^n is applied as two factors. */
#define NEAREST(v)                                                     \
  "float c = " v " > 129.0f ? 129.0f : " v " < -151.0f ? -151.0f : " v \
  ";"                                                                  \
  "float j = c + 0x1.8p+23f;"                                          \
  "float n = j - 0x1.8p+23f;"                                          \
  "int i = as_int(j) - 0x4b400000;"
#define POWER_OF_2                                                   \
  "float p = fmaf(0x1.417a70p-13f, r, 0x1.5f0948p-10f);"             \
  "float p2 = fmaf(fmaf(p, r, 0x1.3b2dd2p-7f), r, 0x1.c6af7ap-5f);"  \
  "float p3 = fmaf(fmaf(p2, r, 0x1.ebfbdcp-3f), r, 0x1.62e430p-1f);" \
  "float p4 = fmaf(p3, r, 1.0f);"                                    \
  "int h = i >> 1;"
#define SCALED "p4 * as_float((h + 127) << 23) * as_float((i - h + 127) << 23)"

#define EXP2 NEAREST("x") "float r = c - n;" POWER_OF_2 SCALED

/* y log2|x| with an error of 2^-35 of it, because the result has 2^7 times the relative error that this has: two
 * floats for each value (z + zl and so on), as in Dekker, Numerische Mathematik 18, 1971. log2(1 + f) is a polynomial
 * in s = -f / (2 + f), odd, whose quotient is made of products alone, so that devices which do not round divisions have
 * powf, too. An infinite y is replaced by one that is large enough, for which |x| = 1 gives 1. Then C's special cases:
 * x or y has no logarithm, or the sign of x stays. */
#define POW \
  "float a = fabsf(x);"                                                                                   \
  SPLIT("a")                                                                                              \
  "float d = f + 2.0f;"                                                                                   \
  "float dl = f - (d - 2.0f);"                                                                            \
  "float g = fmaf(fmaf(-0x1.deab1ap-4f, d, 0x1.71e3eep-1f), d, -0x1.7a4e14p+0f);"                         \
  "float g2 = fmaf(g, d, 1.0f);"                                                                          \
  "float inv = fmaf(fmaf(g2, g2, g2), g, g);"                                                             \
  "float s = f * inv;"                                                                                    \
  "float sl = fmaf(s, dl, fmaf(s, d, f)) * inv;"                                                          \
  "float q = s * s;"                                                                                      \
  "float ql = fmaf(s + s, sl, fmaf(s, s, -q));"                                                           \
  "float u = fmaf(fmaf(fmaf(-0x1.5c72f8p-2f, q, -0x1.a595b2p-2f), q, -0x1.277768p-1f), q, 0x1.752c8ap-26f);" \
  "float t = u - 0x1.ec709ep-1f;"                                                                         \
  "float tl = u - (t + 0x1.ec709ep-1f);"                                                                  \
  "float w = q * t;"                                                                                      \
  "float wl = fmaf(q, t, -w) + fmaf(q, tl, ql * t);"                                                      \
  "float v = w - 0x1.715476p+1f;"                                                                         \
  "float vl = w - (v + 0x1.715476p+1f) + (wl - 0x1.4ae0c0p-25f);"                                         \
  "float m = s * v;"                                                                                      \
  "float ml = fmaf(s, v, -m) + fmaf(s, vl, sl * v);"                                                      \
  "float z = k + m;"                                                                                      \
  "float zl = m - (z - k) + ml;"                                                                          \
  "float zs = a < INFINITY ? (a > 0.0f ? z : -INFINITY) : a;"                                             \
  "float yc = y > 0x1p+60f ? 0x1p+60f : y < -0x1p+60f ? -0x1p+60f : y;"                                   \
  "float o = yc * zs;"                                                                                    \
  "float ol = fmaf(yc, zl, fmaf(yc, zs, -o));"                                                            \
  NEAREST("o")                                                                                            \
  "float r = c - n + (fabsf(o) < 192.0f ? ol : 0.0f);"                                                    \
  POWER_OF_2                                                                                              \
  "float power = " SCALED ";"                                                                             \
  "float half = 0.5f * y;"                                                                                \
  "int whole = truncf(y) == y;"                                                                           \
  "int sign = whole && truncf(half) != half ? as_int(x) & 0x80000000 : 0;"                                \
  "int none = x < 0.0f && a < INFINITY && !whole;"                                                        \
  "x == 1.0f || y == 0.0f ? 1.0f : none ? NAN : as_float(as_int(power) | sign)"

/* x = n ln 2 + r + rl: 2^n (r + low) + (2^n - 1), whose first sum has two floats. Half of it is computed, because 2^n
 * may be too large. A small x is the result, with the sign of a zero. */
#define EXPM1                                                       \
  "float c = x > 89.0f ? 89.0f : x < -20.0f ? -20.0f : x;"          \
  "float t = fmaf(c, 0x1.715476p+0f, 0x1.8p+23f);"                  \
  "float n = t - 0x1.8p+23f;"                                       \
  "int i = as_int(t) - 0x4b400000;"                                 \
  "float d = fmaf(n, -0x1.62e400p-1f, c);"                          \
  "float r = fmaf(n, -0x1.7f7d1cp-20f, d);"                         \
  "float rl = fmaf(n, -0x1.7f7d1cp-20f, d - r);"                    \
  "float q = fmaf(0x1.9e6e7cp-13f, r, 0x1.6d3a44p-10f);"            \
  "float q2 = fmaf(fmaf(q, r, 0x1.1112dap-7f), r, 0x1.5554f8p-5f);" \
  "float q3 = fmaf(fmaf(q2, r, 0x1.555554p-3f), r, 0.5f);"          \
  "float low = fmaf(r * r, q3, rl);"                                \
  "float p = as_float((i + 126) << 23);"                            \
  "float m = p - 0.5f;"                                             \
  "float s = fmaf(p, r, m);"                                        \
  "float sl = fmaf(p, r, m - s) + (p - m - 0.5f);"                  \
  "float half = s + fmaf(p, low, sl);"                              \
  "fabsf(x) < 0x1p-25f ? x : half + half"

/* x + 1 = u + c exactly, and u = 2^k (1 + g), of which f + fl is 1 + g with what c adds less 1. */
#define LOG1P                                                                \
  "float u = x + 1.0f;"                                                      \
  "float v = u - x;"                                                         \
  "float c = x - (u - v) + (1.0f - v);"                                      \
  "int b = as_int(u);"                                                       \
  "int e = (b - 0x3f3504f3) >> 23;"                                          \
  "float g = as_float(b - (e << 23)) - 1.0f;"                                \
  "float cs = c * as_float(max(127 - e, 0) << 23);"                          \
  "float f = g + cs;"                                                        \
  "float fl = cs - (f - g);"                                                 \
  "float k = (float)e;"                                                      \
  "float q = fmaf(-0x1.38c974p-4f, f, 0x1.055eaep-3f);"                      \
  "float q2 = fmaf(fmaf(q, f, -0x1.0d8246p-3f), f, 0x1.22d930p-3f);"         \
  "float q3 = fmaf(fmaf(q2, f, -0x1.54728ap-3f), f, 0x1.99a01cp-3f);"        \
  "float q4 = fmaf(fmaf(q3, f, -0x1.000226p-2f), f, 0x1.555554p-2f);"        \
  "float q5 = fmaf(q4, f, -0.5f);"                                           \
  "float s = k * 0x1.62e000p-1f;"                                            \
  "float r = s + f;"                                                         \
  "float low = f - (r - s) + fmaf(f * f, q5, fmaf(k, 0x1.0bfbe8p-15f, fl));" \
  "x > -1.0f ? (x < INFINITY ? (x == 0.0f ? x : r + low) : x) : x == -1.0f ? -INFINITY : NAN"

#endif
