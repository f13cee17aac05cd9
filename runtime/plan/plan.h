/* SPDX-License-Identifier: Apache-2.0
 * A plan: which devices take part in a call, and how its slices are handed out. Plain data, made by hx__plan_make and
 * carried out by run/. */
#ifndef HX_PLAN_PLAN_H
#define HX_PLAN_PLAN_H

#include "runtime/plan/snapshot.h"
#include "runtime/sched/policy.h"

typedef enum hx__decision_source {
  HX__DECIDED_NO_DEVICE, /* no device can do this task now */
  HX__DECIDED_SMALL,     /* the task is below hx__break_even_ns, or below HX_MIN_OFFLOAD */
  HX__DECIDED_SETTING,   /* HX_SCHEDULE or HX_MIN_OFFLOAD: all devices take part */
  HX__DECIDED_SHARE,     /* a numeric share, by the task or by a setting */
  HX__DECIDED_BY_COST    /* hx__decide */
} hx__decision_source;

typedef struct hx__plan_device {
  size_t entry;          /* its index in the device table */
  size_t ordinal;        /* its position among the selected devices, usable or not, as in HX_SPLIT's list */
  hx__chunk fixed;       /* numeric share: its slices; count 0 if there is a policy */
  double share;          /* policy static: its fraction of the run */
  double rate;           /* slices per nanosecond; 0: not known */
  bool idle;             /* it has been idle for some time */
  size_t trial;          /* first trial of a device: slices that it gets at most; 0: no limit */
  hx__estimate expected; /* in units, in the company of the others that take part */
  hx__rate_key key;      /* under which its chunks are measured */
} hx__plan_device;

typedef struct hx__plan {
  hx__decision_source source;
  unsigned threads;         /* of the CPU's part */
  bool cpu_works;           /* false: the CPU only does what devices give back */
  bool cpu_by_panels;       /* the CPU's part, if it has the task for itself: by panels of k (run/panels.c) */
  unsigned cpu_parts_of_k;  /* the same: parts of k, by parts of the slices (run/panel_grid.c); 1: by slices alone */
  bool mandatory;           /* it is an error if a device gives a chunk back */
  bool wait_for_device;     /* numeric share: waits for a device that another call uses */
  bool measure;             /* read the clock and learn */
  hx__chunk cpu_fixed;      /* numeric share: the CPU's slices */
  const hx__policy *policy; /* NULL: everything is fixed */
  hx__estimate cpu;         /* the CPU's part, in units, in the company of the devices that take part */
  double cpu_rate;          /* in slices per nanosecond; 0: not known */
  uint64_t call_number;     /* number of the decision among those about such tasks; 0: there was none */
  bool best;                /* the decision was exploitation, not exploration */
  double joules;            /* energy counter when the snapshot was taken; NaN: energy decides nothing */
  size_t chunk;             /* HX_CHUNK in slices */
  hx__rate_key cpu_key;     /* under which the CPU's part is measured, */
  hx__rate_key call_key;    /* and the whole call */
  size_t devices;
  hx__plan_device device[HX_MAX_DEVICES]; /* the first `devices` are set */
} hx__plan;

/* The plan for a snapshot, and the decision if plan->source is HX__DECIDED_BY_COST; otherwise only decision->choice is
 * set, for a task whose share is left to hx. A pure function: it reads nothing but *snapshot, and has no effect but on
 * *plan and *decision. */
void hx__plan_make(const hx__plan_snapshot *snapshot, hx__plan *plan, hx__decision *decision);

#endif
