/* SPDX-License-Identifier: Apache-2.0
 * The devices' share by settings and by the task, and the slices that a numeric share gives to each participant. */
#ifndef HX_PLAN_SHARE_H
#define HX_PLAN_SHARE_H

#include "runtime/plan/plan.h"

/* The share of all devices: HX_OFFLOAD, then HX_DEVICES, then the task's gpu_share, then HX_SPLIT; or HX__SHARE_AUTO.
 */
double hx__share_of(const hx__config *config, const hx__work *work);

/* A numeric share: the CPU's slices first, then those of each of the plan's devices. Devices without a slice leave the
 * plan. */
void hx__cut_by_share(const hx__plan_snapshot *snapshot, hx__plan *plan);

/* HX_SCHEDULE=static without a number: parts by measured rates, or equal ones if a rate is not known. */
void hx__share_by_rates(hx__plan *plan);

#endif
