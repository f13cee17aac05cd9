/* SPDX-License-Identifier: Apache-2.0
 * hx_alloc, hx_register and advice. */
#include "runtime/memory/memory.h"

#include "runtime/api/bring_up.h"
#include "runtime/api/caller.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/run/fetch.h"

#define DISCOVERY_WAIT_NS 2000000000u /* how long hx_alloc waits for devices: it can do without them */

void *hx_alloc(hx_context *hx, size_t bytes) {
  if (!hx) {
    hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
    return NULL;
  }
  HX__CALL_SCOPE(hx);
  hx__device *devices[HX_MAX_DEVICES];
  size_t count = 0;
  if (hx->wants_devices) hx__registry_start();
  const uint64_t deadline = hx__now_ns() + DISCOVERY_WAIT_NS;
  if (hx->wants_devices && !hx__in_forked_child() && hx__context_add_devices(hx, deadline, DISCOVERY_WAIT_NS))
    for (size_t i = 1; i < hx->table.entries; i++) {
      hx__device *const d = hx->table.entry[i].device;
      if (!hx->table.entry[i].selected) continue;
      if (!hx->table.entry[i].owned) hx__prepare_wait(d, HX__NEED_OPEN, deadline, DISCOVERY_WAIT_NS);
      devices[count++] = d;
    }
  void *const p = hx__memory_alloc(&hx->memory, devices, count, bytes);
  if (!p) hx__fail(HX_OUT_OF_MEMORY, "bytes is %zu: no such block of memory", bytes);
  return p;
}

/* Before the block that begins at p is released: waits for the asynchronous tasks that use it. */
static void wait_for_users(hx_context *hx, const void *p) {
  const size_t bytes = hx__memory_range_bytes(&hx->memory, p);
  if (bytes) hx__events_wait(hx, p, bytes);
}

void hx_free(hx_context *hx, void *p) {
  if (!hx || !p) return;
  HX__CALL_SCOPE(hx);
  wait_for_users(hx, p);
  if (!hx__memory_free(&hx->memory, p)) hx__log(HX__LOG_WARN, "hx_free(%p): not from hx_alloc; left alone", p);
}

#define ENTER(hx)                                                \
  if (!(hx)) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL"); \
  HX__CALL_SCOPE(hx)

hx_status hx_register(hx_context *hx, void *p, size_t bytes) {
  ENTER(hx);
  const hx_status s = hx__memory_register(&hx->memory, p, bytes);
  const bool found = s == HX_OK && hx->wants_devices && !hx__in_forked_child() && hx__registry_done();
  if (found && hx__context_add_devices(hx, 0, 0)) hx__context_pin_memory(hx, false);
  return s;
}

hx_status hx_unregister(hx_context *hx, void *p) {
  ENTER(hx);
  wait_for_users(hx, p);
  return hx__memory_unregister(&hx->memory, p);
}

hx_status hx_advise(hx_context *hx, const void *p, size_t bytes, unsigned advice) {
  ENTER(hx);
  const void *whole = p; /* Advice on a part of a range ends earlier advice on the rest. */
  size_t whole_bytes = bytes;
  hx_status s = hx__memory_known_range(&hx->memory, &whole, &whole_bytes, "hx_advise");
  for (bool again = true; s == HX_OK && again;) {
    s = hx__fetch_in(&hx->table, whole, whole_bytes);
    if (s == HX_OK) s = hx__memory_advise(&hx->memory, p, bytes, advice, &again);
  }
  return s;
}

hx_status hx_modified(hx_context *hx, const void *p, size_t bytes) {
  ENTER(hx);
  return hx__memory_modified(&hx->memory, p, bytes);
}

hx_status hx_sync(hx_context *hx, void *p, size_t bytes) {
  ENTER(hx);
  const hx_status s = hx__memory_known(&hx->memory, p, bytes, "hx_sync");
  return s == HX_OK ? hx__fetch_in(&hx->table, p, bytes) : s;
}
