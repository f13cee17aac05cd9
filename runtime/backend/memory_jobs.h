/* SPDX-License-Identifier: Apache-2.0
 * A device's thread for driver calls that belong to no stream: memory that is allocated, pinned and freed. Threads of
 * the program leave such work there, and wait for it no longer than they may. */
#ifndef HX_BACKEND_ERRANDS_H
#define HX_BACKEND_ERRANDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/gate.h"

typedef struct hx__memory_job {
  struct hx__memory_job *next;
  void (*work)(
      struct hx__memory_job *errand); /* on the device's thread; it may free the errand's memory unless waited */
} hx__memory_job;

/* One that somebody may wait for: the first member of a structure from malloc with what work takes and gives. */
typedef struct hx__awaited_job {
  hx__memory_job errand;
  void (*work)(struct hx__awaited_job *errand);
  void (*undo)(struct hx__awaited_job *errand); /* done, and nobody waits any more: takes back what work has made */
  bool done, left;                              /* under the lock of the errands */
  struct hx__memory_jobs *at;
} hx__awaited_job;

typedef struct hx__memory_jobs {
  hx__gate gate;
  pthread_mutex_t lock; /* what follows */
  pthread_cond_t changed;
  hx__memory_job *first, **last; /* not begun, oldest first */
  bool running, idle;
  uint64_t hanging; /* number of the call in which somebody has stopped waiting for the thread; 0: none */
  struct hx__device *device;
} hx__memory_jobs;

void hx__memory_jobs_init(hx__memory_jobs *errands, struct hx__device *device);
/* Leaves it to the thread and returns at once. What cannot be done (no thread, exit) is leaked. */
void hx__memory_jobs_post(hx__memory_jobs *errands, hx__memory_job *errand);
/* Waits for it: true if it is done. False after the thread has been in one call for limit_ns: then *errand is not the
 * caller's any more, and neither is what it has made. */
bool hx__memory_jobs_run(hx__memory_jobs *errands, hx__awaited_job *errand, uint64_t limit_ns);
/* Waits until all are done, within the same limit. */
void hx__memory_jobs_drain(hx__memory_jobs *errands, uint64_t limit_ns);

#endif
