/* SPDX-License-Identifier: Apache-2.0
 * The gate between hx and drivers. A driver call may never return, so threads of the program make none. Threads of hx
 * make them, each through a gate of its own that shows whether the thread is inside a call, and since when.
 *
 * A thread that waits for a gate's thread may give it up while it is inside a call. If that call returns after all, the
 * thread does not continue its work: it jumps back to hx__gate_run, so that it touches nothing of the work that was
 * given up. Therefore code that makes driver calls holds no lock across them, and accesses memory of other threads only
 * between them.
 *
 * Once exit has begun calls in progress are waited for unless they hang, because a driver must not be unloaded while it
 * works. No call is started, except by a thread that has put an unmap on a queue: it continues until it has waited for
 * the unmap, because Intel's driver crashes if it completes one while it is unloaded. */
#ifndef HX_BACKEND_GATE_H
#define HX_BACKEND_GATE_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hx__device;

/* Distinguishes a call that hangs from one that computes or waits for a core, which a compiler may do for a minute.
 * Zero at first. */
typedef struct hx__gate_watch {
  uint64_t call, from_ns;         /* the call that was first seen, and when */
  uint64_t worked_ns, process_ns; /* CPU time of its thread, and of the process, at that time */
} hx__gate_watch;

typedef struct hx__gate {
  _Atomic uint64_t calls;     /* odd: inside a call; HX__GATE_GIVEN_UP: its thread was given up */
  _Atomic uint64_t since_ns;  /* when that call began, to some milliseconds */
  _Atomic(const char *) call; /* name of that call */
  struct hx__device *device;  /* the device of all its calls; NULL: of no single one */
  bool settling; /* calls are allowed though the device is lost: they wait for the end of what reads the caller's memory
                  */
  _Atomic uint64_t helper_asleep_ns; /* hx__gate_asleep_ns of another thread whose call this thread waits for */
  _Atomic uint64_t unmaps, waited;   /* unmaps that the thread has put on queues, and how many it has waited for */
  void *unmap_queue;                 /* of the last one */
  pid_t thread;
  jmp_buf exit_point; /* in hx__gate_run */
  hx__gate_watch exit_watch;
  struct hx__gate *next; /* in the list of open gates */
} hx__gate;

#define HX__GATE_GIVEN_UP UINT64_MAX
#define HX__GATE_MOST_GIVEN_UP 3u /* threads of a device that are given up before the device counts as lost */

/* Calls work(arg) on this thread, with driver calls through *gate. False if the thread was given up: the work stopped
 * where the call was made that did not return in time. */
bool hx__gate_run(hx__gate *gate, struct hx__device *device, void (*work)(void *arg), void *arg);

/* The gate of the calling thread; NULL: it has none. */
hx__gate *hx__gate_of_this_thread(void);

/* Bracket a driver call. hx__gate_enter is false if the call must not be made: the device is lost, or the process
 * exits. hx__gate_leave does not return if the thread was given up; it then first frees what the call has made by
 * free_made(made), if both are given. */
bool hx__gate_enter(const char *call);
void hx__gate_leave(void (*free_made)(void *made), void *made);

/* A thread notes that it is about to put an unmap on a queue; that all commands of a queue have ended; and that the
 * first `unmaps` of its unmaps have ended. Without a gate these do nothing. */
void hx__gate_unmaps(void *queue);
void hx__gate_has_finished(const void *queue);
void hx__gate_has_waited(uint64_t unmaps);
uint64_t hx__gate_unmaps_so_far(void);

/* The number (odd, and of no other call of the process) of the call in which the gate's thread is, and in *since_ns
 * (may be NULL) when it began. 0: it is in no call, or was given up. */
uint64_t hx__gate_inside(const hx__gate *gate, uint64_t *since_ns);
/* Gives up the gate's thread, which is inside the call with that number. False: the call has returned already. */
bool hx__gate_give_up(hx__gate *gate, uint64_t call);
static inline bool hx__gate_given_up(const hx__gate *gate) {
  return atomic_load_explicit(&gate->calls, memory_order_acquire) == HX__GATE_GIVEN_UP;
}

/* For how long the gate's thread has been watched in one call and slept nearly all the time; 0: it works, or is in no
 * call. Some drivers compile on threads of their own, so sleep counts a twelfth while other threads of the process
 * work.
 */
uint64_t hx__gate_asleep_ns(const hx__gate *gate, hx__gate_watch *watch);
/* Whether that time has reached limit_ns, which is more than 0. */
bool hx__gate_hangs(const hx__gate *gate, hx__gate_watch *watch, uint64_t limit_ns);

/* The process exits: stops further calls, and returns once no call and no unmap is in progress except those that
 * hang. */
void hx__gates_close(void);
bool hx__exit_has_begun(void);

#endif
