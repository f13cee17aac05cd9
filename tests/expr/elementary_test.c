/* SPDX-License-Identifier: Apache-2.0
 * expf, logf, tanhf and erff of user kernels: values at special arguments, errors against double precision over all
 * exponents, and the same bits on every instruction set, on devices, and of constants. Usage: elementary_test
 * [devices] */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

#define ELEMENTS ((size_t)1 << 20)

typedef struct row {
  const char *text;
  double (*wanted)(double x);
  double least, most; /* where random arguments lie, beside those of all exponents */
  double ulps;        /* greatest error */
} row;

static const row rows[] = {{"expf(x)", exp, -105, 90, 1.0},
                           {"logf(x)", log, 0, 4, 1.0},
                           {"tanhf(x)", tanh, -10, 10, 1.6},
                           {"erff(x)", erf, -5, 5, 1.5}};

static float *x;
static uint32_t *first, *out;

static float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

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
  size_t at = 0;
  for (size_t i = 0; i < ELEMENTS; i++) {
    const double e = error_of(as_float(first[i]), r->wanted((double)x[i]));
    if (e > worst) worst = e, at = i;
  }
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
    bool unused = false;
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
    (void)unused;
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
