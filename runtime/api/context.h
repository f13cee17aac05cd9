/* SPDX-License-Identifier: Apache-2.0
 * A context; private to this folder. */
#ifndef HX_API_CONTEXT_H
#define HX_API_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/config.h"
#include "runtime/memory/memory.h"
#include "runtime/run/device_table.h"

struct hx_context {
  hx__config config;
  hx__memory memory;
  hx__device_table team;
  bool wants_devices; /* some may be selected: else nothing is ever discovered */
  bool small_stay;    /* small calls without a share of their own stay on the calling thread */

  _Atomic unsigned calls; /* that are inside and have no record (caller.h) */

  pthread_mutex_t lock; /* what follows */
  pthread_cond_t idle;
  _Atomic bool seated;
  unsigned tasks;         /* asynchronous ones that have not ended */
  unsigned workers;       /* threads that do them: at least one while any waits for its turn */
  hx_event *first, *last; /* events from the oldest on, until hx_wait */
  hx_event *queued;       /* the oldest whose task waits for its turn */
};

/* A checked task, run to its end. */
hx_status hx__offload_work(hx_context *hx, hx__work *work, hx_report *report);

/* The same of one that devices may take part in, as far as `share` allows: brings them in, plans and runs it. */
hx_status hx__offload_planned(hx_context *hx, const hx__work *work, double share, unsigned threads, hx_report *report);

/* Waits for the asynchronous tasks that read or write anything in [p, p+bytes). */
void hx__events_wait(hx_context *hx, const void *p, size_t bytes);

/* Frees the events of a context whose tasks have ended. */
void hx__events_free(hx_context *hx);

#endif
