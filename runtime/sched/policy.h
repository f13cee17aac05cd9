/* SPDX-License-Identifier: Apache-2.0
 * Policies: how many slices a device takes next. Each policy is a pure function of a view, with a file of its own and a
 * row in the table. To add one: a file policy_<name>.c with its function, a row in policy.c, and a word in the table of
 * HX_SCHEDULE. */
#ifndef HX_SCHED_POLICY_H
#define HX_SCHED_POLICY_H

#include "runtime/base/config.h"
#include "runtime/sched/finish.h"

/* The state of a run when a device is to take a chunk. Rates are in slices per nanosecond, 0 if not known. */
typedef struct hx__view {
  size_t total, left; /* slices of the run, and those that no participant has taken */
  size_t grain, most; /* its chunks are multiples of grain and at most `most` */
  size_t chunk;       /* HX_CHUNK in slices; 0: derived */
  size_t taken;       /* by this device in this run */
  size_t trial;       /* the most slices in this run, because its rate is not known; 0: any number */
  double share;       /* static: this device's share of the run */
  double rate, sigma; /* of this device: its rate, and the standard deviation of its logarithm */
  double in_flight;   /* slices that it has taken and not finished */
  double ready_ns;    /* from now until its next chunk, if launched now, would begin to compute */
  double launch_ns;   /* the cost of one more launch, which is less if it is queued behind another */
  double store_ns;    /* to store the results of a slice while the device computes; 0: not known, or it cannot */
  bool by_link;       /* results cross a link while the device computes other chunks */
  double shared_ns;   /* until the operand that every chunk needs has crossed the link */
  unsigned devices;   /* in the run */
  unsigned launches;  /* of this device in this run so far */
  unsigned others;    /* participants besides this device */
  hx__participant other[HX_MAX_DEVICES + 1]; /* the CPU, and devices with the time when they can launch again */
} hx__view;

typedef struct hx__policy {
  const char *name;
  size_t (*next)(const hx__view *view); /* slices to take now; 0: this device is done with the run */
} hx__policy;

const hx__policy *hx__policy_of(hx__schedule schedule);

size_t hx__policy_static(const hx__view *view);
size_t hx__policy_dynamic(const hx__view *view);
size_t hx__policy_guided(const hx__view *view);
size_t hx__policy_adaptive(const hx__view *view);

/* For a device that computes all that is left: the largest chunk that is allowed, and shorter ones at the end, or from
 * the beginning if results cross a link. */
size_t hx__policy_alone(const hx__view *view);

/* n rounded up to the device's grain, and at most view->most and what is left. */
size_t hx__policy_fit(const hx__view *view, double slices);

/* No chunk is expected to take longer: drivers kill long launches, and desktops freeze during them. */
#define HX__LONGEST_NS 100e6

/* The state of a run when a thread of the CPU is to take a chunk beside devices. */
typedef struct hx__cpu_chunk_view {
  size_t left, grain, least, most;
  size_t worth; /* fewer slices are computed at a lower rate */
  unsigned threads;
  double rate; /* of all threads together */
  unsigned others;
  hx__participant other[HX_MAX_DEVICES]; /* the devices */
} hx__cpu_chunk_view;

size_t hx__cpu_chunk_size(const hx__cpu_chunk_view *view);

#endif
