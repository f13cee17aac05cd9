/* SPDX-License-Identifier: Apache-2.0
 * Policies: how many slices a device takes next. Each is a pure function of a view, one a file, and a row of the table.
 *
 * To add one: a file policy_<name>.c with its function, a row in policy.c, a word in the table of HX_SCHEDULE. */
#ifndef HX_SCHED_POLICY_H
#define HX_SCHED_POLICY_H

#include "runtime/base/config.h"
#include "runtime/sched/finish.h"

/* What a policy sees when a device asks. Rates are in slices a nanosecond, 0 where nothing is known. */
typedef struct hx__view {
  size_t total, left; /* slices of the run, and those nobody has taken */
  size_t grain, most; /* the device's multiple and its greatest chunk */
  size_t chunk;       /* HX_CHUNK in slices; 0: derived */
  size_t taken;       /* by this device in this run */
  size_t trial;       /* of which it may have so many in all, for nothing is known of it; 0: any */
  double share;       /* static: this device's share of the whole */
  double rate, sigma; /* of this device: its rate, and the standard deviation of its logarithm */
  double in_flight;   /* slices of it that it has not finished */
  double ready_ns;    /* from now on until its next chunk, launched now, would begin to compute */
  double launch_ns;   /* what one more launch costs: less where it is queued behind another */
  double store_ns;    /* what a slice costs once it is computed, to reach the caller while the device goes on; 0: not
                         known, or it does not */
  unsigned devices;   /* in the run */
  unsigned launches;  /* of this device in this run so far */
  unsigned others;    /* how many of party[] there are */
  hx__participant party[HX_MAX_DEVICES + 1]; /* the others: the CPU, and devices with when they may launch again */
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

/* Of a device that does all that is left: as much as it may at once, and at the end less and less. */
size_t hx__policy_alone(const hx__view *view);

/* n rounded up to the device's grain, and at most view->most and what is left. */
size_t hx__policy_fit(const hx__view *view, double slices);

/* No chunk is predicted longer: drivers kill long ones, and desktops freeze. */
#define HX__LONGEST_NS 100e6

/* What a thread of the CPU takes next, beside devices. */
typedef struct hx__cpu_chunk_view {
  size_t left, grain, least, most;
  size_t worth; /* fewer are computed at a lower rate */
  unsigned threads;
  double rate; /* of all threads together */
  unsigned others;
  hx__participant party[HX_MAX_DEVICES]; /* the devices */
} hx__cpu_chunk_view;

size_t hx__cpu_chunk_size(const hx__cpu_chunk_view *view);

#endif
