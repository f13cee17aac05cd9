/* SPDX-License-Identifier: Apache-2.0
 * Ten sums of one array, and what hx did with each. hx learns from the first calls which devices are worth using, so
 * the share of the GPU may change from call to call; the result does not.
 *
 * usage: ten_calls [ELEMENTS]    HX_DEVICES=cpu,pocl tries it without a GPU */
#include <hx.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  const size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)1 << 24;
  hx_context *hx;
  if (hx_open(&hx, NULL) != HX_OK) return fprintf(stderr, "%s\n", hx_error_detail()), 1;
  float *const x = hx_alloc(hx, n * sizeof *x);
  if (!x) return fprintf(stderr, "%s\n", hx_error_detail()), 1;
  for (size_t i = 0; i < n; i++) x[i] = 1.0f / (float)(i + 1);

  hx_ready(hx); /* waits until drivers are loaded and kernels compiled; without it the first calls use the CPU alone */
  for (size_t i = 0; i < hx_device_count(hx); i++) {
    hx_device_info device;
    if (hx_device(hx, i, &device) == HX_OK && device.state == HX_USABLE) printf("device %zu: %s\n", i, device.name);
  }
  for (int call = 1; call <= 10; call++) {
    hx_value sum;
    hx_report report;
    const hx_task task = hx_reduce(HX_SUM, HX_F32, x, n, &sum);
    if (hx_offload(hx, &task, &report) != HX_OK) return fprintf(stderr, "%s\n", hx_error_detail()), 1;
    printf("call %2d: %.9g, %.3f ms, %.0f %% on the GPU\n", call, sum.f32, 1e3 * report.seconds,
           100 * report.gpu_share);
  }
  hx_close(hx); /* also frees x */
}
