/* SPDX-License-Identifier: Apache-2.0
 * When a run ends if all participants end at the same time. */
#ifndef HX_SCHED_FINISH_H
#define HX_SCHED_FINISH_H

#include <stddef.h>

/* A participant's rate in slices per nanosecond, and when it can begin. One with an implausible rate or time is
 * ignored. */
typedef struct hx__participant {
  double rate, ready_ns;
} hx__participant;

/* T such that the sum of rate * (T - ready) over the participants with ready < T is `left`; INFINITY if there are none.
 */
double hx__finish_ns(double left, const hx__participant *participant, size_t count);

#endif
