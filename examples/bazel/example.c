/* SPDX-License-Identifier: Apache-2.0 */
#include <hx.h>
#include <stdio.h>

int main(void) {
  float x[1000];
  hx_context *hx;
  hx_value sum;
  for (int i = 0; i < 1000; i++) x[i] = (float)i;
  if (hx_open(&hx, NULL) != HX_OK) return puts(hx_error_detail()), 1;
  const hx_task task = hx_reduce(HX_SUM, HX_F32, x, 1000, &sum);
  if (hx_offload(hx, &task, NULL) != HX_OK) return puts(hx_error_detail()), 1;
  printf("%g\n", sum.f32);
  hx_close(hx);
}
