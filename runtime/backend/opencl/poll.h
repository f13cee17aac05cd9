/* SPDX-License-Identifier: Apache-2.0
 * When to look at an event that will complete. Pure: it has no clock of its own.
 *
 * A sleep ends too late by up to 20 us, so the last moments before the expected end are spent looking again and again.
 * That takes a core, so it is limited: to 50 us, or to a twentieth of the time waited so far if that is more. */
#ifndef HX_BACKEND_OPENCL_POLL_H
#define HX_BACKEND_OPENCL_POLL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hx__cl_poll {
  uint64_t from_ns, expected_ns; /* when the wait began, and when the event is expected to complete; 0: unknown */
  uint64_t looked_ns, spun_ns;   /* when it was last looked at, and how long was spent looking without a sleep */
  bool may_spin, spins;
} hx__cl_poll;

/* may_spin: false if the device computes on the cores of the host. */
hx__cl_poll hx__cl_poll_begin(uint64_t now_ns, uint64_t expected_ns, bool may_spin);

/* After a look at now_ns that found the event incomplete: how long to sleep until the next one; 0: look again at once.
 */
uint64_t hx__cl_poll_next(hx__cl_poll *poll, uint64_t now_ns);

#endif
