/* SPDX-License-Identifier: Apache-2.0
 * Times a step of the Adam optimizer on the CPU: one user kernel with three outputs, three kernels with one output
 * each, and the loop that gcc -O3 makes for AVX2: the data behind docs/measurements/user-kernels-outputs.tsv. All are
 * in place. time_outputs [THREADS [ROUNDS]]      THREADS: of all three (default 1); ROUNDS (default 15). Prints the
 * medians. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "runtime/base/clock.h"
#include "runtime/hx_map.h"

#if defined(__x86_64__)
#define LOOP static __attribute__((noinline, target("avx2"))) void
#else
#define LOOP static __attribute__((noinline)) void
#endif
#define LEAST_ELEMENTS ((size_t)1 << 12)
#define MOST_ELEMENTS ((size_t)1 << 24)
#define ROUND_ELEMENTS ((size_t)1 << 21) /* of a round: few elements are computed repeatedly */

enum { G, M, V, W, ARRAYS };
enum { LOOP_OF_GCC, ONE_KERNEL, THREE_KERNELS, WAYS };
#define MEAN_TEXT "0.9f * m + 0.1f * g"
#define SQUARE_TEXT "0.999f * v + 0.001f * (g * g)"
#define WEIGHT_TEXT(m, v) "w - 1e-3f * " m " / (sqrtf(" v ") + 1e-8f)"

static const hx_kernel_source sources[] = {
    {.text = "float m1 = " MEAN_TEXT "; float v1 = " SQUARE_TEXT "; float w1 = " WEIGHT_TEXT("m1", "v1") ";",
     .inputs = "float g, float m, float v, float w",
     .outputs = "m1, v1, w1"},
    {.text = MEAN_TEXT, .inputs = "float g, float m"},
    {.text = SQUARE_TEXT, .inputs = "float g, float v"},
    {.text = WEIGHT_TEXT("m", "v"), .inputs = "float m, float v, float w"}};
enum { KERNELS = sizeof sources / sizeof sources[0] };

LOOP adam(const float *restrict g, float *restrict m, float *restrict v, float *restrict w, size_t n) {
  for (size_t i = 0; i < n; i++) {
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.999f * v[i] + 0.001f * (g[i] * g[i]);
    w[i] = w[i] - 1e-3f * m[i] / (sqrtf(v[i]) + 1e-8f);
  }
}

typedef struct contest {
  hx_context *hx;
  hx_kernel *kernel[KERNELS];
  float *x[WAYS][ARRAYS];
  int threads;
} contest;

static void fail(void) {
  fprintf(stderr, "time_outputs: %s\n", hx_error_detail());
  exit(1);
}

static void offload(const contest *c, hx_task task) {
  if (hx_offload(c->hx, &task, NULL) != HX_OK) fail();
}

static void step(const contest *c, int way, size_t n) {
  float *const *const x = c->x[way];
  if (way == LOOP_OF_GCC) {
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int t = 0; t < c->threads; t++) {
      const size_t from = n * (size_t)t / (size_t)c->threads, to = n * (size_t)(t + 1) / (size_t)c->threads;
      adam(x[G] + from, x[M] + from, x[V] + from, x[W] + from, to - from);
    }
  } else if (way == ONE_KERNEL) {
    offload(c, hx_map_outputs(c->kernel[0], (const void *[]){x[G], x[M], x[V], x[W]}, n, NULL,
                              (void *[]){x[M], x[V], x[W]}));
  } else {
    offload(c, hx_map(c->kernel[1], (const void *[]){x[G], x[M]}, n, NULL, x[M]));
    offload(c, hx_map(c->kernel[2], (const void *[]){x[G], x[V]}, n, NULL, x[V]));
    offload(c, hx_map(c->kernel[3], (const void *[]){x[M], x[V], x[W]}, n, NULL, x[W]));
  }
}

static void time_size(const contest *c, size_t n, int rounds) {
  const size_t repeats = n < ROUND_ELEMENTS ? ROUND_ELEMENTS / n : 1;
  double *const us = malloc(sizeof *us * WAYS * (size_t)rounds);
  if (!us) exit(1);
  for (int way = 0; way < WAYS; way++)
    for (int a = 0; a < ARRAYS; a++)
      for (size_t i = 0; i < n; i++) c->x[way][a][i] = a == G ? (float)(i * 7919 % 2001) * 1e-3f - 1.0f : 0.5f;
  for (int r = 0; r < rounds; r++)
    for (int way = 0; way < WAYS; way++) {
      step(c, way, n);
      const uint64_t from = hx__now_ns();
      for (size_t i = 0; i < repeats; i++) step(c, way, n);
      us[way * rounds + r] = (double)(hx__now_ns() - from) / (double)repeats * 1e-3;
    }
  int differs = 0;
  for (int a = M; a < ARRAYS; a++)
    for (int way = 1; way < WAYS; way++) differs |= memcmp(c->x[0][a], c->x[way][a], n * sizeof(float)) != 0;
  double median[WAYS];
  for (int way = 0; way < WAYS; way++) median[way] = bench_median(us + way * rounds, (size_t)rounds);
  printf("%d\t%zu\t%.1f\t%.1f\t%.1f\t%.2f\t%.2f%s\n", c->threads, n, median[0], median[1], median[2],
         median[0] / median[1], median[2] / median[1], differs ? "\tDIFFERENT" : "");
  free(us);
}

int main(int argc, char **argv) {
  const char *const threads = argc > 1 ? argv[1] : "1";
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.threads = threads;
  settings.devices = "cpu";
  contest c = {.threads = atoi(threads)};
  if (hx_open(&c.hx, &settings) != HX_OK) fail();
  for (int k = 0; k < KERNELS; k++)
    if (hx_compile(c.hx, &sources[k], &c.kernel[k]) != HX_OK) fail();
  for (int i = 0; i < WAYS * ARRAYS; i++)
    if (!(c.x[i / ARRAYS][i % ARRAYS] = hx_alloc(c.hx, MOST_ELEMENTS * sizeof(float)))) fail();
  printf("threads\telements\tgcc_us\thx_us\tthree_kernels_us\tgcc_over_hx\tthree_over_one\n");
  for (size_t n = LEAST_ELEMENTS; n <= MOST_ELEMENTS; n *= 16) time_size(&c, n, argc > 2 ? atoi(argv[2]) : 15);
  for (int k = 0; k < KERNELS; k++) hx_kernel_free(c.kernel[k]);
  hx_close(c.hx);
}
