/* SPDX-License-Identifier: Apache-2.0
 * A seat: taken for one run at a time, in the order of those who wait; and its stream. */
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/run/device_table.h"

#define NAP_NS 100000u
#define BLIND_LIMIT_NS 5000000000u /* of a driver call, if HX_TIMEOUT_MS sets none */

bool hx__device_entry_acquire(hx__device_entry *seat, bool wait) {
  pthread_mutex_lock(&seat->lock);
  const uint64_t mine = wait ? seat->asked++ : seat->asked;
  while (wait && (seat->in_use || seat->served != mine)) pthread_cond_wait(&seat->changed, &seat->lock);
  const bool taken = !seat->in_use && seat->served == mine;
  if (taken) seat->in_use = true;
  if (taken && wait) seat->served++;
  pthread_mutex_unlock(&seat->lock);
  return taken;
}

void hx__device_entry_release(hx__device_entry *seat) {
  pthread_mutex_lock(&seat->lock);
  seat->in_use = false;
  pthread_cond_broadcast(&seat->changed);
  pthread_mutex_unlock(&seat->lock);
}

uint64_t hx__call_limit_ns(const hx__config *config, const hx__device *device) {
  if (config->timeout_ms == HX__TIMEOUT_OFF) return UINT64_MAX;
  if (config->timeout_ms != HX__TIMEOUT_AUTO) return config->timeout_ms * UINT64_C(1000000);
  return device->never_times_out ? UINT64_MAX : BLIND_LIMIT_NS;
}

bool hx__device_entry_has_timed_out(const hx__device_entry *seat) {
  return seat->stream && seat->stream->timed_out && !atomic_load(&seat->device->lost);
}

/* Whether the stream is free of late chunks by now; then what they read may be freed. */
static bool is_back(hx__device_entry *seat, const hx__device_table *team) {
  hx__stream *const stream = seat->stream;
  if (!stream->timed_out) return true;
  if (!stream->device->backend->recovery->recovered(stream)) return false;
  hx__memory_timed_out_ended(team->memory, seat->device);
  return true;
}

/* wait: for late chunks that the CPU has computed instead, as long as one would have waited for their results. */
hx__stream *hx__device_entry_stream(hx__device_entry *seat, const hx__device_table *team, bool wait) {
  if (atomic_load(&seat->device->lost)) return NULL;
  if (!seat->stream && (seat->stream = seat->device->backend->open(seat->device, team->config)) != NULL) {
    seat->stream->trace = team->trace;
    seat->stream->trace_row = (size_t)(seat - team->seat);
  }
  hx__stream *const stream = seat->stream;
  while (wait && stream && !is_back(seat, team) && hx__now_ns() < seat->late_till_ns) hx__sleep_ns(NAP_NS);
  return stream && is_back(seat, team) ? stream : NULL;
}

void hx__device_entry_poll_timed_out(hx__device_entry *seat, const hx__device_table *team) { is_back(seat, team); }
