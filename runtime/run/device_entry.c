/* SPDX-License-Identifier: Apache-2.0
 * A device entry is used by one run at a time; calls that wait for it get it in the order in which they came. */
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/run/device_table.h"

#define POLL_NS 100000u
#define DEFAULT_LIMIT_NS 5000000000u /* of a driver call, if HX_TIMEOUT_MS sets none */

bool hx__device_entry_acquire(hx__device_entry *entry, bool wait) {
  pthread_mutex_lock(&entry->lock);
  const uint64_t number = wait ? entry->asked++ : entry->asked;
  while (wait && (entry->in_use || entry->served != number)) pthread_cond_wait(&entry->changed, &entry->lock);
  const bool acquired = !entry->in_use && entry->served == number;
  if (acquired) entry->in_use = true;
  if (acquired && wait) entry->served++;
  pthread_mutex_unlock(&entry->lock);
  return acquired;
}

void hx__device_entry_release(hx__device_entry *entry) {
  pthread_mutex_lock(&entry->lock);
  entry->in_use = false;
  pthread_cond_broadcast(&entry->changed);
  pthread_mutex_unlock(&entry->lock);
}

uint64_t hx__call_limit_ns(const hx__config *config, const hx__device *device) {
  if (config->timeout_ms == HX__TIMEOUT_OFF) return UINT64_MAX;
  if (config->timeout_ms != HX__TIMEOUT_AUTO) return config->timeout_ms * UINT64_C(1000000);
  return device->never_times_out ? UINT64_MAX : DEFAULT_LIMIT_NS;
}

bool hx__device_entry_has_timed_out(const hx__device_entry *entry) {
  return entry->stream && entry->stream->timed_out && !atomic_load(&entry->device->lost);
}

/* Whether no chunk that timed out is running any more; then the memory that it read is released. */
static bool poll_timed_out(hx__device_entry *entry, const hx__device_table *table) {
  hx__stream *const stream = entry->stream;
  if (!stream->timed_out) return true;
  if (!stream->device->backend->recovery->recovered(stream)) return false;
  hx__memory_timed_out_ended(table->memory, entry->device);
  return true;
}

hx__stream *hx__device_entry_stream(hx__device_entry *entry, const hx__device_table *table, bool wait) {
  if (atomic_load(&entry->device->lost)) return NULL;
  if (!entry->stream && (entry->stream = entry->device->backend->open(entry->device, table->config)) != NULL) {
    entry->stream->trace = table->trace;
    entry->stream->trace_row = (size_t)(entry - table->entry);
  }
  hx__stream *const stream = entry->stream;
  while (wait && stream && !poll_timed_out(entry, table) && hx__now_ns() < entry->stream_wait_until_ns)
    hx__sleep_ns(POLL_NS);
  return stream && poll_timed_out(entry, table) ? stream : NULL;
}

void hx__device_entry_poll_timed_out(hx__device_entry *entry, const hx__device_table *table) {
  poll_timed_out(entry, table);
}
