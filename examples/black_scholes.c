/* SPDX-License-Identifier: Apache-2.0
 * Prices of European call options (Black and Scholes, Journal of Political Economy 81, 1973), by a user kernel and by a
 * plain OpenMP loop over the functions of the C library. Those have other bits on other machines, but a kernel has the
 * same everywhere.
 * Build with -O3 -fopenmp.
 *     black_scholes [N]      N options (default 262144) */
#include "beside.h"

#include <float.h>
#include <math.h>

/* price and strike of the share, years; interest rate, volatility */
static const hx_kernel_source source = {.inputs = "float p, float k, float t",
                                        .parameters = "float r, float v",
                                        .text =
                                            "float s = v * sqrtf(t);"
                                            "float d = (logf(p / k) + (r + 0.5f * v * v) * t) / s;"
                                            "float n1 = 0.5f + 0.5f * erff(d * 0.70710678f);"
                                            "float n2 = 0.5f + 0.5f * erff((d - s) * 0.70710678f);"
                                            "p * n1 - k * expf(-r * t) * n2"};
static const hx_value parameters[] = {{.f32 = 0.02f}, {.f32 = 0.30f}};

static void by_loop(size_t n, const float *p, const float *k, const float *t, float *price) {
  const float r = parameters[0].f32, v = parameters[1].f32;
#pragma omp parallel for simd
  for (size_t i = 0; i < n; i++) {
    const float s = v * sqrtf(t[i]), d = (logf(p[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / s;
    const float n1 = 0.5f + 0.5f * erff(d * 0.70710678f), n2 = 0.5f + 0.5f * erff((d - s) * 0.70710678f);
    price[i] = p[i] * n1 - k[i] * expf(-r * t[i]) * n2;
  }
}

/* The greatest difference, in units of 2^-23 times the terms of which a price is the difference, which p + k bounds. */
static float difference(size_t n, const float *p, const float *k, const float *price, const float *plain) {
  float greatest = 0;
  for (size_t i = 0; i < n; i++) {
    const float units = fabsf(price[i] - plain[i]) / (FLT_EPSILON * (p[i] + k[i]));
    if (!(units <= greatest)) greatest = units; /* a NaN is kept, too */
  }
  return greatest;
}

int main(int argc, char **argv) {
  const size_t n = size_of_work(argc, argv, (size_t)1 << 18, 1);
  hx_context *hx;
  check(hx_open(&hx, NULL));
  hx_kernel *call;
  check(hx_compile(hx, &source, &call));
  float *const p = elements(hx, n), *const k = elements(hx, n), *const years = elements(hx, n),
               *const price = elements(hx, n), *const plain = elements(hx, n);
  for (size_t i = 0; i < n; i++) {
    p[i] = 5.0f + 25.0f * (float)(i % 1009) / 1009;
    k[i] = 1.0f + 99.0f * (float)(i % 757) / 757;
    years[i] = 0.25f + 9.75f * (float)(i % 523) / 523;
  }
  const void *const inputs[] = {p, k, years};
  const hx_task task = hx_map(call, inputs, n, parameters, price);

  check(hx_ready(hx)); /* finds the devices */
  /* The first call makes a device build the kernel, and hx_ready waits until it has. */
  check(hx_offload(hx, &task, NULL));
  check(hx_ready(hx));
  times t;
  for (int round = 0; round < ROUNDS; round++) {
    const double start = omp_get_wtime();
    check(hx_offload(hx, &task, &t.report));
    const double between = omp_get_wtime();
    by_loop(n, p, k, years, plain);
    t.hx[round] = between - start;
    t.loop[round] = omp_get_wtime() - between;
  }
  /* A d of up to 3 has an error of some 10 units, which changes n1 and n2 by a few; farther out they do not change. */
  const int differs = !(difference(n, p, k, price, plain) <= 16);
  printf("the last price is %.9g: the loop is %s\n", price[n - 1], differs ? "too far from it" : "near it");
  print_times(&t);
  hx_kernel_free(call);
  hx_close(hx); /* frees the arrays, too */
  return differs;
}
