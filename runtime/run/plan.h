/* SPDX-License-Identifier: Apache-2.0
 * A plan, as data: who takes part in a run and how the slices are handed out. Made by plan/, carried out by run/.
 */
#ifndef HX_RUN_PLAN_H
#define HX_RUN_PLAN_H

#include "runtime/sched/decide.h"
#include "runtime/sched/policy.h"
#include "runtime/task/task.h"

typedef struct hx__plan_device {
  size_t seat;           /* of the team */
  size_t ordinal;        /* among the devices that were selected, usable or not: its place in HX_SPLIT's list */
  hx__chunk fixed;       /* numeric share: its slices; count 0 with a policy */
  double share;          /* policy static: its part of the whole */
  double rate;           /* slices a nanosecond; 0: not known */
  bool idle;             /* it has slept */
  size_t trial;          /* slices that it may have at most, for nothing is known of it yet; 0: any */
  hx__estimate expected; /* in units; of what it does in this company */
} hx__plan_device;

typedef struct hx__plan {
  unsigned threads;         /* of the CPU's part */
  unsigned workers;         /* how many fewer they are beside devices */
  bool cpu_works;           /* false: the CPU only does what devices give back */
  bool mandatory;           /* what a device gives back is an error */
  bool wait_for_lane;       /* a numeric share: a stream that another call uses is waited for */
  bool measure;             /* read the clock and learn */
  hx__chunk cpu_fixed;      /* numeric share: the CPU's slices */
  const hx__policy *policy; /* NULL: everything is fixed */
  hx__estimate cpu;         /* the CPU's part, in units, in this company */
  double cpu_rate;          /* of it, in slices a nanosecond; 0: not known */
  uint64_t turn;            /* number of the decision; 0: there was none */
  bool best;                /* it took this for the best choice */
  double promise_ns;        /* of the call, by its parts; 0 where that was not asked */
  bool informed;            /* what is expected of those who take part was measured */
  double joules;            /* of base/energy.h when it was made; NaN: what is drawn decides nothing */
  size_t chunk;             /* HX_CHUNK in slices */
  size_t devices;
  hx__plan_device device[HX_MAX_DEVICES]; /* devices of them are set */
} hx__plan;

#endif
