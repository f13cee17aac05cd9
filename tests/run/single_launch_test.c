/* SPDX-License-Identifier: Apache-2.0
 * A product that one device computes alone. If the device uses all cores of the machine, nothing can be stored while it
 * computes, and one launch is best.
 *     single_launch_test DEVICE        a CPU-type device; this process runs on one core  */
#define _GNU_SOURCE
#include <sched.h>

#include "tests/check.h"
#include "reference/data.h"

enum { SIDE = 700, CALLS = 12 };

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  cpu_set_t mask, one;
  CHECK(sched_getaffinity(0, sizeof mask, &mask) == 0, "no affinity");
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
    if (CPU_ISSET(i, &mask)) CPU_SET(i, &one);
  CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "no core");
  hx_settings s = HX_SETTINGS_DEFAULT;
  char devices[64];
  snprintf(devices, sizeof devices, "cpu,%s", argv[1]);
  s.devices = devices;
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  const size_t n = (size_t)SIDE * SIDE;
  float *const a = malloc(3 * n * sizeof *a), *const b = a + n, *const c = b + n;
  if (!a) return 1;
  data_fill(HX_F32, DATA_SMALL, 3, a, 2 * n);
  hx_task t = hx_matmul(SIDE, SIDE, SIDE, a, b, c);
  t.gpu_share = 1.0f;
  unsigned most = 0;
  for (int i = 0; i < CALLS; i++) {
    hx_report report;
    CHECK_OK(hx_offload(hx, &t, &report));
    CHECK(report.gpu_share == 1.0, "the device did %g of the work", report.gpu_share);
    if (report.chunks > most) most = report.chunks;
  }
  CHECK(most == 1, "%u launches", most);
  hx_close(hx);
  free(a);
  return checks_end("single_launch_test");
}
