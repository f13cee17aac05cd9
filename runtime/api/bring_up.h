/* SPDX-License-Identifier: Apache-2.0
 * Finding the devices of a context, and preparing them for tasks; private to this folder. */
#ifndef HX_API_BRING_UP_H
#define HX_API_BRING_UP_H

#include "runtime/api/context.h"
#include "runtime/plan/snapshot.h"

/* How long a call waits for one driver call that hangs while devices are found or prepared. */
uint64_t hx__hang_limit_ns(const hx_context *hx);
#define HX__LONG_HANG_NS 60000000000u /* the same for hx_ready and other calls whose purpose is to wait */

/* Fills the device table once the discovery has ended. Waits for that until deadline_ns, as hx__registry_wait does;
 * false if it has not ended by then, and in a forked child whose parent had not filled its table. */
bool hx__context_add_devices(hx_context *hx, uint64_t deadline_ns, uint64_t hang_ns);

/* Pins registered memory for the devices that are found and gain by it; in_background: on a thread of its own. */
void hx__context_pin_memory(hx_context *hx, bool in_background);

typedef enum hx__usability {
  HX__NEVER_USABLE, /* not selected, the CPU, lost, or without a kernel that the task needs */
  HX__USABLE_LATER, /* once the kernels are built, or a driver call that hangs has returned */
  HX__USABLE_NOW
} hx__usability;

/* Whether a device can do the task. *needs: the kernels that it must have for it (hx__device_needs). */
hx__usability hx__usability_of(const hx_context *hx, const hx__device_entry *entry, const hx__work *work,
                               uint64_t *needs);

/* Whether devices may do the task later that cannot now. */
bool hx__devices_are_pending(const hx_context *hx, const hx__work *work);

/* Whether a device can do the task, now or later. Also true while it is not known which devices there are. */
bool hx__devices_may_do(const hx_context *hx, const hx__work *work);

/* hx__break_even_ns for the devices that are open; HX__BREAK_EVEN_NS while none is. */
double hx__break_even_of(const hx_context *hx);

/* Finds and prepares devices for a task. Only a call with a numeric share waits until they are ready. cpu_ns: the time
 * of the CPU alone. Returns whether the discovery is to be started after the call, which is too short to start it now.
 */
bool hx__bring_up_devices(hx_context *hx, const hx__work *work, double share, double cpu_ns);

#endif
