/* SPDX-License-Identifier: Apache-2.0
 * expf, logf, sinf, cosf, tanhf and erff of user kernels: the bits of the sequences in docs/USER_KERNELS.md, errors
 * against double precision over all exponents, and the same bits on every instruction set, on devices, and of
 * constants. Usage: elementary_test [devices] */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"
#include "tests/float_bits.h"

#define ELEMENTS ((size_t)1 << 20)

/* The sequences, as the page has them. */

static int shifted(uint32_t bits, int by) { return (int)((int64_t)(int32_t)bits >> by); }

static float exp_of(float x) {
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

static float log_of(float x) {
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

static float tanh_of(float x) {
  const float a = fabsf(x), s = a * a;
  const float q = fmaf(-0x1.958744p-8f, s, 0x1.584a0ap-6f);
  const float q2 = fmaf(fmaf(q, s, -0x1.b90cd2p-5f), s, 0x1.110c8ap-3f);
  const float small = fmaf(a * s, fmaf(q2, s, -0x1.555548p-2f), a);
  return with_sign_of(a < 0.55f ? small : 1.0f - 2.0f / (exp_of(a + a) + 1.0f), x);
}

static float erf_of(float x) {
  const float a = fabsf(x), s = a * a, c = a > 3.95f ? 3.95f : a;
  const float q = fmaf(0x1.589466p-14f, s, -0x1.a8fc68p-11f);
  const float q2 = fmaf(fmaf(q, s, 0x1.54a490p-8f), s, -0x1.b80b0ep-6f);
  const float q3 = fmaf(fmaf(q2, s, 0x1.ce2de2p-4f), s, -0x1.812742p-2f);
  const float small = fmaf(a, fmaf(q3, s, 0x1.06eba8p-3f), a);
  const float g = fmaf(0x1.98d5e4p-13f, c, -0x1.8da232p-9f);
  const float g2 = fmaf(fmaf(g, c, 0x1.6b8ed8p-6f), c, -0x1.a96562p-4f);
  const float g3 = fmaf(fmaf(g2, c, -0x1.4647b0p-1f), c, -0x1.20ac32p+0f);
  return with_sign_of(a < 0.94f ? small : 1.0f - exp_of(fmaf(g3, c, -0x1.b21af8p-13f)), x);
}

/* |x| modulo pi/2, its quadrant, and the sine and cosine of what is left. */
static void sin_cos_of(float x, int *quadrant, float *sine_out, float *cosine_out) {
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
  const float sine = z + fmaf(z * q, fmaf(fmaf(-0x1.989da6p-13f, q, 0x1.11054cp-7f), q, -0x1.555540p-3f), zl);
  const float hq = 0.5f * q;
  const float w = 1.0f - hq;
  const float wl = 1.0f - w - hq - fmaf(z, zl, 0.5f * fmaf(z, z, -q));
  const float cosine = w + fmaf(q * q, fmaf(fmaf(0x1.9963b0p-16f, q, -0x1.6c0a5cp-10f), q, 0x1.555548p-5f), wl);
  *quadrant = k;
  *sine_out = sine;
  *cosine_out = cosine;
}

static float sin_of(float x) {
  int k;
  float s, c;
  sin_cos_of(x, &k, &s, &c);
  const uint32_t sign = (as_int(x) & 0x80000000u) ^ (uint32_t)(k & 2) << 30;
  return fabsf(x) < INFINITY ? as_float(as_int(k & 1 ? c : s) ^ sign) : NAN;
}

static float cos_of(float x) {
  int k;
  float s, c;
  sin_cos_of(x, &k, &s, &c);
  return fabsf(x) < INFINITY ? as_float(as_int(k & 1 ? s : c) ^ (uint32_t)((k + 1) & 2) << 30) : NAN;
}

typedef struct row {
  const char *text;
  float (*sequence)(float x);
  double (*wanted)(double x);
  double least, most; /* where random arguments lie, beside those of all exponents */
  double ulps;        /* greatest error */
} row;

static const row rows[] = {{"expf(x)", exp_of, exp, -105, 90, 1.0},    {"logf(x)", log_of, log, 0, 4, 1.0},
                           {"sinf(x)", sin_of, sin, -1000, 1000, 1.2}, {"cosf(x)", cos_of, cos, -1000, 1000, 1.2},
                           {"tanhf(x)", tanh_of, tanh, -10, 10, 1.6},  {"erff(x)", erf_of, erf, -5, 5, 1.5}};

static float *x;
static uint32_t *first, *out;

static void draw_arguments(const row *r) {
  static const float special[] = {0.0f,       -0.0f,       INFINITY,    -INFINITY, NAN,       FLT_MIN,   -FLT_MIN,
                                  FLT_MAX,    -FLT_MAX,    1.0f,        -1.0f,     0x1p-149f, 88.72283f, 88.72284f,
                                  -87.33655f, -103.97208f, -103.97209f, 0.55f,     0.94f};
  for (size_t i = 0; i < ELEMENTS; i++) {
    const uint32_t bits = (uint32_t)data_u(7, i);
    x[i] = i % 2 ? as_float(bits) : (float)(r->least + (r->most - r->least) * (double)bits / 4294967296.0);
    if (i < sizeof special / sizeof special[0]) x[i] = special[i];
  }
}

/* The distance from the exact value in units of the last place of a float. */
static double error_of(float got, double exact) {
  if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got) ? 0.0 : INFINITY;
  if ((double)got == exact) return 0.0;
  if (fabs(exact) > (double)FLT_MAX) { /* rounds to infinity, or to the greatest float */
    const float rounded = (float)exact;
    return got == rounded || (fabsf(got) == FLT_MAX && fabs(exact) < 0x1.000001p+128) ? 0.0 : INFINITY;
  }
  int exponent;
  frexp(exact, &exponent);
  const double ulp = ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
  return isinf(got) ? (fabs(exact) + ulp > (double)FLT_MAX ? 1.0 : INFINITY) : fabs((double)got - exact) / ulp;
}

static void check_errors(const row *r) {
  double worst = 0.0;
  size_t at = 0, wrong = 0;
  for (size_t i = 0; i < ELEMENTS; i++) {
    const float defined = r->sequence(x[i]);
    wrong += first[i] != (isnan(defined) ? 0x7fc00000u : as_int(defined));
    const double e = error_of(as_float(first[i]), r->wanted((double)x[i]));
    if (e > worst) worst = e, at = i;
  }
  CHECK(wrong == 0, "%s differs from its definition for %zu arguments", r->text, wrong);
  printf("elementary_test: %s: at most %.3f ulp, at %.9g\n", r->text, worst, (double)x[at]);
  CHECK(worst <= r->ulps, "%s of %.9g is %.9g, not %.9g", r->text, (double)x[at], (double)as_float(first[at]),
        r->wanted((double)x[at]));
}

static void map(hx_context *hx, const char *text, float share, uint32_t *to, bool *devices) {
  const hx_kernel_source source = {.text = text, .inputs = "float x"};
  const void *inputs[] = {x};
  hx_kernel *k;
  hx_report report = {.gpu_share = 0};
  CHECK_OK(hx_compile(hx, &source, &k));
  hx_task task = hx_map(k, inputs, ELEMENTS, NULL, to);
  task.gpu_share = share;
  CHECK_OK(hx_offload(hx, &task, &report));
  *devices = *devices || report.gpu_share > 0.0;
  hx_kernel_free(k);
}

/* A constant is folded by hx_compile. */
static void check_constants(hx_context *hx, const row *r) {
  for (size_t i = 0; i < 200; i++) {
    char text[64];
    if (!isfinite(x[i])) continue;
    snprintf(text, sizeof text, "%.5s%s%af)", r->text, r->text[4] == '(' ? "" : "(", (double)x[i]);
    hx_kernel *k;
    const hx_kernel_source source = {.text = text};
    CHECK_OK(hx_compile(hx, &source, &k));
    if (!k) continue;
    const hx_task task = hx_map(k, NULL, 1, NULL, out);
    CHECK_OK(hx_offload(hx, &task, NULL));
    CHECK(out[0] == first[i], "%s is %08x, not %08x", text, out[0], first[i]);
    hx_kernel_free(k);
  }
}

static void check_same(const row *r, const char *where) {
  size_t wrong = 0;
  while (wrong < ELEMENTS && out[wrong] == first[wrong]) wrong++;
  CHECK(wrong == ELEMENTS, "%s of %.9g is %08x on %s, not %08x", r->text, (double)x[wrong], out[wrong], where,
        first[wrong]);
}

static void check_row(const row *r, const char *devices) {
  static const char *const isas[] = {"sse2", "avx2", "avx512", "neon"};
  bool unused = false, used = false;
  hx_context *hx = open_or_exit(NULL);
  draw_arguments(r);
  map(hx, r->text, 0.0f, first, &unused);
  check_errors(r);
  check_constants(hx, r);
  hx_close(hx);
  for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.isa = isas[i];
    if (hx_open(&hx, &settings) != HX_OK) continue; /* this machine lacks it */
    map(hx, r->text, 0.0f, out, &unused);
    check_same(r, isas[i]);
    hx_close(hx);
  }
  if (!devices) return;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  hx = open_or_exit(&settings);
  map(hx, r->text, 1.0f, out, &used);
  check_same(r, devices);
  CHECK(used, "%s did not compute %s", devices, r->text);
  hx_close(hx);
}

int main(int argc, char **argv) {
  x = malloc(ELEMENTS * sizeof *x);
  first = malloc(ELEMENTS * sizeof *first);
  out = malloc(ELEMENTS * sizeof *out);
  if (!x || !first || !out) return 1;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) check_row(&rows[i], argc > 1 ? argv[1] : NULL);
  free(x);
  free(first);
  free(out);
  return checks_end("elementary_test");
}
