/* SPDX-License-Identifier: Apache-2.0
 * The records of caller.h: a fixed number. A thread takes one in its first call and gives it back when it ends, without
 * a lock or an allocation, so that a child that is forked at any moment finds them consistent. */
#include "runtime/api/caller.h"

#include <pthread.h>

#include "runtime/backend/registry.h"

#define RECORDS 256u

static hx__caller records[RECORDS];
static _Atomic unsigned taken_records;
static hx__caller no_record = {.inside = (hx_context *)records}; /* an address that no context can have */

_Thread_local hx__caller *hx__this_caller = &no_record;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static bool has_exit_key;

static void give_record_back(void *record) {
  hx__this_caller = &no_record;
  atomic_store_explicit(&((hx__caller *)record)->inside, NULL, memory_order_relaxed); /* a thread may end inside */
  atomic_store_explicit(&((hx__caller *)record)->taken, false, memory_order_release);
  atomic_fetch_sub_explicit(&taken_records, 1, memory_order_relaxed);
}
static void make_exit_key(void) { has_exit_key = pthread_key_create(&exit_key, give_record_back) == 0; }

static hx__caller *take_record(void) {
  pthread_once(&once, make_exit_key);
  if (atomic_load_explicit(&taken_records, memory_order_relaxed) >= RECORDS) return NULL; /* no need to look */
  for (size_t i = 0; has_exit_key && i < RECORDS; i++) {
    hx__caller *const c = &records[i];
    if (atomic_load_explicit(&c->taken, memory_order_relaxed) ||
        atomic_exchange_explicit(&c->taken, true, memory_order_acquire))
      continue;
    atomic_fetch_add_explicit(&taken_records, 1, memory_order_relaxed);
    if (pthread_setspecific(exit_key, c) == 0) return c;
    give_record_back(c);
    break;
  }
  return NULL;
}

hx__caller *hx__caller_enter_slowly(hx_context *hx) {
  hx__caller *const c = hx__this_caller == &no_record ? take_record() : NULL;
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
