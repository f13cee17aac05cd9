/* SPDX-License-Identifier: Apache-2.0
 * Results from a device's memory to the host's, on the device's worker, for it alone uses the stream. */
#include "runtime/run/fetch.h"

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"

typedef struct fetch {
  hx__device_table *team;
  const hx__array *array;
  hx__outcome outcome;
} fetch;

static void carry_out(hx__device_entry *seat, void *arg) {
  fetch *const f = arg;
  hx__stream *const stream = hx__device_entry_stream(seat, f->team, true);
  f->outcome = stream                                 ? seat->device->backend->residency->fetch(stream, f->array)
               : hx__device_entry_has_timed_out(seat) ? HX__TIMED_OUT
                                                      : HX__NO_MEMORY;
}

static hx__device_entry *seat_of(hx__device_table *team, const hx__device *device) {
  for (size_t i = 0; i < team->seats; i++)
    if (team->seat[i].device == device) return &team->seat[i];
  return NULL;
}

/* Why the host does not have it; what the device has stays there. */
static hx_status refuse(const hx__device_only_result *absent, hx__outcome outcome) {
  const hx__device *const d = absent->device;
  const hx__array *const a = &absent->array;
  const size_t bytes = ((a->rows - 1) * a->ld + a->cols) * sizeof(float);
  char why[HX__WHY_TEXT] = "";
  const bool lost = atomic_load(&d->lost);
  if (!lost && outcome == HX__NO_MEMORY && !atomic_load(&d->stuck_threads))
    return hx__fail(HX_OUT_OF_MEMORY, "no memory, or no thread, to bring the range %p with %zu bytes back from %s",
                    a->p, bytes, d->name);
  if (lost) hx__device_why(d, why);
  return hx__fail(HX_DEVICE_FAILED, "the range %p with %zu bytes is nowhere but on %s, which %s%s", a->p, bytes,
                  d->name, lost ? "is lost: " : "does not answer", why);
}

static hx_status fetch_one(hx__device_table *team, const hx__device_only_result *absent, uint64_t *copied) {
  const hx__array *const a = &absent->array;
  hx__device_entry *const seat = hx__in_forked_child() ? NULL : seat_of(team, absent->device);
  fetch f = {.team = team, .array = a, .outcome = seat ? HX__NO_MEMORY : HX__FAILED}; /* if it has no thread */
  if (seat) {
    hx__device_entry_acquire(seat, true);
    if (hx__device_entry_start_job(seat, team, carry_out, &f, true) &&
        !hx__device_entry_wait_job(seat, hx__call_limit_ns(team->config, seat->device)))
      f.outcome = HX__TIMED_OUT; /* what the worker had written there by then is its own */
    hx__device_entry_release(seat);
  }
  const bool done = f.outcome == HX__DONE;
  hx__memory_fetch_done(team->memory, absent, done);
  if (done) *copied += a->rows * a->cols * sizeof(float);
  hx__log(HX__LOG_DEBUG, "%s: %zu x %zu floats at %p brought back: %s", absent->device->name, a->rows, a->cols, a->p,
          done ? "done" : "failed");
  return done ? HX_OK : refuse(absent, f.outcome);
}

hx_status hx__fetch_for(hx__device_table *team, const hx__work *work, const hx__device *alone, bool keep,
                        uint64_t *copied) {
  hx__device_only_result absent;
  hx_status s = HX_OK;
  while (s == HX_OK && hx__memory_find_device_only(team->memory, work, alone, keep, &absent))
    s = fetch_one(team, &absent, copied);
  return s;
}

hx_status hx__fetch_in(hx__device_table *team, const void *p, size_t bytes) {
  hx__device_only_result absent;
  uint64_t copied = 0;
  hx_status s = HX_OK;
  while (s == HX_OK && hx__memory_find_device_only_in(team->memory, p, bytes, &absent))
    s = fetch_one(team, &absent, &copied);
  return s;
}
