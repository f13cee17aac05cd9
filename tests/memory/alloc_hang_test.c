/* SPDX-License-Identifier: Apache-2.0
 * A driver whose allocation never returns, under fault_layer: hx_alloc returns memory all the same, and waits for
 * the driver at most HX_TIMEOUT_MS if that is a number, and two seconds otherwise.
 *     alloc_hang_test DEVICES MEMORY ENTRY CASE */
#include "tests/check.h"

static const struct {
  const char *timeout_ms;
  double least_s, most_s; /* wide, because the machine may be busy: they tell a hang and the limits apart */
} kCases[] = {{"300", 0.25, 1.8}, {NULL, 1.9, 60}};

static void allocate(hx_context *hx, double least_s, double most_s, const char *which) {
  const double from = seconds_now();
  char *const p = hx_alloc(hx, 1 << 16);
  const double s = seconds_now() - from;
  printf("  %s: hx_alloc in %.3f s\n", which, s);
  CHECK(p, "%s", hx_error_detail());
  CHECK(s >= least_s && s <= most_s, "%s: %.3f s", which, s);
  if (p) p[0] = p[(1 << 16) - 1] = 1;
  hx_free(hx, p);
}

int main(int argc, char **argv) {
  char devices[64], armed[512];
  if (argc < 5) return 2;
  const int which = atoi(argv[4]); /* one case per process, because hx waits only once for a call that hangs */
  const char *const folder = getenv("TEST_TMPDIR");
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  snprintf(armed, sizeof armed, "%s/armed", folder ? folder : "/tmp");
  remove(armed);
  setenv("FAULT_ARM", armed, 1);
  setenv("FAULT_KIND", "hang", 1);
  setenv("FAULT_FN", argv[3], 1);
  setenv("FAULT_NTH", "0", 1);
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = devices;
  s.memory = argv[2];
  s.timeout_ms = kCases[which].timeout_ms;
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  static float x[8192];
  hx_value sum;
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, sizeof x / sizeof x[0], &sum);
  t.gpu_share = 1; /* the call waits for the device */
  CHECK_OK(hx_offload(hx, &t, NULL));
  FILE *const file = fopen(armed, "w");
  if (!file) return 2;
  fclose(file);
  allocate(hx, kCases[which].least_s, kCases[which].most_s, "the call that finds it out");
  allocate(hx, 0, kCases[which].least_s + 1, "the next one");
  hx_close(hx);
  remove(armed);
  return checks_end("alloc_hang_test");
}
