/* SPDX-License-Identifier: Apache-2.0
 * Monotonic time in nanoseconds. */
#ifndef HX_BASE_CLOCK_H
#define HX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hx__now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The calling thread's time on a core: a system call. */
static inline uint64_t hx__thread_cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The date in seconds, for data that outlives the process. */
static inline uint64_t hx__date_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME_COARSE, &t);
  return t.tv_sec > 0 ? (uint64_t)t.tv_sec : 0;
}

void hx__sleep_ns(uint64_t ns); /* at least ns; restarted after a signal */

#endif
