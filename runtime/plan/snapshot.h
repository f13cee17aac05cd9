/* SPDX-License-Identifier: Apache-2.0
 * The snapshot that a plan is made from: the facts about one call, its devices, and earlier measurements of them.
 * api/gather.c takes the snapshot, and it does not change while the plan is made. Plain data. */
#ifndef HX_PLAN_SNAPSHOT_H
#define HX_PLAN_SNAPSHOT_H

#include "runtime/base/config.h"
#include "runtime/sched/decide.h"
#include "runtime/task/task.h"

#define HX__SHARE_AUTO (-1.0) /* the devices' share is left to hx */

/* The expected time of the CPU alone, and whether the call is to be measured. */
typedef struct hx__cpu_time {
  double ns;
  bool measure;
} hx__cpu_time;

/* A device that can do the task now. */
typedef struct hx__device_facts {
  size_t entry;      /* its index in the device table */
  size_t ordinal;    /* its position among the selected devices, usable or not, as in HX_SPLIT's list */
  uint64_t identity; /* hx__identity */
  double seed_rate;  /* units per nanosecond of the slowest kernel that the task needs, from the self-test; 0: not
                      * known */
  double launch_ns;  /* of an almost empty launch; 0: not known */
  double link_ns;    /* per byte from pinned host memory; 0: it reads host memory in place, or not known */
  bool unmetered;    /* the processor's counters do not include its power */
  bool idle;         /* it has been idle for some time */
} hx__device_facts;

/* How energy counts in a decision. */
typedef enum hx__energy_use {
  HX__ENERGY_UNUSED,    /* HX_OBJECTIVE is time, or there are no counters, which hx_open has reported */
  HX__ENERGY_USED,      /* HX_OBJECTIVE decides */
  HX__ENERGY_UNMETERED, /* time decides: the counters do not include the power of one of the devices */
  HX__ENERGY_UNREADABLE /* time decides: the counters cannot be read any more, or do not move */
} hx__energy_use;

typedef struct hx__plan_snapshot {
  const hx__config *config;
  const hx__work *work;
  double share;          /* of all devices, from 0 to 1, or HX__SHARE_AUTO */
  unsigned threads;      /* for the CPU's part */
  unsigned copy_threads; /* how many fewer they are beside devices */
  bool learns;           /* devices may take part in calls of this context, so that calls are worth measuring */
  uint64_t date_s;       /* hx__date_s */
  hx__rate_key key;      /* hx__task_key */
  double break_even_ns;  /* hx__break_even_ns of the usable devices */
  hx__cpu_time cpu;
  hx__energy_use energy;
  double joules;          /* of the counters; NaN unless energy is HX__ENERGY_USED */
  size_t usable;          /* devices that can do the task now: the first of device[] are set */
  hx__cost_inputs inputs; /* of inputs.devices of them: all, or none if the task is below the break-even */
  hx__device_facts device[HX_MAX_DEVICES]; /* in the order of inputs.device: the fastest first */
} hx__plan_snapshot;

#endif
