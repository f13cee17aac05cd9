/* SPDX-License-Identifier: Apache-2.0
 * hx_offload_async, hx_wait, hx_done. Tasks wait in the order they came for one of a few threads of their context,
 * which live while there is something to do; hx_wait does a task itself whose turn has not come. A task never waits for
 * another one, so any number of threads, or none but the waiting one, gets them all done. */
#include <stdlib.h>
#include <string.h>

#include "runtime/api/caller.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"

#define MOST_WORKERS HX_MAX_DEVICES /* more tasks could not each have a device to themselves */

typedef enum state { QUEUED, AT_WORK, DONE } state;

struct hx_event {
  hx_context *hx;
  hx_event *before, *next; /* in the context's list, until hx_wait */
  hx__work work;
  hx_field *fields; /* a copy of the caller's */
  hx_report report;
  hx_status status;
  char *detail;
  state state; /* under the context's lock */
  pthread_cond_t changed;
};

static void release(hx_event *e) {
  pthread_cond_destroy(&e->changed);
  free(e->fields);
  free(e->detail);
  free(e);
}

void hx__events_free(hx_context *hx) {
  for (hx_event *e = hx->first, *next; e; e = next) {
    next = e->next;
    release(e);
  }
}

void hx__events_wait(hx_context *hx, const void *p, size_t bytes) {
  if (hx__in_forked_child()) return; /* they run in the parent, on its memory */
  pthread_mutex_lock(&hx->lock);
  for (const hx_event *e = hx->first; e;)
    if (e->state == DONE || !hx__memory_task_overlaps(&e->work, p, bytes)) {
      e = e->next;
    } else {
      pthread_cond_wait(&hx->idle, &hx->lock);
      e = hx->first; /* any may be gone */
    }
  pthread_mutex_unlock(&hx->lock);
}

/* The list; under the lock. */

static void append(hx_context *hx, hx_event *e) {
  e->before = hx->last;
  *(e->before ? &e->before->next : &hx->first) = e;
  hx->last = e;
  if (!hx->queued) hx->queued = e;
}

static void take_out(hx_context *hx, hx_event *e) {
  *(e->before ? &e->before->next : &hx->first) = e->next;
  *(e->next ? &e->next->before : &hx->last) = e->before;
}

/* The task's turn has come. */
static void take(hx_event *e) {
  hx_context *const hx = e->hx;
  e->state = AT_WORK;
  while (hx->queued && hx->queued->state != QUEUED) hx->queued = hx->queued->next;
}

/* Takes the event's task and does it; gives the lock back meanwhile. */
static void do_task(hx_event *e) {
  hx_context *const hx = e->hx;
  take(e);
  pthread_mutex_unlock(&hx->lock);
  const hx_status status = hx__offload_work(hx, &e->work, &e->report);
  if (status != HX_OK) e->detail = strdup(hx_error_detail());
  pthread_mutex_lock(&hx->lock);
  e->status = status;
  e->state = DONE;
  pthread_cond_broadcast(&e->changed);
  hx->tasks--;
  pthread_cond_broadcast(&hx->idle);
}

/* What a worker does. The context lives until the lock is given back for the last time. */
static void *work(void *p) {
  hx_context *const hx = p;
  pthread_mutex_lock(&hx->lock);
  while (hx->queued) do_task(hx->queued);
  hx->workers--;
  pthread_cond_broadcast(&hx->idle);
  pthread_mutex_unlock(&hx->lock);
  return NULL;
}

/* One more worker, which is counted already. Where no thread can be had others do its part, or, if there are none, the
 * caller, for hx_done must come true without hx_wait. */
static void start_worker(hx_context *hx) {
  pthread_t thread;
  if (hx__thread_start(&thread, work, hx) == 0) {
    pthread_detach(thread);
    return;
  }
  pthread_mutex_lock(&hx->lock);
  const bool others = hx->workers > 1;
  if (others) hx->workers--;
  pthread_mutex_unlock(&hx->lock);
  if (!others) work(hx);
}

/* The event with its own copy of what the caller may change: the fields. */
static hx_event *event_new(hx_context *hx, const hx__work *work) {
  hx_event *const e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->hx = hx;
  e->work = *work;
  if (work->nfields) {
    e->fields = malloc(work->nfields * sizeof *e->fields);
    if (!e->fields) {
      free(e);
      return NULL;
    }
    memcpy(e->fields, work->fields, work->nfields * sizeof *e->fields);
  }
  e->work.fields = e->fields;
  hx__cond_init(&e->changed);
  return e;
}

hx_status hx_offload_async(hx_context *hx, const hx_task *task, hx_event **out) {
  hx__work work;
  if (!hx) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
  if (!out) return hx__fail(HX_INVALID_ARGUMENT, "out is NULL");
  HX__CALL_SCOPE(hx);
  const hx_status s = hx__task_check(task, &work);
  if (s != HX_OK) return s;
  hx_event *const e = event_new(hx, &work);
  if (!e) return hx__fail(HX_OUT_OF_MEMORY, "no memory for an event");
  if (hx__in_forked_child()) { /* no threads there: done at once */
    e->status = hx__offload_work(hx, &e->work, &e->report);
    if (e->status != HX_OK) e->detail = strdup(hx_error_detail());
    e->state = DONE;
    *out = e;
    return HX_OK;
  }
  pthread_mutex_lock(&hx->lock);
  append(hx, e);
  hx->tasks++;
  const bool start = hx->workers < MOST_WORKERS;
  hx->workers += start;
  pthread_mutex_unlock(&hx->lock);
  if (start) start_worker(hx);
  *out = e;
  return HX_OK;
}

hx_status hx_wait(hx_event *e, hx_report *report) {
  if (!e) return hx__fail(HX_INVALID_ARGUMENT, "event is NULL");
  if (hx__in_forked_child() && e->state != DONE)
    return hx__fail(HX_UNSUPPORTED, "the task runs in the parent of this forked process");
  hx_context *const hx = e->hx;
  if (!hx__in_forked_child()) {
    HX__CALL_SCOPE(hx);
    pthread_mutex_lock(&hx->lock);
    if (e->state == QUEUED) do_task(e);
    while (e->state != DONE) pthread_cond_wait(&e->changed, &hx->lock);
    take_out(hx, e);
    pthread_mutex_unlock(&hx->lock);
  }
  const hx_status s = e->status;
  if (s == HX_OK && report) *report = e->report;
  if (s != HX_OK) hx__set_detail(e->detail ? e->detail : hx_status_string(s));
  release(e);
  pthread_testcancel(); /* as in hx_offload */
  return s;
}

bool hx_done(hx_event *e) {
  if (!e || hx__in_forked_child()) return true;
  HX__CALL_SCOPE(e->hx);
  pthread_mutex_lock(&e->hx->lock);
  const bool done = e->state == DONE;
  pthread_mutex_unlock(&e->hx->lock);
  return done;
}
