/* SPDX-License-Identifier: Apache-2.0
 * Which threads are inside a call of which context: hx_close waits for them. Each thread has a record that it alone
 * writes. A counter in the context would take two locked instructions, a third of the time of a small call. */
#ifndef HX_API_CALLER_H
#define HX_API_CALLER_H

#include "runtime/api/context.h"
#include "runtime/base/guard.h"

typedef struct hx__caller {
  _Alignas(64) _Atomic(const hx_context *) inside; /* NULL: in no call */
  _Atomic bool taken;                              /* by a thread */
} hx__caller;

/* The thread's record. Before the first call, and if no record was free, one that always counts as inside a call. */
extern _Thread_local hx__caller *hx__this_caller __attribute__((tls_model("initial-exec")));

/* The first call of a thread, or one of a thread without a record: takes a record, or counts the call in the context
 * and returns NULL. */
hx__caller *hx__caller_enter_slowly(hx_context *hx) __attribute__((cold));

/* Returns the argument of hx__caller_leave. The store to `inside` is ordered before all that the call writes, so
 * another thread that has seen any of it also sees that this one is inside the call, or has left it. */
static inline hx__caller *hx__caller_enter(hx_context *hx) {
  hx__caller *const c = hx__this_caller;
  if (__builtin_expect(atomic_load_explicit(&c->inside, memory_order_relaxed) != NULL, 0))
    return hx__caller_enter_slowly(hx);
  atomic_store_explicit(&c->inside, hx, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  return c;
}

static inline void hx__caller_leave(hx_context *hx, hx__caller *c) {
  if (__builtin_expect(c != NULL, 1))
    atomic_store_explicit(&c->inside, NULL, memory_order_release);
  else
    atomic_fetch_sub_explicit(&hx->calls, 1, memory_order_release);
}

/* To the end of the block, the thread is inside a call of the context, and guarded (guard.h). Small calls of hx_offload
 * do without. */
typedef struct hx__call_scope {
  hx_context *hx;
  hx__caller *caller;
} hx__call_scope;

static inline void hx__call_scope_end(const hx__call_scope *s) { hx__caller_leave(s->hx, s->caller); }
#define HX__CALL_SCOPE(context)                        \
  HX__GUARD;                                           \
  __attribute__((cleanup(hx__call_scope_end), unused)) \
  const hx__call_scope call_scope = {(context), hx__caller_enter(context)}

/* Whether some thread is inside a call of this context. */
bool hx__caller_inside(hx_context *hx);

#endif
