/* SPDX-License-Identifier: Apache-2.0
 * y = a x + y over whole arrays, by a user kernel and by a plain OpenMP loop, which give the same bits.
 * Build with -O3 -fopenmp -ffp-contract=off: hx rounds the product and the sum, and so must the loop.
 *     saxpy [N]      N elements (default 4194304) */
#include "beside.h"

#include <string.h>

static void by_loop(size_t n, float a, const float *x, float *y) {
#pragma omp parallel for simd
  for (size_t i = 0; i < n; i++) y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv) {
  const size_t n = size_of_work(argc, argv, (size_t)1 << 22, 1);
  hx_context *hx;
  check(hx_open(&hx, NULL));
  const hx_kernel_source source = {.text = "a * x + y", .inputs = "float x, float y", .parameters = "float a"};
  hx_kernel *saxpy;
  check(hx_compile(hx, &source, &saxpy));
  float *const x = elements(hx, n), *const y = elements(hx, n), *const plain = elements(hx, n);
  for (size_t i = 0; i < n; i++) {
    x[i] = (float)(i % 1000);
    y[i] = plain[i] = (float)(i % 777);
  }
  const void *const inputs[] = {x, y};
  const hx_value a = {.f32 = 0.3f};
  const hx_task task = hx_map(saxpy, inputs, n, &a, y); /* the output may be an input */

  check(hx_ready(hx)); /* finds the devices */
  /* The first call makes a device build the kernel, and hx_ready waits until it has. */
  check(hx_offload(hx, &task, NULL));
  by_loop(n, a.f32, x, plain);
  check(hx_ready(hx));
  times t;
  for (int round = 0; round < ROUNDS; round++) {
    const double start = omp_get_wtime();
    check(hx_offload(hx, &task, &t.report));
    const double between = omp_get_wtime();
    by_loop(n, a.f32, x, plain);
    t.hx[round] = between - start;
    t.loop[round] = omp_get_wtime() - between;
  }
  const int differs = memcmp(y, plain, n * sizeof *y) != 0;
  printf("the last element is %.9g: the loop has %s\n", y[n - 1], differs ? "other bits" : "the same bits");
  print_times(&t);
  hx_kernel_free(saxpy);
  hx_close(hx); /* frees the arrays, too */
  return differs;
}
