/* SPDX-License-Identifier: Apache-2.0
 * Finds the process's devices on a thread of its own, and prepares kernels on one thread for each device. All of this
 * is kept until exit. Exit stops the threads first, because a driver's compiler must not run while its library is being
 * unloaded. */
#define _GNU_SOURCE
#include "runtime/backend/registry.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/headroom.h"
#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

#define LONG_WORK_NS 10000000000u /* runs that use the cores for longer do not delay preparing any more */
#define QUIET_POLL_NS 3000000u
#define REST 4             /* after a slow step beside calls, optional steps pause for this many times its duration */
#define BRIEF_NS 50000000u /* steps up to this time, such as those from the cache, are not slow */
#define POLL_NS 50000000u  /* between checks of a driver that is waited for */

typedef struct preparer {
  hx__device *device;
  uint64_t urgent_needs; /* needs of the last call that asked; under the lock */
  bool running;
  bool untidy; /* the last step may have left a stream that only steps use; a step without a need closes it */
  bool has_idle_priority; /* its thread has idle priority, because it makes optional kernels */
  pid_t thread;           /* that thread's id */
  bool replaced;          /* another thread waits to replace it */
  hx__gate gate[2];       /* of its thread, and of the thread that replaces it */
  unsigned next_gate;     /* index of the next thread's gate */
  uint64_t hung_call;     /* the driver call in which it was found to hang; 0: none */
} preparer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool started; /* changed under the lock */
static bool stopping;
static _Atomic bool done;
static _Atomic unsigned threads_in_drivers;    /* changed under the lock */
static _Atomic unsigned busy_at_full_priority; /* threads in drivers without idle priority; changed under the lock */
static _Atomic unsigned runs_using_cores;      /* runs that keep the cores busy */
static _Atomic uint64_t busy_since_ns;         /* since when there has always been at least one such run */
static _Atomic unsigned waiting_calls;         /* calls in hx__prepare_wait */
static hx__device *devices[HX_MAX_DEVICES];
static preparer preparers[HX_MAX_DEVICES];
static size_t count;
static hx__gate discovery_gate;

static void stop_for_exit(void) {
  if (hx__in_forked_child()) return;
  pthread_mutex_lock(&lock);
  stopping = true;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  hx__gates_close();
}

/* exit calls the newest handler first. Driver libraries register handlers while devices are found or kernels are built;
 * exit would call these while a thread of hx is still inside the driver. So the handler of hx is called before all of
 * them: it is registered as if by a library that was loaded with the program, or by the main thread, at the latest in
 * hx_open. */
static void stop_before_handlers(void *unused) {
  (void)unused;
  if (started && !hx__exit_has_begun() && hx__process_is_exiting()) stop_for_exit();
}
/* Once for each thread, because every hook stays until the thread ends. */
static void watch_this_thread(void) {
  static _Thread_local bool watched;
  if (!watched) watched = hx__before_exit(stop_before_handlers);
}
__attribute__((constructor)) static void watch_main_thread(void) { watch_this_thread(); }

void hx__registry_install_thread_exit_hook(void) {
  if (!hx__in_forked_child()) watch_this_thread();
}

static void init_registry(void) {
  hx__cond_init(&changed);
  hx__install_fork_handlers();
}

void hx__registry_install_exit_hook(void) {
  if (hx__in_forked_child()) return; /* no thread will be started */
  watch_this_thread();
  pthread_once(&once, init_registry);
}

static void count_driver_entry(void) {
  threads_in_drivers++;
  if (!hx__thread_has_idle_priority()) busy_at_full_priority++;
}

static void count_driver_exit(void) {
  threads_in_drivers--;
  if (!hx__thread_has_idle_priority()) busy_at_full_priority--;
  pthread_cond_broadcast(&changed);
}

bool hx__driver_enter(void) {
  pthread_mutex_lock(&lock);
  const bool enters = !stopping;
  if (enters) count_driver_entry();
  pthread_mutex_unlock(&lock);
  return enters;
}

void hx__driver_leave(void) {
  pthread_mutex_lock(&lock);
  count_driver_exit();
  pthread_mutex_unlock(&lock);
}

static void *prepare_thread(void *p);

/* Leaves one device number for the CPU. */
static size_t discover_process_devices(void) {
  size_t found = 0, rows;
  const hx__backend *const *const backends = hx__backend_rows(&rows);
  for (size_t i = 0; i < rows; i++)
    if (backends[i]->discovery == HX__DISCOVER_PROCESS)
      found += backends[i]->discover(NULL, devices + found, HX_MAX_DEVICES - 1 - found);
  return found;
}

static void discover_drivers(void *unused) {
  (void)unused;
  const uint64_t from = hx__now_ns();
  const char *const missing = hx__driver_headroom_missing();
  if (missing) hx__log(HX__LOG_WARN, "%s: no device driver is loaded, the CPU works alone", missing);
  const size_t found = missing ? 0 : discover_process_devices();
  hx__log(HX__LOG_DEBUG, "discovery: %zu devices in %.1f ms", found, (double)(hx__now_ns() - from) * 1e-6);
  atexit(stop_for_exit); /* after the drivers' own handlers were registered: exit runs the newest first */
  pthread_mutex_lock(&lock);
  count = found;
  for (size_t i = 0; i < found; i++) preparers[i].device = devices[i];
  atomic_store(&done, true);
  pthread_mutex_unlock(&lock);
  hx__driver_leave();
}

static void *discovery_thread(void *unused) {
  (void)unused;
  hx__gate_run(&discovery_gate, NULL, discover_drivers, NULL);
  return NULL;
}

void hx__registry_start(void) {
  if (atomic_load_explicit(&done, memory_order_acquire) || hx__in_forked_child()) return;
  if (hx__is_secure_process()) {
    if (!atomic_exchange(&done, true))
      hx__log(HX__LOG_INFO,
              "a setuid program or one with capabilities: no device driver is loaded, the CPU works alone");
    return;
  }
  pthread_once(&once, init_registry);
  pthread_mutex_lock(&lock);
  if (!started && !stopping) {
    started = true;
    count_driver_entry();
    pthread_t thread;
    atexit(stop_for_exit);
    if (hx__thread_start(&thread, discovery_thread, NULL) == 0) {
      pthread_detach(thread);
    } else {
      count_driver_exit();
      atomic_store(&done, true); /* without the thread there are no devices */
      hx__log(HX__LOG_WARN, "no thread for the discovery of devices: the CPU works alone");
    }
  }
  pthread_mutex_unlock(&lock);
}

/* How long one thread waits for a driver. */
typedef struct driver_wait {
  uint64_t deadline_ns, hang_ns;
  hx__gate_watch watch[2];
} driver_wait;

/* Sleeps until something changes, or for POLL_NS. False: the deadline has passed, or a thread of these gates hangs, or
 * waits for one that hangs. The hanging call is then written to *hung_call. Requires the lock. */
static bool wait_for_change(driver_wait *p, const hx__gate *gates, unsigned count_of, uint64_t *hung_call) {
  for (unsigned i = 0; i < count_of; i++) {
    if (atomic_load(&gates[i].helper_asleep_ns) >= p->hang_ns) return false;
    const uint64_t call = hx__gate_inside(&gates[i], NULL);
    if (call && (call == *hung_call || hx__gate_hangs(&gates[i], &p->watch[i], p->hang_ns))) {
      *hung_call = call;
      return false;
    }
  }
  const uint64_t now = hx__now_ns();
  if (now >= p->deadline_ns) return false;
  hx__cond_wait_until(&changed, &lock, p->deadline_ns - now > POLL_NS ? now + POLL_NS : p->deadline_ns);
  return true;
}

bool hx__registry_wait(uint64_t deadline_ns, uint64_t hang_ns) {
  static uint64_t hung_call;
  driver_wait p = {.deadline_ns = deadline_ns, .hang_ns = hang_ns};
  if (hx__registry_done()) return true;
  pthread_mutex_lock(&lock);
  while (!atomic_load(&done) && !stopping && wait_for_change(&p, &discovery_gate, 1, &hung_call)) continue;
  pthread_mutex_unlock(&lock);
  return hx__registry_done();
}

bool hx__registry_done(void) { return atomic_load_explicit(&done, memory_order_acquire); }

bool hx__registry_busy(void) { return atomic_load_explicit(&threads_in_drivers, memory_order_relaxed) != 0; }

bool hx__registry_slows_cpu(void) { return atomic_load_explicit(&busy_at_full_priority, memory_order_relaxed) != 0; }

size_t hx__registry_devices(hx__device *const **list) {
  *list = devices;
  return hx__registry_done() ? count : 0;
}

size_t hx__registry_devices_of(const hx__backend *backend, const hx__config *config, hx__device **list, size_t max) {
  size_t found = 0;
  if (backend->discovery != HX__DISCOVER_PROCESS) {
    found = backend->discover(config, list, max);
    for (size_t i = 0; i < found && backend->prepare; i++) backend->prepare(list[i], UINT64_MAX);
    return found;
  }
  hx__device *const *all;
  for (size_t i = 0, n = hx__registry_devices(&all); i < n && found < max; i++)
    if (all[i]->backend == backend) list[found++] = all[i];
  return found;
}

void hx__device_lost(hx__device *device, const char *format, ...) {
  pthread_mutex_lock(&lock);
  if (!atomic_load(&device->lost)) {
    va_list args;
    va_start(args, format);
    hx__device_set_why(device, format, args);
    va_end(args);
    atomic_store(&device->lost, true);
    hx__log(HX__LOG_WARN, "%s is lost: %s; the CPU goes on without it", device->name, device->why);
  }
  if (atomic_load(&done)) pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

uint64_t hx__device_needs(hx__device *device, uint64_t needs, const uint32_t tile[3]) {
  if (!(needs & HX__NEED_MATMUL) || !(tile[0] | tile[1] | tile[2])) return needs;
  uint32_t i = 1;
  hx__lock(&lock); /* a forked child asks, too */
  const uint32_t known = atomic_load(&device->tile_count);
  while (i < known && memcmp(device->tile[i], tile, sizeof device->tile[i]) != 0) i++;
  if (i == HX__TILES) {
    i = 0;
  } else if (i == known) {
    memcpy(device->tile[i], tile, sizeof device->tile[i]);
    atomic_store(&device->tile_count, known + 1);
  }
  hx__unlock(&lock);
  return (needs & ~HX__NEED_MATMUL) | HX__NEED_MATMUL << i;
}

void hx__registry_cores_busy(void) {
  if (atomic_fetch_add(&runs_using_cores, 1) == 0) atomic_store(&busy_since_ns, hx__now_ns());
}

void hx__registry_cores_free(void) { atomic_fetch_sub(&runs_using_cores, 1); }

static bool may_disturb(void) {
  return atomic_load(&runs_using_cores) == 0 || hx__registry_is_awaited() ||
         hx__now_ns() - atomic_load(&busy_since_ns) > LONG_WORK_NS;
}

/* The needs that are neither ready nor refused. */
static uint64_t undecided(const hx__device *d, uint64_t needs) {
  if (atomic_load_explicit(&d->lost, memory_order_acquire)) return 0;
  return needs & ~(atomic_load_explicit(&d->ready, memory_order_acquire) |
                   atomic_load_explicit(&d->refused, memory_order_acquire));
}

/* A preparing thread has idle priority, and its device is urgently needed again: starts a thread with normal priority
 * that replaces it when its current step ends. Requires the lock. */
static void replace_low_priority_thread(preparer *w) {
  const struct sched_param none = {0};
  pthread_t thread;
  if (!w->has_idle_priority || w->replaced || stopping || hx__thread_start(&thread, prepare_thread, w) != 0) return;
  pthread_detach(thread);
  w->replaced = true;
  sched_setscheduler(w->thread, SCHED_OTHER, &none); /* lets the current step end sooner, if that is permitted */
}

/* Prepares one need, or frees what only preparing uses; releases the lock while it does. Returns until when optional
 * steps should pause, so that they do not disturb calls. */
static uint64_t prepare_one(hx__device *device, uint64_t need) {
  count_driver_entry();
  const uint64_t from_ns = hx__now_ns(), last_busy_ns = atomic_load(&busy_since_ns);
  pthread_mutex_unlock(&lock);
  device->backend->prepare(device, need);
  hx__driver_leave();
  pthread_mutex_lock(&lock);
  const uint64_t now_ns = hx__now_ns(), took_ns = now_ns - from_ns;
  const bool beside_calls = atomic_load(&runs_using_cores) != 0 || atomic_load(&busy_since_ns) != last_busy_ns;
  return beside_calls && took_ns > BRIEF_NS ? now_ns + REST * took_ns : 0;
}

static void prepare_all(void *p) {
  preparer *const w = p;
  uint64_t rest_until_ns = 0;
  pthread_mutex_lock(&lock);
  while (w->has_idle_priority) pthread_cond_wait(&changed, &lock);
  for (;;) {
    if (w->replaced && hx__thread_has_idle_priority()) break;
    const uint64_t urgent_needs = undecided(w->device, w->urgent_needs);
    const uint64_t needs = urgent_needs ? urgent_needs : undecided(w->device, atomic_load(&w->device->requested));
    if (stopping || atomic_load(&w->device->lost)) break;
    if (!needs && !w->untidy) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    if (needs && !may_disturb()) {
      pthread_mutex_unlock(&lock);
      hx__sleep_ns(QUIET_POLL_NS);
      pthread_mutex_lock(&lock);
      continue;
    }
    const uint64_t one = needs & -needs; /* a call then waits for its own kernel only, and exit for one build */
    const bool good_to_have = one == HX__NEED_TILES && !hx__registry_is_awaited();
    if (good_to_have && hx__now_ns() < rest_until_ns) {
      hx__cond_wait_until(&changed, &lock, rest_until_ns);
      continue;
    }
    if (good_to_have && !hx__thread_has_idle_priority())
      w->thread = gettid(), w->has_idle_priority = hx__thread_set_idle_priority();
    w->untidy = one != 0;
    rest_until_ns = prepare_one(w->device, one);
  }
  pthread_mutex_unlock(&lock);
}

/* The flags change only after the thread's gate is closed. Otherwise a thread of idle priority, which may wait long for
 * a core, could still have its gate in the list when the second thread after it opens the same one. */
static void *prepare_thread(void *p) {
  preparer *const w = p;
  pthread_mutex_lock(&lock);
  hx__gate *const gate = &w->gate[w->next_gate++ & 1u];
  pthread_mutex_unlock(&lock);
  if (!hx__gate_run(gate, w->device, prepare_all, w)) return NULL;
  pthread_mutex_lock(&lock);
  const bool goes_on = w->replaced && hx__thread_has_idle_priority(); /* in the thread that replaces this one */
  if (!goes_on) w->running = false;
  w->has_idle_priority = w->replaced = false;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
  return NULL;
}

void hx__prepare(hx__device *device, uint64_t needs) {
  if (!device->backend->prepare || hx__in_forked_child() || !undecided(device, needs)) return;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; i++) {
    preparer *const w = &preparers[i];
    if (w->device != device) continue;
    atomic_fetch_or(&device->requested, needs | (needs & HX__NEED_MATMUL ? HX__NEED_TILES : 0));
    w->urgent_needs = needs;
    replace_low_priority_thread(w);
    if (!w->running && !stopping) {
      pthread_t thread;
      w->running = hx__thread_start(&thread, prepare_thread, w) == 0;
      if (w->running) pthread_detach(thread);
    }
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
}

bool hx__registry_is_awaited(void) { return atomic_load(&waiting_calls) != 0; }

void hx__prepare_wait(hx__device *device, uint64_t needs, uint64_t deadline_ns, uint64_t hang_ns) {
  driver_wait p = {.deadline_ns = deadline_ns, .hang_ns = hang_ns};
  if (!device->backend->prepare || hx__in_forked_child() || !undecided(device, needs)) return;
  atomic_fetch_add(&waiting_calls, 1);
  hx__prepare(device, needs);
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; i++)
    while (preparers[i].device == device && preparers[i].running && !stopping && undecided(device, needs) &&
           wait_for_change(&p, preparers[i].gate, 2, &preparers[i].hung_call))
      continue;
  pthread_mutex_unlock(&lock);
  atomic_fetch_sub(&waiting_calls, 1);
}
