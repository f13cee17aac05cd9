/* SPDX-License-Identifier: Apache-2.0
 * Reads the kernel's own figures: proc(5), and Documentation/scheduler/sched-stats of Linux. */
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

/* Nanoseconds for which the thread had a core, and for which it was ready but had none. */
static bool read_schedstat(pid_t thread, uint64_t *ran_ns, uint64_t *delay_ns) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", (long)thread);
  FILE *const f = fopen(path, "re");
  const bool known = f && fscanf(f, "%" SCNu64 " %" SCNu64, ran_ns, delay_ns) == 2;
  if (f) fclose(f);
  return known;
}

uint64_t hx__thread_delay_ns(pid_t thread) {
  uint64_t ran_ns, delay_ns;
  return read_schedstat(thread, &ran_ns, &delay_ns) ? delay_ns : 0;
}

uint64_t hx__thread_worked_ns(pid_t thread) {
  uint64_t ran_ns, delay_ns;
  return read_schedstat(thread, &ran_ns, &delay_ns) ? ran_ns + delay_ns : 0;
}
