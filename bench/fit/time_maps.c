/* SPDX-License-Identifier: Apache-2.0
 * Times maps on the CPU beside the loops that gcc -O3 makes of the same expressions for AVX2: the data behind
 * docs/measurements/user-kernels.tsv. time_maps [THREADS [ROUNDS]]      THREADS: of both (default 1); ROUNDS (default
 * 15). Prints the least time of each. */
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
#define LEAST_ELEMENTS ((size_t)1 << 16)
#define MOST_ELEMENTS ((size_t)1 << 24)
#define ROUND_ELEMENTS ((size_t)1 << 23) /* of a round: small maps are repeated */

typedef void loop(const float *restrict x, const float *restrict y, float a, float *restrict out, size_t n);

LOOP scale(const float *restrict x, const float *restrict y, float a, float *restrict out, size_t n) {
  (void)y;
  for (size_t i = 0; i < n; i++) out[i] = a * x[i];
}
LOOP saxpy(const float *restrict x, const float *restrict y, float a, float *restrict out, size_t n) {
  for (size_t i = 0; i < n; i++) out[i] = a * x[i] + y[i];
}
LOOP distance(const float *restrict x, const float *restrict y, float a, float *restrict out, size_t n) {
  (void)a;
  for (size_t i = 0; i < n; i++) out[i] = fabsf(x[i] - y[i]);
}
LOOP polynomial(const float *restrict x, const float *restrict y, float a, float *restrict out, size_t n) {
  (void)y;
  for (size_t i = 0; i < n; i++)
    out[i] = ((((a * x[i] + 0.2f) * x[i] + 0.3f) * x[i] + 0.4f) * x[i] + 0.5f) * x[i] + 0.6f;
}
LOOP clip(const float *restrict x, const float *restrict y, float a, float *restrict out, size_t n) {
  (void)y;
  for (size_t i = 0; i < n; i++) out[i] = x[i] > a ? a : x[i] < 0.0f ? 0.0f : x[i];
}

static const struct {
  const char *name, *inputs, *text;
  loop *loop;
} rows[] = {
    {"scale", "float x", "a * x", scale},
    {"saxpy", "float x, float y", "a * x + y", saxpy},
    {"distance", "float x, float y", "fabsf(x - y)", distance},
    {"polynomial", "float x", "((((a * x + 0.2f) * x + 0.3f) * x + 0.4f) * x + 0.5f) * x + 0.6f", polynomial},
    {"clip", "float x", "x > a ? a : x < 0.0f ? 0.0f : x", clip},
};

typedef struct arrays {
  float *x, *y, *plain, *mapped;
} arrays;

static void fail(void) {
  fprintf(stderr, "time_maps: %s\n", hx_error_detail());
  exit(1);
}

static void run_loop(loop *l, const arrays *a, size_t n, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int t = 0; t < threads; t++) {
    const size_t from = n * (size_t)t / (size_t)threads, to = n * (size_t)(t + 1) / (size_t)threads;
    l(a->x + from, a->y + from, 0.7f, a->plain + from, to - from);
  }
}

static void time_one(hx_context *hx, size_t row, const arrays *a, size_t n, int threads, int rounds) {
  const hx_kernel_source source = {.text = rows[row].text, .inputs = rows[row].inputs, .parameters = "float a"};
  const void *const inputs[] = {a->x, a->y};
  const hx_value parameter = {.f32 = 0.7f};
  const size_t repeats = n < ROUND_ELEMENTS ? ROUND_ELEMENTS / n : 1;
  hx_kernel *k;
  if (hx_compile(hx, &source, &k) != HX_OK) fail();
  const hx_task task = hx_map(k, inputs, n, &parameter, a->mapped);
  double best[2] = {INFINITY, INFINITY};
  for (int r = 0; r < 2 * rounds; r++) {
    const uint64_t from = hx__now_ns();
    for (size_t i = 0; i < repeats; i++)
      if (r % 2 == 0)
        run_loop(rows[row].loop, a, n, threads);
      else if (hx_offload(hx, &task, NULL) != HX_OK)
        fail();
    best[r % 2] = fmin(best[r % 2], (double)(hx__now_ns() - from) / (double)repeats);
  }
  printf("%s\t%d\t%zu\t%.1f\t%.1f\t%.2f%s\n", rows[row].name, threads, n, best[0] * 1e-3, best[1] * 1e-3,
         best[0] / best[1], memcmp(a->plain, a->mapped, n * sizeof(float)) ? "\tDIFFERENT" : "");
  hx_kernel_free(k);
}

int main(int argc, char **argv) {
  const char *const threads = argc > 1 ? argv[1] : "1";
  hx_settings settings = HX_SETTINGS_DEFAULT;
  hx_context *hx;
  settings.threads = threads;
  settings.devices = "cpu";
  if (hx_open(&hx, &settings) != HX_OK) fail();
  float *block[4];
  for (int i = 0; i < 4; i++)
    if (!(block[i] = hx_alloc(hx, MOST_ELEMENTS * sizeof(float)))) fail();
  const arrays a = {block[0], block[1], block[2], block[3]};
  for (size_t i = 0; i < MOST_ELEMENTS; i++) {
    a.x[i] = (float)(i % 4099) * 0.001f - 1.0f;
    a.y[i] = (float)(i % 1777) * 0.002f - 1.5f;
  }
  printf("expression\tthreads\telements\tgcc_us\thx_us\tgcc_over_hx\n");
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
    for (size_t n = LEAST_ELEMENTS; n <= MOST_ELEMENTS; n *= 4)
      time_one(hx, row, &a, n, atoi(threads), argc > 2 ? atoi(argv[2]) : 15);
  hx_close(hx);
}
