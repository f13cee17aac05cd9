/* SPDX-License-Identifier: Apache-2.0
 * From a task and the devices there are to a plan: pure, but for reading the model. */
#ifndef HX_PLAN_PLANNER_H
#define HX_PLAN_PLANNER_H

#include "runtime/plan/cost_inputs.h"

#define HX__SHARE_AUTO (-1.0)

/* The share of all devices: HX_OFFLOAD, then HX_DEVICES, then the task's gpu_share, then HX_SPLIT; or HX__SHARE_AUTO.
 */
double hx__share_of(const hx__config *config, const hx__work *work);

/* Threads for the CPU's part of a task, at most `most`: a thread must have enough to do, by what the team of the
 * calling thread has done lately. Asked once a call. */
unsigned hx__threads_for(const hx__work *work, unsigned most);

/* Whether the device of a seat can do the task now; soon: whether it may once its kernels are built. */
bool hx__device_entry_is_usable(const hx__device_table *team, const hx__device_entry *seat, const hx__work *work);
bool hx__device_entry_may_become_usable(const hx__device_table *team, const hx__device_entry *seat,
                                        const hx__work *work);

/* The first half of a plan where the share is left to hx: the devices there are, what is expected, what to choose, and
 * what settled it. */
hx__decision_source hx__plan_consider(const hx__device_table *team, const hx__work *work, unsigned threads,
                                      hx__plan *plan, hx__cost_inputs *prospect, hx__decision *decision);

void hx__plan_make(const hx__device_table *team, const hx__work *work, double share, unsigned threads, hx__plan *plan);

#endif
