/* SPDX-License-Identifier: Apache-2.0
 * What is expected of everyone who could work on a task: the model's answers as the decision wants them. */
#ifndef HX_PLAN_COST_INPUTS_H
#define HX_PLAN_COST_INPUTS_H

#include "runtime/run/plan.h"
#include "runtime/run/device_table.h"

typedef enum hx__decision_source {
  HX__DECIDED_NO_DEVICE, /* none can do this task now */
  HX__DECIDED_SMALL,     /* the CPU is done before a device is worth asking, or HX_MIN_OFFLOAD says so */
  HX__DECIDED_SETTING,   /* HX_SCHEDULE or HX_MIN_OFFLOAD: all devices */
  HX__DECIDED_SHARE,     /* a numeric share: nothing is weighed */
  HX__DECIDED_BY_COST    /* the decision */
} hx__decision_source;

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
void hx__cost_inputs_of_cpu(const hx__device_table *team, const hx__work *work, unsigned threads,
                            hx__cost_inputs *prospect);
/* then for the plan's devices, which it sorts, the fastest first. */
void hx__cost_inputs_of_devices(const hx__device_table *team, const hx__work *work, hx__plan *plan,
                                hx__cost_inputs *prospect);

/* Makes a choice the plan's: who takes part, and what is expected of them in that company. Devices keep the order of
 * their seats. */
void hx__plan_apply_choice(const hx__work *work, const hx__cost_inputs *prospect, hx__choice choice, hx__plan *plan);

#endif
