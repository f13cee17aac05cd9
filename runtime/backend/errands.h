/* SPDX-License-Identifier: Apache-2.0
 * A device's thread for driver calls that belong to no lane: memory that is allocated, pinned and freed. Threads of the
 * program leave such work there, and wait for it no longer than they may. */
#ifndef HX_BACKEND_ERRANDS_H
#define HX_BACKEND_ERRANDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/gate.h"

typedef struct hx__errand {
  struct hx__errand *next;
  void (*work)(struct hx__errand *errand); /* on the device's thread; it may free the errand's memory unless waited */
} hx__errand;

/* One that somebody may wait for: the first member of a structure from malloc with what work takes and gives. */
typedef struct hx__awaited_errand {
  hx__errand errand;
  void (*work)(struct hx__awaited_errand *errand);
  void (*undo)(struct hx__awaited_errand *errand); /* done, and nobody waits any more: takes back what work has made */
  bool done, left;                                 /* under the lock of the errands */
  struct hx__errands *at;
} hx__awaited_errand;

typedef struct hx__errands {
  hx__gate gate;
  pthread_mutex_t lock; /* what follows */
  pthread_cond_t changed;
  hx__errand *first, **last; /* not begun, oldest first */
  bool running, idle;
  uint64_t hanging; /* number of the call in which somebody has stopped waiting for the thread; 0: none */
  struct hx__device *device;
} hx__errands;

void hx__errands_init(hx__errands *errands, struct hx__device *device);
/* Leaves it to the thread and returns at once. What cannot be done (no thread, exit) is leaked. */
void hx__errands_post(hx__errands *errands, hx__errand *errand);
/* Waits for it: true if it is done. False after the thread has been in one call for limit_ns: then *errand is not the
 * caller's any more, and neither is what it has made. */
bool hx__errands_do(hx__errands *errands, hx__awaited_errand *errand, uint64_t limit_ns);
/* Waits until all are done, within the same limit. */
void hx__errands_drain(hx__errands *errands, uint64_t limit_ns);

#endif
