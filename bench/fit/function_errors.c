/* SPDX-License-Identifier: Apache-2.0
 * The greatest error of each function of user kernels over all 2^32 floats, against the C library's in double
 * precision: the data behind docs/measurements/elementary.tsv. Of two arguments the first one is every float, and the
 * second one is random.
 *     function_errors [DEVICES [STRIDE [FUNCTION...]]]
 * DEVICES: OpenCL devices that compute every float, too, and whose bits are compared (default: none); STRIDE: every so
 * many floats (default 1); FUNCTION: expf and so on (default: all). */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/hx_map.h"

#define BLOCK ((size_t)1 << 22)

/* Every other exponent is any float; the others give results over the whole range. */
static float exponent_for(float x, uint32_t random) {
  float any;
  memcpy(&any, &random, sizeof any);
  const float ranged = (float)((-150.0 + 279.0 * ((double)random / 4294967296.0)) / log2(fabs((double)x)));
  return random % 2 ? any : x < 0.0f ? rintf(ranged) : ranged;
}

/* Every other abscissa is any float; the others give angles of all kinds. */
static float abscissa_for(float x, uint32_t random) {
  float any;
  memcpy(&any, &random, sizeof any);
  const float near = x * (float)exp2((double)(random >> 2) * 0x1p-25 - 16.0);
  return random % 2 ? any : random & 2 ? -near : near;
}

/* Every other side is any float; the others are sides of about the same length. */
static float side_for(float x, uint32_t random) {
  float any;
  memcpy(&any, &random, sizeof any);
  return random % 2 ? any : x * (float)exp2((double)(random >> 2) * 0x1p-26 - 8.0);
}

static const struct {
  const char *text;
  double (*exact)(double x);
  double (*exact_of_two)(double x, double y);
  float (*second)(float x, uint32_t random);
} rows[] = {{"expf", exp, NULL, NULL},     {"exp2f", exp2, NULL, NULL},       {"expm1f", expm1, NULL, NULL},
            {"logf", log, NULL, NULL},     {"log2f", log2, NULL, NULL},       {"log10f", log10, NULL, NULL},
            {"log1pf", log1p, NULL, NULL}, {"sinf", sin, NULL, NULL},         {"cosf", cos, NULL, NULL},
            {"tanf", tan, NULL, NULL},     {"asinf", asin, NULL, NULL},       {"acosf", acos, NULL, NULL},
            {"atanf", atan, NULL, NULL},   {"tanhf", tanh, NULL, NULL},       {"erff", erf, NULL, NULL},
            {"roundf", round, NULL, NULL}, {"powf", NULL, pow, exponent_for}, {"atan2f", NULL, atan2, abscissa_for},
            {"sinhf", sinh, NULL, NULL},   {"coshf", cosh, NULL, NULL},       {"hypotf", NULL, hypot, side_for}};

static float x[BLOCK], y[BLOCK], got[BLOCK], other[BLOCK];

typedef struct worst {
  double error;
  float at, at_y;
} worst;

static void fail(void) {
  fprintf(stderr, "function_errors: %s\n", hx_error_detail());
  exit(1);
}

/* In units of the last place of a float, of which 2^128 stands for infinity. */
static double error_of(float result, double exact) {
  if (isnan(exact) || isnan(result)) return isnan(exact) && isnan(result) ? 0.0 : INFINITY;
  if ((double)result == exact || (isinf(result) && isinf((float)exact) && exact * (double)result > 0.0)) return 0.0;
  uint64_t bits; /* frexp and ldexp take longer than all else */
  memcpy(&bits, &exact, sizeof bits);
  const uint64_t biased = bits >> 52 & 2047, of_ulp = (biased < 1023 - 126 ? 1023 - 126 : biased) - 23;
  double ulp;
  bits = of_ulp << 52;
  memcpy(&ulp, &bits, sizeof ulp);
  return fabs((isinf(result) ? copysign(0x1p+128, (double)result) : (double)result) - exact) / ulp;
}

static void compute(hx_context *hx, const hx_kernel *k, float share, float *out, size_t n) {
  const void *const inputs[] = {x, y};
  hx_report report;
  hx_task task = hx_map(k, inputs, n, NULL, out);
  task.gpu_share = share;
  if (hx_offload(hx, &task, &report) != HX_OK) fail();
  if (share > 0.0f && report.gpu_share < 1.0) {
    fprintf(stderr, "function_errors: the devices did %g of a block\n", report.gpu_share);
    exit(1);
  }
}

static worst worst_of(size_t row, size_t n) {
  worst w = {-1.0, 0.0f, 0.0f};
#pragma omp parallel
  {
    worst mine = {-1.0, 0.0f, 0.0f};
#pragma omp for
    for (size_t i = 0; i < n; i++) {
      const double exact =
          rows[row].exact ? rows[row].exact((double)x[i]) : rows[row].exact_of_two((double)x[i], (double)y[i]);
      const double e = error_of(got[i], exact);
      if (e > mine.error) mine = (worst){e, x[i], y[i]};
    }
#pragma omp critical
    if (mine.error > w.error) w = mine;
  }
  return w;
}

static void check_row(hx_context *cpu, hx_context *devices, size_t row, uint64_t stride) {
  char text[32];
  snprintf(text, sizeof text, rows[row].exact ? "%s(x)" : "%s(x, y)", rows[row].text);
  const hx_kernel_source source = {.text = text, .inputs = "float x, float y"};
  hx_kernel *k;
  if (hx_compile(cpu, &source, &k) != HX_OK) fail();
  worst w = {-1.0, 0.0f, 0.0f};
  uint64_t different = 0;
  for (uint64_t first = 0; first < UINT64_C(1) << 32;) {
    size_t n = 0;
    for (; n < BLOCK && first < UINT64_C(1) << 32; n++, first += stride) {
      const uint32_t bits = (uint32_t)first;
      memcpy(&x[n], &bits, sizeof bits);
      if (rows[row].second) y[n] = rows[row].second(x[n], (uint32_t)(first * UINT64_C(0x9e3779b97f4a7c15) >> 32));
    }
    compute(cpu, k, 0.0f, got, n);
    const worst here = worst_of(row, n);
    if (here.error > w.error) w = here;
    if (!devices) continue;
    compute(devices, k, 1.0f, other, n);
    if (memcmp(got, other, n * sizeof(float)) != 0) different++;
  }
  printf("%s\t%.3f\t%.9g", rows[row].text, w.error, (double)w.at);
  if (rows[row].second) printf(", %.9g", (double)w.at_y);
  printf("\t%llu\n", (unsigned long long)different);
  fflush(stdout);
  hx_kernel_free(k);
}

int main(int argc, char **argv) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *cpu, *devices = NULL;
  settings.devices = "cpu";
  if (hx_open(&cpu, &settings) != HX_OK) fail();
  settings.devices = argc > 1 ? argv[1] : "cpu";
  if (argc > 1 && strcmp(argv[1], "none") != 0 && hx_open(&devices, &settings) != HX_OK) fail();
  printf("function\tulp\targument\tblocks_that_differ\n");
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    bool wanted = argc <= 3;
    for (int i = 3; i < argc; i++) wanted = wanted || strcmp(argv[i], rows[row].text) == 0;
    if (wanted) check_row(cpu, devices, row, argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
  }
  hx_close(devices);
  hx_close(cpu);
}
