/* SPDX-License-Identifier: Apache-2.0
 * A device's thread for driver calls that belong to no stream. */
#include "runtime/backend/memory_jobs.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

#define CHECK_NS 20000000u /* between checks of the thread while a job is waited for */

void hx__memory_jobs_init(hx__memory_jobs *jobs, struct hx__device *device) {
  pthread_mutex_init(&jobs->lock, NULL);
  hx__cond_init(&jobs->changed);
  jobs->first = NULL;
  jobs->last = &jobs->first;
  jobs->device = device;
}

static void serve_jobs(void *p) {
  hx__memory_jobs *const jobs = p;
  pthread_mutex_lock(&jobs->lock);
  for (;;) {
    hx__memory_job *const next = jobs->first;
    if (!next) {
      pthread_cond_wait(&jobs->changed, &jobs->lock);
      continue;
    }
    jobs->first = next->next;
    if (!jobs->first) jobs->last = &jobs->first;
    pthread_mutex_unlock(&jobs->lock);
    next->run(next);
    pthread_mutex_lock(&jobs->lock);
    jobs->ended++;
    pthread_cond_broadcast(&jobs->changed);
  }
}

static void *jobs_thread(void *p) {
  hx__memory_jobs *const jobs = p;
  hx__gate_run(&jobs->gate, jobs->device, serve_jobs, jobs);
  return NULL;
}

/* Requires the lock. False: the thread cannot be started. */
static bool append_job(hx__memory_jobs *jobs, hx__memory_job *job) {
  pthread_t thread;
  if (!jobs->running && hx__thread_start(&thread, jobs_thread, jobs) == 0) {
    pthread_detach(thread);
    jobs->running = true;
  }
  if (!jobs->running) return false;
  job->next = NULL;
  *jobs->last = job;
  jobs->last = &job->next;
  jobs->posted++;
  pthread_cond_broadcast(&jobs->changed);
  return true;
}

void hx__memory_jobs_post(hx__memory_jobs *jobs, hx__memory_job *job) {
  if (hx__in_forked_child() || hx__exit_has_begun()) return;
  pthread_mutex_lock(&jobs->lock);
  if (!append_job(jobs, job))
    hx__log(HX__LOG_INFO, "no thread could be started to free a device's memory: it is leaked");
  pthread_mutex_unlock(&jobs->lock);
}

static void run_awaited(hx__memory_job *job) {
  hx__awaited_job *const a = (hx__awaited_job *)job;
  hx__memory_jobs *const jobs = a->queue;
  a->run(a);
  pthread_mutex_lock(&jobs->lock);
  const bool abandoned = a->abandoned;
  a->done = true;
  pthread_cond_broadcast(&jobs->changed);
  pthread_mutex_unlock(&jobs->lock);
  if (!abandoned) return;
  a->undo(a);
  free(a);
}

bool hx__memory_jobs_wanted(hx__awaited_job *a) {
  pthread_mutex_lock(&a->queue->lock);
  const bool wanted = !a->abandoned;
  pthread_mutex_unlock(&a->queue->lock);
  return wanted;
}

/* Whether the thread hangs in a driver call. Requires the lock. */
static bool thread_hangs(hx__memory_jobs *jobs, uint64_t limit_ns) {
  uint64_t since;
  const uint64_t call = hx__gate_inside(&jobs->gate, &since);
  if (!call) return hx__gate_given_up(&jobs->gate);
  if (call == jobs->hung_call) return true;
  const uint64_t now = hx__now_ns();
  if (now < since || now - since < limit_ns) return false;
  jobs->hung_call = call;
  hx__log(HX__LOG_WARN, "%s does not return: memory is made without the device", atomic_load(&jobs->gate.call));
  return true;
}

bool hx__memory_jobs_run(hx__memory_jobs *jobs, hx__awaited_job *a, uint64_t limit_ns) {
  if (hx__in_forked_child() || hx__exit_has_begun()) {
    free(a);
    return false;
  }
  a->job.run = run_awaited;
  a->done = a->abandoned = false;
  a->queue = jobs;
  pthread_mutex_lock(&jobs->lock);
  const bool added = !thread_hangs(jobs, limit_ns) && append_job(jobs, &a->job);
  while (added && !a->done && !a->abandoned) {
    hx__cond_wait_until(&jobs->changed, &jobs->lock, hx__now_ns() + CHECK_NS);
    a->abandoned = !a->done && thread_hangs(jobs, limit_ns);
  }
  const bool done = added && a->done;
  pthread_mutex_unlock(&jobs->lock);
  if (!added) free(a);
  return done;
}

void hx__memory_jobs_drain(hx__memory_jobs *jobs, uint64_t limit_ns) {
  pthread_mutex_lock(&jobs->lock);
  const uint64_t last = jobs->posted;
  while (jobs->ended < last && !thread_hangs(jobs, limit_ns) && !hx__exit_has_begun())
    hx__cond_wait_until(&jobs->changed, &jobs->lock, hx__now_ns() + CHECK_NS);
  pthread_mutex_unlock(&jobs->lock);
}
