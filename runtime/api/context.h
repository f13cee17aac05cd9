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
  hx__device_table table;
  bool wants_devices; /* The settings may select devices; if not, none are ever looked for. */
  bool small_stay;    /* Small calls without a share of their own stay on the calling thread. */
  bool small_silent;  /* They do, and no trace is written: the usual ones need nothing but the task and the kernels. */

  _Atomic unsigned calls; /* calls in progress on threads without a record (caller.h) */

  pthread_mutex_t lock; /* protects what follows */
  pthread_cond_t idle;
  _Atomic bool devices_added; /* The device table is filled. */
  unsigned tasks;             /* asynchronous tasks that have not ended */
  unsigned workers;           /* threads that run them: at least one if a task is queued */
  unsigned sleeping, woken; /* workers that wait for a task, and how many of these were signalled but do not run yet */
  pthread_cond_t work;      /* for these */
  bool closing;
  hx_event *first, *last; /* the events whose tasks have not ended, the oldest first */
  hx_event *ended;        /* those whose tasks have ended, until hx_wait */
  hx_event *queued;       /* the oldest whose task has not been started */
};

/* Runs a checked task to its end. */
hx_status hx__offload_work(hx_context *hx, hx__work *work, hx_report *report);

/* The same without measuring: fills in all of *report, which is zero, but seconds and joules. report may be NULL. */
hx_status hx__offload_checked(hx_context *hx, hx__work *work, hx_report *report);

/* The same for a task in which devices may take part, as far as `share` allows: finds and prepares them, plans and
 * runs. */
hx_status hx__offload_planned(hx_context *hx, const hx__work *work, double share, unsigned threads, hx_report *report);

/* Waits for the asynchronous tasks that read or write anything in [p, p+bytes). */
void hx__events_wait(hx_context *hx, const void *p, size_t bytes);

/* Frees the events of a context whose tasks have ended. */
void hx__events_free(hx_context *hx);

#endif
