/* SPDX-License-Identifier: Apache-2.0
 * Fetching device-only results (HX_RESIDENT) to the host. */
#ifndef HX_RUN_FETCH_H
#define HX_RUN_FETCH_H

#include "runtime/run/device_table.h"

/* Fetches the device-only results that the task needs on the host. If the device `alone` (NULL: none) does the whole
 * task, the results that it has are not fetched; C is then left there only with `keep`. Adds the bytes to *copied.
 * HX_DEVICE_FAILED: a device that has a result is lost or does not answer; the detail names the range. */
hx_status hx__fetch_for(hx__device_table *table, const hx__work *work, const hx__device *alone, bool keep,
                        uint64_t *copied);

/* The same for all results in [p, p+bytes). */
hx_status hx__fetch_in(hx__device_table *table, const void *p, size_t bytes);

#endif
