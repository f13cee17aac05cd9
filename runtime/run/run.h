/* SPDX-License-Identifier: Apache-2.0
 * Carrying a plan out. */
#ifndef HX_RUN_RUN_H
#define HX_RUN_RUN_H

#include "runtime/run/plan.h"
#include "runtime/run/team.h"
#include "runtime/sched/model.h"

/* Computes work as planned: the CPU's team from the front, the plan's devices from the back, what a device gives back
 * once more on the CPU; then joins. Fills *report's fields but seconds and joules (NULL: nobody asks).
 * HX_OUT_OF_MEMORY: no room for slots or scratch. HX_DEVICE_FAILED: a mandatory device gave something back. */
hx_status hx__run(hx__team *team, const hx__plan *plan, const hx__work *work, hx_report *report);

/* The keys under which runs are learned. seats: bits of the seats that took part, the CPU's included. */
hx__rate_key hx__call_key(const hx__work *work, unsigned threads, uint32_t seats);
hx__rate_key hx__device_key(const hx__device *device, const hx__work *work, bool beside_cpu);

#endif
