/* SPDX-License-Identifier: Apache-2.0
 * Bringing results back that only a device has (HX_RESIDENT). */
#ifndef HX_RUN_FETCH_H
#define HX_RUN_FETCH_H

#include "runtime/run/device_table.h"

/* What the task needs on the host, but for what the device `alone` (NULL: none) has and does without others, keeping C
 * there where `keep` says so. *copied grows by the bytes. HX_DEVICE_FAILED: one was lost; the detail names its range.
 */
hx_status hx__fetch_for(hx__device_table *team, const hx__work *work, const hx__device *alone, bool keep,
                        uint64_t *copied);

/* What is in [p, p+bytes). */
hx_status hx__fetch_in(hx__device_table *team, const void *p, size_t bytes);

#endif
