/* SPDX-License-Identifier: Apache-2.0
 * Mean, variance, norm and range of one column, and two results that need another one, in one call and one pass over
 * the memory: a structure of arrays. */
#include <hx.h>
#include <stdio.h>

enum { N = 1000000, FIELDS = 6 };

static float height[N], weight[N];

static void print(const char *name, hx_value sum, hx_value squares, hx_value least, hx_value greatest) {
  printf("%s: mean %.6g, variance %.4g, norm %.6g, range %.6g to %.6g\n", name, hx_mean(HX_F32, sum, N),
         hx_variance(HX_F32, sum, squares, N), hx_norm(HX_F32, squares), least.f32, greatest.f32);
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
  print("height", out[0], out[1], out[2], out[3]);
  printf("height . weight: %.9g; the first of the greatest weights is number %llu\n", out[4].f32,
         (unsigned long long)out[5].u64);
  hx_close(hx);
}
