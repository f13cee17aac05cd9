/* SPDX-License-Identifier: Apache-2.0
 * The devices of a context, once they are found. */
#include "runtime/api/context.h"
#include "runtime/backend/registry.h"
#include "runtime/base/thread.h"

#define BLIND_HANG_NS 5000000000u

uint64_t hx__hang_limit_ns(const hx_context *hx) {
  const uint64_t ms = hx->config.timeout_ms;
  return ms == HX__TIMEOUT_OFF ? UINT64_MAX : ms == HX__TIMEOUT_AUTO ? BLIND_HANG_NS : ms * UINT64_C(1000000);
}

bool hx__context_add_devices(hx_context *hx, uint64_t deadline_ns, uint64_t hang_ns) {
  if (atomic_load_explicit(&hx->seated, memory_order_acquire)) return true;
  if (hx__in_forked_child()) return false;
  if (hx->wants_devices && !hx__registry_wait(deadline_ns, hang_ns)) return false;
  pthread_mutex_lock(&hx->lock);
  if (!atomic_load(&hx->seated)) {
    hx__device_table_fill(&hx->team);
    atomic_store_explicit(&hx->seated, true, memory_order_release);
  }
  pthread_mutex_unlock(&hx->lock);
  return true;
}

void hx__context_pin_memory(hx_context *hx, bool soon) {
  hx__device *devices[HX_MAX_DEVICES];
  size_t count = 0;
  for (size_t i = 1; i < hx->team.seats; i++)
    if (hx->team.seat[i].selected) devices[count++] = hx->team.seat[i].device;
  (soon ? hx__memory_pin_async : hx__memory_pin)(&hx->memory, devices, count);
}

/* A device that is not there yet is not waited for: the first call that finds it asks for it. */
