/* SPDX-License-Identifier: Apache-2.0
 * Fetching runs on the device's worker, because only that may use the stream. */
#include "runtime/run/fetch.h"

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"

typedef struct fetch {
  hx__device_table *table;
  const hx__array *array;
  hx__outcome outcome;
} fetch;

static void fetch_on_worker(hx__device_entry *entry, void *arg) {
  fetch *const f = arg;
  hx__stream *const stream = hx__device_entry_stream(entry, f->table, true);
  if (!stream) {
    f->outcome = hx__device_entry_has_timed_out(entry) ? HX__TIMED_OUT : HX__NO_MEMORY;
    return;
  }
  f->outcome = entry->device->backend->residency->fetch(stream, f->array);
  if (f->outcome != HX__NO_MEMORY) return;
  hx__memory_ran_short(f->table->memory, entry->device);
  f->outcome = entry->device->backend->residency->fetch(stream, f->array);
}

static hx__device_entry *find_entry(hx__device_table *table, const hx__device *device) {
  for (size_t i = 0; i < table->entries; i++)
    if (table->entry[i].device == device) return &table->entry[i];
  return NULL;
}

/* Why a result could not be fetched. The device still has it unless it is lost. */
static hx_status fail_fetch(const hx__device_only_result *absent, hx__outcome outcome) {
  const hx__device *const d = absent->device;
  const hx__array *const a = &absent->array;
  const size_t bytes = ((a->rows - 1) * a->ld + a->cols) * sizeof(float);
  char why[HX__WHY_TEXT] = "";
  const bool lost = atomic_load(&d->lost);
  if (!lost && outcome == HX__NO_MEMORY && !atomic_load(&d->stuck_threads))
    return hx__fail(HX_OUT_OF_MEMORY, "no memory, or no thread, to bring the range %p with %zu bytes back from %s",
                    a->p, bytes, d->name);
  if (lost) hx__device_why(d, why);
  return hx__fail(HX_DEVICE_FAILED, "the range %p with %zu bytes exists only on %s, which %s%s", a->p, bytes, d->name,
                  lost ? "is lost: " : "does not answer", why);
}

static hx_status fetch_one(hx__device_table *table, const hx__device_only_result *absent, uint64_t *copied) {
  const hx__array *const a = &absent->array;
  hx__device_entry *const entry = hx__in_forked_child() ? NULL : find_entry(table, absent->device);
  fetch f = {.table = table,
             .array = a,
             .outcome = entry ? HX__NO_MEMORY : HX__FAILED}; /* the outcome if no thread can be started */
  if (entry) {
    hx__device_entry_acquire(entry, true);
    if (hx__device_entry_start_job(entry, table, fetch_on_worker, &f, true) &&
        !hx__device_entry_wait_job(entry, hx__call_limit_ns(table->config, entry->device)))
      f.outcome = HX__TIMED_OUT; /* The worker may still write there. */
    hx__device_entry_release(entry);
  }
  const bool done = f.outcome == HX__DONE;
  hx__memory_fetch_done(table->memory, absent, done);
  if (done) *copied += a->rows * a->cols * sizeof(float);
  hx__log(HX__LOG_DEBUG, "%s: %zu x %zu floats at %p brought back: %s", absent->device->name, a->rows, a->cols, a->p,
          done ? "done" : "failed");
  return done ? HX_OK : fail_fetch(absent, f.outcome);
}

hx_status hx__fetch_for(hx__device_table *table, const hx__work *work, const hx__device *alone, bool keep,
                        uint64_t *copied) {
  hx__device_only_result absent;
  hx_status s = HX_OK;
  while (s == HX_OK && hx__memory_find_device_only(table->memory, work, alone, keep, &absent))
    s = fetch_one(table, &absent, copied);
  return s;
}

hx_status hx__fetch_in(hx__device_table *table, const void *p, size_t bytes) {
  hx__device_only_result absent;
  uint64_t copied = 0;
  hx_status s = HX_OK;
  while (s == HX_OK && hx__memory_find_device_only_in(table->memory, p, bytes, &absent))
    s = fetch_one(table, &absent, &copied);
  return s;
}
