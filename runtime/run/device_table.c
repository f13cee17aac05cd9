/* SPDX-License-Identifier: Apache-2.0
 * The devices of a context: which there are, and which are selected. */
#include "runtime/run/device_table.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/sched/model.h"

#define CLOSE_LIMIT_NS 2000000000u /* of a driver call in hx_close, which then leaks the stream */

hx_status hx__device_table_init(hx__device_table *table, const hx__config *config, hx__memory *memory) {
  hx__device *cpu[1];
  memset(table, 0, sizeof *table);
  table->config = config;
  table->memory = memory;
  hx__cpu_device(cpu);
  table->cpu = cpu[0]->backend->open(cpu[0], config);
  if (!table->cpu) return HX_OUT_OF_MEMORY;
  table->kernels = hx__cpu_stream_kernels(table->cpu);
  table->trace = hx__trace_open(config->trace);
  if (table->trace) hx__trace_device(table->trace, 0, hx__cpu_described()->name); /* calls may come before the table */
  return HX_OK;
}

static uint64_t min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }

void hx__device_table_close(hx__device_table *table) {
  for (size_t i = 0; i < table->entries; i++) {
    hx__device_entry *const entry = &table->entry[i];
    hx__device_entry_close(entry, min_u64(hx__call_limit_ns(table->config, entry->device), CLOSE_LIMIT_NS));
    pthread_mutex_destroy(&entry->lock);
    pthread_cond_destroy(&entry->changed);
  }
  table->cpu->device->backend->close(table->cpu);
  hx__trace_close(table->trace);
}

void hx__device_table_settle(const hx__device_table *table) {
  for (size_t i = 0; i < table->entries; i++) {
    hx__device *const d = table->entry[i].device;
    const hx__backend_memory *const memory = d->backend->memory;
    if (memory && memory->settle) memory->settle(d, table->memory->limit_ns);
  }
}

void hx__device_table_free(hx__device_table *table) {
  for (size_t i = 0; i < table->entries; i++)
    if (table->entry[i].owned) free(table->entry[i].device);
}

/* HX_DEVICES by word or index; HX_OFFLOAD=disabled selects no device but the CPU. */
static bool is_selected(const hx__config *config, const hx__device *device, size_t index) {
  if (!device->is_host_cpu && config->offload == HX__OFFLOAD_DISABLED) return false;
  return (config->device_words & device->words) != 0 || (index < 32 && (config->device_indices >> index & 1u));
}

static void fill_entry(hx__device_table *table, size_t index, hx__device *device, bool owned) {
  hx__device_entry *const entry = &table->entry[index];
  entry->device = device;
  entry->identity = hx__identity(device->name, device->driver);
  entry->owned = owned;
  entry->selected = is_selected(table->config, device, index);
  pthread_mutex_init(&entry->lock, NULL);
  hx__cond_init(&entry->changed);
  hx__trace_device(table->trace, index, device->name);
}

/* A device that is named and does not exist changes nothing, which a user could not see otherwise. */
static void log_absent_devices(const hx__device_table *table, size_t entries) {
  const hx__config *const c = table->config;
  uint32_t here = 0, selected = 0;
  for (size_t i = 0; i < entries; i++) {
    here |= table->entry[i].device->words;
    selected += i > 0 && table->entry[i].selected;
  }
  const uint32_t unasked = HX__DEV_CPU | HX__DEV_IGPU | HX__DEV_GPU;
  const uint32_t absent = c->device_words == unasked ? 0 : c->device_words & ~here;
  for (unsigned bit = 0; absent >> bit; bit++)
    if (absent >> bit & 1u)
      hx__log(HX__LOG_INFO, "HX_DEVICES names %s: there is no such device here", hx__device_word(bit));
  for (size_t i = entries; i < 32; i++)
    if (c->device_indices >> i & 1u)
      hx__log(HX__LOG_INFO, "HX_DEVICES names %zu: the last device is %zu", i, entries - 1);
  if (c->splits > 1 && c->splits > selected)
    hx__log(HX__LOG_INFO, "HX_SPLIT has %u shares, and %u devices are selected: the CPU has the others' parts",
            c->splits, selected);
}

void hx__device_table_fill(hx__device_table *table) {
  size_t entries = 0, rows;
  const hx__backend *const *const backends = hx__backend_rows(&rows);
  for (size_t row = 0; row < rows; row++) {
    hx__device *list[HX_MAX_DEVICES];
    const bool owned = backends[row]->discovery == HX__DISCOVER_CONTEXT;
    const size_t count = hx__registry_devices_of(backends[row], table->config, list, HX_MAX_DEVICES - entries);
    for (size_t i = 0; i < count; i++) fill_entry(table, entries++, list[i], owned);
  }
  log_absent_devices(table, entries);
  atomic_store(&table->entries, entries);
}
