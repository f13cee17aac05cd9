/* SPDX-License-Identifier: Apache-2.0
 * The sequences of docs/ELEMENTARY.md, as the page has them, of one element. */
#include "tests/elementary_sequences.h"

#include <math.h>
#include <stdbool.h>

#include "tests/float_bits.h"

static int shifted(uint32_t bits, int by) { return (int)((int64_t)(int32_t)bits >> by); }

float sequence_exp(float x) {
  const float c = x > 89.0f ? 89.0f : x < -104.0f ? -104.0f : x;
  const float t = fmaf(c, 0x1.715476p+0f, 0x1.8p+23f), n = t - 0x1.8p+23f;
  const uint32_t i = as_int(t) - 0x4b400000u, h = (uint32_t)shifted(i, 1);
  const float r = fmaf(n, 0x1.05c610p-29f, fmaf(n, -0x1.62e430p-1f, c));
  const float q = fmaf(0x1.a1aef0p-13f, r, 0x1.6d9782p-10f);
  const float q2 = fmaf(fmaf(q, r, 0x1.111084p-7f), r, 0x1.555480p-5f);
  const float q3 = fmaf(fmaf(q2, r, 0x1.555556p-3f), r, 0.5f);
  const float p = fmaf(fmaf(q3, r, 1.0f), r, 1.0f);
  return p * as_float((h + 127u) << 23) * as_float((i - h + 127u) << 23);
}

float sequence_log(float x) {
  const bool denormal = x < 0x1p-126f;
  const uint32_t b = as_int(denormal ? x * 0x1p+23f : x);
  const int e = shifted(b - 0x3f2aaaabu, 23);
  const float f = as_float(b - ((uint32_t)e << 23)) - 1.0f, k = (float)(denormal ? e - 23 : e);
  const float q = fmaf(-0x1.10c81ep-3f, f, 0x1.1efcaep-3f);
  const float q2 = fmaf(fmaf(q, f, -0x1.eea542p-4f), f, 0x1.1eb5f6p-3f);
  const float q3 = fmaf(fmaf(q2, f, -0x1.55cdd4p-3f), f, 0x1.99d272p-3f);
  const float q4 = fmaf(fmaf(q3, f, -0x1.fffd66p-3f), f, 0x1.555500p-2f);
  const float r = fmaf(f * f, fmaf(q4, f, -0.5f), f);
  const float l = fmaf(k, 0x1.62e430p-1f, fmaf(k, -0x1.05c610p-29f, r));
  return x > 0.0f ? (x < INFINITY ? l : x) : x == 0.0f ? -INFINITY : NAN;
}

static float with_sign_of(float t, float x) { return as_float(as_int(t) | (as_int(x) & 0x80000000u)); }

float sequence_tanh(float x) {
  const float a = fabsf(x), s = a * a;
  const float q = fmaf(-0x1.958744p-8f, s, 0x1.584a0ap-6f);
  const float q2 = fmaf(fmaf(q, s, -0x1.b90cd2p-5f), s, 0x1.110c8ap-3f);
  const float small = fmaf(a * s, fmaf(q2, s, -0x1.555548p-2f), a);
  return with_sign_of(a < 0.55f ? small : 1.0f - 2.0f / (sequence_exp(a + a) + 1.0f), x);
}

/* e^r and 2^-2n e^-r, two floats each, and what is added to r and to 1 where n is 0. */
typedef struct hyperbolic {
  float c, e, el, f, fl, even, odd;
  int n;
} hyperbolic;

static hyperbolic hyperbolic_of(float x) {
  const float a = fabsf(x), c = a > 90.0f ? 90.0f : a;
  const float t = fmaf(c, 0x1.715476p+0f, 0x1.8p+23f), k = t - 0x1.8p+23f;
  const int n = (int)(as_int(t) - 0x4b400000u);
  const float d = fmaf(k, -0x1.62e400p-1f, c), r = fmaf(k, -0x1.7f7d1cp-20f, d);
  const float rl = fmaf(k, -0x1.7f7d1cp-20f, d - r), q = r * r;
  const float even = q * fmaf(fmaf(0x1.6d4f14p-10f, q, 0x1.5554e6p-5f), q, 0.5f);
  const float odd = fmaf(fmaf(0x1.a2a1c6p-13f, q, 0x1.110fdap-7f), q, 0x1.555556p-3f) * (r * q);
  const float e = 1.0f + r, el = r - (e - 1.0f) + (odd + rl + even);
  const float g = 1.0f - r, gl = 1.0f - g - r + (even - (odd + rl));
  const float w = as_float((uint32_t)(127 - (n < 63 ? n : 63) * 2) << 23);
  return (hyperbolic){c, e, el, w * g, w * gl, even, odd, n};
}

static float times_power_of_two(float v, int n) {
  const int h = shifted((uint32_t)n, 1);
  return v * as_float((uint32_t)(h + 127) << 23) * as_float((uint32_t)(n - h + 127) << 23);
}

float sequence_sinh(float x) {
  const hyperbolic b = hyperbolic_of(x);
  const float s = b.e - b.f, v = s + (b.e - s - b.f + (b.el - b.fl));
  return with_sign_of(b.n == 0 ? b.c + b.odd : times_power_of_two(v, b.n - 1), x);
}

float sequence_cosh(float x) {
  const hyperbolic b = hyperbolic_of(x);
  const float s = b.e + b.f, v = s + (b.e - s + b.f + (b.el + b.fl));
  return b.n == 0 ? 1.0f + b.even : times_power_of_two(v, b.n - 1);
}

float sequence_hypot(float x, float y) {
  const float across = fabsf(y), up = fabsf(x), most = up > across ? up : across, least = up > across ? across : up;
  const bool far = most > 0x1p+60f, near = most < 0x1p-40f;
  const float scale = far ? 0x1p-70f : near ? 0x1p+100f : 1.0f, back = far ? 0x1p+70f : near ? 0x1p-100f : 1.0f;
  const float a = most * scale, b = least * scale, h = a * a, g = b * b, s = h + g;
  const float low = h - s + g + (fmaf(a, a, -h) + fmaf(b, b, -g)), root = sqrtf(s);
  const float rest = (fmaf(-root, root, s) + low) / (root + root);
  return up == INFINITY || across == INFINITY ? INFINITY : (root == 0.0f ? root : root + rest) * back;
}

float sequence_erf(float x) {
  const float a = fabsf(x), s = a * a, c = a > 3.95f ? 3.95f : a;
  const float q = fmaf(0x1.589466p-14f, s, -0x1.a8fc68p-11f);
  const float q2 = fmaf(fmaf(q, s, 0x1.54a490p-8f), s, -0x1.b80b0ep-6f);
  const float q3 = fmaf(fmaf(q2, s, 0x1.ce2de2p-4f), s, -0x1.812742p-2f);
  const float small = fmaf(a, fmaf(q3, s, 0x1.06eba8p-3f), a);
  const float g = fmaf(0x1.98d5e4p-13f, c, -0x1.8da232p-9f);
  const float g2 = fmaf(fmaf(g, c, 0x1.6b8ed8p-6f), c, -0x1.a96562p-4f);
  const float g3 = fmaf(fmaf(g2, c, -0x1.4647b0p-1f), c, -0x1.20ac32p+0f);
  return with_sign_of(a < 0.94f ? small : 1.0f - sequence_exp(fmaf(g3, c, -0x1.b21af8p-13f)), x);
}

/* |x| modulo pi/2: its quadrant, and the sine z + sl and the cosine w + cl of what is left. */
typedef struct reduced {
  int k;
  float z, sl, w, cl;
} reduced;

static reduced reduce(float x) {
  const float a = fabsf(x);
  const int b = (int)as_int(a);
  const int e = (b >> 23) - 126;
  const int top = shifted((uint32_t)e, 7);
  const int t = e - top;
  const uint32_t m = (((uint32_t)b & 0x7fffffu) | 0x800000u) << (top & 31);
  const uint32_t b0 = (t & 64) ? 0x91054a7fu : 0x00000028u;
  const uint32_t b1 = (t & 64) ? 0x09d5f47du : 0xbe60db93u;
  const uint32_t b2 = (t & 64) ? 0x4d377036u : 0x91054a7fu;
  const uint32_t b3 = (t & 64) ? 0xd8a5664fu : 0x09d5f47du;
  const uint32_t b4 = (t & 64) ? 0x10e4107fu : 0x4d377036u;
  const uint32_t c0 = (t & 32) ? b1 : b0;
  const uint32_t c1 = (t & 32) ? b2 : b1;
  const uint32_t c2 = (t & 32) ? b3 : b2;
  const uint32_t c3 = (t & 32) ? b4 : b3;
  const uint32_t d0 = (c0 << (t & 31)) | (c1 >> 1 >> (~t & 31));
  const uint32_t d1 = (c1 << (t & 31)) | (c2 >> 1 >> (~t & 31));
  const uint32_t d2 = (c2 << (t & 31)) | (c3 >> 1 >> (~t & 31));
  const uint32_t h = m * d0;
  const float f = (float)m;
  const float f1 = (float)(int)(d1 >> 8) * 0x1p-54f;
  const float f2 = (float)(int)((d1 & 255u) << 16 | d2 >> 16) * 0x1p-78f;
  const float p = f * f1;
  const float low = fmaf(f, f2, fmaf(f, f1, -p));
  const int i = shifted(h << 2, 2);
  const float g = (float)i;
  const float u = g * 0x1p-30f;
  const float s = u + p;
  const float v = s - u;
  const float rest = fmaf((float)(i - (int)g), 0x1p-30f, low) + (u - (s - v) + (p - v));
  const float r = s + rest;
  const float y = r * 0x1.921fb6p+0f;
  const float y2 = fmaf(rest - (r - s), 0x1.921fb6p+0f, fmaf(r, -0x1.777a5cp-25f, fmaf(r, 0x1.921fb6p+0f, -y)));
  const int near = a < 0.78f;
  const int k = near ? 0 : (int)((h + 0x20000000u) >> 30);
  const float z = near ? a : y;
  const float zl = near ? 0.0f : y2;
  const float q = z * z;
  const float sl = fmaf(z * q, fmaf(fmaf(-0x1.989da6p-13f, q, 0x1.11054cp-7f), q, -0x1.555540p-3f), zl);
  const float hq = 0.5f * q;
  const float w = 1.0f - hq;
  const float wl = 1.0f - w - hq - fmaf(z, zl, 0.5f * fmaf(z, z, -q));
  const float cl = fmaf(q * q, fmaf(fmaf(0x1.9963b0p-16f, q, -0x1.6c0a5cp-10f), q, 0x1.555548p-5f), wl);
  return (reduced){k, z, sl, w, cl};
}

static float with_signs(float x, float one, uint32_t sign) {
  return fabsf(x) < INFINITY ? as_float(as_int(one) ^ sign) : NAN;
}

float sequence_sin(float x) {
  const reduced r = reduce(x);
  const uint32_t sign = (as_int(x) & 0x80000000u) ^ (uint32_t)(r.k & 2) << 30;
  return with_signs(x, r.k & 1 ? r.w + r.cl : r.z + r.sl, sign);
}

float sequence_cos(float x) {
  const reduced r = reduce(x);
  return with_signs(x, r.k & 1 ? r.z + r.sl : r.w + r.cl, (uint32_t)((r.k + 1) & 2) << 30);
}

float sequence_tan(float x) {
  const reduced r = reduce(x);
  const bool odd = r.k & 1;
  const float n = odd ? r.w : r.z, nl = odd ? r.cl : r.sl, o = odd ? r.z : r.w, ol = odd ? r.sl : r.cl;
  const float inv = 1.0f / (o + ol), ratio = n * inv;
  const float tangent = fmaf(fmaf(-ratio, o, n) + fmaf(-ratio, ol, nl), inv, ratio);
  return with_signs(x, tangent, (as_int(x) & 0x80000000u) ^ (uint32_t)r.k << 31);
}

/* Of t + tl in [0, 1], less t. */
static float arc_tangent(float t, float tl) {
  const float s = t * t;
  const float q = fmaf(-0x1.ddeb3ep-10f, s, 0x1.69f6b4p-7f);
  const float q2 = fmaf(fmaf(q, s, -0x1.016902p-5f), s, 0x1.dcc8e2p-5f);
  const float q3 = fmaf(fmaf(q2, s, -0x1.58c856p-4f), s, 0x1.c0cbc6p-4f);
  const float q4 = fmaf(fmaf(q3, s, -0x1.242658p-3f), s, 0x1.999268p-3f);
  const float w = t * s;
  const float l = fmaf(w, -0x1.555540p-2f, fmaf(w * s, q4, tl * fmaf(-0.5f, s, 1.0f)));
  return t == 1.0f ? -0x1.b7812ap-3f : l;
}

float sequence_atan(float x) {
  const float a = fabsf(x), c = a > 0x1p+60f ? 0x1p+60f : a, inv = 1.0f / c;
  const bool far = c > 1.0f;
  const float t = far ? inv : c, low = arc_tangent(t, far ? fmaf(-inv, c, 1.0f) * inv : 0.0f);
  const float h = 0x1.921fb6p+0f - t, hl = 0x1.921fb6p+0f - h - t;
  return with_sign_of(far ? h + (hl - low - 0x1.777a5cp-25f) : t + low, x);
}

/* base + u + ul, where base is a multiple of pi/2 and u not greater. */
static float turned(float base, float u, float ul) {
  const float h = base + u;
  return h + (u - (h - base) + fmaf(base, -0x1.de12cap-26f, ul));
}

float sequence_atan2(float x, float y) {
  const float across = fabsf(y), up = fabsf(x);
  const bool steep = up > across, left = as_int(y) >> 31;
  const float most = steep ? up : across, least = steep ? across : up;
  const float scale = most > 0x1p+100f ? 0x1p-64f : most < 0x1p+60f ? 0x1p+64f : 1.0f;
  const bool ends = most == INFINITY || most == 0.0f;
  const float d = ends ? 1.0f : most * scale, n = ends ? (least == INFINITY ? 1.0f : 0.0f) : least * scale;
  const float inv = 1.0f / d, t = n * inv, low = arc_tangent(t, fmaf(-t, d, n) * inv);
  const float base = steep ? 0x1.921fb6p+0f : left ? 0x1.921fb6p+1f : 0.0f;
  const float r = steep != left ? turned(base, -t, -low) : turned(base, t, low);
  return isnan(x) || isnan(y) ? NAN : with_sign_of(r, x);
}

/* Of a <= 1/2 the arc sine, otherwise that of sqrt((1 - a) / 2), as s + low. */
static float arc_sine(float a, float *s) {
  const bool far = a > 0.5f;
  const float z = far ? fmaf(-0.5f, a, 0.5f) : a * a, root = sqrtf(z);
  *s = far ? root : a;
  const float q = fmaf(0x1.59cc5ep-5f, z, 0x1.8bb560p-6f);
  const float q2 = fmaf(fmaf(q, z, 0x1.748a2ap-5f), z, 0x1.33016ap-4f);
  const float q3 = fmaf(q2, z, 0x1.5555cap-3f);
  const float rest = root > 0.0f ? fmaf(-root, root, z) / (root + root) : 0.0f;
  return fmaf(*s * z, q3, far ? rest : 0.0f);
}

float sequence_asin(float x) {
  const float a = fabsf(x);
  float s;
  const float low = arc_sine(a, &s);
  const float t = s + s, h = 0x1.921fb6p+0f - t, hl = 0x1.921fb6p+0f - h - t;
  const float r = a > 0.5f ? h + (hl - (low + low) - 0x1.777a5cp-25f) : s + low;
  return a <= 1.0f ? with_sign_of(r, x) : NAN;
}

float sequence_acos(float x) {
  const float a = fabsf(x);
  const bool far = a > 0.5f, minus = x < 0.0f;
  float s;
  const float low = arc_sine(a, &s), t = far ? s + s : s, tl = far ? low + low : low;
  const float base = far ? (minus ? 0x1.921fb6p+1f : 0.0f) : 0x1.921fb6p+0f;
  const float r = far == minus ? turned(base, -t, -tl) : turned(base, t, tl);
  return a <= 1.0f ? r : NAN;
}

/* |x| = 2^k (1 + f). */
static float split(float a, float *k) {
  const bool denormal = a < 0x1p-126f;
  const uint32_t b = as_int(denormal ? a * 0x1p+23f : a);
  const int e = shifted(b - 0x3f3504f3u, 23);
  *k = (float)(denormal ? e - 23 : e);
  return as_float(b - ((uint32_t)e << 23)) - 1.0f;
}

static float logarithm(float x, float finite) {
  return x > 0.0f ? (x < INFINITY ? finite : x) : x == 0.0f ? -INFINITY : NAN;
}

float sequence_log2(float x) {
  float k;
  const float f = split(x, &k);
  const float q = fmaf(-0x1.c68480p-4f, f, 0x1.7f6c90p-3f);
  const float q2 = fmaf(fmaf(q, f, -0x1.878f68p-3f), f, 0x1.a2b5dcp-3f);
  const float q3 = fmaf(fmaf(q2, f, -0x1.eaa98ap-3f), f, 0x1.277fe2p-2f);
  const float q4 = fmaf(fmaf(q3, f, -0x1.715aeep-2f), f, 0x1.ec7092p-2f);
  const float q5 = fmaf(q4, f, -0x1.715470p-1f);
  const float r = fmaf(f, 0x1.715476p+0f, fmaf(f * f, q5, f * 0x1.4ae0c0p-26f));
  return logarithm(x, k + r);
}

float sequence_log10(float x) {
  float k;
  const float f = split(x, &k);
  const float q = fmaf(-0x1.10cac2p-5f, f, 0x1.ccbca6p-5f);
  const float q2 = fmaf(fmaf(q, f, -0x1.d755f6p-5f), f, 0x1.f84fc8p-5f);
  const float q3 = fmaf(fmaf(q2, f, -0x1.276d10p-4f), f, 0x1.63d072p-4f);
  const float q4 = fmaf(fmaf(q3, f, -0x1.bcbf44p-4f), f, 0x1.287a70p-3f);
  const float q5 = fmaf(q4, f, -0x1.bcb7aap-3f);
  const float h = f * 0x1.bcb7b2p-2f;
  const float l = fmaf(f, 0x1.bcb7b2p-2f, -h);
  const float s = k * 0x1.344000p-2f;
  const float r = s + h;
  const float low = fmaf(f * f, q5, fmaf(k, 0x1.3509f8p-18f, fmaf(f, -0x1.5b235ep-27f, l)));
  return logarithm(x, r + (h - (r - s) + low));
}

float sequence_log1p(float x) {
  const float u = x + 1.0f, v = u - x, c = x - (u - v) + (1.0f - v);
  const uint32_t b = as_int(u);
  const int e = shifted(b - 0x3f3504f3u, 23);
  const float g = as_float(b - ((uint32_t)e << 23)) - 1.0f;
  const float cs = c * as_float((uint32_t)(e < 127 ? 127 - e : 0) << 23);
  const float f = g + cs, fl = cs - (f - g), k = (float)e;
  const float q = fmaf(-0x1.38c974p-4f, f, 0x1.055eaep-3f);
  const float q2 = fmaf(fmaf(q, f, -0x1.0d8246p-3f), f, 0x1.22d930p-3f);
  const float q3 = fmaf(fmaf(q2, f, -0x1.54728ap-3f), f, 0x1.99a01cp-3f);
  const float q4 = fmaf(fmaf(q3, f, -0x1.000226p-2f), f, 0x1.555554p-2f);
  const float q5 = fmaf(q4, f, -0.5f);
  const float s = k * 0x1.62e000p-1f, r = s + f;
  const float low = f - (r - s) + fmaf(f * f, q5, fmaf(k, 0x1.0bfbe8p-15f, fl));
  if (x == 0.0f) return x;
  return x > -1.0f ? (x < INFINITY ? r + low : x) : x == -1.0f ? -INFINITY : NAN;
}

float sequence_expm1(float x) {
  const float c = x > 89.0f ? 89.0f : x < -20.0f ? -20.0f : x;
  const float t = fmaf(c, 0x1.715476p+0f, 0x1.8p+23f), n = t - 0x1.8p+23f;
  const float d = fmaf(n, -0x1.62e400p-1f, c), r = fmaf(n, -0x1.7f7d1cp-20f, d);
  const float rl = fmaf(n, -0x1.7f7d1cp-20f, d - r);
  const float q = fmaf(0x1.9e6e7cp-13f, r, 0x1.6d3a44p-10f);
  const float q2 = fmaf(fmaf(q, r, 0x1.1112dap-7f), r, 0x1.5554f8p-5f);
  const float q3 = fmaf(fmaf(q2, r, 0x1.555554p-3f), r, 0.5f);
  const float low = fmaf(r * r, q3, rl), p = as_float((as_int(t) - 0x4b400000u + 126u) << 23);
  const float m = p - 0.5f, s = fmaf(p, r, m), sl = fmaf(p, r, m - s) + (p - m - 0.5f);
  const float half = s + fmaf(p, low, sl);
  return fabsf(x) < 0x1p-25f ? x : half + half;
}

/* 2^(v + low) */
static float power_of_2(float v, float low) {
  const float c = v > 129.0f ? 129.0f : v < -151.0f ? -151.0f : v;
  const float j = c + 0x1.8p+23f, n = j - 0x1.8p+23f, r = c - n + low;
  const uint32_t i = as_int(j) - 0x4b400000u, h = (uint32_t)shifted(i, 1);
  const float p = fmaf(0x1.417a70p-13f, r, 0x1.5f0948p-10f);
  const float p2 = fmaf(fmaf(p, r, 0x1.3b2dd2p-7f), r, 0x1.c6af7ap-5f);
  const float p3 = fmaf(fmaf(p2, r, 0x1.ebfbdcp-3f), r, 0x1.62e430p-1f);
  const float p4 = fmaf(p3, r, 1.0f);
  return p4 * as_float((h + 127u) << 23) * as_float((i - h + 127u) << 23);
}

float sequence_exp2(float x) { return power_of_2(x, 0.0f); }

float sequence_pow(float x, float y) {
  const float a = fabsf(x);
  float k;
  const float f = split(a, &k);
  const float d = f + 2.0f, dl = f - (d - 2.0f);
  const float g = fmaf(fmaf(-0x1.deab1ap-4f, d, 0x1.71e3eep-1f), d, -0x1.7a4e14p+0f);
  const float g2 = fmaf(g, d, 1.0f), inv = fmaf(fmaf(g2, g2, g2), g, g);
  const float s = f * inv, sl = fmaf(s, dl, fmaf(s, d, f)) * inv;
  const float q = s * s, ql = fmaf(s + s, sl, fmaf(s, s, -q));
  const float u = fmaf(fmaf(fmaf(-0x1.5c72f8p-2f, q, -0x1.a595b2p-2f), q, -0x1.277768p-1f), q, 0x1.752c8ap-26f);
  const float t = u - 0x1.ec709ep-1f, tl = u - (t + 0x1.ec709ep-1f);
  const float w = q * t, wl = fmaf(q, t, -w) + fmaf(q, tl, ql * t);
  const float v = w - 0x1.715476p+1f, vl = w - (v + 0x1.715476p+1f) + (wl - 0x1.4ae0c0p-25f);
  const float m = s * v, ml = fmaf(s, v, -m) + fmaf(s, vl, sl * v);
  const float z = k + m, zl = m - (z - k) + ml;
  const float zs = a < INFINITY ? (a > 0.0f ? z : -INFINITY) : a;
  const float yc = y > 0x1p+60f ? 0x1p+60f : y < -0x1p+60f ? -0x1p+60f : y;
  const float o = yc * zs, ol = fmaf(yc, zl, fmaf(yc, zs, -o));
  const float power = power_of_2(o, fabsf(o) < 192.0f ? ol : 0.0f);
  const float half = 0.5f * y;
  const bool whole = truncf(y) == y, odd = whole && truncf(half) != half;
  if (x == 1.0f || y == 0.0f) return 1.0f;
  if (x < 0.0f && a < INFINITY && !whole) return NAN;
  return odd && (as_int(x) >> 31) != 0 ? as_float(as_int(power) | 0x80000000u) : power;
}
