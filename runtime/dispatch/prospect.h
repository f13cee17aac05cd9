/* SPDX-License-Identifier: Apache-2.0
 * What is expected of everyone who could work on a task: the model's answers as the decision wants them. */
#ifndef HX_DISPATCH_PROSPECT_H
#define HX_DISPATCH_PROSPECT_H

#include "runtime/run/plan.h"
#include "runtime/run/team.h"

typedef enum hx__ruling {
  HX__RULING_NO_DEVICE, /* none can do this task now */
  HX__RULING_SMALL,     /* the CPU is done before a device is worth asking, or HX_MIN_OFFLOAD says so */
  HX__RULING_SET,       /* HX_SCHEDULE or HX_MIN_OFFLOAD: all devices */
  HX__RULING_SHARE,     /* a numeric share: nothing is weighed */
  HX__RULING_EXPECTED   /* the decision */
} hx__ruling;

/* What the CPU alone is expected to take, by measured rates where there are any, and whether to measure it. */
typedef struct hx__cpu_time {
  double ns;
  bool measure;
} hx__cpu_time;

hx__cpu_time hx__predict_cpu(const hx__work *work, unsigned threads);
/* Likewise, where the model was asked before. */
hx__cpu_time hx__cpu_time_of(const hx__work *work, unsigned threads, const hx__estimate *cpu_alone);

/* Fills *prospect for the CPU alone (a context that has seated no devices does without the model, which may have to be
 * read from disk), */
void hx__prospect_cpu(const hx__team *team, const hx__work *work, unsigned threads, hx__prospect *prospect);
/* then for the plan's devices, which it sorts, the fastest first. */
void hx__prospect_devices(const hx__team *team, const hx__work *work, hx__plan *plan, hx__prospect *prospect);

/* Makes a choice the plan's: who takes part, and what is expected of them in that company. Devices keep the order of
 * their seats. */
void hx__prospect_take(const hx__work *work, const hx__prospect *prospect, hx__choice choice, hx__plan *plan);

#endif
