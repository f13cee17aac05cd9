/* SPDX-License-Identifier: Apache-2.0
 * A seat's worker: the thread that makes the driver calls of its stream. It takes one job at a time from the call that
 * has the seat. Waking a thread takes tens of microseconds, as long as a small call: so both look for one another for a
 * while before they sleep, if that call has nothing else to do. */
#include <stdlib.h>

#include "runtime/backend/gate.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/run/device_table.h"
#include "runtime/topo/topo.h"

#define CARD_SPIN_NS                                                                                               \
  2000000u                  /* for the end of a card's job: a card has power of its own, and few calls last longer \
                             */
#define SPIN_NS 100000u     /* for the next job, or for the end of one */
#define LOOK_NS 10000000u   /* between looks at a worker that is waited for */
#define LATE_NAP_NS 500000u /* between looks at a late chunk, at first */
#define LATE_MOST_NAP_NS 50000000u

typedef struct hx__device_worker {
  hx__gate gate;
  pthread_t thread;
  hx__device_entry *seat;
  const hx__device_table *team;
  void (*job)(hx__device_entry *seat, void *arg);
  void *arg;
  _Atomic bool alone;                  /* the job is one for which both threads spin */
  _Atomic uint64_t posted, ended;      /* jobs so far */
  _Atomic bool sleeps, awaited, stops; /* the worker sleeps; its caller does; there will be no more jobs */
  _Atomic unsigned users;              /* its thread, and the seat */
  pthread_mutex_t lock;
  pthread_cond_t changed;
} hx__device_worker;

static inline void spin_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* Whether *value becomes `wanted` within spin_ns; the machine has a core for each of the two. */
static bool spin_until(const _Atomic uint64_t *value, uint64_t wanted, uint64_t spin_ns) {
  if (hx__topo_get()->hardware_threads < 2) return atomic_load(value) == wanted;
  for (const uint64_t till = hx__now_ns() + spin_ns; atomic_load_explicit(value, memory_order_acquire) != wanted;) {
    for (int i = 0; i < 32; i++) spin_pause();
    if (hx__now_ns() >= till) return false;
  }
  return true;
}

static void wake_sleeper(hx__device_worker *f, const _Atomic bool *who) {
  if (!atomic_load(who)) return;
  pthread_mutex_lock(&f->lock);
  pthread_cond_broadcast(&f->changed);
  pthread_mutex_unlock(&f->lock);
}

/* Sleeps until there is a job after the first `done`; false: there will be none. Late chunks are looked at meanwhile,
 * so that the memory that they read is freed and the stream can be used again. */
static bool sleep_until_posted(hx__device_worker *f, uint64_t done) {
  uint64_t nap = LATE_NAP_NS;
  pthread_mutex_lock(&f->lock);
  atomic_store(&f->sleeps, true);
  while (atomic_load(&f->posted) == done && !atomic_load(&f->stops)) {
    if (!hx__device_entry_has_timed_out(f->seat)) {
      pthread_cond_wait(&f->changed, &f->lock);
      continue;
    }
    hx__cond_wait_until(&f->changed, &f->lock, hx__now_ns() + nap);
    if (nap < LATE_MOST_NAP_NS) nap += nap / 2;
    pthread_mutex_unlock(&f->lock);
    hx__device_entry_poll_timed_out(f->seat, f->team);
    pthread_mutex_lock(&f->lock);
  }
  atomic_store(&f->sleeps, false);
  pthread_mutex_unlock(&f->lock);
  return atomic_load(&f->posted) != done;
}

static void serve_jobs(void *arg) {
  hx__device_worker *const f = arg;
  hx__thread_request_low_latency();
  for (uint64_t done = 0;; atomic_store(&f->ended, done), wake_sleeper(f, &f->awaited)) {
    if (!(atomic_load(&f->alone) && spin_until(&f->posted, done + 1, SPIN_NS)) && !sleep_until_posted(f, done)) break;
    f->job(f->seat, f->arg);
    done++;
  }
  hx__device_entry *const seat = f->seat;
  if (seat->stream) hx__device_entry_poll_timed_out(seat, f->team);
  if (seat->stream) seat->device->backend->close(seat->stream);
  seat->stream = NULL;
}

static void release_worker(hx__device_worker *f) {
  if (atomic_fetch_sub(&f->users, 1) != 1) return;
  pthread_cond_destroy(&f->changed);
  pthread_mutex_destroy(&f->lock);
  free(f);
}

static void *worker_thread(void *arg) {
  hx__device_worker *const f = arg;
  if (hx__gate_run(&f->gate, f->seat->device, serve_jobs, f)) {
    atomic_store(&f->ended, UINT64_MAX);
    wake_sleeper(f, &f->awaited);
  }
  release_worker(f);
  return NULL;
}

static hx__device_worker *worker_new(hx__device_entry *seat, const hx__device_table *team) {
  hx__device_worker *const f = calloc(1, sizeof *f);
  if (!f) return NULL;
  f->seat = seat;
  f->team = team;
  pthread_mutex_init(&f->lock, NULL);
  hx__cond_init(&f->changed);
  atomic_init(&f->users, 2);
  if (hx__thread_start(&f->thread, worker_thread, f) == 0) return f;
  atomic_store(&f->users, 1);
  release_worker(f);
  return NULL;
}

bool hx__device_entry_start_job(hx__device_entry *seat, const hx__device_table *team,
                                void (*job)(hx__device_entry *seat, void *arg), void *arg, bool alone) {
  if (atomic_load(&seat->device->stuck_threads) || hx__exit_has_begun()) return false;
  if (!seat->worker) seat->worker = worker_new(seat, team);
  hx__device_worker *const f = seat->worker;
  if (!f) return false;
  f->job = job;
  f->arg = arg;
  atomic_store(&f->alone, alone && !seat->device->uses_cpu_cores);
  atomic_fetch_add(&f->posted, 1);
  wake_sleeper(f, &f->sleeps);
  return true;
}

/* The call in which the worker has been for so long; 0: none. */
static uint64_t stuck_call(const hx__device_worker *f, uint64_t limit_ns) {
  uint64_t since;
  const uint64_t call = hx__gate_inside(&f->gate, &since), now = hx__now_ns();
  return call && now > since && now - since >= limit_ns ? call : 0;
}

bool hx__device_entry_is_stuck(const hx__device_entry *seat, uint64_t limit_ns) {
  return hx__gate_given_up(&seat->worker->gate) || stuck_call(seat->worker, limit_ns);
}

/* Waits until so many jobs have ended; false: the worker was given up. */
static bool await_jobs(hx__device_worker *f, uint64_t jobs, uint64_t limit_ns) {
  bool given_up = false;
  const uint64_t spin_ns = f->seat->device->is_discrete ? CARD_SPIN_NS : SPIN_NS;
  if (atomic_load(&f->alone) && spin_until(&f->ended, jobs, spin_ns)) return true;
  pthread_mutex_lock(&f->lock);
  atomic_store(&f->awaited, true);
  while (atomic_load(&f->ended) != jobs && !given_up) {
    const uint64_t look = limit_ns < 4 * (uint64_t)LOOK_NS ? limit_ns / 4 : LOOK_NS;
    hx__cond_wait_until(&f->changed, &f->lock, hx__now_ns() + look);
    const uint64_t call = stuck_call(f, limit_ns);
    given_up = hx__gate_given_up(&f->gate) || (call && hx__gate_give_up(&f->gate, call));
  }
  atomic_store(&f->awaited, false);
  pthread_mutex_unlock(&f->lock);
  return !given_up;
}

/* The worker that was given up has the stream and all that it holds. */
static void forget_worker(hx__device_entry *seat) {
  pthread_detach(seat->worker->thread);
  release_worker(seat->worker);
  seat->worker = NULL;
  seat->stream = NULL;
  seat->store_ns = 0.0;
  seat->late_till_ns = 0;
}

bool hx__device_entry_wait_job(hx__device_entry *seat, uint64_t limit_ns) {
  hx__device_worker *const f = seat->worker;
  if (await_jobs(f, atomic_load(&f->posted), limit_ns)) return true;
  forget_worker(seat);
  return false;
}

void hx__device_entry_close(hx__device_entry *seat, uint64_t limit_ns) {
  hx__device_worker *const f = seat->worker;
  if (!f) return;
  atomic_store(&f->stops, true);
  pthread_mutex_lock(&f->lock);
  pthread_cond_broadcast(&f->changed);
  pthread_mutex_unlock(&f->lock);
  if (!await_jobs(f, UINT64_MAX, limit_ns)) {
    forget_worker(seat);
    return;
  }
  pthread_join(f->thread, NULL);
  release_worker(f);
  seat->worker = NULL;
}
