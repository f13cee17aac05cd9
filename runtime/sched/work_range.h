/* SPDX-License-Identifier: Apache-2.0
 * The slices of a run that nobody has taken: the CPU takes from the front, devices from the back. One word, so that
 * there is one boundary and no hole. Units of `unit` slices keep both ends in 32 bits at any size. */
#ifndef HX_SCHED_ENDS_H
#define HX_SCHED_ENDS_H

#include <stdatomic.h>

#include "runtime/task/task.h"

typedef struct hx__work_range {
  _Atomic uint64_t word; /* front in the high half, back in the low one, in units */
  size_t unit, first, slices;
} hx__work_range;

void hx__work_range_init(hx__work_range *ends, hx__chunk all);

/* Takes at least `want` slices where so many are left (rounded up to whole units, of which the last of all
 * may be short); count 0: nothing is left. */
hx__chunk hx__work_range_take_front(hx__work_range *ends, size_t want);
hx__chunk hx__work_range_take_back(hx__work_range *ends, size_t want);

/* Slices that nobody has taken, and those taken from the front. */
size_t hx__work_range_left(const hx__work_range *ends);
size_t hx__work_range_taken_front(const hx__work_range *ends);

#endif
