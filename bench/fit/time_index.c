/* SPDX-License-Identifier: Apache-2.0
 * Times maps with index on one thread beside the same maps that read an array of numbers, and beside the loops that gcc
 * -O3 makes for AVX2: the data behind docs/measurements/user-kernels-index.tsv. time_index [ROUNDS]; HX_ISA chooses the
 * instruction set of hx. Prints the least time of each. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/hx_map.h"

#if defined(__x86_64__)
#define LOOP static __attribute__((noinline, optimize("O3"), target("avx2"))) void
#else
#define LOOP static __attribute__((noinline, optimize("O3"))) void
#endif
#define MOST_ELEMENTS ((size_t)1 << 24)
#define ROUND_ELEMENTS ((size_t)1 << 22)

typedef void loop(const float *restrict x, float *restrict out, size_t n);

LOOP ramp(const float *restrict x, float *restrict out, size_t n) {
  (void)x;
  for (size_t i = 0; i < n; i++) out[i] = 0.7f * (float)(uint32_t)i + 1.0f;
}
LOOP mask(const float *restrict x, float *restrict out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = (uint32_t)i > 1000u ? x[i] : 0.0f;
}
LOOP window(const float *restrict x, float *restrict out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = x[i] * (0.5f - 0.5f * cosf(0.001f * (float)(uint32_t)i));
}
LOOP noise(const float *restrict x, float *restrict out, size_t n) {
  (void)x;
  for (size_t i = 0; i < n; i++) {
    const uint32_t h = (uint32_t)i, j = (h ^ h >> 16) * 0x7feb352du, k = (j ^ j >> 15) * 0x846ca68bu;
    out[i] = (float)((k ^ k >> 16) >> 8) * 0x1p-24f;
  }
}

static const struct {
  const char *name, *text;
  loop *loop;
} rows[] = {
    {"ramp", "0.7f * index + 1.0f", ramp},
    {"mask", "index > 1000u ? x : 0.0f", mask},
    {"window", "x * (0.5f - 0.5f * cosf(0.001f * index))", window},
    {"noise",
     "unsigned j = (index ^ index >> 16) * 0x7feb352du; unsigned k = (j ^ j >> 15) * 0x846ca68bu;"
     "(float)((k ^ k >> 16) >> 8) * 0x1p-24f",
     noise},
};

static void fail(void) {
  fprintf(stderr, "time_index: %s\n", hx_error_detail());
  exit(1);
}

static hx_kernel *compile(hx_context *hx, const char *text, const char *inputs) {
  const hx_kernel_source source = {.text = text, .inputs = inputs};
  hx_kernel *k;
  if (hx_compile(hx, &source, &k) != HX_OK) fail();
  return k;
}

static void time_one(hx_context *hx, size_t row, const void *const inputs[2], float *out, size_t n, int rounds) {
  const size_t repeats = n < ROUND_ELEMENTS ? ROUND_ELEMENTS / n : 1;
  hx_kernel *const k[] = {compile(hx, rows[row].text, "float x"),
                          compile(hx, rows[row].text, "float x, unsigned index")};
  const hx_task task[] = {hx_map(k[0], inputs, n, NULL, out), hx_map(k[1], inputs, n, NULL, out)};
  double best[3] = {INFINITY, INFINITY, INFINITY};
  for (int r = 0; r < 3 * rounds; r++) {
    const uint64_t from = hx__now_ns();
    for (size_t i = 0; i < repeats; i++)
      if (r % 3 == 0)
        rows[row].loop(inputs[0], out, n);
      else if (hx_offload(hx, &task[r % 3 - 1], NULL) != HX_OK)
        fail();
    best[r % 3] = fmin(best[r % 3], (double)(hx__now_ns() - from) / (double)repeats);
  }
  printf("%s\t%zu\t%.1f\t%.1f\t%.1f\n", rows[row].name, n, best[0] * 1e-3, best[1] * 1e-3, best[2] * 1e-3);
  hx_kernel_free(k[0]);
  hx_kernel_free(k[1]);
}

int main(int argc, char **argv) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *hx;
  settings.threads = "1";
  settings.devices = "cpu";
  if (hx_open(&hx, &settings) != HX_OK) fail();
  float *const x = hx_alloc(hx, MOST_ELEMENTS * sizeof *x), *const out = hx_alloc(hx, MOST_ELEMENTS * sizeof *out);
  uint32_t *const numbers = hx_alloc(hx, MOST_ELEMENTS * sizeof *numbers);
  if (!x || !out || !numbers) fail();
  for (size_t i = 0; i < MOST_ELEMENTS; i++) {
    x[i] = (float)(i % 4099) * 0.001f - 1.0f;
    numbers[i] = (uint32_t)i;
  }
  const void *const inputs[] = {x, numbers};
  printf("expression\telements\tgcc_us\tindex_us\tarray_us\n");
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
    for (size_t n = (size_t)1 << 12; n <= MOST_ELEMENTS; n *= 64)
      time_one(hx, row, inputs, out, n, argc > 1 ? atoi(argv[1]) : 15);
  hx_close(hx);
}
