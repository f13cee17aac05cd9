/* SPDX-License-Identifier: Apache-2.0
 * Times calls of programs that know much memory: the data behind docs/measurements/ranges.tsv.
 *
 *   time_ranges       HX_DEVICES: the CPU and one device
 *
 * A task: the sum of 8192 floats by the device. Columns, medians in microseconds: a call while so many blocks of
 * hx_alloc are known; a call with one of so many arrays that are advised HX_READ_MOSTLY and were used before; hx_free
 * of one of these. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure.h"
#include "reference/data.h"
#include "runtime/base/clock.h"
#include "runtime/hx.h"

enum { N = 8192, CALLS = 1000, MOST = 10000 };
static const size_t counts[] = {10, 100, 1000, MOST};

static hx_context *hx;

static void fail(void) {
  fprintf(stderr, "time_ranges: %s\n", hx_error_detail());
  exit(1);
}

static double now_us(void) { return 1e-3 * (double)hx__now_ns(); }

static double time_sum(const float *x) {
  hx_value out;
  hx_task task = hx_reduce(HX_SUM, HX_F32, x, N, &out);
  task.gpu_share = 1;
  const double from = now_us();
  if (hx_offload(hx, &task, NULL) != HX_OK) fail();
  return now_us() - from;
}

static float *block(void) {
  float *const p = hx_alloc(hx, N * sizeof *p);
  if (!p) fail();
  data_fill(HX_F32, DATA_SIGNED, 1, p, N);
  return p;
}

static void print_times(size_t count) {
  static float *blocks[MOST];
  static double us[MOST];
  for (size_t i = 0; i < count; i++) blocks[i] = block();
  for (uint64_t i = 0; i < CALLS; i++) us[i] = time_sum(blocks[0]);
  printf("%zu\t%.1f", count, bench_median(us, CALLS));
  for (size_t i = 0; i < count; i++) {
    if (hx_advise(hx, blocks[i], N * sizeof(float), HX_READ_MOSTLY) != HX_OK) fail();
    time_sum(blocks[i]);
  }
  for (uint64_t i = 0; i < CALLS; i++) us[i] = time_sum(blocks[data_u64(1, i) % count]);
  printf("\t%.1f", bench_median(us, CALLS));
  for (size_t i = 0; i < count; i++) {
    const double from = now_us();
    hx_free(hx, blocks[i]);
    us[i] = now_us() - from;
  }
  printf("\t%.1f\n", bench_median(us, count));
  fflush(stdout);
}

int main(void) {
  if (hx_open(&hx, NULL) != HX_OK || hx_ready(hx) != HX_OK) fail();
  printf("ranges\tcall\tadvised\tfree\n");
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) print_times(counts[i]);
  hx_close(hx);
  return 0;
}
