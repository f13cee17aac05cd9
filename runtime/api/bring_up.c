/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/bring_up.h"

#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/plan/expected.h"

#define HANG_LIMIT_NS 5000000000u   /* of one driver call, without HX_TIMEOUT_MS */
#define DISCOVERY_NS 0.3e9          /* the assumed time of the discovery before it has run */
#define DISCOVERY_PAYS 10.0         /* The discovery is started in a call that takes the CPU this many times as long. */
#define SHARE_WAIT_NS 120000000000u /* how long a call with a numeric share waits for devices */

uint64_t hx__hang_limit_ns(const hx_context *hx) {
  const uint64_t ms = hx->config.timeout_ms;
  return ms == HX__TIMEOUT_OFF ? UINT64_MAX : ms == HX__TIMEOUT_AUTO ? HANG_LIMIT_NS : ms * UINT64_C(1000000);
}

bool hx__context_add_devices(hx_context *hx, uint64_t deadline_ns, uint64_t hang_ns) {
  if (atomic_load_explicit(&hx->devices_added, memory_order_acquire)) return true;
  if (hx__in_forked_child()) return false;
  if (hx->wants_devices && !hx__registry_wait(deadline_ns, hang_ns)) return false;
  pthread_mutex_lock(&hx->lock);
  if (!atomic_load(&hx->devices_added)) {
    hx__device_table_fill(&hx->table);
    atomic_store_explicit(&hx->devices_added, true, memory_order_release);
  }
  pthread_mutex_unlock(&hx->lock);
  return true;
}

void hx__context_pin_memory(hx_context *hx, bool in_background) {
  hx__device *devices[HX_MAX_DEVICES];
  size_t count = 0;
  for (size_t i = 1; i < hx->table.entries; i++)
    if (hx->table.entry[i].selected) devices[count++] = hx->table.entry[i].device;
  (in_background ? hx__memory_pin_async : hx__memory_pin)(&hx->memory, devices, count);
}

/* A user kernel has a state of its own. needs: of the reduction, if there is one. */
static hx__usability usability_of_map(hx__device *d, const hx__work *w, uint64_t needs) {
  const hx__map_state state = d->backend->map ? d->backend->map(d, w, false, NULL) : HX__MAP_REFUSED;
  if (state == HX__MAP_REFUSED || (needs & atomic_load(&d->refused))) return HX__NEVER_USABLE;
  const bool ready = state == HX__MAP_READY && !(needs & ~atomic_load(&d->ready));
  return ready && !atomic_load(&d->stuck_threads) ? HX__USABLE_NOW : HX__USABLE_LATER;
}

hx__usability hx__usability_of(const hx_context *hx, const hx__device_entry *entry, const hx__work *w,
                               uint64_t *needs) {
  hx__device *const d = entry->device;
  if (d->is_host_cpu || !entry->selected || atomic_load(&d->lost)) return HX__NEVER_USABLE;
  const uint32_t tile[3] = {hx->config.tile_m, hx->config.tile_n, hx->config.tile_k};
  *needs = hx__device_needs(d, w->needs, tile);
  if (w->kernel) return usability_of_map(d, w, *needs & ~HX__NEED_MAPS);
  if (*needs & atomic_load(&d->refused) || (w->by_lines && w->lines.sparse)) return HX__NEVER_USABLE;
  return *needs & ~atomic_load(&d->ready) || atomic_load(&d->stuck_threads) ? HX__USABLE_LATER : HX__USABLE_NOW;
}

/* Whether a device can do the task later, or (now) at once. True while it is not known which devices there are. */
static bool any_usable(const hx_context *hx, const hx__work *w, bool now) {
  uint64_t needs;
  if (!atomic_load_explicit(&hx->devices_added, memory_order_acquire)) return true;
  for (size_t i = 0; i < hx->table.entries; i++) {
    const hx__usability u = hx__usability_of(hx, &hx->table.entry[i], w, &needs);
    if (u == HX__USABLE_LATER || (now && u == HX__USABLE_NOW)) return true;
  }
  return false;
}

bool hx__devices_are_pending(const hx_context *hx, const hx__work *w) { return any_usable(hx, w, false); }
bool hx__devices_may_do(const hx_context *hx, const hx__work *w) { return any_usable(hx, w, true); }

double hx__break_even_of(const hx_context *hx) {
  float least = 0.0f;
  if (!atomic_load_explicit(&hx->devices_added, memory_order_acquire)) return HX__BREAK_EVEN_NS;
  for (size_t i = 0; i < hx->table.entries; i++) {
    const hx__device_entry *const entry = &hx->table.entry[i];
    hx__device *const d = entry->device;
    if (d->is_host_cpu || !entry->selected || atomic_load(&d->lost) || !atomic_load(&d->ready)) continue;
    if (least == 0.0f || (d->launch_ns > 0.0f && d->launch_ns < least)) least = d->launch_ns;
  }
  return hx__break_even_ns((double)least);
}

/* Starts building the kernels of every device that may do this task; with `wait`, waits until they are ready. */
static void prepare_devices(hx_context *hx, const hx__work *w, bool wait) {
  for (size_t i = 0; i < hx->table.entries; i++) {
    const hx__device_entry *const entry = &hx->table.entry[i];
    uint64_t needs;
    if (hx__usability_of(hx, entry, w, &needs) == HX__NEVER_USABLE) continue;
    if (w->kernel) entry->device->backend->map(entry->device, w, true, NULL);
    if (wait)
      hx__prepare_wait(entry->device, needs, hx__now_ns() + SHARE_WAIT_NS, hx__hang_limit_ns(hx));
    else
      hx__prepare(entry->device, needs);
  }
}

bool hx__bring_up_devices(hx_context *hx, const hx__work *w, double share, double cpu_ns) {
  const bool wait = share != HX__SHARE_AUTO;
  const bool asked = wait || (hx->config.min_offload != UINT64_MAX && w->units >= hx->config.min_offload);
  if (!asked && cpu_ns < hx__break_even_of(hx)) return false;
  if (!hx__registry_done()) {
    if (!wait && cpu_ns < DISCOVERY_NS * DISCOVERY_PAYS) return true;
    hx__registry_start();
  }
  if (hx__context_add_devices(hx, wait ? hx__now_ns() + SHARE_WAIT_NS : 0, hx__hang_limit_ns(hx))) {
    prepare_devices(hx, w, wait);
    hx__context_pin_memory(hx, true);
  }
  return false;
}
