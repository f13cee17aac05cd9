/* SPDX-License-Identifier: Apache-2.0
 * Times calls of the CPU as programs make them, and OpenMP loops of the program between them: the data behind
 * docs/measurements/cpu-teams.tsv.
 *
 *   time_teams        OMP_NUM_THREADS: the threads of hx and of the loop
 *
 * Tasks: saxpy, as a map, and the sum of floats; 2^16 to 2^22 elements. Columns, medians in microseconds: calls one
 * after the other; calls in turn with an OpenMP loop of saxpy with all threads, and that loop; calls after a sleep of
 * 10 ms; calls after the calling thread alone has computed for 100 us to 3 ms. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure.h"
#include "runtime/base/clock.h"
#include "runtime/hx_map.h"

enum { LEAST_LOG2 = 16, MOST_LOG2 = 22, CALLS = 200, UNTIMED = 5, SLOW_CALLS = 25, SLEEP_NS = 10000000, PAGE = 4096 };
static const unsigned pauses_us[] = {100, 300, 700, 1500, 3000};
static const float factor = 0.7f;

typedef struct arrays {
  size_t n;
  float *x, *y, *out;
} arrays;

static hx_context *hx;
static hx_task task;

static void fail(void) {
  fprintf(stderr, "time_teams: %s\n", hx_error_detail());
  exit(1);
}

static double now_us(void) { return 1e-3 * (double)hx__now_ns(); }

static double time_call(void) {
  const double from = now_us();
  if (hx_offload(hx, &task, NULL) != HX_OK) fail();
  return now_us() - from;
}

static double time_loop(const arrays *a) {
  const float *restrict const x = a->x, *restrict const y = a->y;
  float *restrict const out = a->out;
  const double from = now_us();
#pragma omp parallel for simd schedule(static)
  for (size_t i = 0; i < a->n; i++) out[i] = factor * x[i] + y[i];
  return now_us() - from;
}

static double median_of_calls(unsigned calls, unsigned pause_us, bool sleeps) {
  double us[CALLS];
  for (unsigned i = 0; i < UNTIMED + calls; i++) {
    const double until = now_us() + pause_us;
    if (sleeps) hx__sleep_ns(SLEEP_NS);
    while (!sleeps && now_us() < until) continue;
    us[i < UNTIMED ? 0 : i - UNTIMED] = time_call();
  }
  return bench_median(us, calls);
}

static void print_times(const char *name, const arrays *a) {
  double call[CALLS], loop[CALLS];
  printf("%s\t%zu\t%.1f", name, a->n, median_of_calls(CALLS, 0, false));
  for (unsigned i = 0; i < CALLS; i++) call[i] = time_call(), loop[i] = time_loop(a);
  printf("\t%.1f\t%.1f\t%.1f", bench_median(call, CALLS), bench_median(loop, CALLS),
         median_of_calls(SLOW_CALLS, 0, true));
  for (size_t i = 0; i < sizeof pauses_us / sizeof *pauses_us; i++)
    printf("\t%.1f", median_of_calls(SLOW_CALLS, pauses_us[i], false));
  printf("\n");
  fflush(stdout);
}

static float *memory(size_t n) {
  float *const p = aligned_alloc(PAGE, n * sizeof *p);
  if (!p) exit(1);
  for (size_t i = 0; i < n; i++) p[i] = 1.0f;
  return p;
}

int main(void) {
  const hx_kernel_source source = {.text = "a * x + y", .inputs = "float x, float y", .parameters = "float a"};
  const hx_value a = {.f32 = factor};
  hx_value sum;
  hx_kernel *kernel;
  if (hx_open(&hx, NULL) != HX_OK || hx_compile(hx, &source, &kernel) != HX_OK) fail();
  printf("task\telements\trepeated\tin turn\tloop\tslept");
  for (size_t i = 0; i < sizeof pauses_us / sizeof *pauses_us; i++) printf("\tafter %u", pauses_us[i]);
  printf("\n");
  for (int is_sum = 0; is_sum < 2; is_sum++)
    for (int log2 = LEAST_LOG2; log2 <= MOST_LOG2; log2++) {
      const size_t n = (size_t)1 << log2;
      arrays all = {n, memory(n), memory(n), memory(n)};
      const void *const inputs[] = {all.x, all.y};
      task = is_sum ? hx_reduce(HX_SUM, HX_F32, all.x, n, &sum) : hx_map(kernel, inputs, n, &a, all.out);
      print_times(is_sum ? "sum" : "saxpy", &all);
      free(all.x), free(all.y), free(all.out);
    }
  hx_kernel_free(kernel);
  hx_close(hx);
  return 0;
}
