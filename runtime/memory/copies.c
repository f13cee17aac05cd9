/* SPDX-License-Identifier: Apache-2.0
 * Device copies: mirrors of inputs, and what they have in common with resident results. */
#include "runtime/memory/copies.h"

#include <stdlib.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/base/thresholds.h"
#include "runtime/memory/copy.h"

#define MOST_PART 2u   /* a device's memory divided by this is the most that copies use */
#define SHORT_PART 2u  /* of the copies, what stays when memory is short */
#define CAUSE_PART 64u /* of a device's memory: copies of less are not why it is short, so they are not limited */

static hx__copied *copied_of(hx__memory *m, const hx__device *d) {
  hx__copied *x = m->copied;
  while (x->device && x->device != d) x++;
  x->device = d;
  return x;
}

/* The most bytes that all copies on the device may have. */
static size_t most_bytes(hx__memory *m, const hx__device *d) {
  hx__copied *const x = copied_of(m, d);
  const size_t most = d->memory_bytes ? (size_t)(d->memory_bytes / MOST_PART) : SIZE_MAX;
  if (x->most_until_ns && hx__now_ns() >= x->most_until_ns) x->most_until_ns = 0;
  return x->most_until_ns && x->most < most ? x->most : most;
}

static void free_copy(hx__memory *m, hx__copy *c) {
  copied_of(m, c->device)->bytes -= c->mirror->bytes;
  c->device->backend->residency->destroy(c->device, c->mirror);
  free(c);
}

void hx__copies_free_stale(hx__memory *m, hx__copy **list) {
  if (hx__in_forked_child()) return;
  for (hx__copy **at = list; *at;) {
    hx__copy *const c = *at;
    if (!c->stale || c->users) {
      at = &c->next;
      continue;
    }
    *at = c->next;
    free_copy(m, c);
  }
}

static bool copy_overlaps(const hx__copy *c, uintptr_t first, size_t bytes) {
  return first < c->mirror->first + c->mirror->bytes && c->mirror->first < first + bytes;
}

bool hx__copy_shares_elements(const hx__copy *c, const hx__array *a) {
  const hx__matrix x = {a->p, a->rows, a->cols, a->ld}, y = {c->result.p, c->result.rows, c->result.cols, c->result.ld};
  return !c->version && hx__matrices_share(&x, &y);
}

hx__array hx__elements_in(const void *p, size_t bytes) {
  const size_t before = (uintptr_t)p % sizeof(float), count = (before + bytes + sizeof(float) - 1) / sizeof(float);
  return (hx__array){.p = (const char *)p - before, .rows = 1, .cols = count, .ld = count};
}

void hx__copies_invalidate(hx__memory *m, const void *p, size_t bytes, bool by_advice) {
  const hx__array written = hx__elements_in(p, bytes);
  size_t count;
  hx__range *const *const ranges = hx__known_overlapping(m, p, bytes, &count);
  for (size_t i = 0; i < count; i++) {
    for (hx__copy *c = ranges[i]->copies; c; c = c->next)
      if (c->version ? by_advice && copy_overlaps(c, (uintptr_t)p, bytes)
                     : !(by_advice && c->device_only) && hx__copy_shares_result(c, &written))
        c->stale = true;
    hx__copies_free_stale(m, &ranges[i]->copies);
  }
}

bool hx__copies_hold_results(const hx__range *r) {
  for (const hx__copy *c = r->copies; c; c = c->next)
    if (!c->version && (c->device_only || c->stale)) return true; /* stale: it may be one that a run makes */
  return false;
}

void hx__copies_forget(hx__memory *m, hx__range *r) {
  for (hx__copy *c = r->copies; c; c = c->next) {
    c->stale = true;
    c->range = NULL;
  }
  hx__copies_free_stale(m, &r->copies);
  hx__copy **end = &r->copies;
  while (*end) end = &(*end)->next;
  *end = m->gone;
  m->gone = r->copies;
  r->copies = NULL;
}

/* The lists of copies, by an index up to known_count. */
static hx__copy **list_at(hx__memory *m, size_t i) { return i < m->known_count ? &m->known[i]->copies : &m->gone; }

void hx__copies_free(hx__memory *m) {
  for (size_t i = 0; i <= m->known_count; i++) {
    hx__copy **const list = list_at(m, i);
    for (hx__copy *c = *list, *next; c; c = next) {
      next = c->next;
      free_copy(m, c);
    }
    *list = NULL;
  }
}

bool hx__copy_contains(const hx__copy *c, const hx__array *a) {
  const hx__array *const r = &c->result;
  const uintptr_t at = (uintptr_t)a->p;
  const size_t bytes = hx__array_bytes(a);
  if (c->stale || c->version || at < c->mirror->first || at + bytes > c->mirror->first + c->mirror->bytes) return false;
  const size_t column = (at - c->mirror->first) / sizeof(float) % r->ld;
  return r->ld == r->cols || r->rows == 1 || (a->ld == r->ld && column + a->cols <= r->cols) ||
         (a->rows == 1 && column + a->cols <= r->cols);
}

/* Frees the least recently used copy of a device. False if all are in use or device-only. */
static bool make_room(hx__memory *m, const hx__device *d) {
  hx__copy *last = NULL, **list = NULL;
  for (size_t i = 0; i <= m->known_count; i++)
    for (hx__copy *c = *list_at(m, i); c; c = c->next)
      if (c->device == d && !c->users && !c->device_only && (!last || c->used < last->used)) {
        last = c;
        list = list_at(m, i);
      }
  if (!last) return false;
  hx__log(HX__LOG_DEBUG, "%s: a mirror of %zu bytes is evicted", d->name, last->mirror->bytes);
  last->stale = true;
  hx__copies_free_stale(m, list);
  return true;
}

/* Results that only the device has stay: a program may write to their places on the host at any time, because it says
 * so (hx_modified) only afterwards. */
void hx__memory_ran_short(hx__memory *m, const hx__device *d) {
  hx__lock(&m->lock);
  hx__copied *const x = copied_of(m, d);
  const size_t stays = x->bytes / SHORT_PART;
  if (x->bytes > d->memory_bytes / CAUSE_PART) {
    x->most = stays;
    x->most_until_ns = hx__now_ns() + HX__SHORTAGE_NS;
  }
  while (x->bytes > stays && make_room(m, d)) continue;
  hx__log(HX__LOG_INFO, "%s: memory is short; %zu bytes of copies stay there", d->name, x->bytes);
  hx__unlock(&m->lock);
}

hx__copy *hx__copy_create(hx__memory *m, hx__device *d, hx__range *r, const void *p, size_t bytes) {
  hx__copy *const c = calloc(1, sizeof *c);
  if (!c) return NULL;
  hx__copied *const x = copied_of(m, d);
  const size_t most = most_bytes(m, d);
  /* A larger copy would not fit even if all others were freed. */
  bool fits = bytes <= most && (bytes <= d->max_alloc || d->max_alloc == 0);
  while (fits && x->bytes > most - bytes && make_room(m, d)) continue;
  if (fits && x->most_until_ns) fits = x->bytes <= most - bytes;
  while (fits && !(c->mirror = d->backend->residency->create(d, p, bytes)) && make_room(m, d)) continue;
  if (!c->mirror) {
    free(c);
    return NULL;
  }
  x->bytes += bytes;
  c->mirror->copy = c;
  c->range = r;
  c->device = d;
  c->used = ++m->uses;
  c->next = r->copies;
  return r->copies = c;
}

bool hx__copies_are_supported(const hx__device *d) { return d->backend->residency && !atomic_load(&d->lost); }

static hx__copy *mirror_of(hx__memory *m, const hx__device *d, hx__range *r) {
  hx__copy *found = NULL;
  for (hx__copy *c = r->copies; c; c = c->next) {
    if (c->stale || c->device != d || !c->version || c->mirror->first != r->advised) continue;
    if (c->version == r->version && c->mirror->bytes == r->advised_end - r->advised)
      found = c;
    else
      c->stale = true;
  }
  hx__copies_free_stale(m, &r->copies);
  return found;
}

/* Whether completing a mirror for this array, in whole blocks, may read bytes while the run writes them. */
static bool blocks_are_written(const hx__range *r, const hx__array *a, const hx__work *w) {
  const size_t at = (uintptr_t)a->p - r->advised, first = at / HX__MIRROR_BLOCK * HX__MIRROR_BLOCK;
  const size_t end = at + hx__array_bytes(a) + HX__MIRROR_BLOCK, all = r->advised_end - r->advised;
  for (unsigned o = 0; (w->matmul || w->map) && o < hx__work_outputs(w); o++) {
    const hx__array out = hx__array_of_output(w, o);
    const uintptr_t written = (uintptr_t)out.p;
    if (written < r->advised + (end < all ? end : all) && r->advised + first < written + hx__array_bytes(&out))
      return true;
  }
  return false;
}

void hx__copies_find(hx__memory *m, hx__device *d, hx__range *r, const hx__work *w, hx__array *a) {
  hx__copy *found = NULL;
  a->mirror = NULL;
  a->device_only = false;
  if (a->mode != HX__MEMORY_COPY || !r || (!r->advice && !r->copies) || !hx__copies_are_supported(d)) return;
  for (hx__copy *c = r->copies; c && !found; c = c->next)
    if (c->device == d && hx__copy_contains(c, a)) found = c;
  const uintptr_t at = (uintptr_t)a->p;
  if (!found && r->advice && at >= r->advised && at + hx__array_bytes(a) <= r->advised_end &&
      !blocks_are_written(r, a, w)) {
    found = mirror_of(m, d, r);
    if (!found) {
      found = hx__copy_create(m, d, r, (const void *)r->advised, r->advised_end - r->advised);
      if (found) found->version = r->version;
    }
  }
  if (!found) return;
  found->users++;
  found->used = ++m->uses;
  a->mirror = found->mirror;
  a->device_only = found->device_only;
}

void hx__copies_release(hx__memory *m, const hx__mirror *mirror) {
  if (!mirror) return;
  hx__copy *const c = mirror->copy;
  c->users--;
  hx__copies_free_stale(m, c->range ? &c->range->copies : &m->gone);
}

bool hx__copies_are_present(const hx__range *r, const hx__array *a) {
  const size_t bytes = hx__array_bytes(a);
  for (const hx__copy *c = r->copies; c; c = c->next)
    if (!c->stale &&
        (hx__copy_contains(c, a) || (c->version && c->version == r->version && 2 * c->mirror->filled >= bytes)))
      return true;
  return false;
}
