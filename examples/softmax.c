/* SPDX-License-Identifier: Apache-2.0
 * Softmax of each row of a matrix, by user kernels and by a plain OpenMP loop: out = exp(x - m) / s with the greatest
 * element m of the row and the sum s of its exp(x - m). Three tasks compute all rows. m and s are inputs with one value
 * per row, which the first two tasks have written: a result is an hx_value, so the values are two floats apart.
 * Build with -O3 -march=native -fopenmp.
 *     softmax [ROWS]      ROWS rows of 1000 elements (default 2000) */
#include "beside.h"

#include <math.h>

enum { COLS = 1000, KERNELS = 3, VALUE = sizeof(hx_value) / sizeof(float) };

static const hx_kernel_source sources[KERNELS] = {
    {.text = "x", .inputs = "float x"},
    {.text = "expf(x - m)", .inputs = "float x, row float m"},
    {.text = "expf(x - m) / s", .inputs = "float x, row float m, row float s"}};

static void by_hx(hx_context *hx, hx_kernel *const kernel[KERNELS], size_t rows, const float *x, hx_value *m,
                  hx_value *s, float *out, hx_report *report) {
  static const size_t ld[] = {COLS, VALUE, VALUE};
  const void *const inputs[] = {x, m, s};
  const hx_task greatest = hx_map_reduce_rows(HX_MAX, kernel[0], inputs, ld, rows, COLS, NULL, m),
                sum = hx_map_reduce_rows(HX_SUM, kernel[1], inputs, ld, rows, COLS, NULL, s),
                shares = hx_map_rows(kernel[2], inputs, ld, rows, COLS, NULL, out, COLS);
  check(hx_offload(hx, &greatest, NULL));
  check(hx_offload(hx, &sum, NULL));
  check(hx_offload(hx, &shares, report));
}

static void by_loop(size_t rows, const float *x, float *out) {
#pragma omp parallel for
  for (size_t i = 0; i < rows; i++) {
    const float *const row = x + i * COLS;
    float *const to = out + i * COLS, m = row[0], s = 0;
    for (size_t j = 1; j < COLS; j++) m = row[j] > m ? row[j] : m;
    for (size_t j = 0; j < COLS; j++) s += to[j] = expf(row[j] - m);
    for (size_t j = 0; j < COLS; j++) to[j] /= s;
  }
}

/* The loop adds one element after the other, and a sum of n positive numbers has less than n roundings, each 2^-24 of
 * it. All other roundings together are less than COLS of them. */
static int are_near(size_t n, const float *a, const float *b) {
  for (size_t i = 0; i < n; i++)
    if (!(fabsf(a[i] - b[i]) <= 2 * COLS * 0x1p-24f * b[i])) return 0;
  return 1;
}

int main(int argc, char **argv) {
  const size_t rows = size_of_work(argc, argv, 2000, 1), n = rows * COLS;
  hx_context *hx;
  check(hx_open(&hx, NULL));
  hx_kernel *kernel[KERNELS];
  for (int i = 0; i < KERNELS; i++) check(hx_compile(hx, &sources[i], &kernel[i]));
  float *const x = elements(hx, n), *const out = elements(hx, n), *const plain = elements(hx, n);
  hx_value *const m = elements(hx, rows * VALUE), *const s = elements(hx, rows * VALUE);
  for (size_t i = 0; i < n; i++) x[i] = (float)(i * 7919 % 10007) * 1e-3f;

  check(hx_ready(hx)); /* finds the devices */
  /* The first call makes a device build the kernels, and hx_ready waits until it has. */
  times t;
  by_hx(hx, kernel, rows, x, m, s, out, &t.report);
  check(hx_ready(hx));
  for (int round = 0; round < ROUNDS; round++) {
    const double start = omp_get_wtime();
    by_hx(hx, kernel, rows, x, m, s, out, &t.report);
    const double between = omp_get_wtime();
    by_loop(rows, x, plain);
    t.hx[round] = between - start;
    t.loop[round] = omp_get_wtime() - between;
  }
  const int differs = !are_near(n, out, plain);
  printf("the greatest element of the last row is %g, the share of its first %.9g: the loop is %s\n",
         (double)m[rows - 1].f32, (double)out[n - COLS], differs ? "too far from it" : "near it");
  print_times(&t);
  for (int i = 0; i < KERNELS; i++) hx_kernel_free(kernel[i]);
  hx_close(hx); /* frees the arrays, too */
  return differs;
}
