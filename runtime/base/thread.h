/* SPDX-License-Identifier: Apache-2.0
 * Threads of hx, and what a fork does to them. */
#ifndef HX_BASE_THREAD_H
#define HX_BASE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Keeps the object file that contains this code mapped until the process ends, even if it is a plugin that is closed.
 * Otherwise threads of hx, and destructors of thread-local data, would run in unmapped memory. It takes the dynamic
 * linker's lock, so the first call must not be made inside a lock of hx: hx_open and the functions of status.h begin
 * with it. */
void hx__keep_library_mapped(void);

/* Starts fn(arg) on a thread that blocks all signals and is in the canonical floating-point state before fn begins,
 * because worker threads of drivers inherit both. Returns 0, or an error number like pthread_create. */
int hx__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);
/* The same with a stack of stack_bytes. If that is 0, or not accepted by the system, the stack has the default size. */
int hx__thread_start_sized(pthread_t *thread, size_t stack_bytes, void *(*fn)(void *), void *arg);

/* Threads started from now on may run on these CPUs, wherever the thread that starts them may run. Only the first call
 * in the process has an effect. */
void hx__set_thread_affinity(const cpu_set_t *set);

/* Asks the kernel to end sleeps of the calling thread in time, and to run it soon after it wakes up, ahead of threads
 * that compute on the same core. For threads that mostly sleep and work briefly. The second needs Linux 6.12
 * (sched_runtime of sched_setattr). */
void hx__thread_request_low_latency(void);

/* In each round of a loop that waits without a sleep: leaves the core to its other hardware thread for a moment. */
static inline void hx__spin_pause(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* From now on the calling thread, and threads that it starts, run only on cores that are otherwise idle (SCHED_IDLE).
 * An unprivileged thread cannot undo this. Returns false if the system refuses. */
bool hx__thread_set_idle_priority(void);
/* Whether the calling thread has idle priority. */
bool hx__thread_has_idle_priority(void);

/* Has f(NULL) called when the calling thread ends, and also if it ends the process by exit or by returning from main.
 * In that case f runs before all atexit handlers and library destructors, whenever they were registered. */
bool hx__before_exit(void (*f)(void *));
/* For use in such an f: whether the process is ending, not only the thread. */
bool hx__process_is_exiting(void);

/* True in a process forked after hx__install_fork_handlers: threads, OpenMP teams and drivers of the parent do not
 * exist there. */
bool hx__in_forked_child(void);
void hx__install_fork_handlers(void);

/* Locks that a forked child may take, too. The parent's threads, which may have held a mutex, do not exist in the
 * child, so there all of these locks are one fresh mutex. A child must not wait on a condition variable with it. */
void hx__lock(pthread_mutex_t *m);
void hx__unlock(pthread_mutex_t *m);

/* Waits on c until notified or until hx__now_ns() reaches deadline_ns (UINT64_MAX: no limit); returns false once it
 * has. c must have been initialised by hx__cond_init. */
bool hx__cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline_ns);
void hx__cond_init(pthread_cond_t *c); /* on the monotonic clock */

#endif
