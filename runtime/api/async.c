/* SPDX-License-Identifier: Apache-2.0
 * hx_offload_async, hx_wait, hx_done: a thread a task. */
#include <stdlib.h>
#include <string.h>

#include "runtime/api/caller.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"

struct hx_event {
  hx_context *hx;
  hx_event *next; /* in the context's list, until hx_wait */
  hx__work work;
  hx_field *fields; /* a copy of the caller's */
  hx_report report;
  hx_status status;
  char *detail;
  bool done; /* under the context's lock */
  pthread_cond_t changed;
};

static void release(hx_event *e) {
  pthread_cond_destroy(&e->changed);
  free(e->fields);
  free(e->detail);
  free(e);
}

void hx__events_free(hx_context *hx) {
  for (hx_event *e = hx->events, *next; e; e = next) {
    next = e->next;
    release(e);
  }
}

void hx__events_wait(hx_context *hx, const void *p, size_t bytes) {
  if (hx__forked()) return; /* they run in the parent, on its memory */
  pthread_mutex_lock(&hx->lock);
  for (const hx_event *e = hx->events; e;)
    if (e->done || !hx__memory_meets(&e->work, p, bytes)) {
      e = e->next;
    } else {
      pthread_cond_wait(&hx->idle, &hx->lock);
      e = hx->events; /* any may be gone */
    }
  pthread_mutex_unlock(&hx->lock);
}

static void finish(hx_event *e, hx_status status) {
  hx_context *const hx = e->hx;
  if (status != HX_OK) e->detail = strdup(hx_error_detail());
  pthread_mutex_lock(&hx->lock);
  e->status = status;
  e->done = true;
  pthread_cond_broadcast(&e->changed);
  hx->tasks--;
  pthread_cond_broadcast(&hx->idle);
  pthread_mutex_unlock(&hx->lock);
}

static void *run(void *p) {
  hx_event *const e = p;
  finish(e, hx__offload_work(e->hx, &e->work, &e->report));
  return NULL;
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
  HX__VISIT(hx);
  const hx_status s = hx__task_check(task, &work);
  if (s != HX_OK) return s;
  hx_event *const e = event_new(hx, &work);
  if (!e) return hx__fail(HX_OUT_OF_MEMORY, "no memory for an event");
  if (hx__forked()) { /* no threads there: done at once */
    e->status = hx__offload_work(hx, &e->work, &e->report);
    if (e->status != HX_OK) e->detail = strdup(hx_error_detail());
    e->done = true;
    *out = e;
    return HX_OK;
  }
  pthread_mutex_lock(&hx->lock);
  e->next = hx->events;
  hx->events = e;
  hx->tasks++;
  pthread_mutex_unlock(&hx->lock);
  pthread_t thread;
  if (hx__thread_start(&thread, run, e) == 0)
    pthread_detach(thread);
  else
    run(e); /* no thread to be had: the caller's does it */
  *out = e;
  return HX_OK;
}

hx_status hx_wait(hx_event *e, hx_report *report) {
  if (!e) return hx__fail(HX_INVALID_ARGUMENT, "event is NULL");
  if (hx__forked() && !e->done) return hx__fail(HX_UNSUPPORTED, "the task runs in the parent of this forked process");
  hx_context *const hx = e->hx;
  if (!hx__forked()) {
    HX__VISIT(hx);
    pthread_mutex_lock(&hx->lock);
    while (!e->done) pthread_cond_wait(&e->changed, &hx->lock);
    for (hx_event **at = &hx->events; *at; at = &(*at)->next)
      if (*at == e) {
        *at = e->next;
        break;
      }
    pthread_mutex_unlock(&hx->lock);
  }
  const hx_status s = e->status;
  if (s == HX_OK && report) *report = e->report;
  if (s != HX_OK) hx__set_detail(e->detail ? e->detail : hx_status_string(s));
  release(e);
  return s;
}

bool hx_done(hx_event *e) {
  if (!e || hx__forked()) return true;
  HX__VISIT(e->hx);
  pthread_mutex_lock(&e->hx->lock);
  const bool done = e->done;
  pthread_mutex_unlock(&e->hx->lock);
  return done;
}
