/* SPDX-License-Identifier: Apache-2.0
 * Taking the snapshot that a plan is made of: all that planning needs of the clock, the model, the devices, memory and
 * the counters of energy is asked for here, once a call. Private to this folder. */
#ifndef HX_API_GATHER_H
#define HX_API_GATHER_H

#include "runtime/api/context.h"
#include "runtime/plan/snapshot.h"

/* Threads for the CPU's part of a task. Asked once a call, for the thread pool counts the calls that could use it. */
unsigned hx__gather_threads(const hx_context *hx, const hx__work *work);

/* Of the CPU alone, before devices are brought up for the call. measured: its rate by the model, which may have to be
 * read from disk first. Otherwise, for a call that no device can take part in, nothing but a guess. */
void hx__gather_cpu(const hx_context *hx, const hx__work *work, double share, unsigned threads, bool measured,
                    hx__plan_snapshot *snapshot);

/* Of the devices that can do the task now, unless snapshot->share is 0. */
void hx__gather_devices(hx_context *hx, hx__plan_snapshot *snapshot);

#endif
