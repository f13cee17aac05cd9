/* SPDX-License-Identifier: Apache-2.0
 * The gate between hx and drivers. A driver call may never return, so no thread of the program makes one: they are made
 * by threads of hx, each through a gate of its own, which shows whether the thread is inside a call and since when.
 *
 * A thread that waits for work of a gate's thread may give it up while that is inside a call. When such a call returns
 * after all, the thread does not go on with what it was doing: it jumps to the place where hx__gate_run was called, so
 * that it touches nothing of the work that was given up. Therefore code that makes driver calls holds no lock across
 * them, and reaches memory of others only between them.
 *
 * At exit no call is begun any more, and calls in progress are waited for unless they hang: a driver must not be torn
 * down while it works. */
#ifndef HX_BACKEND_GATE_H
#define HX_BACKEND_GATE_H

#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct hx__device;

/* Tells a call that hangs from one that computes or waits for a core, as a compiler may for a minute. Starts zeroed. */
typedef struct hx__gate_watch {
  uint64_t call, from_ns;         /* the call at the first look, and when that was */
  uint64_t worked_ns, process_ns; /* what its thread, and all threads of the process, had worked by then */
} hx__gate_watch;

typedef struct hx__gate {
  _Atomic uint64_t calls;     /* odd: inside a call; HX__GATE_GIVEN_UP: nobody waits for its thread any more */
  _Atomic uint64_t since_ns;  /* when that call began, to some milliseconds */
  _Atomic(const char *) call; /* its name */
  struct hx__device *device;  /* whose calls they are; NULL: of no single one */
  bool settling; /* a lost device may be called: this waits for the end of what reads the caller's memory */
  _Atomic uint64_t helper_asleep_ns; /* hx__gate_asleep_ns of another thread's call, whose end this thread waits for */
  pid_t thread;
  jmp_buf way_out;
  hx__gate_watch exit_watch;
  struct hx__gate *next; /* of all gates that are open */
} hx__gate;

#define HX__GATE_GIVEN_UP UINT64_MAX
#define HX__GATE_MOST_GIVEN_UP 3u /* of a device's threads: then the device is lost */

/* Runs work(arg) on this thread with driver calls through *gate. False if the thread was given up: what work was doing
 * is left as it was when the call began that did not return. */
bool hx__gate_run(hx__gate *gate, struct hx__device *device, void (*work)(void *arg), void *arg);

/* The gate of the calling thread; NULL: it has none. */
hx__gate *hx__gate_mine(void);

/* Brackets a driver call. enter is false if the call must not be made: the device is lost, or the process exits. leave
 * does not return if the thread was given up; free_made (may be NULL) then frees what the call has made. */
bool hx__gate_enter(const char *call);
void hx__gate_leave(void (*free_made)(void *made), void *made);

/* What another thread sees of a gate: the number of the call that it is in (odd), or 0: it is in none. */
uint64_t hx__gate_inside(const hx__gate *gate, uint64_t *since_ns);
/* Gives up the gate's thread while it is in the call of that number. False: it has returned meanwhile. */
bool hx__gate_give_up(hx__gate *gate, uint64_t call);
static inline bool hx__gate_given_up(const hx__gate *gate) {
  return atomic_load_explicit(&gate->calls, memory_order_acquire) == HX__GATE_GIVEN_UP;
}

/* For how long the gate's thread has been watched in one call, nearly all of it asleep; 0: it works, or is in none.
 * Some drivers compile on threads of their own: while other threads of the process work, a twelfth of it. */
uint64_t hx__gate_asleep_ns(const hx__gate *gate, hx__gate_watch *watch);
/* Whether that has come to limit_ns, which is more than 0. */
bool hx__gate_hangs(const hx__gate *gate, hx__gate_watch *watch, uint64_t limit_ns);

/* The process exits: no call begins from now on; returns when none is in progress but such as hang. */
void hx__gates_close(void);
bool hx__exit_has_begun(void);

#endif
