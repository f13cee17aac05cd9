/* SPDX-License-Identifier: Apache-2.0
 * The slices of a run that no participant has taken. The CPU takes from the front, devices take from the back. Both
 * ends are in one atomic word, counted in units of `unit` slices so that each fits into 32 bits. */
#ifndef HX_SCHED_WORK_RANGE_H
#define HX_SCHED_WORK_RANGE_H

#include <stdatomic.h>

#include "runtime/task/task.h"

typedef struct hx__work_range {
  _Atomic uint64_t word; /* front in the high half, back in the low one, in units */
  size_t unit, first, slices;
} hx__work_range;

void hx__work_range_init(hx__work_range *range, hx__chunk all);

/* Takes `want` slices, rounded up to units of which the last may be short, or all that are left. count 0: none is left.
 */
hx__chunk hx__work_range_take_front(hx__work_range *range, size_t want);
hx__chunk hx__work_range_take_back(hx__work_range *range, size_t want);

/* Slices that no participant has taken, and slices taken from the front. */
size_t hx__work_range_left(const hx__work_range *range);
size_t hx__work_range_taken_front(const hx__work_range *range);

#endif
