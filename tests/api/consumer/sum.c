/* SPDX-License-Identifier: Apache-2.0
 * A program of a user of hx: install_test.sh builds it in every way that docs/INSTALL.md names. */
#include <hx.h>
#include <stdio.h>

int main(void) {
  static float x[100000];
  for (int i = 0; i < 100000; i++) x[i] = 1.0f;
  hx_context *hx;
  hx_value sum;
  if (hx_open(&hx, NULL) != HX_OK) return puts(hx_error_detail()), 1;
  hx_task task = hx_reduce(HX_SUM, HX_F32, x, 100000, &sum);
  if (hx_offload(hx, &task, NULL) != HX_OK) return puts(hx_error_detail()), 1;
  hx_close(hx);
  printf("%s %g\n", hx_version(), sum.f32);
  return sum.f32 != 100000.0f;
}
