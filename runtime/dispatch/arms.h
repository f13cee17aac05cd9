/* SPDX-License-Identifier: Apache-2.0
 * Who should work when hx decides: the CPU alone, CPU and devices together, or the devices alone, whichever was
 * measured to end first at this size. */
#ifndef HX_DISPATCH_ARMS_H
#define HX_DISPATCH_ARMS_H

#include "runtime/run/plan.h"

typedef enum hx__arm { HX__ARM_CPU, HX__ARM_BOTH, HX__ARM_DEVICES, HX__ARMS } hx__arm;

/* The arm for this call. plan: threads, the CPU's rate, and the devices with their rates. */
hx__arm hx__arm_for(const hx__work *work, const hx__plan *plan);

#endif
