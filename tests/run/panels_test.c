/* SPDX-License-Identifier: Apache-2.0
 * Products with a small C and a long k on several threads: panels are computed in any order but added in order of k.
 * Results are compared as integers with the scalar definition, and devices take no part. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/topo.h"
#include "tests/check.h"
#include "reference/ref.h"

static uint32_t state = 12345;
static float random_value(void) {
  state = state * 1664525u + 1013904223u;
  return (float)(int32_t)state * 0x1p-31f;
}

static void check_product(hx_context *hx, size_t m, size_t n, size_t k, unsigned trans, unsigned scaled) {
  const size_t ldc = n + 3, cells = m * ldc;
  float *const a = malloc(m * k * sizeof *a), *const b = malloc(k * n * sizeof *b);
  float *const c = malloc(cells * sizeof *c), *const want = malloc(cells * sizeof *want);
  for (size_t i = 0; i < m * k; i++) a[i] = random_value();
  for (size_t i = 0; i < k * n; i++) b[i] = random_value();
  for (size_t i = 0; i < cells; i++) c[i] = want[i] = random_value();
  if (scaled == 3) a[m * k / 2] = NAN, b[k / 3] = INFINITY;
  for (size_t i = 0; scaled == 1 && i < m * k; i++) a[i] = -1e-30f; /* every panel is -0, and so is every sum */
  for (size_t i = 0; scaled == 1 && i < k * n; i++) b[i] = 1e-30f;
  hx_task task = hx_matmul(m, n, k, a, b, c);
  task.matmul.trans_a = trans & 1;
  task.matmul.trans_b = trans >> 1;
  task.matmul.ldc = ldc;
  task.matmul.alpha = scaled & 1 ? 0.37f : 1;
  task.matmul.beta = scaled & 2 ? -1.25f : 0;
  CHECK_OK(hx_offload(hx, &task, NULL));
  hx_task reference = task;
  reference.matmul.c = want;
  ref_matmul(&reference.matmul);
  CHECK(memcmp(c, want, cells * sizeof *c) == 0, "%zux%zux%zu, transposes %u, scaling %u", m, n, k, trans, scaled);
  free(a), free(b), free(c), free(want);
}

/* Operands that do not fit in the third cache, and more panels than there are places for sums that wait. */
static void beyond_the_caches(hx_context *hx) {
  const size_t bytes = hx__topo_get()->l3_bytes < ((size_t)64 << 20) ? hx__topo_get()->l3_bytes : (size_t)64 << 20;
  const size_t side = 120, k = bytes / (2 * side * sizeof(float)) + (size_t)90 * 512 + 5;
  check_product(hx, side, side, k, 0, 0);
}

/* With a device that is as fast as the CPU: one of the two computes everything, because C is too small to be divided. k
 * is so long that the CPU uses two threads even if other programs use the cores (CROWDED_UNITS, planner.c). */
static void beside_a_device(void) {
  enum { SIDE = 15, K = 900000, CALLS = 16 };
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu,sim";
  settings.threads = "2";
  setenv("HX_SIM", "rate=3e10,latency_us=20", 1);
  hx_context *const hx = open_or_exit(&settings);
  CHECK_OK(hx_ready(hx));
  float *const a = malloc((size_t)SIDE * K * sizeof *a), *const b = malloc((size_t)SIDE * K * sizeof *b);
  float c[SIDE * SIDE];
  for (size_t i = 0; i < (size_t)SIDE * K; i++) a[i] = b[i] = random_value();
  const hx_task task = hx_matmul(SIDE, SIDE, K, a, b, c);
  for (int i = 0; i < CALLS; i++) {
    hx_report report;
    CHECK_OK(hx_offload(hx, &task, &report));
    CHECK(report.gpu_share == 0 || report.gpu_share == 1, "call %d: a share of %.2f", i, report.gpu_share);
  }
  free(a), free(b);
  hx_close(hx);
}

int main(void) {
  /* Products of at least 2^20 multiply-adds per thread use several threads, which share panels if there are fewer than
   * 8 rows for each. */
  static const size_t shapes[][3] = {{8, 8, 4096},   {8, 8, 33000},   {15, 15, 9900}, {15, 14, 24576},
                                     {7, 3, 110000}, {39, 38, 4608},  {39, 37, 4609}, {2, 1, 1100000},
                                     {23, 17, 8191}, {23, 23, 10000}, {9, 38, 16385}, {128, 128, 4096}};
  static const char *const threads[] = {"1", "2", "3", "5"};
  for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.devices = "cpu";
    settings.threads = threads[t];
    hx_context *const hx = open_or_exit(&settings);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
      for (unsigned way = 0; way < 16; way++) {
        if (shapes[s][0] == 128 ? way != 2 * t : (way / 4 + way + t) % 2) continue;
        check_product(hx, shapes[s][0], shapes[s][1], shapes[s][2], way / 4, way % 4);
      }
    }
    if (t == 1) beyond_the_caches(hx);
    hx_close(hx);
  }
  beside_a_device();
  return checks_end("panels_test");
}
