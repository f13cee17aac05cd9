/* SPDX-License-Identifier: Apache-2.0
 * Carrying out a plan. */
#ifndef HX_RUN_RUN_H
#define HX_RUN_RUN_H

#include "runtime/plan/plan.h"
#include "runtime/run/device_table.h"
#include "runtime/sched/store.h"

/* Computes work as planned: the thread pool takes slices from the front, the plan's devices take them from the back,
 * and the CPU computes again what a device gives back. Then the slots are joined. Fills in all fields of *report but
 * seconds and joules; report may be NULL. HX_OUT_OF_MEMORY: no memory for the slots of a reduction,
 * and then nothing has been written; or no memory, or no thread, to fetch a device-only result. HX_DEVICE_FAILED: a
 * device gave chunks back and HX_OFFLOAD is mandatory, or a device-only result cannot be fetched from its device. */
hx_status hx__run(hx__device_table *table, const hx__plan *plan, const hx__work *work, hx_report *report);

#endif
