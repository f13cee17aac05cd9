/* SPDX-License-Identifier: Apache-2.0
 * The records of caller.h: a fixed number, taken at a thread's first call and given back at its end, without a lock or
 * an allocation, so that a child forked meanwhile finds nothing half done. */
#include "runtime/api/caller.h"

#include <pthread.h>

#include "runtime/backend/registry.h"

#include "runtime/base/thread.h"

#define RECORDS 256u

static hx__caller records[RECORDS];
static hx__caller stranger = {.inside = (hx_context *)records}; /* no context is there */

_Thread_local hx__caller *hx__this_caller = &stranger;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t ends;
static bool watched; /* the ends of threads */

static void give_back(void *record) {
  hx__this_caller = &stranger;
  atomic_store_explicit(&((hx__caller *)record)->inside, NULL, memory_order_relaxed); /* a thread may end inside */
  atomic_store_explicit(&((hx__caller *)record)->taken, false, memory_order_release);
}
static void watch(void) {
  hx__keep_library_mapped();
  watched = pthread_key_create(&ends, give_back) == 0;
}

static hx__caller *take(void) {
  pthread_once(&once, watch);
  for (size_t i = 0; watched && i < RECORDS; i++) {
    hx__caller *const c = &records[i];
    if (atomic_exchange_explicit(&c->taken, true, memory_order_acquire)) continue;
    if (pthread_setspecific(ends, c) == 0) return c;
    atomic_store_explicit(&c->taken, false, memory_order_release);
    break;
  }
  return NULL;
}

hx__caller *hx__caller_enter_slowly(hx_context *hx) {
  hx__caller *const c = hx__this_caller == &stranger ? take() : NULL;
  if (c) {
    hx__this_caller = c;
    hx__registry_install_thread_exit_hook();
    return hx__caller_enter(hx);
  }
  atomic_fetch_add_explicit(&hx->calls, 1, memory_order_relaxed);
  return NULL;
}

bool hx__caller_inside(hx_context *hx) {
  bool inside = atomic_load_explicit(&hx->calls, memory_order_acquire) != 0;
  for (size_t i = 0; !inside && i < RECORDS; i++)
    inside = atomic_load_explicit(&records[i].inside, memory_order_acquire) == hx;
  return inside;
}
