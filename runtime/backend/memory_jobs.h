/* SPDX-License-Identifier: Apache-2.0
 * A device's thread for driver calls that belong to no stream: memory is allocated, pinned and freed there. Threads of
 * the program post jobs to it, and wait for a job no longer than their limit allows. */
#ifndef HX_BACKEND_MEMORY_JOBS_H
#define HX_BACKEND_MEMORY_JOBS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/gate.h"

/* A job without a waiting thread. run is called on the device's thread and may free the job. */
typedef struct hx__memory_job {
  struct hx__memory_job *next;
  void (*run)(struct hx__memory_job *job);
} hx__memory_job;

/* A job whose result is waited for. It is the first member of a structure from malloc that also contains the arguments
 * and the result. */
typedef struct hx__awaited_job {
  hx__memory_job job;
  void (*run)(struct hx__awaited_job *job);
  void (*undo)(struct hx__awaited_job *job); /* frees the result of run if the waiting thread has left by then */
  bool done, abandoned;                      /* run has returned; the waiting thread has left. Under the queue's lock */
  struct hx__memory_jobs *queue;
} hx__awaited_job;

typedef struct hx__memory_jobs {
  hx__gate gate;
  pthread_mutex_t lock; /* of what follows */
  pthread_cond_t changed;
  hx__memory_job *first, **last; /* jobs that have not begun, oldest first */
  bool running;                  /* the thread exists */
  uint64_t posted, ended;        /* jobs so far */
  uint64_t hung_call;            /* number of the driver call in which a waiting thread gave up; 0: none */
  struct hx__device *device;
} hx__memory_jobs;

void hx__memory_jobs_init(hx__memory_jobs *jobs, struct hx__device *device);
/* Queues the job and returns at once. If it cannot be done (no thread, exit), what it would free is leaked. */
void hx__memory_jobs_post(hx__memory_jobs *jobs, hx__memory_job *job);
/* Queues the job and waits for it. True: it is done, and the caller frees the structure. False: it was not done, or its
 * thread has been in one driver call for limit_ns; the structure and the result then belong to the queue. */
bool hx__memory_jobs_run(hx__memory_jobs *jobs, hx__awaited_job *job, uint64_t limit_ns);
/* For the run of a job: whether its result is still wanted. The waiting thread leaves only during a driver call, so
 * after this is true the job may use the caller's memory up to the end of its next driver call. */
bool hx__memory_jobs_wanted(hx__awaited_job *job);
/* Waits until all jobs that are queued by now are done, or the thread has been in one driver call for limit_ns. */
void hx__memory_jobs_drain(hx__memory_jobs *jobs, uint64_t limit_ns);

#endif
