/* SPDX-License-Identifier: Apache-2.0
 * Slices of which each thread of the CPU has a part of its own, in the order of the threads, as with OpenMP's static
 * schedule. A thread takes from the front of its part, so that a task that is repeated finds its arrays in the caches
 * of the same cores, and pages that a program's own loops have touched first are near. A thread whose part is used up
 * takes from the back of others, so that one that is slow, late or without a core does not delay the others. */
#ifndef HX_SCHED_THREAD_PARTS_H
#define HX_SCHED_THREAD_PARTS_H

#include <stdatomic.h>

#include "runtime/task/task.h"

#define HX__MOST_PARTS 64u /* of more threads several share a part */

/* The slices that are taken at a time: what is left of a part, divided by `divisor`, but at least `least` and at most
 * `most`. */
typedef struct hx__take_size {
  size_t divisor, least, most;
} hx__take_size;

typedef struct hx__thread_parts {
  hx__chunk all;
  hx__take_size size;
  size_t unit, parts;                    /* slices of a unit; the last unit may be short */
  _Atomic uint64_t left[HX__MOST_PARTS]; /* of each part, in units (sched/ends.h); close together because a thread that
                                            has nothing left reads them all */
} hx__thread_parts;

void hx__thread_parts_init(hx__thread_parts *parts, hx__chunk all, unsigned threads, hx__take_size size);

/* The next slices for a thread; threads whose numbers are equal modulo the number of parts share a part. count 0: no
 * part has any left. */
hx__chunk hx__thread_parts_take(hx__thread_parts *parts, unsigned thread);

#endif
