/* SPDX-License-Identifier: Apache-2.0
 * The kernel's own figures: proc(5), and Documentation/scheduler/sched-stats of Linux. */
#define _GNU_SOURCE
#include "runtime/base/load.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

bool hx__core_is_idle(void) {
  unsigned running = 0;
  cpu_set_t mask;
  FILE *const f = fopen("/proc/loadavg", "re");
  const bool known = f && fscanf(f, "%*s %*s %*s %u/", &running) == 1;
  if (f) fclose(f);
  return known && sched_getaffinity(0, sizeof mask, &mask) == 0 && running <= (unsigned)CPU_COUNT(&mask);
}

uint64_t hx__thread_delay_ns(pid_t thread) {
  char path[64];
  uint64_t delay_ns = 0;
  snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", (long)thread);
  FILE *const f = fopen(path, "re");
  if (f && fscanf(f, "%*u %" SCNu64, &delay_ns) != 1) delay_ns = 0;
  if (f) fclose(f);
  return delay_ns;
}
