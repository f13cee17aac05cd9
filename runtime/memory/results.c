/* SPDX-License-Identifier: Apache-2.0
 * Resident results: which of them a task replaces or needs on the host, and those that it leaves on a device. */
#include "runtime/base/thread.h"
#include "runtime/memory/copy.h"

/* Whether the task needs the old contents of an output. */
static bool reads_output(const hx__work *w, const hx__array *out) {
  for (size_t i = 0; w->map && i < hx__memory_arrays(w); i++)
    if (w->input[i] == out->p) return true;
  return w->matmul && w->gemm.beta != 0.0f;
}

/* Whether the task, with this output, overwrites the whole result without reading it. */
static bool replaces(const hx__work *w, const hx__array *out, const hx__copy *c) {
  const hx__array *const r = &c->result;
  return !c->version && !reads_output(w, out) && !hx__c_has_gaps(w) && r->p == out->p && r->ld == out->ld &&
         r->rows <= out->rows && r->cols <= out->cols;
}

/* Whether the products of a batch write an element of a resident result. */
static bool batch_shares_result(const hx__copy *c, const hx__work *batch) {
  const hx__array *const r = &c->result;
  const hx__matrices x = hx__batch_matrices(batch, HX__BATCH_C), y = {{r->p, r->rows, r->cols, r->ld}, x.stride, 1};
  return !c->version && !c->stale && hx__batches_share(&x, &y);
}

/* Waits until a copy to the host has ended. The lists of copies may be others afterwards. */
static void wait_for_fetch(hx__memory *m) { pthread_cond_wait(&m->changed, &m->lock); }

/* Whether another thread is copying a result to the host that shares an element with an output. In a forked child
 * there are no such threads. */
static bool output_is_fetched(const hx__memory *m, const hx__array *out) {
  size_t count;
  hx__range *const *const ranges = hx__known_overlapping(m, out->p, hx__array_bytes(out), &count);
  for (size_t i = 0; i < count; i++)
    for (const hx__copy *c = ranges[i]->copies; c; c = c->next)
      if (c->fetching && hx__copy_shares_elements(c, out)) return !hx__in_forked_child();
  return false;
}

static bool any_output_is_fetched(const hx__memory *m, const hx__work *w) {
  for (unsigned o = 0; o < hx__work_outputs(w); o++) {
    const hx__array out = hx__array_of_output(w, o);
    if (output_is_fetched(m, &out)) return true;
  }
  return false;
}

static void claim_output(hx__memory *m, const hx__work *w, unsigned output) {
  const hx__array out = hx__array_of_output(w, output);
  size_t count;
  hx__range *const *const ranges = hx__known_overlapping(m, out.p, hx__array_bytes(&out), &count);
  for (size_t i = 0; i < count; i++)
    for (hx__copy *c = ranges[i]->copies; c; c = c->next)
      if (replaces(w, &out, c)) c->overwritten = true;
}

void hx__copies_claim(hx__memory *m, const hx__work *w) {
  while (any_output_is_fetched(m, w)) wait_for_fetch(m);
  for (unsigned o = 0; o < hx__work_outputs(w); o++) claim_output(m, w, o);
}

static void release_output(hx__memory *m, const hx__work *w, unsigned output, bool written) {
  const hx__array out = hx__array_of_output(w, output);
  size_t count;
  hx__range *const *const ranges = hx__known_overlapping(m, out.p, hx__array_bytes(&out), &count);
  for (size_t i = 0; i < count; i++) {
    for (hx__copy *c = ranges[i]->copies; c; c = c->next) {
      if (written && hx__copy_shares_result(c, &out) && (!w->by_products || batch_shares_result(c, w))) c->stale = true;
      if (replaces(w, &out, c)) c->overwritten = false;
    }
    hx__copies_free_stale(m, &ranges[i]->copies);
  }
}

void hx__copies_release_outputs(hx__memory *m, const hx__work *w, bool written) {
  for (unsigned o = 0; o < hx__work_outputs(w); o++) release_output(m, w, o, written);
}

/* The resident result on this device that is exactly this array. */
static hx__copy *result_of(const hx__range *r, const hx__device *d, const hx__array *a) {
  for (hx__copy *c = r->copies; c; c = c->next)
    if (!c->stale && !c->version && c->device == d && c->result.p == a->p && c->result.rows == a->rows &&
        c->result.cols == a->cols && c->result.ld == a->ld)
      return c;
  return NULL;
}

bool hx__memory_resident_begin(hx__memory *m, hx__device *d, const hx__work *w, bool may_overwrite,
                               hx__resident_output *resident) {
  *resident = (hx__resident_output){.mirror = NULL};
  if (atomic_load_explicit(&m->watched_ranges, memory_order_relaxed) == 0 || !(w->matmul || w->map) || !w->needs ||
      hx__work_outputs(w) > 1 || hx__c_has_gaps(w) || !hx__copies_are_supported(d))
    return false;
  const hx__array out = hx__array_of_output(w, 0);
  hx__lock(&m->lock);
  hx__range *const r = hx__range_of(m, out.p, hx__array_bytes(&out));
  const bool stays =
      r && hx__range_keeps_result(r, out.p, hx__array_bytes(&out)) && hx__mode_of(m, d, r) == HX__MEMORY_COPY;
  hx__copy *old = stays ? result_of(r, d, &out) : NULL;
  hx__copy *c = old && may_overwrite && !old->users && !reads_output(w, &out) ? old : NULL;
  resident->overwrites = c;
  old = old && w->matmul && w->gemm.beta != 0.0f ? old : NULL;
  if (old) old->users++;
  if (!c && stays) c = hx__copy_create(m, d, r, out.p, hx__array_bytes(&out));
  if (c) {
    c->stale = true; /* until it is complete */
    c->users = 1;
    c->result = out;
    resident->mirror = c->mirror;
    // NOLINTNEXTLINE(clang-analyzer-unix.Malloc): `old` has a user, so making room does not free it
    resident->old_mirror = old ? old->mirror : NULL;
    resident->old_device_only = old && old->device_only;
  } else if (old) {
    old->users--;  // NOLINT(clang-analyzer-unix.Malloc): as above
  }
  hx__unlock(&m->lock);
  return c;
}

/* Whether the advice of its range still says that the result may stay on the device. */
static bool may_stay(const hx__copy *c) {
  return hx__range_keeps_result(c->range, c->result.p, hx__array_bytes(&c->result));
}

bool hx__memory_resident_end(hx__memory *m, const hx__resident_output *resident) {
  hx__lock(&m->lock);
  hx__copy *const c = resident->mirror->copy;
  hx__range *const r = c->range;
  const bool valid = resident->complete && r, stays = !valid || may_stay(c);
  c->stale = !valid;
  c->device_only = valid;
  hx__copies_release(m, resident->old_mirror);
  hx__copies_release(m, resident->mirror);
  if (r) hx__range_watch(m, r);
  hx__unlock(&m->lock);
  return stays;
}

void hx__memory_resident_cancel(hx__memory *m, const hx__resident_output *resident) {
  hx__lock(&m->lock);
  hx__copy *const c = resident->mirror->copy;
  hx__range *const r = c->range;
  c->stale = !resident->overwrites || !r;
  hx__copies_release(m, resident->old_mirror);
  hx__copies_release(m, resident->mirror);
  if (r) hx__range_watch(m, r);
  hx__unlock(&m->lock);
}

/* Whether the array has an element of a result that only a device has. */
static bool host_lacks(const hx__copy *c, const hx__array *a) {
  return c->device_only && !c->overwritten && hx__copy_shares_result(c, a);
}

/* The first result that the host lacks of an array that the task reads; NULL: none. sole_device uses its own. */
static hx__copy *find_lacking_input(const hx__memory *m, const hx__array *a, const hx__device *sole_device) {
  size_t count;
  hx__range *const *const ranges = hx__known_overlapping(m, a->p, hx__array_bytes(a), &count);
  for (size_t i = 0; i < count; i++)
    for (hx__copy *c = ranges[i]->copies; c; c = c->next)
      if (host_lacks(c, a) && !(c->device == sole_device && hx__copy_contains(c, a))) return c;
  return NULL;
}

/* The same of an output, unless the task replaces the result, or computes it again where it is. */
static hx__copy *find_lacking_output(const hx__memory *m, const hx__work *w, unsigned output,
                                     const hx__device *sole_device, bool resident) {
  const hx__array out = hx__array_of_output(w, output);
  size_t count;
  hx__range *const *const ranges = hx__known_overlapping(m, out.p, hx__array_bytes(&out), &count);
  for (size_t i = 0; i < count; i++) {
    const hx__copy *const stays = resident ? result_of(ranges[i], sole_device, &out) : NULL;
    for (hx__copy *c = ranges[i]->copies; c; c = c->next)
      if (c != stays && host_lacks(c, &out) && !replaces(w, &out, c)) return c;
  }
  return NULL;
}

/* The first device-only result that has to be copied to the host before the task runs; NULL: none. If sole_device
 * computes the whole task, its own results are used in place; resident: C also stays there. */
static hx__copy *find_device_only(const hx__memory *m, const hx__work *w, const hx__device *sole_device,
                                  bool resident) {
  const size_t count = w->needs || w->kernel ? hx__memory_arrays(w) : 0;
  for (size_t i = 0; i < count; i++) {
    const hx__array a = hx__array_of(w, i);
    hx__copy *const c = find_lacking_input(m, &a, sole_device);
    if (c) return c;
  }
  for (unsigned o = 0; o < hx__work_outputs(w); o++) {
    hx__copy *const c = find_lacking_output(m, w, o, sole_device, resident);
    if (c) return c;
  }
  return NULL;
}

static bool take_result(hx__copy *c, hx__device_only_result *result) {
  if (!c) return false;
  c->users++;
  c->fetching = true;
  *result = (hx__device_only_result){.device = c->device, .array = c->result};
  result->array.mirror = c->mirror;
  return true;
}

/* Whether a result that is wanted on the host is on its way there already. */
static bool is_coming(const hx__copy *c) { return c && c->fetching && !hx__in_forked_child(); }

bool hx__memory_find_device_only(hx__memory *m, const hx__work *w, const hx__device *sole_device, bool resident,
                                 hx__device_only_result *result) {
  if (atomic_load_explicit(&m->watched_ranges, memory_order_relaxed) == 0) return false;
  hx__copy *c;
  hx__lock(&m->lock);
  while (is_coming(c = find_device_only(m, w, sole_device, resident))) wait_for_fetch(m);
  const bool found = take_result(c, result);
  hx__unlock(&m->lock);
  return found;
}

size_t hx__memory_device_only_bytes(hx__memory *m, const hx__work *w, const hx__device **device) {
  if (atomic_load_explicit(&m->watched_ranges, memory_order_relaxed) == 0) return 0;
  hx__lock(&m->lock);
  const hx__copy *const c = find_device_only(m, w, NULL, false);
  if (c) *device = c->device;
  const size_t bytes = c ? hx__array_bytes(&c->result) : 0;
  hx__unlock(&m->lock);
  return bytes;
}

bool hx__memory_find_device_only_in(hx__memory *m, const void *p, size_t bytes, hx__device_only_result *result) {
  const hx__array wanted = hx__elements_in(p, bytes);
  hx__copy *c;
  hx__lock(&m->lock);
  while (is_coming(c = find_lacking_input(m, &wanted, NULL))) wait_for_fetch(m);
  const bool found = take_result(c, result);
  hx__unlock(&m->lock);
  return found;
}

void hx__memory_fetch_done(hx__memory *m, const hx__device_only_result *result, bool done) {
  hx__lock(&m->lock);
  hx__copy *const c = result->array.mirror->copy;
  c->fetching = false;
  if (done) c->device_only = false;
  /* Without advice the program need not say that it has written there, so the device's copy may be old at any time. */
  if (done && c->range && !may_stay(c)) c->stale = true;
  hx__range *const r = hx__range_of(m, result->array.p, hx__array_bytes(&result->array));
  if (r && done) r->version = hx__next_version(); /* other copies that contain it have old contents there */
  hx__copies_release(m, result->array.mirror);
  if (r) hx__range_watch(m, r);
  pthread_cond_broadcast(&m->changed);
  hx__unlock(&m->lock);
}
