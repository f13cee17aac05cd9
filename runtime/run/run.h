/* SPDX-License-Identifier: Apache-2.0
 * Carrying a plan out. */
#ifndef HX_RUN_RUN_H
#define HX_RUN_RUN_H

#include "runtime/run/plan.h"
#include "runtime/run/device_table.h"
#include "runtime/sched/store.h"

/* Computes work as planned: the CPU's team from the front, the plan's devices from the back, what a device gives back
 * once more on the CPU; then joins. Fills *report's fields but seconds and joules (NULL: nobody asks).
 * HX_OUT_OF_MEMORY: no room for slots, before anything is written; never of a product. HX_DEVICE_FAILED: a mandatory
 * device gave something back. */
hx_status hx__run(hx__device_table *team, const hx__plan *plan, const hx__work *work, hx_report *report);

/* Whether a team of so many threads does a product by panels of all of C, if it has it for itself: beside devices it
 * would have to cut C, of which there is little. */
bool hx__cpu_by_panels(const hx__work *work, unsigned threads);

#define HX__CPU_IDENTITY 2u  /* of the CPU; that of a seat's device stands in the seat */
#define HX__CALL_IDENTITY 4u /* of all that share a call: how long it takes by its units */

/* The key under which something is learned of work on `device` (0: the whole call) while `who` work: the sum of their
 * identities. threads: the CPU's; 0 where it does not work. */
hx__rate_key hx__key_of(const hx__work *work, uint64_t device, uint64_t who, unsigned threads);

#endif
