/* SPDX-License-Identifier: Apache-2.0
 * Sweeps of Jacobi's method for Laplace's equation on a square, by a user kernel and by a plain OpenMP loop, which give
 * the same bits: an element of the interior becomes the mean of its four neighbours. A kernel sees element (i, j) of
 * each input only, so the inputs are the same grid four times, from another element on: the one above the interior's
 * first, the one below it, and those beside it. A sweep reads one grid and writes another, because the output must not
 * overlap an input in this way. The borders are the same in both grids and are never written.
 * Build with -O3 -fopenmp.
 *     jacobi [SIDE]      rows and columns (default 2048) */
#include "beside.h"

#include <string.h>

static void by_hx(hx_context *hx, const hx_kernel *mean, size_t side, const float *u, float *to, hx_report *report) {
  const size_t first = side + 1, ld[] = {side, side, side, side};
  const void *const inputs[] = {u + first - side, u + first + side, u + first - 1, u + first + 1};
  const hx_task task = hx_map_rows(mean, inputs, ld, side - 2, side - 2, NULL, to + first, side);
  check(hx_offload(hx, &task, report));
}

static void by_loop(size_t side, const float *u, float *to) {
#pragma omp parallel for
  for (size_t row = side; row < (side - 1) * side; row += side)
#pragma omp simd
    for (size_t i = row + 1; i < row + side - 1; i++)
      to[i] = 0.25f * ((u[i - side] + u[i + side]) + (u[i - 1] + u[i + 1]));
}

static float *grid(hx_context *hx, size_t side) {
  float *const u = elements(hx, side * side);
  for (size_t i = 0; i < side * side; i++) u[i] = i < side ? 100.0f : 0.0f; /* the first row is hot */
  return u;
}

int main(int argc, char **argv) {
  const size_t side = size_of_work(argc, argv, 2048, 3);
  hx_context *hx;
  check(hx_open(&hx, NULL));
  const hx_kernel_source source = {.text = "0.25f * ((up + down) + (left + right))",
                                   .inputs = "float up, float down, float left, float right"};
  hx_kernel *mean;
  check(hx_compile(hx, &source, &mean));
  float *const u[2] = {grid(hx, side), grid(hx, side)}, *const plain[2] = {grid(hx, side), grid(hx, side)};

  check(hx_ready(hx)); /* finds the devices */
  /* The first call makes a device build the kernel, and hx_ready waits until it has. The sweep is done again below. */
  times t;
  by_hx(hx, mean, side, u[0], u[1], &t.report);
  check(hx_ready(hx));
  for (int round = 0; round < ROUNDS; round++) {
    const int from = round % 2;
    const double start = omp_get_wtime();
    by_hx(hx, mean, side, u[from], u[!from], &t.report);
    const double between = omp_get_wtime();
    by_loop(side, plain[from], plain[!from]);
    t.hx[round] = between - start;
    t.loop[round] = omp_get_wtime() - between;
  }
  const float *const result = u[ROUNDS % 2];
  const int differs = memcmp(result, plain[ROUNDS % 2], side * side * sizeof *result) != 0;
  printf("after %d sweeps the middle of the second row is %.9g: the loop has %s\n", ROUNDS, result[side + side / 2],
         differs ? "other bits" : "the same bits");
  print_times(&t);
  hx_kernel_free(mean);
  hx_close(hx); /* frees the grids, too */
  return differs;
}
