/* SPDX-License-Identifier: Apache-2.0
 * Putting a report together; private to this folder. */
#ifndef HX_API_REPORT_H
#define HX_API_REPORT_H

#include "runtime/api/context.h"

/* Adds the report of a part of a call. weight: the units of the part divided by those of the call. */
void hx__report_add(hx_report *sum, const hx_report *part, double weight);

/* Sets what depends on the whole call, once all else is set. joules_before: of the energy counters when it began; NaN:
 * not read. */
void hx__report_finish(const hx_context *hx, hx_report *report, double joules_before);

#endif
