/* SPDX-License-Identifier: Apache-2.0
 * The texts of the trigonometric functions and their inverses (elementary.c); private to it. */
#ifndef HX_EXPR_ELEMENTARY_ANGLES_H
#define HX_EXPR_ELEMENTARY_ANGLES_H

/* |x| = k pi/2 + z + zl, |z| <= 0.82, after Payne and Hanek (ACM SIGNUM Newsletter 18, 1983): d0, d1 and d2 are 96 bits
 * of 2 / pi, those that |x| = m 2^(t - 24) moves to where a product with m is not a multiple of 4. m d0 modulo 2^32, in
 * units of 2^-30, has k in its upper two bits; f (f1 + f2) is below 2^-5. The last binade (top) has twice the m. Then
 * the sine z + sl and the cosine w + cl of z + zl, of which the result is one, or their quotient. */
#define REDUCED                                                                                              \
  "float a = fabsf(x);"                                                                                      \
  "int b = as_int(a);"                                                                                       \
  "int e = (b >> 23) - 126;"                                                                                 \
  "int top = e >> 7;"                                                                                        \
  "int t = e - top;"                                                                                         \
  "int m = (b & 0x7fffff | 0x800000) << top;"                                                                \
  "unsigned b0 = t & 64 ? 0x91054a7fu : 0x00000028u;"                                                        \
  "unsigned b1 = t & 64 ? 0x09d5f47du : 0xbe60db93u;"                                                        \
  "unsigned b2 = t & 64 ? 0x4d377036u : 0x91054a7fu;"                                                        \
  "unsigned b3 = t & 64 ? 0xd8a5664fu : 0x09d5f47du;"                                                        \
  "unsigned b4 = t & 64 ? 0x10e4107fu : 0x4d377036u;"                                                        \
  "unsigned c0 = t & 32 ? b1 : b0;"                                                                          \
  "unsigned c1 = t & 32 ? b2 : b1;"                                                                          \
  "unsigned c2 = t & 32 ? b3 : b2;"                                                                          \
  "unsigned c3 = t & 32 ? b4 : b3;"                                                                          \
  "unsigned d0 = c0 << t | c1 >> 1 >> ~t;"                                                                   \
  "unsigned d1 = c1 << t | c2 >> 1 >> ~t;"                                                                   \
  "unsigned d2 = c2 << t | c3 >> 1 >> ~t;"                                                                   \
  "unsigned h = (unsigned)m * d0;"                                                                           \
  "float f = (float)m;"                                                                                      \
  "float f1 = (float)(int)(d1 >> 8) * 0x1p-54f;"                                                             \
  "float f2 = (float)(int)((d1 & 255u) << 16 | d2 >> 16) * 0x1p-78f;"                                        \
  "float p = f * f1;"                                                                                        \
  "float low = fmaf(f, f2, fmaf(f, f1, -p));"                                                                \
  "int i = (int)(h << 2) >> 2;"                                                                              \
  "float g = (float)i;"                                                                                      \
  "float u = g * 0x1p-30f;"                                                                                  \
  "float s = u + p;"                                                                                         \
  "float v = s - u;"                                                                                         \
  "float rest = fmaf((float)(i - (int)g), 0x1p-30f, low) + (u - (s - v) + (p - v));"                         \
  "float r = s + rest;"                                                                                      \
  "float y = r * 0x1.921fb6p+0f;"                                                                            \
  "float y2 = fmaf(rest - (r - s), 0x1.921fb6p+0f, fmaf(r, -0x1.777a5cp-25f, fmaf(r, 0x1.921fb6p+0f, -y)));" \
  "int near = a < 0.78f;"                                                                                    \
  "int k = near ? 0 : (int)(h + 0x20000000u >> 30);"                                                         \
  "float z = near ? a : y;"                                                                                  \
  "float zl = near ? 0.0f : y2;"                                                                             \
  "float q = z * z;"                                                                                         \
  "float sl = fmaf(z * q, fmaf(fmaf(-0x1.989da6p-13f, q, 0x1.11054cp-7f), q, -0x1.555540p-3f), zl);"         \
  "float hq = 0.5f * q;"                                                                                     \
  "float w = 1.0f - hq;"                                                                                     \
  "float wl = 1.0f - w - hq - fmaf(z, zl, 0.5f * fmaf(z, z, -q));"                                           \
  "float cl = fmaf(q * q, fmaf(fmaf(0x1.9963b0p-16f, q, -0x1.6c0a5cp-10f), q, 0x1.555548p-5f), wl);"
#define SIN                              \
  REDUCED                                \
  "float one = k & 1 ? w + cl : z + sl;" \
  "a < INFINITY ? as_float(as_int(one) ^ as_int(x) & 0x80000000 ^ (k & 2) << 30) : NAN"
#define COS                              \
  REDUCED                                \
  "float one = k & 1 ? z + sl : w + cl;" \
  "a < INFINITY ? as_float(as_int(one) ^ (k + 1 & 2) << 30) : NAN"

/* The quotient is corrected by what is left of the numerator. */
#define TAN                                                                      \
  REDUCED                                                                        \
  "float n = k & 1 ? w : z;"                                                     \
  "float nl = k & 1 ? cl : sl;"                                                  \
  "float o = k & 1 ? z : w;"                                                     \
  "float ol = k & 1 ? sl : cl;"                                                  \
  "float inv = 1.0f / (o + ol);"                                                 \
  "float ratio = n * inv;"                                                       \
  "float tangent = fmaf(fmaf(-ratio, o, n) + fmaf(-ratio, ol, nl), inv, ratio);" \
  "a < INFINITY ? as_float(as_int(tangent) ^ as_int(x) & 0x80000000 ^ k << 31) : NAN"

/* atan(t + tl) = t + low for 0 <= t <= 1: an odd polynomial, whose first coefficient is added apart.
 * The arc tangent of 1 is the float next to pi/4. */
#define ARC_TANGENT                                                                 \
  "float s = t * t;"                                                                \
  "float q = fmaf(-0x1.ddeb3ep-10f, s, 0x1.69f6b4p-7f);"                            \
  "float q2 = fmaf(fmaf(q, s, -0x1.016902p-5f), s, 0x1.dcc8e2p-5f);"                \
  "float q3 = fmaf(fmaf(q2, s, -0x1.58c856p-4f), s, 0x1.c0cbc6p-4f);"               \
  "float q4 = fmaf(fmaf(q3, s, -0x1.242658p-3f), s, 0x1.999268p-3f);"               \
  "float w = t * s;"                                                                \
  "float l = fmaf(w, -0x1.555540p-2f, fmaf(w * s, q4, tl * fmaf(-0.5f, s, 1.0f)));" \
  "float low = t == 1.0f ? -0x1.b7812ap-3f : l;"

/* Of |x| > 1, pi/2 less that of 1 / |x|. */
#define ATAN                                                       \
  "float a = fabsf(x);"                                            \
  "float c = a > 0x1p+60f ? 0x1p+60f : a;"                         \
  "int far = c > 1.0f;"                                            \
  "float inv = 1.0f / c;"                                          \
  "float t = far ? inv : c;"                                       \
  "float tl = far ? fmaf(-inv, c, 1.0f) * inv : 0.0f;" ARC_TANGENT \
  "float h = 0x1.921fb6p+0f - t;"                                  \
  "float hl = 0x1.921fb6p+0f - h - t;"                             \
  "float r = far ? h + (hl - low - 0x1.777a5cp-25f) : t + low;"    \
  "as_float(as_int(r) | as_int(x) & 0x80000000)"

/* The angle of the point (y, x), as C's atan2f(x, y) has its arguments: from the axis that is nearer, n / d <= 1.
 * Scaled so that neither 1 / d nor the remainder of the quotient is below the normal numbers; a quotient of two
 * infinities is 1, and that of two zeros 0. */
#define ATAN2                                                                      \
  "float across = fabsf(y);"                                                       \
  "float up = fabsf(x);"                                                           \
  "int steep = up > across;"                                                       \
  "float most = steep ? up : across;"                                              \
  "float least = steep ? across : up;"                                             \
  "float scale = most > 0x1p+100f ? 0x1p-64f : most < 0x1p+60f ? 0x1p+64f : 1.0f;" \
  "int ends = most == INFINITY || most == 0.0f;"                                   \
  "float d = ends ? 1.0f : most * scale;"                                          \
  "float n = ends ? (least == INFINITY ? 1.0f : 0.0f) : least * scale;"            \
  "float inv = 1.0f / d;"                                                          \
  "float t = n * inv;"                                                             \
  "float tl = fmaf(-t, d, n) * inv;" ARC_TANGENT                                   \
  "int left = as_int(y) < 0;"                                                      \
  "int down = steep ^ left;"                                                       \
  "float u = down ? -t : t;"                                                       \
  "float ul = down ? -low : low;"                                                  \
  "float base = steep ? 0x1.921fb6p+0f : left ? 0x1.921fb6p+1f : 0.0f;"            \
  "float h = base + u;"                                                            \
  "float r = h + (u - (h - base) + fmaf(base, -0x1.de12cap-26f, ul));"             \
  "x == x && y == y ? as_float(as_int(r) | as_int(x) & 0x80000000) : NAN"

/* asin(s + rest) = s + low for s <= 1/2; beyond, asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)), whose root has two floats.
 */
#define ARC_SINE                                                            \
  "float a = fabsf(x);"                                                     \
  "int far = a > 0.5f;"                                                     \
  "float z = far ? fmaf(-0.5f, a, 0.5f) : a * a;"                           \
  "float root = sqrtf(z);"                                                  \
  "float s = far ? root : a;"                                               \
  "float q = fmaf(0x1.59cc5ep-5f, z, 0x1.8bb560p-6f);"                      \
  "float q2 = fmaf(fmaf(q, z, 0x1.748a2ap-5f), z, 0x1.33016ap-4f);"         \
  "float q3 = fmaf(q2, z, 0x1.5555cap-3f);"                                 \
  "float rest = root > 0.0f ? fmaf(-root, root, z) / (root + root) : 0.0f;" \
  "float low = fmaf(s * z, q3, far ? rest : 0.0f);"
#define ASIN                                                            \
  ARC_SINE                                                              \
  "float t = s + s;"                                                    \
  "float h = 0x1.921fb6p+0f - t;"                                       \
  "float hl = 0x1.921fb6p+0f - h - t;"                                  \
  "float r = far ? h + (hl - (low + low) - 0x1.777a5cp-25f) : s + low;" \
  "a <= 1.0f ? as_float(as_int(r) | as_int(x) & 0x80000000) : NAN"
#define ACOS                                                             \
  ARC_SINE                                                               \
  "int minus = x < 0.0f;"                                                \
  "float t = far ? s + s : s;"                                           \
  "float tl = far ? low + low : low;"                                    \
  "int down = far == minus;"                                             \
  "float u = down ? -t : t;"                                             \
  "float ul = down ? -tl : tl;"                                          \
  "float base = far ? (minus ? 0x1.921fb6p+1f : 0.0f) : 0x1.921fb6p+0f;" \
  "float h = base + u;"                                                  \
  "float r = h + (u - (h - base) + fmaf(base, -0x1.de12cap-26f, ul));"   \
  "a <= 1.0f ? r : NAN"

#endif
