/* SPDX-License-Identifier: Apache-2.0
 * Threads of hx, and what a fork does to them. */
#ifndef HX_BASE_THREAD_H
#define HX_BASE_THREAD_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Whatever holds this code, a plugin that was linked with the archive, stays mapped to the end of the process from now
 * on, though it be closed: threads, and what ends with a thread, would otherwise go on in unmapped memory. */
void hx__keep_library_mapped(void);

/* Starts fn(arg) on a thread that blocks all signals and is in the canonical floating-point state, both before its
 * first instruction of ours: drivers' worker threads inherit them. 0, or an error number as pthread_create. */
int hx__thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);
/* The same with a stack of so many bytes; 0, or what the system does not accept: its default. */
int hx__thread_start_sized(pthread_t *thread, size_t stack_bytes, void *(*fn)(void *), void *arg);

/* Threads that are started from here on may run on these CPUs instead of where their starter may; the first call in the
 * process counts. */
void hx__set_thread_affinity(const cpu_set_t *set);

/* The calling thread mostly sleeps, and what it does when it wakes is short: where the kernel knows slices of threads
 * (Linux 6.12, sched_setattr's sched_runtime without privilege) it runs before a thread that computes on its core. */
void hx__thread_request_low_latency(void);

/* The calling thread takes a core only where nobody else wants it (SCHED_IDLE), and so do threads that it starts; for
 * good: what was given up may not be had again without privilege. False where the system refuses. */
bool hx__thread_set_idle_priority(void);
/* Whether the calling thread did so. */
bool hx__thread_has_idle_priority(void);

/* f(NULL) runs when the calling thread ends, and also when it ends the process by exit or by returning from main: then
 * before every handler of atexit and every destructor of a library, whenever those were registered. */
bool hx__before_exit(void (*f)(void *));
/* In such an f: whether it is the process that ends. */
bool hx__process_is_exiting(void);

/* True in a process forked after hx__install_fork_handlers: threads, OpenMP teams and drivers of the parent do not
 * exist there. */
bool hx__in_forked_child(void);
void hx__install_fork_handlers(void);

/* A lock that a forked child may take too: the parent's threads, which may have held it, do not exist there, so all its
 * locks are one that is made anew. Never across a condition variable in a child. */
void hx__lock(pthread_mutex_t *m);
void hx__unlock(pthread_mutex_t *m);

/* Waits on c until notified or until `deadline_ns` of hx__now_ns (UINT64_MAX: no limit); false when it is past. c was
 * made by hx__cond_init. */
bool hx__cond_wait_until(pthread_cond_t *c, pthread_mutex_t *m, uint64_t deadline_ns);
void hx__cond_init(pthread_cond_t *c); /* on the monotonic clock */

#endif
