/* SPDX-License-Identifier: Apache-2.0
 * Mean, variance and Euclidean norm in one call, and by a plain OpenMP loop that adds in double. Mean and variance are
 * those of the distances from the first element, which are small and so lose little if the numbers are large and near
 * one another: a map-reduce with two operations. statistics.c needs no kernel, but has not this accuracy.
 * Build with -O3 -fopenmp.
 *     moments [N]      N elements (default 4194304) */
#include "beside.h"

#include <math.h>

typedef struct moments {
  double mean, variance, norm;
} moments;

static moments by_hx(hx_context *hx, const hx_kernel *distance, size_t n, const float *x, hx_report *report) {
  static const hx_field sums[] = {{.op = HX_SUM, .type = HX_F32}, {.op = HX_SUM_SQUARES, .type = HX_F32}};
  const void *const inputs[] = {x};
  const hx_value origin = {.f32 = x[0]};
  hx_value sum[2], all;
  const hx_task tasks[] = {hx_map_reduce_fields(sums, 2, distance, inputs, n, &origin, sum),
                           hx_reduce(HX_SUM_SQUARES, HX_F32, x, n, &all)};
  check(hx_offload_many(hx, tasks, 2, report));
  return (moments){x[0] + hx_mean(HX_F32, sum[0], n), hx_variance(HX_F32, sum[0], sum[1], n), hx_norm(HX_F32, all)};
}

static moments by_loop(size_t n, const float *x) {
  double sum = 0, squares = 0, all = 0;
#pragma omp parallel for simd reduction(+ : sum, squares, all)
  for (size_t i = 0; i < n; i++) {
    const double distance = x[i] - x[0];
    sum += distance;
    squares += distance * distance;
    all += (double)x[i] * x[i];
  }
  const double mean = sum / (double)n;
  return (moments){x[0] + mean, squares / (double)n - mean * mean, sqrt(all)};
}

/* hx adds floats in a tree: a sum has at most about 64 roundings for any array (docs/ARITHMETIC.md), each 2^-24 of it.
 */
static int is_near(double a, double b, double of) { return fabs(a - b) <= 0x1p-18 * of; }

int main(int argc, char **argv) {
  const size_t n = size_of_work(argc, argv, (size_t)1 << 22, 1);
  hx_context *hx;
  check(hx_open(&hx, NULL));
  const hx_kernel_source source = {.text = "x - origin", .inputs = "float x", .parameters = "float origin"};
  hx_kernel *distance;
  check(hx_compile(hx, &source, &distance));
  float *const x = elements(hx, n);
  for (size_t i = 0; i < n; i++) x[i] = 1000.0f + (float)(i * 7919 % 1021) / 1021;

  check(hx_ready(hx)); /* finds the devices */
  /* The first call makes a device build the kernel, and hx_ready waits until it has. */
  times t;
  moments hxs = by_hx(hx, distance, n, x, &t.report), loops = by_loop(n, x);
  check(hx_ready(hx));
  for (int round = 0; round < ROUNDS; round++) {
    const double start = omp_get_wtime();
    hxs = by_hx(hx, distance, n, x, &t.report);
    const double between = omp_get_wtime();
    loops = by_loop(n, x);
    t.hx[round] = between - start;
    t.loop[round] = omp_get_wtime() - between;
  }
  /* All distances from the first element are below 1, and the bound of the variance is that of their mean square and of
   * twice the square of their mean. */
  const int differs = !(is_near(hxs.mean, loops.mean, 1) && is_near(hxs.variance, loops.variance, 3) &&
                        is_near(hxs.norm, loops.norm, loops.norm));
  printf("mean %.9g, variance %.9g, norm %.9g: the loop is %s\n", hxs.mean, hxs.variance, hxs.norm,
         differs ? "too far from them" : "near them");
  print_times(&t);
  hx_kernel_free(distance);
  hx_close(hx); /* frees the array, too */
  return differs;
}
