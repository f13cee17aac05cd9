/* SPDX-License-Identifier: Apache-2.0
 * Mean, variance, norm and range of two columns in one call and one pass over the memory: a structure of arrays. */
#include <hx.h>
#include <math.h>
#include <stdio.h>

enum { N = 1000000, FIELDS = 6 };

static float height[N], weight[N];

static void print(const char *name, double sum, double squares, double least, double greatest) {
  const double mean = sum / N;
  printf("%s: mean %.6g, variance %.4g, norm %.6g, range %.6g to %.6g\n", name, mean, squares / N - mean * mean,
         sqrt(squares), least, greatest);
}

int main(void) {
  for (int i = 0; i < N; i++) {
    height[i] = 1.5f + 0.5f * (float)(i % 1000) / 1000;
    weight[i] = 50.0f + 40.0f * (float)(i % 777) / 777;
  }
  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) return fprintf(stderr, "%s\n", hx_error_detail()), 1;
  const hx_field fields[FIELDS] = {
      {HX_SUM, HX_F32, height, NULL}, {HX_SUM_SQUARES, HX_F32, height, NULL}, {HX_MIN, HX_F32, height, NULL},
      {HX_MAX, HX_F32, height, NULL}, {HX_DOT, HX_F32, height, weight},       {HX_ARGMAX, HX_F32, weight, NULL},
  };
  hx_value out[FIELDS]; /* which member is set depends on operation and type: see hx_value in hx.h */
  const hx_task task = hx_reduce_soa(fields, FIELDS, N, out);
  if (hx_offload(hx, &task, NULL) != HX_OK) return fprintf(stderr, "%s\n", hx_error_detail()), 1;
  print("height", out[0].f32, out[1].f32, out[2].f32, out[3].f32);
  printf("height . weight: %.9g; the first of the greatest weights is number %llu\n", out[4].f32,
         (unsigned long long)out[5].u64);
  hx_close(hx);
}
