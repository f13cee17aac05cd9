/* SPDX-License-Identifier: Apache-2.0
 * Threads of hx, and what a fork does to them. */
#define _GNU_SOURCE
#include "runtime/base/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <execinfo.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/fpenv.h"

#define CALLERS 64             /* the most stack frames that are searched for exit */
#define LEAST_SLICE_NS 100000u /* the least that the kernel accepts */
#define TIMER_SLACK_NS 1000ul  /* how late a sleep may end; the default is 50 us */

typedef struct start {
  void *(*fn)(void *);
  void *arg;
} start;

static cpu_set_t affinity;
static atomic_bool has_affinity;

void hx__set_thread_affinity(const cpu_set_t *set) {
  static atomic_flag taken = ATOMIC_FLAG_INIT;
  if (atomic_flag_test_and_set(&taken)) return;
  affinity = *set;
  atomic_store_explicit(&has_affinity, true, memory_order_release);
}

/* If the system refuses, the thread keeps the affinity of the thread that started it. */
static void apply_affinity(pthread_t thread) {
  if (atomic_load_explicit(&has_affinity, memory_order_acquire))
    pthread_setaffinity_np(thread, sizeof affinity, &affinity);
}

static void *trampoline(void *p) {
  const start s = *(start *)p;
  free(p);
  apply_affinity(pthread_self()); /* here, too: threads started by this one must inherit it in any case */
  hx__fpenv_enter();              /* never left: the thread is hx's own */
  return s.fn(s.arg);
}

static void pin_library(void) {
  Dl_info info;
  struct link_map *map = NULL;
  if (dladdr1((void *)hx__keep_library_mapped, &info, (void **)&map, RTLD_DL_LINKMAP) && map && map->l_name[0])
    (void)dlopen(map->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE); /* the program itself has no name and stays
                                                                        * mapped */
}

/* No pthread_once: a thread inside dlopen, whose library calls hx in a constructor, would wait for a thread that waits
 * for the dynamic linker's lock here. It may be done twice. */
void hx__keep_library_mapped(void) {
  static atomic_bool kept;
  if (atomic_load_explicit(&kept, memory_order_relaxed)) return;
  pin_library();
  atomic_store_explicit(&kept, true, memory_order_relaxed);
}

int hx__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg) {
  return hx__thread_start_sized(thread, 0, fn, arg);
}

int hx__thread_start_sized(pthread_t *thread, size_t stack_bytes, void *(*fn)(void *), void *arg) {
  start *s = malloc(sizeof *s);
  if (!s) return ENOMEM;
  *s = (start){fn, arg};
  sigset_t all, was;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  if (stack_bytes) pthread_attr_setstacksize(&attr, stack_bytes);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &was);
  const int error = pthread_create(thread, &attr, trampoline, s);
  if (error == 0) apply_affinity(*thread); /* so that it need not wait for this core; not detached yet */
  pthread_sigmask(SIG_SETMASK, &was, NULL);
  pthread_attr_destroy(&attr);
  if (error) free(s);
  return error;
}

/* The function by which C++ registers destructors of thread_local objects. exit runs those of the calling thread first.
 */
extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *) __attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

/* Whether there is memory for an entry of that list: glibc aborts if there is none. The piece is so large that free
 * does not keep it for mallocs of its size alone. */
static bool has_memory_for_entry(void) {
  enum { PIECE = 4096 };
  void *volatile const piece = malloc(PIECE);
  free(piece);
  return piece != NULL;
}

bool hx__before_exit(void (*f)(void *)) {
  return __cxa_thread_atexit_impl && has_memory_for_entry() && __cxa_thread_atexit_impl(f, NULL, &__dso_handle) == 0;
}

/* Looks for exit among the callers: a thread that ends by itself was not called by it. */
bool hx__process_is_exiting(void) {
  void *caller[CALLERS];
  const int count = backtrace(caller, CALLERS);
  for (int i = 0; i < count; i++) {
    Dl_info at; /* of the call, because exit does not return and the next address may belong to another function */
    if (dladdr((const char *)caller[i] - 1, &at) && at.dli_sname && strcmp(at.dli_sname, "exit") == 0) return true;
  }
  return false;
}

void hx__thread_request_low_latency(void) {
  struct { /* sched_setattr(2), first version */
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attr = {.size = sizeof attr};
  prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0ul, 0ul, 0ul);
  if (syscall(SYS_sched_getattr, 0, &attr, sizeof attr, 0) != 0 || attr.policy != SCHED_OTHER) return;
  attr.runtime = LEAST_SLICE_NS;
  syscall(SYS_sched_setattr, 0, &attr, 0); /* an older kernel ignores it */
}

static _Thread_local bool has_idle_priority;

bool hx__thread_set_idle_priority(void) {
  const struct sched_param none = {0};
  return has_idle_priority = sched_setscheduler(0, SCHED_IDLE, &none) == 0;
}

bool hx__thread_has_idle_priority(void) { return has_idle_priority; }

static bool forked;
static pthread_once_t install_once = PTHREAD_ONCE_INIT;

static pthread_mutex_t child_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void in_child(void) {
  static const pthread_mutex_t fresh = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
  child_lock = fresh;
  forked = true;
}
static void install_fork_handler(void) { pthread_atfork(NULL, NULL, in_child); }

bool hx__in_forked_child(void) { return __builtin_expect(forked, 0); }
void hx__install_fork_handlers(void) { pthread_once(&install_once, install_fork_handler); }

void hx__lock(pthread_mutex_t *m) { pthread_mutex_lock(hx__in_forked_child() ? &child_lock : m); }
void hx__unlock(pthread_mutex_t *m) { pthread_mutex_unlock(hx__in_forked_child() ? &child_lock : m); }

void hx__cond_init(pthread_cond_t *c) {
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(c, &attr);
  pthread_condattr_destroy(&attr);
}

bool hx__cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline_ns) {
  if (deadline_ns == UINT64_MAX) {
    pthread_cond_wait(c, m);
    return true;
  }
  const struct timespec t = {.tv_sec = (time_t)(deadline_ns / 1000000000u),
                             .tv_nsec = (long)(deadline_ns % 1000000000u)};
  return pthread_cond_timedwait(c, m, &t) != ETIMEDOUT;
}
