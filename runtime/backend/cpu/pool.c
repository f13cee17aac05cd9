/* SPDX-License-Identifier: Apache-2.0
 * The CPU's thread pool. It is OpenMP's, so that a program that uses OpenMP has only one. */
#define _GNU_SOURCE
#include <omp.h>
#include <pthread.h>
#include <unistd.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/cpu/wait_policy.h"
#include "runtime/backend/cpu/thread_limit.h"
#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/fpenv.h"
#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"

#define FIRST_CALLS 16u /* Before so many calls that could use a pool, only a large task of a thread starts one. */

/* Threads that calls of this process use now. Concurrent callers share the cores. */
static _Atomic unsigned busy_threads;

/* libgomp has a pool for every thread that opens parallel regions. */
static _Thread_local hx__wait_policy wait_policy;
static _Atomic unsigned pools;

static pthread_once_t pool_key_once = PTHREAD_ONCE_INIT;
static pthread_key_t pool_key; /* set on threads that have a pool */
static bool has_pool_key;

static void forget_pool(void *unused) {
  (void)unused;
  atomic_fetch_sub_explicit(&pools, 1, memory_order_relaxed);
}

static void make_pool_key(void) { has_pool_key = pthread_key_create(&pool_key, forget_pool) == 0; }

/* Counts the pool of this thread until the thread ends. */
static void count_pool(void) {
  static _Thread_local bool counted;
  if (counted) return;
  counted = true;
  pthread_once(&pool_key_once, make_pool_key);
  atomic_fetch_add_explicit(&pools, 1, memory_order_relaxed);
  if (has_pool_key) pthread_setspecific(pool_key, &pools);
}

/* What hx__cpu_threads said last on this thread. */
static _Thread_local unsigned usual_threads;

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
  usual_threads = others < threads ? threads - others : 1;
  return usual_threads;
}

/* How long the threads spin after a region, with a margin of two: libgomp pauses 300,000 times unless the environment
 * says otherwise, and a pause takes 3 to 50 ns, depending on the processor. */
#define LIBGOMP_PAUSES 300000u
#define TIMED_PAUSES 100u
#define TIMED_ROUNDS 3u

static uint64_t time_pauses(void) {
  uint64_t least = UINT64_MAX;
  for (unsigned r = 0; r < TIMED_ROUNDS; r++) {
    const uint64_t from_ns = hx__now_ns();
    for (unsigned i = 0; i < TIMED_PAUSES; i++) hx__spin_pause();
    const uint64_t ns = hx__now_ns() - from_ns;
    if (ns < least) least = ns;
  }
  return least;
}

static uint64_t burst_ns(void) {
  static _Atomic uint64_t known;
  uint64_t ns = atomic_load_explicit(&known, memory_order_relaxed);
  if (ns) return ns;
  const uint64_t half = time_pauses() * (LIBGOMP_PAUSES / TIMED_PAUSES) / 2;
  ns = hx__environment_omp_sleeps() || half < HX__SHORT_BURST_NS ? HX__SHORT_BURST_NS
       : half < HX__BURST_NS                                     ? half
                                                                 : HX__BURST_NS;
  atomic_store_explicit(&known, ns, memory_order_relaxed);
  return ns;
}

/* Whether the calling thread is not the program's first one, has no pool and has made few calls that could have used
 * one. Threads that a program starts for a single task then do not start others, which would end with them. */
static bool may_end_soon(void) {
  static _Thread_local unsigned asked;
  if (wait_policy.has_run || asked == FIRST_CALLS) return false;
  if (asked == 0 && gettid() == getpid()) asked = FIRST_CALLS - 1;
  asked++;
  return asked < FIRST_CALLS;
}

hx__pool_state hx__cpu_pool_state(void) {
  const hx__pool_state state = hx__wait_policy_state(&wait_policy, hx__now_ns(), burst_ns());
  return may_end_soon() && state != HX__POOL_CROWDED ? HX__POOL_MISSING : state;
}

bool hx__cpu_pool_finds_asleep(void) { return wait_policy.finds_asleep; }

void hx__cpu_pool_learn_parts(uint64_t from_ns, uint64_t first_ns, uint64_t last_ns) {
  hx__wait_policy_learn_parts(&wait_policy, from_ns, first_ns, last_ns);
}

bool hx__cpu_pool_is_uneven(void) { return hx__wait_policy_is_uneven(&wait_policy, hx__now_ns()); }

/* The team of a region in which `threads` work. libgomp ends the threads of a pool that a smaller team does not need,
 * and the next larger one, of hx or of the program's own loops, waits until they are started again: hundreds of
 * microseconds on many cores, while idle threads that spin to the end of the region cost one or two. So a team has the
 * usual number. Not if several threads of the program call hx, whose teams together would have more threads than there
 * are cores (docs/measurements/cpu-teams.tsv). */
static unsigned team_for(unsigned threads) {
  count_pool();
  const bool alone = atomic_load_explicit(&pools, memory_order_relaxed) <= 1 && omp_get_level() == 0;
  return alone && usual_threads > threads ? usual_threads : threads;
}

/* The first `threads` threads of the team call body. */
static void run_parallel(unsigned threads, unsigned team, void (*body)(void *arg), void *arg) {
  const uint64_t from_ns = hx__now_ns();
  const bool measure_cpu_time = wait_policy.last_was_long; /* of the calling thread, not of the others */
  uint64_t own_ns = 0;
  unsigned team_size = 1;
  count_pool();
#pragma omp parallel num_threads(team)
  if ((unsigned)omp_get_thread_num() < threads) {
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
  hx__wait_policy_learn(&wait_policy, team_size < threads ? team_size : threads, own_ns, end_ns - from_ns, end_ns);
}

unsigned hx__cpu_pool_thread(void) { return (unsigned)omp_get_thread_num(); }

static void run_team(unsigned threads, unsigned wanted_team, void (*body)(void *arg), void *arg) {
  const unsigned team = wanted_team > 1 ? hx__cpu_startable(wanted_team) : 1;
  if (threads > team) threads = team;
  atomic_fetch_add_explicit(&busy_threads, threads, memory_order_relaxed);
  if (threads <= 1) /* a parallel region of one thread costs 0.3 us */
    body(arg);
  else
    run_parallel(threads, team, body, arg);
  atomic_fetch_sub_explicit(&busy_threads, threads, memory_order_relaxed);
}

void hx__cpu_pool_run(unsigned threads, void (*body)(void *arg), void *arg) {
  run_team(threads, threads > 1 ? team_for(threads) : 1, body, arg);
}

void hx__cpu_pool_run_beside(unsigned threads, void (*body)(void *arg), void *arg) {
  run_team(threads, threads, body, arg);
}
