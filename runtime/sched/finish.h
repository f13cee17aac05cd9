/* SPDX-License-Identifier: Apache-2.0
 * When work ends that is shared so that all who take part end together. */
#ifndef HX_SCHED_FINISH_H
#define HX_SCHED_FINISH_H

#include <stddef.h>

/* Who takes part: slices a nanosecond, and when it may begin. A rate or time that makes no sense: takes no part. */
typedef struct hx__participant {
  double rate, ready_ns;
} hx__participant;

/* T such that sum of rate * (T - ready) over those with ready < T is `left`; INFINITY where nobody takes part. */
double hx__finish_ns(double left, const hx__participant *party, size_t count);

#endif
