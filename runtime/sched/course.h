/* SPDX-License-Identifier: Apache-2.0
 * How one participant has fared in a run so far: what the model said at first, corrected by what was seen since. */
#ifndef HX_SCHED_COURSE_H
#define HX_SCHED_COURSE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/sched/model.h"

typedef struct hx__course {
  double rate;       /* slices a nanosecond; 0: not known */
  double sigma;      /* of its logarithm */
  double latency_ns; /* of the next launch */
  double idle_ns;    /* that of the first one, over the others */
  unsigned launches;
} hx__course;

/* e: what the model expects; slices_per_unit of this task; idle: the device has slept. */
void hx__course_begin(hx__course *c, const hx__estimate *e, double slices_per_unit, bool idle);

/* Nanoseconds of the next chunk. */
double hx__course_ns(const hx__course *c, double slices);

/* A chunk of `slices` took ns. */
void hx__course_done(hx__course *c, double slices, double ns);

/* Whether the time of `units` is so far from what was expected that the call says nothing of how its parts go together.
 */
bool hx__surprising(const hx__estimate *expected, double units, bool idle, double ns);

/* The CPU's rate after elapsed_ns, in which it finished `done` slices: the longer it works, the less the model counts.
 */
double hx__course_cpu_rate(const hx__course *c, double done, double elapsed_ns);

#endif
