/* SPDX-License-Identifier: Apache-2.0
 * Which threads are inside a call of which context: hx_close waits for them. Each thread has a record that it alone
 * writes; a counter of the context would cost a small call two locked instructions, around which nothing overlaps, a
 * third of its time. */
#ifndef HX_API_CALLER_H
#define HX_API_CALLER_H

#include "runtime/api/context.h"
#include "runtime/base/guard.h"

typedef struct hx__caller {
  _Alignas(64) _Atomic(const hx_context *) inside; /* NULL: in no call */
  _Atomic bool taken;                              /* by a thread */
} hx__caller;

/* The thread's record. Before the first call, and where there was none left, one that is inside for ever. */
extern _Thread_local hx__caller *hx__this_caller __attribute__((tls_model("initial-exec")));

/* Where the record is busy: the thread's first call, or the context counts. NULL: it does. */
hx__caller *hx__caller_enter_slowly(hx_context *hx) __attribute__((cold));

/* What hx__caller_leave wants. The store is ordered before whatever the call writes: who has seen that, or the call's
 * end, sees the thread inside, or out again. */
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

/* Inside a call of a context, and guarded, to the end of the block: every call but the small ones of hx_offload. */
typedef struct hx__call_scope {
  hx_context *hx;
  hx__caller *caller;
} hx__call_scope;

static inline void hx__call_scope_end(const hx__call_scope *v) { hx__caller_leave(v->hx, v->caller); }
#define HX__CALL_SCOPE(context)                        \
  HX__GUARD;                                           \
  __attribute__((cleanup(hx__call_scope_end), unused)) \
  const hx__call_scope visit = {(context), hx__caller_enter(context)}

/* Whether some thread is inside a call of hx. */
bool hx__caller_inside(hx_context *hx);

#endif
