/* SPDX-License-Identifier: Apache-2.0
 * How fast one participant has been in a run so far: the model's estimate, corrected by observations. */
#ifndef HX_SCHED_PROGRESS_H
#define HX_SCHED_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/sched/model.h"

typedef struct hx__progress {
  double rate;       /* slices per nanosecond; 0: not known */
  double sigma;      /* of its logarithm */
  double latency_ns; /* of the next launch */
  double idle_ns;    /* how much of it is due to the device having been idle */
  double gap_ns;     /* the latency of a launch that is queued behind another */
  unsigned launches; /* that have ended */
  unsigned queued;   /* launches in flight */
  double in_flight;  /* their slices */
  double ends_ns;    /* when the last of them is expected to end */
} hx__progress;

/* e: the estimate of the model; slices_per_unit: of this task; idle: the device has been idle. */
void hx__progress_begin(hx__progress *c, const hx__estimate *e, double slices_per_unit, bool idle);

/* The time of a chunk if nothing is in flight. */
double hx__progress_chunk_ns(const hx__progress *c, double slices);

/* A chunk was launched at now_ns. Its launch overlaps with what is in flight. */
void hx__progress_launched(hx__progress *c, double slices, double now_ns);

/* The time from now_ns until a chunk that is launched now would begin to compute. If what is in flight is overdue by
 * some time, it is expected to take as long again. */
double hx__progress_ready_ns(const hx__progress *c, double now_ns);

/* Whether the idle CPU, at `rate`, gains by computing `slices` again instead of waiting for a device that is expected
 * to end in left_ns. */
bool hx__redo_pays(double slices, double rate, double left_ns);
/* When to check a device again that is expected to end at ends_ns: redoing pays then if it has not ended. */
double hx__redo_check_ns(double slices, double rate, double ends_ns);

/* A chunk of `slices` took ns since it was launched or the chunk before it ended, whichever came later. `exposed` is
 * the fraction of its launch in that time. */
void hx__progress_observe(hx__progress *c, double slices, double ns, double exposed);
/* Called after hx__progress_observe: a chunk of `slices` has ended at now_ns. */
void hx__progress_chunk_done(hx__progress *c, double slices, double now_ns);

/* What one finished chunk shows about a device's rate. */
typedef struct hx__observation {
  double units, slices; /* slices 0: there is no observation */
  double ns;
  double exposed; /* the fraction of its launch in that time */
  bool idle;      /* The device had been idle. */
} hx__observation;

/* Adds the observation `now` of a chunk that has ended. If the chunk was found ended when the worker began to wait for
 * it, the time of its end is not known: the worker had no core or was storing results. The worker has then also seen
 * the end of the chunk before it too late, so only the sum of both times is meaningful. Returns the observation that
 * corrects the progress of the run. *complete: the observation that the model learns now. *pending: the observation
 * that waits for the next chunk. */
hx__observation hx__observation_add(hx__observation *pending, const hx__observation *now, bool found,
                                    hx__observation *complete);

/* The fraction of a launch of latency_ns that does not overlap with the chunk before it, which ended overlap_ns after
 * the launch began. */
double hx__launch_exposed(double latency_ns, double overlap_ns);

/* Whether a time can be learned from. A chunk that has not ended only shows that it takes at least that long. */
bool hx__is_informative(const hx__estimate *expected, double units, bool idle, double ns, bool has_ended);

/* What the CPU's threads have done so far. */
typedef struct hx__cpu_observation {
  double done;        /* slices that they have finished */
  double busy_ns;     /* how long these took, the mean of all threads */
  double in_progress; /* slices that they have taken and not finished */
} hx__cpu_observation;

/* The CPU's rate elapsed_ns after the run began. The longer it has worked, the less the estimate of the model counts.
 */
double hx__progress_cpu_rate(const hx__progress *c, hx__cpu_observation seen, double elapsed_ns);

#endif
