/* SPDX-License-Identifier: Apache-2.0
 * How one participant has fared in a run so far: what the model said at first, corrected by what was seen since. */
#ifndef HX_SCHED_COURSE_H
#define HX_SCHED_COURSE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/sched/model.h"

typedef struct hx__progress {
  double rate;       /* slices a nanosecond; 0: not known */
  double sigma;      /* of its logarithm */
  double latency_ns; /* of the next launch */
  double idle_ns;    /* that of the first one, over the others */
  double gap_ns;     /* what shows of a launch that is queued */
  unsigned launches; /* that have ended */
  unsigned queued;   /* launches in flight */
  double in_flight;  /* their slices */
  double ends_ns;    /* when the last of them is expected to end */
} hx__progress;

/* e: what the model expects; slices_per_unit of this task; idle: the device has slept. */
void hx__progress_begin(hx__progress *c, const hx__estimate *e, double slices_per_unit, bool idle);

/* Nanoseconds of a chunk that finds the device idle. */
double hx__progress_chunk_ns(const hx__progress *c, double slices);

/* A chunk was launched at now_ns, behind what is in flight: its launch passes while that is computed. */
void hx__progress_launched(hx__progress *c, double slices, double now_ns);

/* How long from now_ns on until the next chunk, launched now, would begin to compute. Overdue by some time, what is in
 * flight is expected to take as long again. */
double hx__progress_ready_ns(const hx__progress *c, double now_ns);

/* Whether the CPU, idle and of `rate`, had better do `slices` once more than wait for a device that is expected to end
 * in left_ns. */
bool hx__redo_pays(double slices, double rate, double left_ns);
/* When to ask again, of a device that is expected to end at ends_ns: it pays then if that has not ended. */
double hx__redo_look_ns(double slices, double rate, double ends_ns);

/* Slices took ns since they were launched or those before them ended, whichever came later, and in that time the part
 * `shown` of a launch; */
void hx__progress_observe(hx__progress *c, double slices, double ns, double shown);
/* and then: a chunk of so many has ended at now_ns. */
void hx__progress_chunk_done(hx__progress *c, double slices, double now_ns);

/* What a chunk has shown. */
typedef struct hx__observation {
  double units, slices; /* none: nothing */
  double ns;
  double shown; /* the part of its launch in that time */
  bool idle;    /* the device had slept */
} hx__observation;

/* A chunk has ended. Nobody knows when where it was found so: who waits had no core, or stored results, and has seen
 * the end of the one before it too late, so that only the two together tell anything. Returns what is to be believed
 * now; *ripe: what is to be learned now; *last: what waits for the next chunk. */
hx__observation hx__observation_add(hx__observation *last, const hx__observation *now, bool found,
                                    hx__observation *ripe);

/* The part of a launch of latency_ns that shows where the chunk before it ended overlap_ns after it was launched. */
double hx__launch_shown(double latency_ns, double overlap_ns);

/* Whether such a time teaches anything: of a part that has not ended only that it takes as long at least. */
bool hx__tells(const hx__estimate *expected, double units, bool idle, double ns, bool has_ended);

/* What the CPU's threads have done so far. */
typedef struct hx__cpu_shown {
  double done;        /* slices that they have finished, */
  double busy_ns;     /* in so long, the mean of all threads */
  double in_progress; /* slices that they have taken and not finished */
} hx__cpu_shown;

/* The CPU's rate elapsed_ns after the run began: the longer it works, the less the model counts. */
double hx__progress_cpu_rate(const hx__progress *c, hx__cpu_shown shown, double elapsed_ns);

#endif
