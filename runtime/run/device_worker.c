/* SPDX-License-Identifier: Apache-2.0
 * The worker of a device entry: the thread that makes the driver calls of its stream. It does one job at a time for the
 * call that has reserved the entry. Waking a thread takes tens of microseconds, as long as a small call. So if that
 * call has nothing else to do, both threads spin for a while before they sleep. */
#include <stdlib.h>

#include "runtime/backend/gate.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/run/device_table.h"
#include "runtime/topo/topo.h"

#define SPIN_NS 100000u           /* for the next job, or for the end of one */
#define DISCRETE_SPIN_NS 2000000u /* for the end of a job of a discrete GPU, if it is not known when it will end */
#define PAUSES 32                 /* between two looks at the clock */
#define LEAD_NS 100000u           /* from this long before the expected end of a job to as long after it */
#define LEAST_SLEEP_NS 200000u    /* a shorter sleep before that is not worth the risk that the job ends in it */
#define CHECK_NS 10000000u        /* between two checks of a worker that is waited for */
/* Between two checks of a chunk that timed out: the first interval, and the longest. */
#define POLL_NS 500000u
#define LONGEST_POLL_NS 50000000u

typedef struct hx__device_worker {
  hx__gate gate;
  pthread_t thread;
  hx__device_entry *entry;
  const hx__device_table *table;
  void (*job)(hx__device_entry *entry, void *arg);
  void *arg;
  _Atomic bool alone;             /* both threads spin for the job */
  _Atomic uint64_t posted, ended; /* jobs so far */
  _Atomic bool sleeps;            /* The worker sleeps. */
  _Atomic bool awaited;           /* The caller sleeps until the job has ended. */
  _Atomic bool stops;             /* There will be no more jobs. */
  _Atomic unsigned users;         /* references: of its thread and of the entry */
  pthread_mutex_t lock;
  pthread_cond_t changed;
} hx__device_worker;

/* Whether *value becomes `wanted` within spin_ns. Does not spin on a machine with one hardware thread. Looks after each
 * pause, because some processors pause for long, and at the clock after some of them. */
static bool spin_until(const _Atomic uint64_t *value, uint64_t wanted, uint64_t spin_ns) {
  if (hx__topo_get()->hardware_threads < 2) return atomic_load(value) == wanted;
  const uint64_t end = hx__now_ns() + spin_ns;
  do {
    for (int i = 0; i < PAUSES; i++, hx__spin_pause())
      if (atomic_load_explicit(value, memory_order_acquire) == wanted) return true;
  } while (hx__now_ns() < end);
  return false;
}

static void wake_sleeper(hx__device_worker *worker, const _Atomic bool *sleeps) {
  if (!atomic_load(sleeps)) return;
  pthread_mutex_lock(&worker->lock);
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
}

/* Sleeps until there is a job after the first `done`. False if there will be none. Chunks that timed out are checked
 * from time to time, so that the memory that they read is freed and the stream can be used again. */
static bool sleep_until_posted(hx__device_worker *worker, uint64_t done) {
  uint64_t interval = POLL_NS;
  pthread_mutex_lock(&worker->lock);
  atomic_store(&worker->sleeps, true);
  while (atomic_load(&worker->posted) == done && !atomic_load(&worker->stops)) {
    if (!hx__device_entry_has_timed_out(worker->entry)) {
      pthread_cond_wait(&worker->changed, &worker->lock);
      continue;
    }
    hx__cond_wait_until(&worker->changed, &worker->lock, hx__now_ns() + interval);
    if (interval < LONGEST_POLL_NS) interval += interval / 2;
    pthread_mutex_unlock(&worker->lock);
    hx__device_entry_poll_timed_out(worker->entry, worker->table);
    pthread_mutex_lock(&worker->lock);
  }
  atomic_store(&worker->sleeps, false);
  pthread_mutex_unlock(&worker->lock);
  return atomic_load(&worker->posted) != done;
}

static void serve_jobs(void *arg) {
  hx__device_worker *const worker = arg;
  hx__thread_request_low_latency();
  for (uint64_t done = 0;; atomic_store(&worker->ended, done), wake_sleeper(worker, &worker->awaited)) {
    if (!(atomic_load(&worker->alone) && spin_until(&worker->posted, done + 1, SPIN_NS)) &&
        !sleep_until_posted(worker, done))
      break;
    worker->job(worker->entry, worker->arg);
    done++;
  }
  hx__device_entry *const entry = worker->entry;
  if (entry->stream) hx__device_entry_poll_timed_out(entry, worker->table);
  if (entry->stream) entry->device->backend->close(entry->stream);
  entry->stream = NULL;
}

static void release_worker(hx__device_worker *worker) {
  if (atomic_fetch_sub(&worker->users, 1) != 1) return;
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
  free(worker);
}

static void *worker_thread(void *arg) {
  hx__device_worker *const worker = arg;
  if (hx__gate_run(&worker->gate, worker->entry->device, serve_jobs, worker)) {
    atomic_store(&worker->ended, UINT64_MAX);
    wake_sleeper(worker, &worker->awaited);
  }
  release_worker(worker);
  return NULL;
}

static hx__device_worker *worker_new(hx__device_entry *entry, const hx__device_table *table) {
  hx__device_worker *const worker = calloc(1, sizeof *worker);
  if (!worker) return NULL;
  worker->entry = entry;
  worker->table = table;
  pthread_mutex_init(&worker->lock, NULL);
  hx__cond_init(&worker->changed);
  atomic_init(&worker->users, 2);
  if (hx__thread_start(&worker->thread, worker_thread, worker) == 0) return worker;
  atomic_store(&worker->users, 1);
  release_worker(worker);
  return NULL;
}

bool hx__device_entry_start_job(hx__device_entry *entry, const hx__device_table *table,
                                void (*job)(hx__device_entry *entry, void *arg), void *arg, bool alone) {
  if (atomic_load(&entry->device->stuck_threads) || hx__exit_has_begun()) return false;
  if (!entry->worker) entry->worker = worker_new(entry, table);
  hx__device_worker *const worker = entry->worker;
  if (!worker) return false;
  worker->job = job;
  worker->arg = arg;
  atomic_store(&worker->alone, alone && !entry->device->uses_cpu_cores);
  atomic_store(&entry->job_ends_ns, 0);
  atomic_fetch_add(&worker->posted, 1);
  wake_sleeper(worker, &worker->sleeps);
  return true;
}

/* The driver call in which the worker has been for at least limit_ns; 0: none. */
static uint64_t stuck_call(const hx__device_worker *worker, uint64_t limit_ns) {
  uint64_t since;
  const uint64_t call = hx__gate_inside(&worker->gate, &since), now = hx__now_ns();
  return call && now > since && now - since >= limit_ns ? call : 0;
}

bool hx__device_entry_is_stuck(const hx__device_entry *entry, uint64_t limit_ns) {
  return hx__gate_given_up(&entry->worker->gate) || stuck_call(entry->worker, limit_ns);
}

/* Spins for a short job. Returns whether it has ended. */
static bool spin_for_short_job(hx__device_worker *worker, uint64_t jobs) {
  const hx__device_entry *const entry = worker->entry;
  if (spin_until(&worker->ended, jobs, SPIN_NS)) return true;
  return entry->device->is_discrete && !atomic_load(&entry->job_ends_ns) &&
         spin_until(&worker->ended, jobs, DISCRETE_SPIN_NS - SPIN_NS);
}

/* Sleeps until a worker that is waited for is to be checked, or until shortly before its job is expected to end, and
 * then spins: to wake a thread takes as long as a small call. Under the lock. */
static void sleep_for_job(hx__device_worker *worker, uint64_t jobs, uint64_t interval_ns, uint64_t *ends_ns) {
  const uint64_t now_ns = hx__now_ns(), check_ns = now_ns + interval_ns, expected_ns = *ends_ns;
  if (!expected_ns || expected_ns > check_ns + LEAD_NS) {
    hx__cond_wait_until(&worker->changed, &worker->lock, check_ns);
    return;
  }
  *ends_ns = 0;
  if (expected_ns > now_ns + LEAD_NS + LEAST_SLEEP_NS)
    hx__cond_wait_until(&worker->changed, &worker->lock, expected_ns - LEAD_NS);
  pthread_mutex_unlock(&worker->lock);
  const uint64_t from_ns = hx__now_ns(), left_ns = expected_ns > from_ns ? expected_ns - from_ns : 0;
  if (left_ns <= LEAD_NS + LEAST_SLEEP_NS) spin_until(&worker->ended, jobs, left_ns + LEAD_NS);
  pthread_mutex_lock(&worker->lock);
}

/* Waits until `jobs` jobs have ended. False if the worker was given up. */
static bool await_jobs(hx__device_worker *worker, uint64_t jobs, uint64_t limit_ns) {
  bool given_up = false;
  const bool alone = atomic_load(&worker->alone);
  if (alone && spin_for_short_job(worker, jobs)) return true;
  uint64_t ends_ns = alone ? atomic_load(&worker->entry->job_ends_ns) : 0;
  pthread_mutex_lock(&worker->lock);
  atomic_store(&worker->awaited, true);
  while (atomic_load(&worker->ended) != jobs && !given_up) {
    sleep_for_job(worker, jobs, limit_ns < 4 * (uint64_t)CHECK_NS ? limit_ns / 4 : CHECK_NS, &ends_ns);
    const uint64_t call = stuck_call(worker, limit_ns);
    given_up = hx__gate_given_up(&worker->gate) || (call && hx__gate_give_up(&worker->gate, call));
  }
  atomic_store(&worker->awaited, false);
  pthread_mutex_unlock(&worker->lock);
  return !given_up;
}

/* A worker that was given up owns the stream and its buffers from then on. No thread asks again whether chunks of the
 * stream that timed out have ended. */
static void forget_worker(hx__device_entry *entry) {
  if (entry->stream && entry->stream->timed_out)
    hx__memory_timed_out_forever(entry->worker->table->memory, entry->device);
  pthread_detach(entry->worker->thread);
  release_worker(entry->worker);
  entry->worker = NULL;
  entry->stream = NULL;
  entry->store_ns = 0.0;
  entry->stream_wait_until_ns = 0;
}

bool hx__device_entry_wait_job(hx__device_entry *entry, uint64_t limit_ns) {
  hx__device_worker *const worker = entry->worker;
  if (await_jobs(worker, atomic_load(&worker->posted), limit_ns)) return true;
  forget_worker(entry);
  return false;
}

void hx__device_entry_close(hx__device_entry *entry, uint64_t limit_ns) {
  hx__device_worker *const worker = entry->worker;
  if (!worker) return;
  atomic_store(&worker->stops, true);
  pthread_mutex_lock(&worker->lock);
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  if (!await_jobs(worker, UINT64_MAX, limit_ns)) {
    forget_worker(entry);
    return;
  }
  pthread_join(worker->thread, NULL);
  release_worker(worker);
  entry->worker = NULL;
}
