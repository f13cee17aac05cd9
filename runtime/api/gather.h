/* SPDX-License-Identifier: Apache-2.0
 * Taking the snapshot that a plan is made from. Once in a call, this reads all that planning needs from the clock, the
 * model, the devices, memory and the energy counters. Private to this folder. */
#ifndef HX_API_GATHER_H
#define HX_API_GATHER_H

#include "runtime/api/context.h"
#include "runtime/plan/snapshot.h"

/* Threads for the CPU's part of a task. Called once in a call, because the thread pool counts the calls that could use
 * it. */
unsigned hx__gather_threads(const hx_context *hx, const hx__work *work);

/* Fills in the CPU's part, before devices are prepared for the call. With `measured`, the CPU's rate comes from the
 * model, which may have to be read from disk first; otherwise, for a call in which no device can take part, it is a
 * guess. */
void hx__gather_cpu(const hx_context *hx, const hx__work *work, double share, unsigned threads, bool measured,
                    hx__plan_snapshot *snapshot);

/* Fills in the devices that can do the task now, unless snapshot->share is 0. */
void hx__gather_devices(hx_context *hx, hx__plan_snapshot *snapshot);

#endif
