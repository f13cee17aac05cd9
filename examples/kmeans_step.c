/* SPDX-License-Identifier: Apache-2.0
 * A step of k-means clustering in a plane, by user kernels and by a plain OpenMP loop: every point goes to the nearest
 * of four centres, and each centre moves to the mean of its points. A map finds the nearest centre of each point. What
 * a map cannot do is to add a point to the sum of its cluster, because element i of the inputs reaches only element i
 * of the output. So all points are reduced for each of the centres, and points of other clusters count 0. The CPU reads
 * memory once for all of these reductions, because they are neighbours in a list of tasks, but computes each; with many
 * centres the product of kmeans.c, a whole clustering, is better.
 * Build with -O3 -fopenmp -ffp-contract=off: the nearest centre depends on every rounding.
 *     kmeans_step [N]      N points (default 1048576) */
#include "beside.h"

#include <math.h>
#include <string.h>

enum { K = 4, SUMS = 3 }; /* centres; sums of each: x, y, points */

static const hx_kernel_source sources[] = {
    {.text = "float a = (x - x0) * (x - x0) + (y - y0) * (y - y0);"
             "float b = (x - x1) * (x - x1) + (y - y1) * (y - y1);"
             "float c = (x - x2) * (x - x2) + (y - y2) * (y - y2);"
             "float d = (x - x3) * (x - x3) + (y - y3) * (y - y3);"
             "fminf(a, b) <= fminf(c, d) ? (a <= b ? 0 : 1) : (c <= d ? 2 : 3)",
     .inputs = "float x, float y",
     .parameters = "float x0, float y0, float x1, float y1, float x2, float y2, float x3, float y3"},
    {.text = "nearest == k ? x : 0.0f", .inputs = "float x, int nearest", .parameters = "int k"},
    {.text = "nearest == k", .inputs = "int nearest", .parameters = "int k"}};
static const hx_value centre[2 * K] = {{.f32 = 0.2f}, {.f32 = 0.2f}, {.f32 = 0.8f}, {.f32 = 0.2f},
                                       {.f32 = 0.2f}, {.f32 = 0.8f}, {.f32 = 0.8f}, {.f32 = 0.8f}};

typedef struct sums {
  double x[K], y[K];
  long long points[K];
} sums;

static sums by_hx(hx_context *hx, hx_kernel *const kernel[3], size_t n, const float *x, const float *y, int *nearest,
                  hx_report *report) {
  const void *const points[] = {x, y}, *const xs[] = {x, nearest}, *const ys[] = {y, nearest}, *const all[] = {nearest};
  const hx_task map = hx_map(kernel[0], points, n, centre, nearest);
  check(hx_offload(hx, &map, NULL));
  hx_value which[K], sum[SUMS * K];
  hx_task tasks[SUMS * K];
  for (int k = 0; k < K; k++) {
    which[k].i32 = k;
    tasks[SUMS * k] = hx_map_reduce(HX_SUM, kernel[1], xs, n, &which[k], &sum[SUMS * k]);
    tasks[SUMS * k + 1] = hx_map_reduce(HX_SUM, kernel[1], ys, n, &which[k], &sum[SUMS * k + 1]);
    tasks[SUMS * k + 2] = hx_map_reduce(HX_SUM, kernel[2], all, n, &which[k], &sum[SUMS * k + 2]);
  }
  check(hx_offload_many(hx, tasks, SUMS * K, report));
  sums s;
  for (int k = 0; k < K; k++) {
    s.x[k] = sum[SUMS * k].f32;
    s.y[k] = sum[SUMS * k + 1].f32;
    s.points[k] = sum[SUMS * k + 2].i64;
  }
  return s;
}

static sums by_loop(size_t n, const float *x, const float *y, int *nearest) {
  double sx[K] = {0}, sy[K] = {0};
  long long points[K] = {0};
#pragma omp parallel for simd reduction(+ : sx, sy, points)
  for (size_t i = 0; i < n; i++) {
    int least = 0;
    float at_least = INFINITY;
    for (int k = 0; k < K; k++) {
      const float dx = x[i] - centre[2 * k].f32, dy = y[i] - centre[2 * k + 1].f32, d = dx * dx + dy * dy;
      if (d < at_least) least = k, at_least = d;
    }
    nearest[i] = least;
    sx[least] += x[i];
    sy[least] += y[i];
    points[least]++;
  }
  sums s;
  memcpy(s.x, sx, sizeof sx);
  memcpy(s.y, sy, sizeof sy);
  memcpy(s.points, points, sizeof points);
  return s;
}

/* The numbers of points are equal. hx adds floats in a tree: a sum has at most about 64 roundings (docs/ARITHMETIC.md).
 */
static int are_near(const sums *a, const sums *b) {
  for (int k = 0; k < K; k++)
    if (a->points[k] != b->points[k] || !(fabs(a->x[k] - b->x[k]) <= 0x1p-18 * b->x[k]) ||
        !(fabs(a->y[k] - b->y[k]) <= 0x1p-18 * b->y[k]))
      return 0;
  return 1;
}

int main(int argc, char **argv) {
  const size_t n = size_of_work(argc, argv, (size_t)1 << 20, 100);
  hx_context *hx;
  check(hx_open(&hx, NULL));
  hx_kernel *kernel[3];
  for (int i = 0; i < 3; i++) check(hx_compile(hx, &sources[i], &kernel[i]));
  float *const x = elements(hx, n), *const y = elements(hx, n);
  int *const nearest = elements(hx, n), *const plain = elements(hx, n);
  for (size_t i = 0; i < n; i++) {
    x[i] = (float)(i * 7919 % 10007) / 10007;
    y[i] = (float)(i * 4729 % 9973) / 9973;
  }
  check(hx_ready(hx)); /* finds the devices */
  /* The first call makes a device build the kernels, and hx_ready waits until it has. */
  times t;
  sums hxs = by_hx(hx, kernel, n, x, y, nearest, &t.report), loops = by_loop(n, x, y, plain);
  check(hx_ready(hx));
  for (int round = 0; round < ROUNDS; round++) {
    const double start = omp_get_wtime();
    hxs = by_hx(hx, kernel, n, x, y, nearest, &t.report);
    const double between = omp_get_wtime();
    loops = by_loop(n, x, y, plain);
    t.hx[round] = between - start;
    t.loop[round] = omp_get_wtime() - between;
  }
  for (int k = 0; k < K; k++)
    printf("centre %d moves to (%.6f %.6f) of %lld points\n", k, hxs.x[k] / (double)hxs.points[k],
           hxs.y[k] / (double)hxs.points[k], hxs.points[k]);
  const int differs = memcmp(nearest, plain, n * sizeof *plain) != 0 || !are_near(&hxs, &loops);
  printf("the loop has %s\n", differs ? "other clusters" : "the same clusters");
  print_times(&t);
  for (int i = 0; i < 3; i++) hx_kernel_free(kernel[i]);
  hx_close(hx); /* frees the arrays, too */
  return differs;
}
