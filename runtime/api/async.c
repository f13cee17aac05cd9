/* SPDX-License-Identifier: Apache-2.0
 * hx_offload_async, hx_wait, hx_done. A few threads of the context start tasks in the order in which they came, and end
 * if they get none for a second: until then each keeps its OpenMP team. hx_wait runs a task itself if it has not been
 * started. A task never waits for another one, so all tasks end with any number of threads, even with none but the one
 * in hx_wait. */
#include <stdlib.h>
#include <string.h>

#include "runtime/api/caller.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"

#define MOST_WORKERS HX_MAX_DEVICES /* With more, some tasks would wait for devices. */

#define IDLE_NS 1000000000u /* a worker that has waited for so long ends */

typedef enum state { QUEUED, RUNNING, DONE } state;

struct hx_event {
  hx_context *hx;
  hx_event *before, *next; /* in one of the context's lists, until hx_wait */
  hx__work work;
  hx_field *fields; /* a copy of the caller's */
  hx_report report;
  hx_status status;
  char *detail;
  state state; /* under the context's lock */
  pthread_cond_t changed;
};

static void free_event(hx_event *e) {
  pthread_cond_destroy(&e->changed);
  free(e->fields);
  free(e->detail);
  free(e);
}

void hx__events_free(hx_context *hx) {
  for (hx_event *e = hx->ended, *next; e; e = next) {
    next = e->next;
    free_event(e);
  }
}

void hx__events_wait(hx_context *hx, const void *p, size_t bytes) {
  if (hx__in_forked_child()) return; /* They run in the parent, on the parent's memory. */
  pthread_mutex_lock(&hx->lock);
  for (const hx_event *e = hx->first; e;)
    if (!hx__memory_task_overlaps(&e->work, p, bytes)) {
      e = e->next;
    } else {
      pthread_cond_wait(&hx->idle, &hx->lock);
      e = hx->first; /* Any event may have been freed. */
    }
  pthread_mutex_unlock(&hx->lock);
}

/* The next six run under the lock. */

static void append_event(hx_context *hx, hx_event *e) {
  e->before = hx->last;
  *(e->before ? &e->before->next : &hx->first) = e;
  hx->last = e;
  if (!hx->queued) hx->queued = e;
}

static void remove_event(hx_context *hx, hx_event *e) {
  *(e->before ? &e->before->next : &hx->first) = e->next;
  *(e->next ? &e->next->before : &hx->last) = e->before;
}

static void append_ended(hx_context *hx, hx_event *e) {
  e->before = NULL;
  e->next = hx->ended;
  if (e->next) e->next->before = e;
  hx->ended = e;
}

static void remove_ended(hx_context *hx, hx_event *e) {
  *(e->before ? &e->before->next : &hx->ended) = e->next;
  if (e->next) e->next->before = e->before;
}

static void mark_running(hx_event *e) {
  hx_context *const hx = e->hx;
  e->state = RUNNING;
  while (hx->queued && hx->queued->state != QUEUED) hx->queued = hx->queued->next;
}

/* Runs the event's task, without the lock while it computes. */
static void run_task(hx_event *e) {
  hx_context *const hx = e->hx;
  mark_running(e);
  pthread_mutex_unlock(&hx->lock);
  const hx_status status = hx__offload_work(hx, &e->work, &e->report);
  if (status != HX_OK) e->detail = strdup(hx_error_detail());
  pthread_mutex_lock(&hx->lock);
  e->status = status;
  e->state = DONE;
  remove_event(hx, e);
  append_ended(hx, e);
  pthread_cond_broadcast(&e->changed);
  hx->tasks--;
  pthread_cond_broadcast(&hx->idle);
}

/* Under the lock. Returns whether there is a task. */
static bool sleep_until_queued(hx_context *hx) {
  const uint64_t until_ns = hx__now_ns() + IDLE_NS;
  bool in_time = true;
  hx->sleeping++;
  while (!hx->queued && !hx->closing && in_time) {
    in_time = hx__cond_wait_until(&hx->work, &hx->lock, until_ns);
    hx->woken -= hx->woken > 0; /* also if hx_wait has taken the task, or the signal came too late */
  }
  hx->sleeping--;
  if (hx->woken > hx->sleeping) hx->woken = hx->sleeping;
  return hx->queued;
}

/* hx_close may free the context as soon as the worker has unlocked it at the end. */
static void *run_worker(void *p) {
  hx_context *const hx = p;
  pthread_mutex_lock(&hx->lock);
  do {
    while (hx->queued) run_task(hx->queued);
  } while (sleep_until_queued(hx));
  hx->workers--;
  pthread_cond_broadcast(&hx->idle);
  pthread_mutex_unlock(&hx->lock);
  return NULL;
}

/* Starts a worker, which is already counted. If no thread can be started, the other workers run its tasks; if there are
 * none, the caller does, because hx_done must become true without hx_wait. */
static void start_worker(hx_context *hx) {
  pthread_t thread;
  if (hx__thread_start(&thread, run_worker, hx) == 0) {
    pthread_detach(thread);
    return;
  }
  pthread_mutex_lock(&hx->lock);
  while (hx->workers == 1 && hx->queued) run_task(hx->queued);
  hx->workers--;
  pthread_cond_broadcast(&hx->idle);
  pthread_mutex_unlock(&hx->lock);
}

/* Creates an event with its own copy of the fields, which the caller may change. */
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
  if (hx__in_forked_child()) { /* No threads run there: the task is run at once. */
    e->status = hx__offload_work(hx, &e->work, &e->report);
    if (e->status != HX_OK) e->detail = strdup(hx_error_detail());
    e->state = DONE;
    *out = e;
    return HX_OK;
  }
  pthread_mutex_lock(&hx->lock);
  append_event(hx, e);
  hx->tasks++;
  /* A worker without a task that does not sleep is about to look for one. */
  const bool wake = hx->sleeping > hx->woken, start = !wake && hx->tasks > hx->workers && hx->workers < MOST_WORKERS;
  hx->woken += wake;
  hx->workers += start;
  if (wake) pthread_cond_signal(&hx->work);
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
    if (e->state == QUEUED) run_task(e);
    while (e->state != DONE) pthread_cond_wait(&e->changed, &hx->lock);
    remove_ended(hx, e);
    pthread_mutex_unlock(&hx->lock);
  }
  const hx_status s = e->status;
  if (s == HX_OK && report) *report = e->report;
  if (s != HX_OK) hx__set_detail(e->detail ? e->detail : hx_status_string(s));
  free_event(e);
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
