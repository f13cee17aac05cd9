/* SPDX-License-Identifier: Apache-2.0
 * A step of the Adam optimizer for n weights, by one user kernel with three outputs and by a plain OpenMP loop: the
 * means m of the gradient g and v of its square, and the weights w, are read, and replaced, in one pass. The bits are
 * those of the loop: -ffp-contract=off keeps its compiler from rounding a product and a sum once, and -fno-math-errno
 * lets it use vectors for sqrtf.
 * Build with -O3 -march=native -ffp-contract=off -fno-math-errno -fopenmp.
 *     adam [N]      default 4000000 */
#include "beside.h"

#include <math.h>
#include <string.h>

enum { G, M, V, W, ARRAYS };

static const hx_kernel_source source = {.text =
                                            "float m1 = 0.9f * m + 0.1f * g;"
                                            "float v1 = 0.999f * v + 0.001f * (g * g);"
                                            "float w1 = w - rate * m1 / (sqrtf(v1) + 1e-8f);",
                                        .inputs = "float g, float m, float v, float w",
                                        .parameters = "float rate",
                                        .outputs = "m1, v1, w1"};

static void by_hx(hx_context *hx, const hx_kernel *adam, size_t n, float rate, float *const x[ARRAYS],
                  hx_report *report) {
  const void *const inputs[] = {x[G], x[M], x[V], x[W]};
  void *const outputs[] = {x[M], x[V], x[W]};
  const hx_value parameter = {.f32 = rate};
  const hx_task step = hx_map_outputs(adam, inputs, n, &parameter, outputs);
  check(hx_offload(hx, &step, report));
}

static void by_loop(size_t n, float rate, float *const x[ARRAYS]) {
  const float *const g = x[G];
  float *const restrict m = x[M], *const restrict v = x[V], *const restrict w = x[W];
#pragma omp parallel for simd
  for (size_t i = 0; i < n; i++) {
    m[i] = 0.9f * m[i] + 0.1f * g[i];
    v[i] = 0.999f * v[i] + 0.001f * (g[i] * g[i]);
    w[i] -= rate * m[i] / (sqrtf(v[i]) + 1e-8f);
  }
}

static void begin(hx_context *hx, size_t n, float *x[ARRAYS]) {
  for (int a = 0; a < ARRAYS; a++) x[a] = elements(hx, n);
  for (size_t i = 0; i < n; i++) x[G][i] = (float)(i * 7919 % 2001) * 1e-3f - 1.0f;
  for (size_t i = 0; i < n; i++) x[M][i] = x[V][i] = 0.0f, x[W][i] = (float)(i % 17);
}

int main(int argc, char **argv) {
  const size_t n = size_of_work(argc, argv, 4000000, 1);
  const float rate = 1e-3f;
  hx_context *hx;
  hx_kernel *adam;
  check(hx_open(&hx, NULL));
  check(hx_compile(hx, &source, &adam));
  float *x[ARRAYS], *plain[ARRAYS];
  begin(hx, n, x);
  begin(hx, n, plain);

  times t;
  for (int round = 0; round < ROUNDS; round++) {
    const double start = omp_get_wtime();
    by_hx(hx, adam, n, rate, x, &t.report);
    const double between = omp_get_wtime();
    by_loop(n, rate, plain);
    t.hx[round] = between - start;
    t.loop[round] = omp_get_wtime() - between;
  }
  int differs = 0;
  for (int a = M; a < ARRAYS; a++) differs |= memcmp(x[a], plain[a], n * sizeof(float)) != 0;
  printf("after %d steps the last weight is %.9g: the bits of the loop are %s\n", ROUNDS, (double)x[W][n - 1],
         differs ? "others" : "the same");
  print_times(&t);
  hx_kernel_free(adam);
  hx_close(hx); /* frees the arrays, too */
  return differs;
}
