/* SPDX-License-Identifier: Apache-2.0
 * Carrying a plan out. */
#ifndef HX_RUN_RUN_H
#define HX_RUN_RUN_H

#include "runtime/plan/plan.h"
#include "runtime/run/device_table.h"
#include "runtime/sched/store.h"

/* Computes work as planned: the CPU's team from the front, the plan's devices from the back, what a device gives back
 * once more on the CPU; then joins. Fills *report's fields but seconds and joules (NULL: nobody asks).
 * HX_OUT_OF_MEMORY: no room for slots, before anything is written; never of a product. HX_DEVICE_FAILED: a mandatory
 * device gave something back. */
hx_status hx__run(hx__device_table *team, const hx__plan *plan, const hx__work *work, hx_report *report);

#endif
