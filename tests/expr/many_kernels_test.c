/* SPDX-License-Identifier: Apache-2.0
 * A program with many user kernels: a device computes every one of them, and none is taken for another.
 *     many_kernels_test DEVICES */
#include "runtime/hx_map.h"
#include "tests/check.h"

enum { KERNELS = 70, N = 5000 };

static float x[N], out[N];

int main(int argc, char **argv) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = argc > 1 ? argv[1] : NULL;
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  hx_kernel *kernels[KERNELS];
  for (int i = 0; i < KERNELS; i++) {
    char text[32];
    snprintf(text, sizeof text, "x * 2.0f + %d.0f", i);
    CHECK_OK(hx_compile(hx, &(hx_kernel_source){.text = text, .inputs = "float x"}, &kernels[i]));
  }
  for (int i = 0; i < N; i++) x[i] = (float)i;
  const void *const inputs[] = {x};
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < KERNELS; i++) {
      hx_report r;
      hx_task t = hx_map(kernels[i], inputs, N, NULL, out);
      t.gpu_share = 1;
      CHECK_OK(hx_offload(hx, &t, &r));
      CHECK(r.gpu_share == 1, "kernel %d: share %g", i, r.gpu_share);
      int wrong = 0;
      for (int j = 0; j < N; j++) wrong += out[j] != (float)(2 * j + i);
      CHECK(wrong == 0, "kernel %d: %d of %d elements differ", i, wrong, N);
    }
  for (int i = 0; i < KERNELS; i++) hx_kernel_free(kernels[i]);
  hx_close(hx);
  return checks_end("many_kernels_test");
}
