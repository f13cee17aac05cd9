/* SPDX-License-Identifier: Apache-2.0
 * Sleeps until a point in time, so that signals do not prolong the sleep. */
#define _GNU_SOURCE
#include "runtime/base/clock.h"

#include <errno.h>

#define SECOND_NS 1000000000u

void hx__sleep_ns(uint64_t ns) {
  const uint64_t now = hx__now_ns(), end = ns > UINT64_MAX - now ? UINT64_MAX : now + ns;
  const struct timespec t = {.tv_sec = (time_t)(end / SECOND_NS), .tv_nsec = (long)(end % SECOND_NS)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) continue;
}
