/* SPDX-License-Identifier: Apache-2.0
 * Division and square root in user kernels have the bits of IEEE 754 on the CPU and on devices: floats of all
 * exponents, quotients that are denormal or overflow, and pairs whose quotient is hard to round. The devices must do
 * the work themselves. Usage: division_test [DEVICES [SEED]] */
#include <math.h>
#include <stdlib.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"
#include "tests/float_bits.h"

#define ELEMENTS ((size_t)1 << 20)

static uint32_t *x, *y, *got;

static uint32_t bits_of(float f) { return isnan(f) ? 0x7fc00000u : as_int(f); }

/* A divisor that gives x a quotient whose biased exponent is about `exponent`. */
static uint32_t with_quotient(uint32_t bits, uint32_t by, int exponent) {
  const int e = (int)(bits >> 23 & 255u) - exponent + 127;
  return (by & 0x807fffffu) | (uint32_t)(e < 0 ? 0 : e > 255 ? 255 : e) << 23;
}

static void draw(uint64_t seed) {
  static const uint32_t special[] = {0x00000000u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 0x00000001u,
                                     0x807fffffu, 0x00800000u, 0x7f7fffffu, 0x3f800000u, 0x3f7fffffu, 0x3f800001u};
  enum { SPECIAL = sizeof special / sizeof special[0] };
  for (size_t i = 0; i < ELEMENTS; i++) {
    const uint32_t a = (uint32_t)data_u(seed, 2 * i), b = (uint32_t)data_u(seed, 2 * i + 1);
    const uint32_t short_a = a & 0xfffff000u, short_b = b & 0xfffff000u; /* quotients near the middle of two floats */
    x[i] = i % 4 == 3 ? short_a : a;
    y[i] = i % 4 == 0   ? b
           : i % 4 == 1 ? with_quotient(a, b, (int)(i / 4 % 30) - 27)
           : i % 4 == 2 ? with_quotient(a, b, 253 + (int)(i / 4 % 3))
                        : with_quotient(short_a, short_b, 127);
    if (i < (size_t)SPECIAL * SPECIAL) x[i] = special[i / SPECIAL], y[i] = special[i % SPECIAL];
  }
}

static void check(hx_context *hx, const char *text, float share, float (*of)(float, float)) {
  const hx_kernel_source source = {.text = text, .inputs = "float x, float y"};
  const void *inputs[] = {x, y};
  hx_kernel *k;
  hx_report report = {.gpu_share = 0};
  size_t wrong = 0;
  CHECK_OK(hx_compile(hx, &source, &k));
  hx_task task = hx_map(k, inputs, ELEMENTS, NULL, got);
  task.gpu_share = share;
  CHECK_OK(hx_offload(hx, &task, &report));
  CHECK(report.gpu_share >= (double)share, "the devices did %g of %s", report.gpu_share, text);
  for (size_t i = 0; i < ELEMENTS; i++) {
    const uint32_t wanted = bits_of(of(as_float(x[i]), as_float(y[i])));
    if (got[i] != wanted && wrong++ < 5)
      printf("%s of %08x and %08x: %08x, not %08x\n", text, x[i], y[i], got[i], wanted);
  }
  CHECK(wrong == 0, "%s is wrong for %zu pairs with a share of %g", text, wrong, (double)share);
  hx_kernel_free(k);
}

static float quotient(float a, float b) { return a / b; }
static float root(float a, float b) { return (void)b, sqrtf(a); }
static float both(float a, float b) { return sqrtf(fabsf(a)) / b; }

int main(int argc, char **argv) {
  const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 4;
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = argc > 1 ? argv[1] : "cpu";
  settings.log = "info";
  hx_context *const hx = open_or_exit(&settings);
  x = malloc(ELEMENTS * sizeof *x);
  y = malloc(ELEMENTS * sizeof *y);
  got = malloc(ELEMENTS * sizeof *got);
  if (!x || !y || !got) return 1;
  draw(seed);
  printf("division_test: seed %llu\n", (unsigned long long)seed);
  for (int share = 0; share <= (argc > 1); share++) {
    check(hx, "x / y", (float)share, quotient);
    check(hx, "sqrtf(x)", (float)share, root);
    check(hx, "sqrtf(fabsf(x)) / y", (float)share, both);
  }
  free(x);
  free(y);
  free(got);
  hx_close(hx);
  return checks_end("division_test");
}
