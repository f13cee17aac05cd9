/* SPDX-License-Identifier: Apache-2.0
 * Device copies that outlive calls. There are two kinds. The copy of an input mirrors the advised part of a range and
 * is valid while the range has the same version. A resident result (HX_RESIDENT) is one C, or one result of a map, that
 * a device computed, and is valid until its range is written. */
#include "runtime/memory/copies.h"

#include <stdlib.h>

#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/memory/known.h"

#define MOST_PART 2u /* a device's memory divided by this is the most that copies use */

struct hx__copy {
  hx__copy *next; /* most recently used first */
  hx__device *device;
  hx__mirror *mirror;
  uint64_t version; /* of its range when the copy was made; 0: a resident result */
  unsigned users;
  bool stale;       /* not valid: freed once no run uses it */
  bool device_only; /* a resident result that the host does not have */
  bool overwritten; /* a running task replaces it: it is not copied to the host any more */
  bool fetching;    /* it is being copied to the host: nothing else may write its place there */
  hx__array result;
};

static void free_copy(hx__copy *c) {
  c->device->backend->residency->destroy(c->device, c->mirror);
  free(c);
}

/* Frees stale copies that no run uses. A forked child does nothing, because the devices are its parent's. */
static void free_stale(hx__memory *m) {
  if (hx__in_forked_child()) return;
  for (hx__copy **at = &m->copies; *at;) {
    hx__copy *const c = *at;
    if (!c->stale || c->users) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    free_copy(c);
  }
}

static bool copy_overlaps(const hx__copy *c, uintptr_t first, size_t bytes) {
  return first < c->mirror->first + c->mirror->bytes && c->mirror->first < first + bytes;
}

/* Whether the array has an element of a resident result, and the same of one that is not stale. */
static bool shares_elements(const hx__copy *c, const hx__array *a) {
  const hx__matrix x = {a->p, a->rows, a->cols, a->ld}, y = {c->result.p, c->result.rows, c->result.cols, c->result.ld};
  return !c->version && hx__matrices_share(&x, &y);
}
static bool shares_result(const hx__copy *c, const hx__array *a) { return !c->stale && shares_elements(c, a); }

/* The elements of which [p, p+bytes) has a byte. */
static hx__array elements_in(const void *p, size_t bytes) {
  const size_t before = (uintptr_t)p % sizeof(float), count = (before + bytes + sizeof(float) - 1) / sizeof(float);
  return (hx__array){.p = (const char *)p - before, .rows = 1, .cols = count, .ld = count};
}

void hx__copies_invalidate(hx__memory *m, const void *p, size_t bytes, bool mirrors) {
  const hx__array written = elements_in(p, bytes);
  for (hx__copy *c = m->copies; c; c = c->next)
    if (c->version ? mirrors && copy_overlaps(c, (uintptr_t)p, bytes) : shares_result(c, &written)) c->stale = true;
  free_stale(m);
}

/* Whether the task needs the old contents of its output. */
static bool reads_output(const hx__work *w) {
  for (size_t i = 0; w->map && i < hx__memory_arrays(w); i++)
    if (w->input[i] == w->map_out) return true;
  return w->matmul && w->gemm.beta != 0.0f;
}

/* Whether the task, with this output, overwrites the whole result without reading it. */
static bool replaces(const hx__work *w, const hx__array *out, const hx__copy *c) {
  const hx__array *const r = &c->result;
  return !c->version && !reads_output(w) && !hx__c_has_gaps(w) && r->p == out->p && r->ld == out->ld &&
         r->rows <= out->rows && r->cols <= out->cols;
}

/* Whether the products of a batch write an element of a resident result. */
static bool batch_shares_result(const hx__copy *c, const hx__work *batch) {
  const hx__array *const r = &c->result;
  const hx__matrices x = hx__batch_matrices(batch, HX__BATCH_C), y = {{r->p, r->rows, r->cols, r->ld}, x.stride, 1};
  return !c->version && !c->stale && hx__batches_share(&x, &y);
}

/* Waits until a copy to the host has ended. The list of copies may be another one afterwards. */
static void wait_for_fetch(hx__memory *m) { pthread_cond_wait(&m->changed, &m->lock); }

/* Whether another thread is copying a result to the host that shares an element with the output. In a forked child
 * there are no such threads. */
static bool output_is_fetched(const hx__memory *m, const hx__array *out) {
  for (const hx__copy *c = m->copies; c; c = c->next)
    if (c->fetching && shares_elements(c, out)) return !hx__in_forked_child();
  return false;
}

void hx__copies_claim(hx__memory *m, const hx__work *w) {
  const hx__array out = hx__array_of_output(w);
  while (output_is_fetched(m, &out)) wait_for_fetch(m);
  for (hx__copy *c = m->copies; c; c = c->next)
    if (replaces(w, &out, c)) c->overwritten = true;
}

void hx__copies_release_output(hx__memory *m, const hx__work *w, bool written) {
  const hx__array out = hx__array_of_output(w);
  for (hx__copy *c = m->copies; c; c = c->next) {
    if (written && shares_result(c, &out) && (!w->by_products || batch_shares_result(c, w))) c->stale = true;
    if (replaces(w, &out, c)) c->overwritten = false;
  }
  free_stale(m);
}

void hx__copies_free(hx__memory *m) {
  for (hx__copy *c = m->copies, *next; c; c = next) {
    next = c->next;
    free_copy(c);
  }
}

/* Whether the resident result contains all of the array, with the same distance between rows. */
static bool copy_contains(const hx__copy *c, const hx__array *a) {
  const hx__array *const r = &c->result;
  const uintptr_t at = (uintptr_t)a->p;
  const size_t bytes = hx__array_bytes(a);
  if (c->stale || c->version || at < c->mirror->first || at + bytes > c->mirror->first + c->mirror->bytes) return false;
  const size_t column = (at - c->mirror->first) / sizeof(float) % r->ld;
  return r->ld == r->cols || r->rows == 1 || (a->ld == r->ld && column + a->cols <= r->cols) ||
         (a->rows == 1 && column + a->cols <= r->cols);
}

static size_t bytes_on_device(const hx__memory *m, const hx__device *d) {
  size_t sum = 0;
  for (const hx__copy *c = m->copies; c; c = c->next) sum += c->device == d ? c->mirror->bytes : 0;
  return sum;
}

/* Frees the least recently used copy of a device. False if all are in use or device-only. */
static bool make_room(hx__memory *m, const hx__device *d) {
  hx__copy *last = NULL;
  for (hx__copy *c = m->copies; c; c = c->next)
    if (c->device == d && !c->users && !c->device_only) last = c;
  if (!last) return false;
  hx__log(HX__LOG_DEBUG, "%s: a mirror of %zu bytes is evicted", d->name, last->mirror->bytes);
  last->stale = true;
  free_stale(m);
  return true;
}

static hx__copy *create_copy(hx__memory *m, hx__device *d, const void *p, size_t bytes) {
  hx__copy *const c = calloc(1, sizeof *c);
  if (!c) return NULL;
  /* A larger copy would not fit even if all others were freed. */
  const bool fits =
      (bytes <= d->memory_bytes / MOST_PART || d->memory_bytes == 0) && (bytes <= d->max_alloc || d->max_alloc == 0);
  while (fits && d->memory_bytes && bytes_on_device(m, d) + bytes > d->memory_bytes / MOST_PART && make_room(m, d))
    continue;
  while (fits && !(c->mirror = d->backend->residency->create(d, p, bytes)) && make_room(m, d)) continue;
  if (!c->mirror) {
    free(c);
    return NULL;
  }
  c->device = d;
  c->next = m->copies;
  return m->copies = c;
}

static void move_to_front(hx__memory *m, hx__copy *c) {
  for (hx__copy **at = &m->copies; *at; at = &(*at)->next)
    if (*at == c) {
      *at = c->next;
      break;
    }
  c->next = m->copies;
  m->copies = c;
}

static bool supports_mirrors(const hx__device *d) { return d->backend->residency && !atomic_load(&d->lost); }

static hx__copy *mirror_of(hx__memory *m, const hx__device *d, const hx__range *r) {
  hx__copy *found = NULL;
  for (hx__copy *c = m->copies; c; c = c->next) {
    if (c->stale || c->device != d || !c->version || c->mirror->first != r->advised) continue;
    if (c->version == r->version && c->mirror->bytes == r->advised_end - r->advised)
      found = c;
    else
      c->stale = true;
  }
  free_stale(m);
  return found;
}

/* Whether completing a mirror for this array, in whole blocks, may read bytes while the run writes them. */
static bool blocks_are_written(const hx__range *r, const hx__array *a, uintptr_t written, size_t bytes) {
  const size_t at = (uintptr_t)a->p - r->advised, first = at / HX__MIRROR_BLOCK * HX__MIRROR_BLOCK;
  const size_t end = at + hx__array_bytes(a) + HX__MIRROR_BLOCK, all = r->advised_end - r->advised;
  return written < r->advised + (end < all ? end : all) && r->advised + first < written + bytes;
}

void hx__copies_find(hx__memory *m, hx__device *d, const hx__range *r, const void *written, size_t bytes,
                     hx__array *a) {
  hx__copy *found = NULL;
  a->mirror = NULL;
  a->device_only = false;
  if (a->mode != HX__MEMORY_COPY || !r || !r->advice || !supports_mirrors(d)) return;
  for (hx__copy *c = m->copies; c && !found; c = c->next)
    if (c->device == d && copy_contains(c, a)) found = c;
  const uintptr_t at = (uintptr_t)a->p;
  if (!found && at >= r->advised && at + hx__array_bytes(a) <= r->advised_end &&
      !blocks_are_written(r, a, (uintptr_t)written, bytes)) {
    found = mirror_of(m, d, r);
    if (!found) {
      found = create_copy(m, d, (const void *)r->advised, r->advised_end - r->advised);
      if (found) found->version = r->version;
    }
  }
  if (!found) return;
  found->users++;
  move_to_front(m, found);
  a->mirror = found->mirror;
  a->device_only = found->device_only;
}

void hx__copies_release(hx__memory *m, const hx__mirror *mirror) {
  for (hx__copy *c = m->copies; c && mirror; c = c->next)
    if (c->mirror == mirror) c->users--;
  free_stale(m);
}

bool hx__copies_are_present(const hx__memory *m, const hx__range *r, const hx__array *a) {
  const size_t bytes = hx__array_bytes(a);
  for (const hx__copy *c = m->copies; c; c = c->next)
    if (!c->stale &&
        (copy_contains(c, a) || (c->version && c->version == r->version && 2 * c->mirror->filled >= bytes)))
      return true;
  return false;
}

/* The resident result on this device that is exactly this array. */
static hx__copy *result_of(const hx__memory *m, const hx__device *d, const hx__array *a) {
  for (hx__copy *c = m->copies; c; c = c->next)
    if (!c->stale && !c->version && c->device == d && c->result.p == a->p && c->result.rows == a->rows &&
        c->result.cols == a->cols && c->result.ld == a->ld)
      return c;
  return NULL;
}

bool hx__memory_resident_begin(hx__memory *m, hx__device *d, const hx__work *w, bool may_overwrite,
                               hx__resident_output *resident) {
  *resident = (hx__resident_output){.mirror = NULL};
  if (atomic_load_explicit(&m->watched_ranges, memory_order_relaxed) == 0 || !(w->matmul || w->map) || !w->needs ||
      hx__c_has_gaps(w) || !supports_mirrors(d))
    return false;
  const hx__array out = hx__array_of_c(w);
  hx__lock(&m->lock);
  const hx__range *const r = hx__range_of(m, out.p, hx__array_bytes(&out));
  const bool stays = r && (r->advice & HX_RESIDENT) && (uintptr_t)out.p >= r->advised &&
                     (uintptr_t)out.p + hx__array_bytes(&out) <= r->advised_end &&
                     hx__mode_of(m, d, r) == HX__MEMORY_COPY;
  hx__copy *old = stays ? result_of(m, d, &out) : NULL;
  hx__copy *c = old && may_overwrite && !old->users && !reads_output(w) ? old : NULL;
  resident->overwrites = c;
  old = old && w->matmul && w->gemm.beta != 0.0f ? old : NULL;
  if (old) old->users++;
  if (!c && stays) c = create_copy(m, d, out.p, hx__array_bytes(&out));
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

void hx__memory_resident_end(hx__memory *m, const hx__resident_output *resident) {
  hx__lock(&m->lock);
  for (hx__copy *c = m->copies; c; c = c->next)
    if (c->mirror == resident->mirror) {
      c->stale = !resident->complete;
      c->device_only = resident->complete;
    }
  hx__copies_release(m, resident->old_mirror);
  hx__copies_release(m, resident->mirror);
  hx__unlock(&m->lock);
}

void hx__memory_resident_cancel(hx__memory *m, const hx__resident_output *resident) {
  hx__lock(&m->lock);
  for (hx__copy *c = m->copies; c; c = c->next)
    if (c->mirror == resident->mirror) c->stale = !resident->overwrites;
  hx__copies_release(m, resident->old_mirror);
  hx__copies_release(m, resident->mirror);
  hx__unlock(&m->lock);
}

/* Whether the array has an element of a result that only a device has. */
static bool host_lacks(const hx__copy *c, const hx__array *a) {
  return c->device_only && !c->overwritten && shares_result(c, a);
}

/* The first device-only result that has to be copied to the host before the task runs; NULL: none. If sole_device
 * computes the whole task, its own results are used in place; resident: C also stays there. */
static hx__copy *find_device_only(const hx__memory *m, const hx__work *w, const hx__device *sole_device,
                                  bool resident) {
  const size_t count = w->needs || w->kernel ? hx__memory_arrays(w) : 0;
  const hx__array out = hx__array_of_output(w);
  for (hx__copy *c = m->copies; c; c = c->next) {
    for (size_t i = 0; i < count && c->device_only; i++) {
      const hx__array a = hx__array_of(w, i);
      if (host_lacks(c, &a) && !(c->device == sole_device && copy_contains(c, &a))) return c;
    }
    if (host_lacks(c, &out)) {
      if (!replaces(w, &out, c) && !(resident && c->device == sole_device && result_of(m, sole_device, &out) == c))
        return c;
    }
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

static hx__copy *find_device_only_in(const hx__memory *m, const hx__array *wanted) {
  for (hx__copy *c = m->copies; c; c = c->next)
    if (host_lacks(c, wanted)) return c;
  return NULL;
}

bool hx__memory_find_device_only_in(hx__memory *m, const void *p, size_t bytes, hx__device_only_result *result) {
  const hx__array wanted = elements_in(p, bytes);
  hx__copy *c;
  hx__lock(&m->lock);
  while (is_coming(c = find_device_only_in(m, &wanted))) wait_for_fetch(m);
  const bool found = take_result(c, result);
  hx__unlock(&m->lock);
  return found;
}

void hx__memory_fetch_done(hx__memory *m, const hx__device_only_result *result, bool done) {
  hx__lock(&m->lock);
  for (hx__copy *c = m->copies; c; c = c->next) {
    if (c->mirror != result->array.mirror) continue;
    c->fetching = false;
    if (done) c->device_only = false;
  }
  hx__range *const r = hx__range_of(m, result->array.p, hx__array_bytes(&result->array));
  if (r && done) r->version = hx__next_version(); /* other copies that contain it have old contents there */
  hx__copies_release(m, result->array.mirror);
  pthread_cond_broadcast(&m->changed);
  hx__unlock(&m->lock);
}
