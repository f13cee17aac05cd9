/* SPDX-License-Identifier: Apache-2.0
 * A run in progress; private to this folder. */
#ifndef HX_RUN_INTERNAL_H
#define HX_RUN_INTERNAL_H

#include "runtime/run/remainder.h"
#include "runtime/run/run.h"
#include "runtime/sched/device_run.h"
#include "runtime/sched/thread_parts.h"

/* For each device: its chunks in flight, one that is not delivered, and the rest of a fixed part. */
#define HX__MAX_RETURNED ((HX__MAX_INFLIGHT + 2) * HX_MAX_DEVICES)

typedef struct hx__run_state hx__run_state;

/* A device run with its stream and worker. */
typedef struct hx__device_job {
  hx__device_run device; /* shared with other threads, as it says */

  /* Set before the job is started. */
  hx__run_state *run;
  hx__device_entry *entry;
  size_t index;           /* of the entry in the device table */
  uint64_t call_limit_ns; /* of a driver call of the worker */
  bool started;           /* The worker has the job. */

  /* The worker's own until it has ended or was given up. */
  hx__request request;
  hx__stream *stream;    /* NULL until it has one */
  bool resolved;         /* The request's arrays are set. */
  bool begun;            /* The backend's begin has been called. */
  hx__chunk undelivered; /* not in flight any more, and its results not delivered yet */
  uint64_t copied;       /* bytes */
} hx__device_job;

/* The CPU's part: of the calling thread and of its thread pool. */
typedef struct hx__cpu_part {
  hx__request request;
  struct hx__packed *packed;          /* NULL: none */
  hx__remainder remainder;            /* behind the slices of the run's range */
  uint64_t from_ns;                   /* when its threads began; 0: not measured */
  bool notes_ends;                    /* Threads note when they have ended, in first_ns and last_ns. */
  bool equal_parts;                   /* Each thread gets one chunk. */
  bool in_parts;                      /* What the CPU has to compute is in `parts` of the run, not in its range. */
  _Atomic uint64_t first_ns, last_ns; /* when the first and the last thread ended */
  hx__device_run *overdue;            /* The pool computes again what this device has in flight last; NULL: none. */
  _Atomic uint32_t chunks;
  _Atomic uint64_t units;
} hx__cpu_part;

struct hx__run_state {
  /* Set before the run begins. */
  hx__device_table *table;
  const hx__plan *plan;
  const hx__work *work;
  uint64_t from_ns; /* 0: the run is not measured */

  /* Shared by all participants. */
  hx__work_range range; /* the slices that no participant has taken */
  hx__run_progress progress;

  /* Of the calling thread. */
  hx__cpu_part cpu;
  hx__resident_output resident; /* mirror: NULL if C goes to the host */
  uint64_t fetched;             /* bytes of results fetched from other devices for this run */
  bool joined;                  /* Its only device has joined a reduction; read when its worker is done. */

  size_t returns; /* chunks that devices gave back; under the lock of progress */

  /* The members from here on are not cleared when the run begins. */
  hx__thread_parts parts;
  hx__chunk returned[HX__MAX_RETURNED];
  hx__device_job job[HX_MAX_DEVICES];                    /* the first progress.devices are set */
  hx__array arrays[HX__PRODUCT_ARRAYS * HX_MAX_DEVICES]; /* of the devices; part of this structure, so that a product
                                                          * cannot fail because memory is short */
};

/* Sets a device's part up; false: its entry is in use. */
bool hx__device_job_init(hx__run_state *run, const hx__plan_device *planned, hx__array *arrays);
/* The device's side of a run, on its worker. */
void hx__device_job_main(hx__device_entry *entry, void *job);
/* The worker was given up: its chunks go back to the CPU, and memory that the device may still read stays allocated. */
void hx__device_job_give_up(hx__device_job *job);
/* Gives a chunk back to the CPU. On any thread. */
void hx__return_chunk(hx__run_state *run, hx__chunk chunk);

/* The thread pool computes all that is left in run->range. */
void hx__cpu_side(hx__run_state *run);
/* The idle pool computes chunks in flight again if it would end sooner than an overdue device. Returns when no device
 * can become overdue any more. */
void hx__redo_overdue(hx__run_state *run);
/* Computes a small product with a long k by the pool, its panels in parallel. False if it is no such product or there
 * is no memory for slots. */
bool hx__cpu_panels(hx__run_state *run);
/* Computes a product with few rows or columns by the pool, cut along k and along its long side. False if that does not
 * pay or there is no memory for the sums of panels. */
bool hx__cpu_panel_grid(hx__run_state *run);
/* Traces a chunk that `threads` threads computed together, from from_ns until now. */
void hx__trace_cpu(const hx__run_state *run, uint64_t from_ns, hx__chunk chunk, uint64_t units, unsigned threads);

#endif
