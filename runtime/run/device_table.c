/* SPDX-License-Identifier: Apache-2.0
 * The devices of a context and their seats. */
#include "runtime/run/device_table.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/sched/model.h"

#define CLOSE_LIMIT_NS 2000000000u /* of a driver call in hx_close: a stream that is not closed is only leaked */

hx_status hx__device_table_init(hx__device_table *team, const hx__config *config, hx__memory *memory) {
  hx__device *cpu[1];
  memset(team, 0, sizeof *team);
  team->config = config;
  team->memory = memory;
  hx__cpu_device(cpu);
  team->cpu = cpu[0]->backend->open(cpu[0], config);
  if (!team->cpu) return HX_OUT_OF_MEMORY;
  team->kernels = hx__cpu_stream_kernels(team->cpu);
  team->trace = hx__trace_open(config->trace);
  hx__trace_device(team->trace, 0, "CPU"); /* its name is looked up later */
  return HX_OK;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

void hx__device_table_close(hx__device_table *team) {
  for (size_t i = 0; i < team->seats; i++) {
    hx__device_entry *const seat = &team->seat[i];
    hx__device_entry_close(seat, least(hx__call_limit_ns(team->config, seat->device), CLOSE_LIMIT_NS));
    pthread_mutex_destroy(&seat->lock);
    pthread_cond_destroy(&seat->changed);
  }
  team->cpu->device->backend->close(team->cpu);
  hx__trace_close(team->trace);
}

void hx__device_table_settle(const hx__device_table *team) {
  for (size_t i = 0; i < team->seats; i++) {
    hx__device *const d = team->seat[i].device;
    const hx__backend_memory *const memory = d->backend->memory;
    if (memory && memory->settle) memory->settle(d, team->memory->limit_ns);
  }
}

void hx__device_table_free(hx__device_table *team) {
  for (size_t i = 0; i < team->seats; i++)
    if (team->seat[i].owned) free(team->seat[i].device);
}

/* HX_DEVICES by word or index; HX_OFFLOAD=disabled leaves the CPU alone. */
static bool selects(const hx__config *config, const hx__device *device, size_t index) {
  if (!device->is_host_cpu && config->offload == HX__OFFLOAD_DISABLED) return false;
  return (config->device_words & device->words) != 0 || (index < 32 && (config->device_indices >> index & 1u));
}

static void seat_device(hx__device_table *team, size_t index, hx__device *device, bool owned) {
  hx__device_entry *const seat = &team->seat[index];
  seat->device = device;
  seat->identity = hx__identity(device->name, device->driver);
  seat->owned = owned;
  seat->selected = selects(team->config, device, index);
  pthread_mutex_init(&seat->lock, NULL);
  hx__cond_init(&seat->changed);
  hx__trace_device(team->trace, index, device->name);
}

/* What was named and is not there leaves nothing out, which is hard to see from outside. */
static void say_absent(const hx__device_table *team, size_t seats) {
  const hx__config *const c = team->config;
  uint32_t here = 0, selected = 0;
  for (size_t i = 0; i < seats; i++) {
    here |= team->seat[i].device->words;
    selected += i > 0 && team->seat[i].selected;
  }
  const uint32_t unasked = HX__DEV_CPU | HX__DEV_IGPU | HX__DEV_GPU;
  const uint32_t absent = c->device_words == unasked ? 0 : c->device_words & ~here;
  for (unsigned bit = 0; absent >> bit; bit++)
    if (absent >> bit & 1u) hx__log(HX__LOG_INFO, "HX_DEVICES names %s: no device here is one", hx__device_word(bit));
  for (size_t i = seats; i < 32; i++)
    if (c->device_indices >> i & 1u)
      hx__log(HX__LOG_INFO, "HX_DEVICES names %zu: the last device is %zu", i, seats - 1);
  if (c->splits > 1 && c->splits > selected)
    hx__log(HX__LOG_INFO, "HX_SPLIT has %u shares, and %u devices are selected: the CPU has the others' parts",
            c->splits, selected);
}

void hx__device_table_fill(hx__device_table *team) {
  size_t seats = 0, rows;
  const hx__backend *const *const backends = hx__backend_rows(&rows);
  for (size_t row = 0; row < rows; row++) {
    hx__device *list[HX_MAX_DEVICES];
    const bool owned = backends[row]->discovery == HX__DISCOVER_CONTEXT;
    const size_t count = hx__registry_devices_of(backends[row], team->config, list, HX_MAX_DEVICES - seats);
    for (size_t i = 0; i < count; i++) seat_device(team, seats++, list[i], owned);
  }
  say_absent(team, seats);
  atomic_store(&team->seats, seats);
}
