/* SPDX-License-Identifier: Apache-2.0
 * The arrays of a task while it runs: how each reaches a device, and what must not be written or freed until the run
 * ends. */
#include "runtime/base/thread.h"
#include "runtime/memory/copies.h"
#include "runtime/memory/known.h"
#include "runtime/memory/pins.h"

/* The outputs of a task as a range of bytes. */
typedef struct extent {
  const void *p;
  size_t bytes;
} extent;

static extent output_of(const hx__work *w, unsigned output) {
  const hx__array c = hx__array_of_output(w, output);
  return (extent){c.p, hx__array_bytes(&c)};
}

static hx__range *coarse_output(const hx__memory *m, const hx__work *w, unsigned output) {
  const extent out = output_of(w, output);
  hx__range *const r = hx__range_of(m, out.p, out.bytes);
  return r && r->block && r->mode == HX__MEMORY_SVM_COARSE ? r : NULL;
}

/* Gives ranges that contain outputs of the task a new version, so that copies of them become stale. */
static void mark_outputs_written(const hx__memory *m, const hx__work *w) {
  for (unsigned o = 0; o < hx__work_outputs(w); o++) {
    const extent out = output_of(w, o);
    size_t count;
    hx__range *const *const ranges = hx__known_overlapping(m, out.p, out.bytes, &count);
    for (size_t i = 0; i < count; i++) ranges[i]->version = hx__next_version();
  }
}

void hx__memory_claim_outputs(hx__memory *m, const hx__work *w) {
  if (atomic_load_explicit(&m->watched_ranges, memory_order_relaxed) == 0) return;
  hx__lock(&m->lock);
  mark_outputs_written(m, w);
  hx__copies_claim(m, w);
  for (unsigned o = 0; o < hx__work_outputs(w); o++) {
    hx__range *const r = coarse_output(m, w, o);
    while (r && r->readers && !hx__in_forked_child()) pthread_cond_wait(&m->changed, &m->lock);
    if (r) r->writers++;
  }
  hx__unlock(&m->lock);
}

void hx__memory_release_outputs(hx__memory *m, const hx__work *w, bool written) {
  if (atomic_load_explicit(&m->watched_ranges, memory_order_relaxed) == 0) return;
  hx__lock(&m->lock);
  for (unsigned o = 0; o < hx__work_outputs(w); o++) {
    hx__range *const r = coarse_output(m, w, o);
    if (r) r->writers--;
  }
  mark_outputs_written(m, w);
  hx__copies_release_outputs(m, w, written);
  hx__unlock(&m->lock);
}

/* Whether a map writes its results where this input is. */
static bool is_replaced(const hx__work *w, const void *input) {
  for (unsigned o = 0; w->map && o < hx__work_outputs(w); o++)
    if (w->output[o] == input) return true;
  return false;
}

/* OpenCL allows the host to write where an input is replaced only if the device reads a copy, or if the memory is
 * shared in both directions. */
static void resolve_one(hx__memory *m, hx__device *d, const hx__work *w, hx__array *a) {
  hx__range *const r = hx__range_of(m, a->p, hx__array_bytes(a));
  a->mode = hx__mode_of(m, d, r);
  if (r && r->writers && a->mode == HX__MEMORY_SVM_COARSE) a->mode = HX__MEMORY_COPY; /* the host has mapped it */
  if (a->mode == HX__MEMORY_HOSTPTR && is_replaced(w, a->p)) a->mode = HX__MEMORY_COPY;
  const bool own = r && r->block && r->device == d && a->mode == r->mode;
  a->block = own ? r->block : r && a->mode == HX__MEMORY_COPY ? hx__pin_of(r, d) : NULL;
  if (a->block && !own) r->pin_users++;
  if (own && a->mode == HX__MEMORY_SVM_COARSE) r->readers++;
  hx__copies_find(m, d, r, w, a);
}

uint64_t hx__memory_version(hx__memory *m, const hx__work *w, unsigned operand) {
  if (atomic_load_explicit(&m->watched_ranges, memory_order_relaxed) == 0) return 0;
  const hx__array a = hx__array_of(w, operand);
  hx__lock(&m->lock);
  const hx__range *const r = hx__range_of(m, a.p, hx__array_bytes(&a));
  const uintptr_t at = (uintptr_t)a.p;
  const bool advised =
      r && (r->advice & HX_READ_MOSTLY) && at >= r->advised && at + hx__array_bytes(&a) <= r->advised_end;
  const uint64_t version = advised ? r->version : 0;
  hx__unlock(&m->lock);
  return version;
}

void hx__memory_resolve(hx__memory *m, hx__device *d, const hx__work *w, hx__array *arrays) {
  hx__lock(&m->lock);
  for (size_t i = 0, n = hx__memory_arrays(w); i < n; i++) {
    arrays[i] = hx__array_of(w, i);
    resolve_one(m, d, w, &arrays[i]);
  }
  hx__unlock(&m->lock);
}

void hx__memory_release(hx__memory *m, const hx__device *d, const hx__work *w, const hx__array *arrays,
                        bool timed_out) {
  hx__lock(&m->lock);
  for (size_t i = 0, n = hx__memory_arrays(w); i < n; i++) {
    hx__range *const r = hx__range_of(m, arrays[i].p, hx__array_bytes(&arrays[i]));
    hx__copies_release(m, arrays[i].mirror);
    if (!r) continue;
    const bool pin = arrays[i].block && arrays[i].block != r->block;
    /* A pinned block is read by the device until the chunk has ended, unless submit has read it already. */
    const bool reads = arrays[i].mode != HX__MEMORY_COPY || pin || (arrays[i].block && !r->device->reads_at_submit);
    if (timed_out && reads) {
      r->reader = !r->leaked || r->reader == d ? d : NULL;
      r->leaked = true;
    }
    if (pin) r->pin_users--;
    /* A timed-out chunk that still reads the block then reads wrong data, which is not used. */
    if (arrays[i].block && arrays[i].mode == HX__MEMORY_SVM_COARSE) r->readers--;
  }
  pthread_cond_broadcast(&m->changed);
  hx__unlock(&m->lock);
}
