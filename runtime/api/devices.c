/* SPDX-License-Identifier: Apache-2.0
 * hx_device_count, hx_device, hx_ready: which devices there are, and which are ready. */
#include <stdio.h>
#include <string.h>

#include "runtime/api/bring_up.h"
#include "runtime/api/caller.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"

/* Waits for the discovery. False in a forked child whose parent had not found its devices. */
static bool wait_for_discovery(hx_context *hx) {
  if (hx->wants_devices) hx__registry_start();
  return hx__context_add_devices(hx, UINT64_MAX, HX__LONG_HANG_NS);
}

static size_t device_count(hx_context *hx) { return wait_for_discovery(hx) ? hx->table.entries : 1; }

size_t hx_device_count(hx_context *hx) {
  if (!hx) return 0;
  HX__CALL_SCOPE(hx);
  return device_count(hx);
}

/* The mode by which the device reads plain arrays. */
static const char *mode_of(const hx_context *hx, const hx__device *d) {
  static const hx__memory_mode plain[] = {HX__MEMORY_SVM_SYSTEM, HX__MEMORY_HOSTPTR};
  const hx__memory_mode forced = hx->config.memory;
  if (d->is_host_cpu) return "host";
  if (!(atomic_load(&d->ready) & HX__NEED_OPEN)) return hx__memory_mode_name(HX__MEMORY_COPY); /* modes not yet known */
  if (forced != HX__MEMORY_AUTO) return hx__memory_mode_name(d->modes & 1u << forced ? forced : HX__MEMORY_COPY);
  for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
    if (d->zero_copy & 1u << plain[i]) return hx__memory_mode_name(plain[i]);
  return hx__memory_mode_name(HX__MEMORY_COPY);
}

static hx_device_state state_of(const hx_context *hx, const hx__device_entry *s) {
  const hx__device *const d = s->device;
  if (atomic_load(&d->lost)) return HX_LOST;
  if (!s->selected || (!d->is_host_cpu && hx__in_forked_child())) return HX_REFUSED;
  const uint32_t tile[3] = {hx->config.tile_m, hx->config.tile_n, hx->config.tile_k};
  const uint64_t all = hx__device_needs((hx__device *)d, HX__NEED_ALL, tile), refused = atomic_load(&d->refused);
  if ((all & ~refused) == 0) return HX_REFUSED;
  return (all & ~(refused | atomic_load(&d->ready))) == 0 ? HX_USABLE : HX_BUILDING;
}

static void describe_entry(const hx_context *hx, const hx__device_entry *s, hx_device_info *out) {
  const hx__device *const d = s->device;
  memset(out, 0, sizeof *out);
  memcpy(out->name, d->name, sizeof out->name);
  memcpy(out->vendor, d->vendor, sizeof out->vendor);
  memcpy(out->driver, d->driver, sizeof out->driver);
  out->kind = d->kind;
  out->state = state_of(hx, s);
  out->compute_units = d->compute_units;
  out->memory_bytes = d->memory_bytes;
  snprintf(out->memory, sizeof out->memory, "%s", mode_of(hx, d));
  if (out->state == HX_REFUSED && !s->selected)
    snprintf(out->why, sizeof out->why, "%s",
             hx->config.offload == HX__OFFLOAD_DISABLED ? "HX_OFFLOAD=disabled leaves it out"
                                                        : "HX_DEVICES does not name it");
  else
    hx__device_why(d, out->why);
}

hx_status hx_device(hx_context *hx, size_t index, hx_device_info *out) {
  if (!hx) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
  if (!out) return hx__fail(HX_INVALID_ARGUMENT, "out is NULL");
  HX__CALL_SCOPE(hx);
  const size_t count = device_count(hx);
  if (index >= count) return hx__fail(HX_INVALID_ARGUMENT, "index is %zu: the last device is %zu", index, count - 1);
  if (!hx->table.entries) return hx__fail(HX_UNSUPPORTED, "a forked child does not know its parent's devices");
  describe_entry(hx, &hx->table.entry[index], out);
  return HX_OK;
}

hx_status hx_ready(hx_context *hx) {
  if (!hx) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
  HX__CALL_SCOPE(hx);
  if (!wait_for_discovery(hx)) return HX_OK; /* a forked child: the CPU is ready */
  const uint32_t tile[3] = {hx->config.tile_m, hx->config.tile_n, hx->config.tile_k};
  for (int wait = 0; wait <= 1; wait++) /* All are started before the first is waited for. */
    for (size_t i = 0; i < hx->table.entries; i++) {
      const hx__device_entry *const s = &hx->table.entry[i];
      if (!s->selected || s->owned || s->device->is_host_cpu) continue;
      const uint64_t maps = s->device->backend->map ? HX__NEED_MAPS : 0;
      const uint64_t needs = hx__device_needs(s->device, HX__NEED_ALL, tile) | HX__NEED_TILES | maps;
      if (wait)
        hx__prepare_wait(s->device, needs, UINT64_MAX, HX__LONG_HANG_NS);
      else
        hx__prepare(s->device, needs);
    }
  hx__context_pin_memory(hx, false);
  return HX_OK;
}
