/* SPDX-License-Identifier: Apache-2.0
 * The texts of sinhf, coshf and hypotf (elementary.c); private to it. */
#ifndef HX_EXPR_ELEMENTARY_HYPERBOLIC_H
#define HX_EXPR_ELEMENTARY_HYPERBOLIC_H

/* |x| = n ln 2 + r + rl. Of e^r and 2^-2n e^-r, whose sum or difference times 2^(n - 1) is the result, e + el and f +
 * fl are two floats each: 1 + r and 1 - r with what rounds them off, and the rest of the series, an even and an odd
 * part that both share. 2^(n - 1) is applied as two factors, so that only a result that is too large becomes infinite.
 */
#define HYPERBOLIC                                                                           \
  "float a = fabsf(x);"                                                                      \
  "float c = a > 90.0f ? 90.0f : a;"                                                         \
  "float t = fmaf(c, 0x1.715476p+0f, 0x1.8p+23f);"                                           \
  "float k = t - 0x1.8p+23f;"                                                                \
  "int n = as_int(t) - 0x4b400000;"                                                          \
  "float d = fmaf(k, -0x1.62e400p-1f, c);"                                                   \
  "float r = fmaf(k, -0x1.7f7d1cp-20f, d);"                                                  \
  "float rl = fmaf(k, -0x1.7f7d1cp-20f, d - r);"                                             \
  "float q = r * r;"                                                                         \
  "float even = q * fmaf(fmaf(0x1.6d4f14p-10f, q, 0x1.5554e6p-5f), q, 0.5f);"                \
  "float odd = fmaf(fmaf(0x1.a2a1c6p-13f, q, 0x1.110fdap-7f), q, 0x1.555556p-3f) * (r * q);" \
  "float e = 1.0f + r;"                                                                      \
  "float el = r - (e - 1.0f) + (odd + rl + even);"                                           \
  "float g = 1.0f - r;"                                                                      \
  "float gl = 1.0f - g - r + (even - (odd + rl));"                                           \
  "float w = as_float(127 - (min(n, 63) << 1) << 23);"                                       \
  "float f = w * g;"                                                                         \
  "float fl = w * gl;"                                                                       \
  "int h = n - 1 >> 1;"                                                                      \
  "float p = as_float((h + 127) << 23);"                                                     \
  "float p2 = as_float((n - 1 - h + 127) << 23);"

/* Without a multiple of ln 2 the difference is r + odd, and the sum 1 + even, both times two. */
#define SINH                                 \
  HYPERBOLIC                                 \
  "float s = e - f;"                         \
  "float v = s + (e - s - f + (el - fl));"   \
  "float z = n == 0 ? c + odd : v * p * p2;" \
  "as_float(as_int(z) | as_int(x) & 0x80000000)"
#define COSH                               \
  HYPERBOLIC                               \
  "float s = e + f;"                       \
  "float v = s + (e - s + f + (el + fl));" \
  "n == 0 ? 1.0f + even : v * p * p2"

/* The root of the two squares' sum, which has two floats. They are scaled so that no square is too large, and what
 * matters of the smaller one not too small. An infinity is the result, whatever the other argument is. */
#define HYPOT                                                  \
  "float across = fabsf(y);"                                   \
  "float up = fabsf(x);"                                       \
  "int steep = up > across;"                                   \
  "float most = steep ? up : across;"                          \
  "float least = steep ? across : up;"                         \
  "int far = most > 0x1p+60f;"                                 \
  "int near = most < 0x1p-40f;"                                \
  "float scale = far ? 0x1p-70f : near ? 0x1p+100f : 1.0f;"    \
  "float back = far ? 0x1p+70f : near ? 0x1p-100f : 1.0f;"     \
  "float a = most * scale;"                                    \
  "float b = least * scale;"                                   \
  "float h = a * a;"                                           \
  "float g = b * b;"                                           \
  "float s = h + g;"                                           \
  "float low = h - s + g + (fmaf(a, a, -h) + fmaf(b, b, -g));" \
  "float root = sqrtf(s);"                                     \
  "float rest = (fmaf(-root, root, s) + low) / (root + root);" \
  "float length = root == 0.0f ? root : root + rest;"          \
  "up == INFINITY || across == INFINITY ? INFINITY : length * back"

#endif
