/* SPDX-License-Identifier: Apache-2.0
 * Logs and traces a plan. Private to this folder. */
#ifndef HX_API_ANNOUNCE_H
#define HX_API_ANNOUNCE_H

#include "runtime/plan/plan.h"
#include "runtime/run/device_table.h"

void hx__announce_plan(const hx__device_table *table, const hx__plan_snapshot *snapshot, const hx__plan *plan,
                       const hx__decision *decision);

#endif
