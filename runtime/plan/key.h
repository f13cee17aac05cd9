/* SPDX-License-Identifier: Apache-2.0
 * The keys under which the model stores the measurements of a call. All keys of a call share the part of the task,
 * which is made once. A participant's key adds its identity, its company and the number of CPU threads. */
#ifndef HX_PLAN_KEY_H
#define HX_PLAN_KEY_H

#include "runtime/base/power.h"
#include "runtime/sched/model.h"
#include "runtime/task/task.h"

#define HX__CPU_IDENTITY 2u /* the CPU; a device's identity is in its entry of the device table */

/* The part that all keys of a call share: kernels, shape, size class, placement of the operands, power source. */
hx__rate_key hx__task_key(const hx__work *work, hx__power power);

/* The key of `device` while all of `company` work: the sum of their identities, the device's own included. device 0 is
 * the whole call. threads: the CPU's; 0 if it does not take part. */
hx__rate_key hx__key_in_company(const hx__rate_key *task, uint64_t device, uint64_t company, unsigned threads);

/* The same key for operands that reach the device in another way (hx__work.placement). */
hx__rate_key hx__key_with_placement(const hx__rate_key *key, uint32_t placement);

#endif
