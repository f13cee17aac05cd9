/* SPDX-License-Identifier: Apache-2.0
 * A run without threads, drivers or a clock of its own: which chunk a device takes next, what it has in flight, what is
 * learned from a chunk that has ended, and which chunks the CPU computes again. Device workers
 * (runtime/run) and the simulator (sim/) run these same functions; each brings its clock and its launches as an
 * hx__run_host. Times are nanoseconds of the host's clock. */
#ifndef HX_SCHED_DEVICE_RUN_H
#define HX_SCHED_DEVICE_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/sched/policy.h"
#include "runtime/sched/progress.h"
#include "runtime/sched/work_range.h"
#include "runtime/task/launch.h"

/* A chunk in flight. */
typedef struct hx__launched_chunk {
  struct hx__inflight *submitted; /* the backend's; NULL until it is submitted */
  hx__chunk chunk;
  hx__chunk rest;               /* the part that the CPU has not computed again; under the run's lock */
  double launched_ns;           /* when its launch began */
  double submit_ns;             /* how long the launch took the worker */
  double expected_ns;           /* from its launch, or from the end of the chunk before it, to its end; 0: not known */
  double sent;                  /* superseded: at least this fraction of its operands had been sent */
  _Atomic uint64_t deadline_ns; /* 0 as soon as `rest` is empty */
} hx__launched_chunk;

/* The terms on which a device takes part in a run. They do not change during the run. */
typedef struct hx__device_terms {
  const hx__policy *policy; /* NULL: it computes `fixed` and nothing else */
  hx__chunk fixed;
  double share;          /* policy static: this device's share of the run */
  size_t trial;          /* slices that it may have at most, because its rate is not known; 0: any number */
  hx__estimate expected; /* of its chunks, in units, in this company */
  bool idle;             /* It has been idle, so that its first launch takes longer. */
  hx__rate_key key;      /* under which its chunks are learned */
  double timeout_ns;     /* of a chunk; INFINITY: none; 0: by its rate */
  bool may_last_long;    /* a launch of a fixed part: the device is a CPU, which no driver resets */
  bool may_be_redone;    /* The CPU may compute its overdue chunks again. */
  size_t grain, most;    /* Its chunks are multiples of grain slices and have at most `most`. */
  unsigned depth;        /* chunks that it may have in flight: at most HX__DEPTH */
} hx__device_terms;

/* One device's part of a run. Its functions are called by its worker, unless they say otherwise. */
typedef struct hx__device_run {
  hx__device_terms terms;

  /* The worker's own. */
  size_t taken; /* slices */
  hx__progress progress;
  hx__outcome outcome;       /* HX__DONE as long as it may launch chunks */
  double last_end_ns;        /* when the last chunk ended */
  hx__observation unlearned; /* of a chunk whose end becomes known only with that of the next chunk */
  double store_ns;           /* to store the results of a slice while the device computes; 0: not known, or it cannot */
  bool by_link;              /* Results cross a link while the device computes other chunks. */
  double shared_ns;          /* until the operand that every chunk needs has crossed the link */

  /* Changed by the worker under the run's lock. */
  unsigned in_flight; /* chunks, the oldest first */
  hx__launched_chunk launched[HX__DEPTH];

  /* For the other participants to read at any time. */
  _Atomic double rate;      /* of progress */
  _Atomic uint64_t ends_ns; /* when what is in flight is expected to end; 0: nothing is, or the rate is not known */
  _Atomic bool working;     /* It still takes part. */

  /* The results, for other threads to read when the worker is done. */
  uint32_t chunks;
  uint64_t units;
  double busy_ns;
} hx__device_run;

/* What the participants of a run share. */
typedef struct hx__run_progress {
  /* Set before the run begins. */
  const hx__work *work;
  hx__work_range *range; /* the slices that no participant has taken */
  size_t chunk;          /* HX_CHUNK in slices; 0: derived */
  unsigned threads;      /* of the CPU's part */
  bool cpu_works;        /* false: the CPU only computes what devices give back */
  bool disturbed;        /* Drivers were at work when it began: known rates do not learn from it. */
  double began_ns;       /* 0: the run is not measured */
  hx__progress cpu;      /* as expected at first */
  hx__model *model;
  size_t devices;
  hx__device_run *device[HX_MAX_DEVICES];

  /* Written by any participant at any time. */
  _Atomic size_t cpu_done;       /* slices that the CPU has finished beside devices */
  _Atomic uint64_t cpu_busy_ns;  /* how long these took, the sum of its threads */
  _Atomic size_t cpu_trial_done; /* cpu_done at the end of a device's trial; 0: no device had only a trial */
  _Atomic uint64_t cpu_trial_ns; /* cpu_busy_ns at that time, the mean of its threads */
  _Atomic bool grown;            /* A device pinned memory for later calls, which takes time. */

  pthread_mutex_t lock;   /* of launched chunks, and of `redone` */
  pthread_cond_t changed; /* A chunk was launched or has ended, or a device is done with the run. */
  uint32_t redone;        /* chunks of which the CPU has computed everything that was left */
} hx__run_progress;

/* The host of device runs: either the drivers, threads and clocks of the machine, or the simulator. */
typedef struct hx__run_host {
  double (*now_ns)(void *self);
  uint64_t (*date_s)(void *self);
  /* Launches a chunk; HX__DONE: it is in flight. */
  hx__outcome (*launch)(void *self, hx__launched_chunk *chunk);
  /* Slices that the device does not deliver: the CPU computes them later. */
  void (*give_back)(void *self, hx__chunk chunk);
  /* A chunk has ended, for traces and logs. May be NULL. */
  void (*ended)(void *self, const hx__launched_chunk *chunk, double began_ns, double ended_ns, hx__outcome outcome);
} hx__run_host;

/* The members that are set before a run begins must be set; all others are 0. */
void hx__run_progress_begin(hx__run_progress *run, const hx__estimate *cpu);
void hx__run_progress_end(hx__run_progress *run);
/* Adds a device before the run begins. */
void hx__device_run_begin(hx__device_run *device, hx__run_progress *run, const hx__device_terms *terms);

/* Launches chunks until terms.depth are in flight or the policy gives none. */
void hx__device_run_fill(hx__device_run *device, hx__run_progress *run, const hx__run_host *host, void *self);
/* The worker begins to wait for the oldest chunk in flight at now_ns. Sets the deadline of the chunk, which the CPU may
 * bring forward, and returns the deadline that it has without that. */
uint64_t hx__device_run_await(hx__device_run *device, hx__run_progress *run, double now_ns);
/* The oldest chunk in flight, for which the worker has waited since waited_from_ns, has ended with `outcome`. Moves it
 * from those in flight to *result and learns from it. If it is done, the caller delivers result->rest; otherwise that
 * goes back to the CPU. */
void hx__device_run_chunk_ended(hx__device_run *device, hx__run_progress *run, const hx__run_host *host, void *self,
                                hx__outcome outcome, double waited_from_ns, hx__launched_chunk *result);
/* The results of a chunk are in the caller's memory. */
void hx__device_run_delivered(hx__device_run *device, const hx__run_progress *run, hx__chunk chunk);
/* Nothing is in flight and nothing will be launched: after a trial, notes what the CPU has done until then. */
void hx__device_run_finish(const hx__device_run *device, hx__run_progress *run);
/* After that: learns from the last chunk. Any thread may call it. */
void hx__device_run_learn_last(const hx__device_run *device, hx__run_progress *run, uint64_t date_s);
/* Sets whether the device still takes part. */
void hx__device_run_set_working(hx__device_run *device, hx__run_progress *run, bool working);
/* The slices of a fixed part that the device has not taken. Called by its worker, or after that has ended. */
hx__chunk hx__device_run_untaken(const hx__device_run *device);

/* The devices that take part, without `except` (may be NULL), and when they can launch again. On any thread. */
unsigned hx__run_participants(const hx__run_progress *run, const hx__device_run *except, double now_ns,
                              hx__participant participants[HX_MAX_DEVICES]);
/* The CPU's rate as observed in this run, in slices per nanosecond; 0 if it only computes what devices give back. */
double hx__run_cpu_rate(const hx__run_progress *run, double now_ns);
/* A thread of the CPU has finished a chunk in `ns`. */
void hx__run_cpu_done(hx__run_progress *run, size_t slices, double ns);
/* Slices that a thread of the CPU takes next beside devices: multiples of grain, between least and most; fewer than
 * `worth` are computed at a lower rate. */
size_t hx__run_cpu_chunk(const hx__run_progress *run, hx__cpu_chunk_view view, double now_ns);

/* An overdue device: the idle CPU, at cpu_rate, gains by computing its last chunk again instead of waiting. NULL: there
 * is none now, and *check_ns says when to call again; 0: no device can become overdue. Devices whose bits are set in
 * `except` are left out. Under the run's lock. */
hx__device_run *hx__find_overdue(hx__run_progress *run, double cpu_rate, double now_ns, uint32_t except,
                                 double *check_ns);
/* The slices of its last chunk in flight that a thread of the CPU computes again next. None if it does not pay any more
 * or nothing is left. */
hx__chunk hx__redo_next_part(hx__run_progress *run, hx__device_run *overdue, size_t grain, double now_ns);

#endif
