/* SPDX-License-Identifier: Apache-2.0
 * The CPU's thread pool. It is OpenMP's, so that a program that uses OpenMP has only one. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/cpu/wait_policy.h"
#include "runtime/backend/cpu/thread_limit.h"
#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/fpenv.h"
#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"

/* Threads that calls of this process use now. Concurrent callers share the cores. */
static _Atomic unsigned busy_threads;

/* libgomp has a pool for every thread that opens parallel regions. */
static _Thread_local hx__wait_policy wait_policy;

static unsigned threads_configured(const hx__config *config) {
  if (config->threads) return config->threads;
  if (config->omp_threads) return config->omp_threads;
  const hx__topo *const topo = hx__topo_get();
  /* Threads that are bound close to each other fill both hardware threads of a core before they use the next core. */
  const omp_proc_bind_t bind = omp_get_proc_bind();
  const bool by_threads =
      (bind == omp_proc_bind_true || bind == omp_proc_bind_close) && omp_get_num_places() > (int)topo->cores;
  return by_threads ? topo->hardware_threads : topo->cores;
}

unsigned hx__cpu_threads(const hx__config *config) {
  if (hx__in_forked_child()) return 1; /* libgomp's pool does not exist in a forked child */
  if (omp_in_parallel() && omp_get_level() >= omp_get_max_active_levels()) return 1;
  const unsigned configured = threads_configured(config), limit = (unsigned)omp_get_thread_limit();
  const unsigned threads = configured < limit ? configured : limit;
  const unsigned others = atomic_load_explicit(&busy_threads, memory_order_relaxed);
  return others < threads ? threads - others : 1;
}

hx__pool_state hx__cpu_pool_state(void) { return hx__wait_policy_state(&wait_policy, hx__now_ns()); }

void hx__cpu_pool_learn_parts(uint64_t from_ns, uint64_t first_ns, uint64_t last_ns) {
  hx__wait_policy_learn_parts(&wait_policy, from_ns, first_ns, last_ns);
}

bool hx__cpu_pool_is_uneven(void) { return hx__wait_policy_is_uneven(&wait_policy, hx__now_ns()); }

unsigned hx__cpu_pool_spinning(void) {
  if (atomic_load_explicit(&busy_threads, memory_order_relaxed) || omp_get_level() > 0) return 0;
  const unsigned threads = hx__wait_policy_spinning(&wait_policy, hx__now_ns());
  /* libgomp ends threads that the next region does not use, and lets threads sleep if they outnumber the processors. */
  const bool usual_team = threads && threads == (unsigned)omp_get_max_threads();
  return usual_team && threads <= (unsigned)omp_get_num_procs() && !hx__environment_omp_sleeps() ? threads : 0;
}

static void run_parallel(unsigned threads, void (*body)(void *arg), void *arg) {
  const uint64_t from_ns = hx__now_ns();
  const bool measure_cpu_time = wait_policy.last_was_long; /* of the calling thread, not of the others */
  uint64_t own_ns = 0;
  unsigned team_size = 1;
#pragma omp parallel num_threads(threads)
  {
    const uint64_t began_ns = measure_cpu_time ? hx__thread_cpu_ns() : hx__now_ns();
    const hx__fpenv was = hx__fpenv_enter();
    body(arg);
    hx__fpenv_leave(was);
    if (omp_get_thread_num() == 0) {
      own_ns = (measure_cpu_time ? hx__thread_cpu_ns() : hx__now_ns()) - began_ns;
      team_size = (unsigned)omp_get_num_threads();
    }
  }
  const uint64_t end_ns = hx__now_ns();
  hx__wait_policy_learn(&wait_policy, team_size, own_ns, end_ns - from_ns, end_ns);
  if (omp_get_level() > 0) wait_policy.threads = 0; /* a nested pool ends with its region */
}

unsigned hx__cpu_pool_thread(void) { return (unsigned)omp_get_thread_num(); }

void hx__cpu_pool_rerun(unsigned threads, void (*body)(void *arg), void *arg) { run_parallel(threads, body, arg); }

void hx__cpu_pool_run(unsigned threads, void (*body)(void *arg), void *arg) {
  threads = hx__cpu_startable(threads);
  atomic_fetch_add_explicit(&busy_threads, threads, memory_order_relaxed);
  if (threads <= 1) /* a parallel region of one thread costs 0.3 us */
    body(arg);
  else
    run_parallel(threads, body, arg);
  atomic_fetch_sub_explicit(&busy_threads, threads, memory_order_relaxed);
}
