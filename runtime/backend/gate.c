/* SPDX-License-Identifier: Apache-2.0
 * The gate through which hx makes driver calls. */
#define _GNU_SOURCE
#include "runtime/backend/gate.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "runtime/backend/backend.h"
#include "runtime/base/clock.h"
#include "runtime/base/load.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"

#define EXIT_LIMIT_NS 10000000000u /* exit does not wait longer, even for a compiler that works */
#define EXIT_HANG_NS 300000000u    /* a call or an unmap that takes this long during exit counts as hanging */
#define EXIT_POLL_NS 100000u
#define EXIT_MOST_POLL_NS 5000000u
#define WORKS_PART 8u   /* a call sleeps if it works, or waits for a core, for less than this part of its time */
#define NUMBER_BITS 32u /* of the numbers of calls that each run of a gate has for itself */
#define OTHERS_WORK 12u /* sleep counts this much less while other threads of the process work */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list of gates */
static hx__gate *gates;
static _Atomic bool exiting;
static _Atomic bool closed; /* exit waits for nothing more */
static _Thread_local hx__gate *own_gate;

static uint64_t coarse_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

hx__gate *hx__gate_of_this_thread(void) { return own_gate; }

bool hx__exit_has_begun(void) { return atomic_load_explicit(&exiting, memory_order_relaxed); }

/* No two calls of the process have the same number, whichever gates they pass: a call that hangs is known by it. */
static void open_gate(hx__gate *g, hx__device *device) {
  static _Atomic uint64_t runs;
  atomic_store(&g->calls, atomic_fetch_add(&runs, 1) << NUMBER_BITS);
  atomic_store(&g->helper_asleep_ns, 0);
  atomic_store(&g->unmaps, 0);
  atomic_store(&g->waited, 0);
  g->unmap_queue = NULL;
  g->device = device;
  g->settling = false;
  g->thread = gettid();
  pthread_mutex_lock(&list_lock);
  g->next = gates;
  gates = g;
  pthread_mutex_unlock(&list_lock);
  own_gate = g;
}

static void close_gate(hx__gate *g) {
  own_gate = NULL;
  pthread_mutex_lock(&list_lock);
  for (hx__gate **at = &gates; *at; at = &(*at)->next)
    if (*at == g) {
      *at = g->next;
      break;
    }
  pthread_mutex_unlock(&list_lock);
}

bool hx__gate_run(hx__gate *g, hx__device *device, void (*work)(void *arg), void *arg) {
  open_gate(g, device);
  const bool ended = setjmp(g->exit_point) == 0;
  if (ended) work(arg);
  close_gate(g);
  return ended;
}

/* Stops this thread because the process exits. Threads that wait for it see that it was given up. */
static void park_for_exit(hx__gate *g) {
  uint64_t call = atomic_load(&g->calls);
  while (call != HX__GATE_GIVEN_UP && !atomic_compare_exchange_weak(&g->calls, &call, HX__GATE_GIVEN_UP)) continue;
  for (;;) pause();
}

static bool has_to_wait(const hx__gate *g) { return atomic_load(&g->unmaps) > atomic_load(&g->waited); }

static bool may_go_on(const hx__gate *g) { return !atomic_load(&exiting) || (has_to_wait(g) && !atomic_load(&closed)); }

bool hx__gate_enter(const char *call) {
  hx__gate *const g = own_gate;
  if (!g) return !hx__exit_has_begun();
  if (g->device && atomic_load_explicit(&g->device->lost, memory_order_acquire) && !g->settling) return false;
  atomic_store_explicit(&g->call, call, memory_order_relaxed);
  atomic_store_explicit(&g->since_ns, coarse_now_ns(), memory_order_relaxed);
  /* Ordered before the check of exiting: either this thread sees it, or hx__gates_close sees this thread inside a call.
   */
  atomic_fetch_add(&g->calls, 1);
  if (__builtin_expect(!may_go_on(g), 0)) park_for_exit(g);
  return true;
}

void hx__gate_unmaps(void *queue) {
  hx__gate *const g = own_gate;
  if (!g) return;
  g->unmap_queue = queue;
  atomic_fetch_add(&g->unmaps, 1);
}

uint64_t hx__gate_unmaps_so_far(void) {
  return own_gate ? atomic_load_explicit(&own_gate->unmaps, memory_order_relaxed) : 0;
}

void hx__gate_has_waited(uint64_t unmaps) {
  hx__gate *const g = own_gate;
  if (g && unmaps > atomic_load_explicit(&g->waited, memory_order_relaxed)) atomic_store(&g->waited, unmaps);
}

void hx__gate_has_finished(const void *queue) {
  if (own_gate && own_gate->unmap_queue == queue) hx__gate_has_waited(hx__gate_unmaps_so_far());
}

static void leave_given_up(hx__gate *g) {
  hx__device *const d = g->device;
  const double ms = (double)(hx__now_ns() - atomic_load(&g->since_ns)) * 1e-6;
  hx__log(HX__LOG_INFO, "%s: %s has returned after %.0f ms", d ? d->name : "a driver", atomic_load(&g->call), ms);
  if (d) atomic_fetch_sub(&d->stuck_threads, 1);
  longjmp(g->exit_point, 1);
}

void hx__gate_leave(void (*free_made)(void *made), void *made) {
  hx__gate *const g = own_gate;
  if (!g) return;
  uint64_t call = atomic_load_explicit(&g->calls, memory_order_relaxed);
  if (call != HX__GATE_GIVEN_UP && atomic_compare_exchange_strong(&g->calls, &call, call + 1)) return;
  if (hx__exit_has_begun()) park_for_exit(g);
  if (made && free_made) free_made(made);
  leave_given_up(g);
}

uint64_t hx__gate_inside(const hx__gate *g, uint64_t *since_ns) {
  const uint64_t call = atomic_load(&g->calls);
  const uint64_t since = atomic_load(&g->since_ns);
  if (call == HX__GATE_GIVEN_UP || call % 2 == 0 || atomic_load(&g->calls) != call) return 0;
  if (since_ns) *since_ns = since;
  return call;
}

bool hx__gate_give_up(hx__gate *g, uint64_t call) {
  hx__device *const d = g->device;
  if (d) atomic_fetch_add(&d->stuck_threads, 1);
  if (atomic_compare_exchange_strong(&g->calls, &call, HX__GATE_GIVEN_UP)) {
    const unsigned times = d ? atomic_fetch_add(&d->given_up_threads, 1) + 1 : 0;
    hx__log(HX__LOG_WARN, "%s: %s does not return; the CPU goes on without it", d ? d->name : "a driver",
            atomic_load(&g->call));
    if (times == HX__GATE_MOST_GIVEN_UP)
      hx__device_lost(d, "driver calls did not return %u times, the last one was %s", times, atomic_load(&g->call));
    return true;
  }
  if (d) atomic_fetch_sub(&d->stuck_threads, 1);
  return false;
}

static uint64_t process_cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t hx__gate_asleep_ns(const hx__gate *g, hx__gate_watch *w) {
  const uint64_t call = hx__gate_inside(g, NULL), now = hx__now_ns(), cpu = process_cpu_ns();
  if (!call || call != w->call) {
    *w = (hx__gate_watch){.call = call, .from_ns = now, .process_ns = cpu};
    if (call) w->worked_ns = hx__thread_worked_ns(g->thread);
    return 0;
  }
  const uint64_t watched = now - w->from_ns;
  if (hx__thread_worked_ns(g->thread) - w->worked_ns >= watched / WORKS_PART) return 0;
  return cpu - w->process_ns < watched / WORKS_PART ? watched : watched / OTHERS_WORK;
}

bool hx__gate_hangs(const hx__gate *g, hx__gate_watch *w, uint64_t limit_ns) {
  return hx__gate_asleep_ns(g, w) >= limit_ns;
}

/* Whether exit waits for an unmap of the thread, which its next calls will wait for. */
static bool waits_for_unmap(const hx__gate *g) {
  return has_to_wait(g) && !hx__gate_given_up(g) && !(g->device && atomic_load(&g->device->lost));
}

/* Counts the threads that are inside a call or have to wait for an unmap, and how many of these hang. */
static unsigned count_working(uint64_t from_ns, unsigned *hanging) {
  const bool late = hx__now_ns() - from_ns >= EXIT_HANG_NS;
  unsigned working = 0;
  *hanging = 0;
  pthread_mutex_lock(&list_lock);
  for (hx__gate *g = gates; g; g = g->next) {
    const bool inside = hx__gate_inside(g, NULL), unmaps = waits_for_unmap(g);
    if (!inside && !unmaps) continue;
    working++;
    *hanging += unmaps ? late : hx__gate_hangs(g, &g->exit_watch, EXIT_HANG_NS);
  }
  pthread_mutex_unlock(&list_lock);
  return working;
}

void hx__gates_close(void) {
  if (atomic_load(&closed)) return;
  const uint64_t from = hx__now_ns();
  atomic_store(&exiting, true);
  for (uint64_t poll_ns = EXIT_POLL_NS; hx__now_ns() - from < EXIT_LIMIT_NS;
       poll_ns += poll_ns < EXIT_MOST_POLL_NS ? poll_ns : 0) {
    unsigned hanging;
    if (count_working(from, &hanging) == hanging) break;
    hx__sleep_ns(poll_ns);
  }
  atomic_store(&closed, true);
}
