/* SPDX-License-Identifier: Apache-2.0
 * A call whose device works for 10 ms costs the calling thread a twentieth of a core at most: it spins at first and
 * near the expected end, and sleeps in between. Time of the thread, not of the clock, so load does not matter. */
#define _GNU_SOURCE
#include <time.h>

#include "tests/check.h"
#include "reference/data.h"

enum { N = 1 << 20, CALLS = 20, UNTIMED = 3 };

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void) {
  hx_settings s = HX_SETTINGS_DEFAULT;
  s.devices = "cpu,sim";
  s.sim = "rate=1e9,latency_us=10000";
  s.cache_dir = "off";
  hx_context *const hx = open_or_exit(&s);
  uint32_t *const x = malloc(N * sizeof *x);
  hx_value sum;
  if (!x) return 1;
  data_fill(HX_U32, DATA_SMALL, 3, x, N);
  hx_task task = hx_reduce(HX_SUM, HX_U32, x, N, &sum);
  task.gpu_share = 1.0f;
  double spent = 0.0, passed = 0.0;
  for (int i = 0; i < CALLS; i++) {
    const double thread = seconds_of(CLOCK_THREAD_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
    hx_report report;
    CHECK_OK(hx_offload(hx, &task, &report));
    CHECK(report.gpu_share == 1.0, "the device did %g of the work", report.gpu_share);
    if (i < UNTIMED) continue;
    spent += seconds_of(CLOCK_THREAD_CPUTIME_ID) - thread;
    passed += seconds_of(CLOCK_MONOTONIC) - wall;
  }
  printf("wait_cost_test: %.2f ms per call, of which the calling thread had a core for %.3f ms\n",
         passed * 1e3 / (CALLS - UNTIMED), spent * 1e3 / (CALLS - UNTIMED));
  CHECK(passed >= (CALLS - UNTIMED) * 0.01, "the device was not simulated: %.1f ms in all", passed * 1e3);
  CHECK(spent <= 0.05 * passed, "%.1f %% of a core", 100.0 * spent / passed);
  hx_close(hx);
  free(x);
  return checks_end("wait_cost_test");
}
