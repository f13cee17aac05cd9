/* SPDX-License-Identifier: Apache-2.0
 * A plugin that is linked with the archive: it opens a context, works, fails once, and closes it. Nothing keeps hx
 * loaded but hx itself. */
#include "runtime/hx.h"

enum { N = 1 << 20 };

__attribute__((visibility("default"))) int plugin_go(const char *devices, float share);
int plugin_go(const char *devices, float share) {
  static float x[N];
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  hx_context *hx;
  hx_value value = {.u64 = 0};
  if (hx_open(&hx, &s) != HX_OK) return 1;
  for (int i = 0; i < N; i++) x[i] = 1.0f;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &value);
  t.gpu_share = share;
  const int fine = hx_offload(hx, &t, NULL) == HX_OK && value.f32 == (float)N;
  t.reserved[0] = 1;
  const int refused = hx_offload(hx, &t, NULL) == HX_INVALID_ARGUMENT && hx_error_detail()[0];
  hx_close(hx);
  return fine && refused ? 0 : 2;
}
