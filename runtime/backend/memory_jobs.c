/* SPDX-License-Identifier: Apache-2.0
 * A device's thread for driver calls that belong to no stream. */
#include "runtime/backend/memory_jobs.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

#define LOOK_NS 20000000u /* between checks of the thread while a job is waited for */

void hx__memory_jobs_init(hx__memory_jobs *e, struct hx__device *device) {
  pthread_mutex_init(&e->lock, NULL);
  hx__cond_init(&e->changed);
  e->first = NULL;
  e->last = &e->first;
  e->device = device;
}

static void serve_jobs(void *p) {
  hx__memory_jobs *const e = p;
  pthread_mutex_lock(&e->lock);
  for (;;) {
    hx__memory_job *const next = e->first;
    if (!next) {
      e->idle = true;
      pthread_cond_broadcast(&e->changed);
      pthread_cond_wait(&e->changed, &e->lock);
      continue;
    }
    e->idle = false;
    e->first = next->next;
    if (!e->first) e->last = &e->first;
    pthread_mutex_unlock(&e->lock);
    next->run(next);
    pthread_mutex_lock(&e->lock);
  }
}

static void *jobs_thread(void *p) {
  hx__memory_jobs *const e = p;
  hx__gate_run(&e->gate, e->device, serve_jobs, e);
  return NULL;
}

/* Requires the lock. False: the thread cannot be started. */
static bool append_job(hx__memory_jobs *e, hx__memory_job *errand) {
  pthread_t thread;
  if (!e->running && hx__thread_start(&thread, jobs_thread, e) == 0) {
    pthread_detach(thread);
    e->running = true;
  }
  if (!e->running) return false;
  errand->next = NULL;
  *e->last = errand;
  e->last = &errand->next;
  pthread_cond_broadcast(&e->changed);
  return true;
}

void hx__memory_jobs_post(hx__memory_jobs *e, hx__memory_job *errand) {
  if (hx__in_forked_child() || hx__exit_has_begun()) return;
  pthread_mutex_lock(&e->lock);
  if (!append_job(e, errand)) hx__log(HX__LOG_INFO, "no thread to give a device's memory back: it is kept");
  pthread_mutex_unlock(&e->lock);
}

static void run_awaited(hx__memory_job *errand) {
  hx__awaited_job *const a = (hx__awaited_job *)errand;
  hx__memory_jobs *const e = a->queue;
  a->run(a);
  pthread_mutex_lock(&e->lock);
  const bool left = a->abandoned;
  a->done = true;
  pthread_cond_broadcast(&e->changed);
  pthread_mutex_unlock(&e->lock);
  if (!left) return;
  a->undo(a);
  free(a);
}

/* Whether the thread hangs in a driver call. Requires the lock. */
static bool thread_hangs(hx__memory_jobs *e, uint64_t limit_ns) {
  uint64_t since;
  const uint64_t call = hx__gate_inside(&e->gate, &since);
  if (!call) return hx__gate_given_up(&e->gate);
  if (call == e->hung_call) return true;
  const uint64_t now = hx__now_ns();
  if (now < since || now - since < limit_ns) return false;
  e->hung_call = call;
  hx__log(HX__LOG_WARN, "%s does not return: memory is made without the device", atomic_load(&e->gate.call));
  return true;
}

bool hx__memory_jobs_run(hx__memory_jobs *e, hx__awaited_job *a, uint64_t limit_ns) {
  if (hx__in_forked_child() || hx__exit_has_begun()) {
    free(a);
    return false;
  }
  a->job.run = run_awaited;
  a->done = a->abandoned = false;
  a->queue = e;
  pthread_mutex_lock(&e->lock);
  const bool added = !thread_hangs(e, limit_ns) && append_job(e, &a->job);
  while (added && !a->done && !a->abandoned) {
    hx__cond_wait_until(&e->changed, &e->lock, hx__now_ns() + LOOK_NS);
    a->abandoned = !a->done && thread_hangs(e, limit_ns);
  }
  const bool done = added && a->done;
  pthread_mutex_unlock(&e->lock);
  if (!added) free(a);
  return done;
}

void hx__memory_jobs_drain(hx__memory_jobs *e, uint64_t limit_ns) {
  pthread_mutex_lock(&e->lock);
  while (e->running && (e->first || !e->idle) && !thread_hangs(e, limit_ns) && !hx__exit_has_begun())
    hx__cond_wait_until(&e->changed, &e->lock, hx__now_ns() + LOOK_NS);
  pthread_mutex_unlock(&e->lock);
}
