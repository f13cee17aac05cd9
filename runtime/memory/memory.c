/* SPDX-License-Identifier: Apache-2.0
 * Blocks of hx_alloc, registered ranges, and advice. */
#include "runtime/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/memory/copies.h"
#include "runtime/memory/copy.h"
#include "runtime/memory/known.h"
#include "runtime/memory/pins.h"

#define PAGE ((size_t)4096)
#define MOST_LIMIT_MS 2000u
#define KNOWN_ADVICE (HX_READ_MOSTLY | HX_RESIDENT)

/* The modes that hx_alloc tries, most direct first. pages: the device accesses ordinary pages in this mode, so no
 * allocation by the device is needed. */
static const struct {
  hx__memory_mode mode;
  bool pages, integrated_only;
} alloc_order[] = {{HX__MEMORY_SVM_SYSTEM, true, false}, {HX__MEMORY_SVM_FINE, false, false},
                   {HX__MEMORY_USM, false, false},       {HX__MEMORY_SVM_COARSE, false, true},
                   {HX__MEMORY_HOSTPTR, true, false},    {HX__MEMORY_COPY, false, false}};

/* HX_TIMEOUT_MS if it is shorter than MOST_LIMIT_MS. Longer values are for kernels, and allocations need not wait for
 * any. */
static uint64_t limit_from_timeout(uint64_t timeout_ms) {
  return timeout_ms < MOST_LIMIT_MS ? timeout_ms * UINT64_C(1000000) : MOST_LIMIT_MS * UINT64_C(1000000);
}

void hx__memory_init(hx__memory *m, const hx__config *config) {
  pthread_mutex_init(&m->lock, NULL);
  hx__cond_init(&m->changed);
  m->deferred = NULL;
  m->known = NULL;
  m->known_count = m->known_room = 0;
  m->added = 0;
  m->pinned = (hx__pinned){0};
  m->gone = NULL;
  m->uses = 0;
  memset(m->copied, 0, sizeof m->copied);
  atomic_store(&m->watched_ranges, 0);
  m->forced_mode = config->memory;
  m->limit_ns = limit_from_timeout(config->timeout_ms);
  m->pinning = false;
}

static void free_range(const hx__memory *m, hx__range *r) {
  hx__pins_free(m, r);
  if (r->allocated && !r->leaked) {
    if (!r->block)
      free(r->p);
    else if (!hx__in_forked_child()) /* there the device's blocks are the parent's */
      r->device->backend->memory->free(r->device, m->limit_ns, r->block);
  }
  free(r);
}

static void free_ranges(const hx__memory *m, hx__range *list) {
  for (hx__range *r = list, *next; r; r = next) {
    next = r->next;
    free_range(m, r);
  }
}

/* Frees a range that is not known any more, or defers that while a chunk that timed out may read it. */
static void free_or_defer(hx__memory *m, hx__range *r) {
  hx__lock(&m->lock);
  const bool defer = r->leaked && !hx__in_forked_child();
  if (defer) {
    r->next = m->deferred;
    m->deferred = r;
  }
  hx__unlock(&m->lock);
  if (!defer) free_range(m, r);
}

void hx__memory_timed_out_ended(hx__memory *m, const hx__device *d) {
  hx__range *ended = NULL;
  hx__lock(&m->lock);
  for (size_t i = 0; i < m->known_count; i++)
    if (m->known[i]->reader == d) m->known[i]->leaked = false;
  for (hx__range **at = &m->deferred; *at;) {
    hx__range *const r = *at;
    if (r->reader != d) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    r->leaked = false;
    r->next = ended;
    ended = r;
  }
  hx__unlock(&m->lock);
  free_ranges(m, ended);
}

void hx__memory_timed_out_forever(hx__memory *m, const hx__device *d) {
  hx__lock(&m->lock);
  for (size_t i = 0; i < m->known_count; i++)
    if (m->known[i]->leaked && m->known[i]->reader == d) m->known[i]->reader = NULL;
  for (hx__range *r = m->deferred; r; r = r->next)
    if (r->reader == d) r->reader = NULL;
  hx__unlock(&m->lock);
}

void hx__memory_destroy(hx__memory *m) {
  hx__lock(&m->lock);
  while (m->pinning) pthread_cond_wait(&m->changed, &m->lock);
  hx__unlock(&m->lock);
  hx__copies_free(m);
  for (size_t i = 0; i < m->known_count; i++) free_range(m, m->known[i]);
  free(m->known);
  free_ranges(m, m->deferred);
  pthread_cond_destroy(&m->changed);
  pthread_mutex_destroy(&m->lock);
}

/* Whether tasks that use the range must be noticed: also without advice if a device has a result there that the host
 * lacks, or makes one. Requires the lock. */
static bool is_watched(const hx__range *r) {
  return r->advice || (r->block && r->mode == HX__MEMORY_SVM_COARSE) || hx__copies_hold_results(r);
}

/* Requires the lock. The number changes in one step, because tasks read it without the lock. */
static void set_watched(hx__memory *m, hx__range *r, bool watched) {
  atomic_fetch_add(&m->watched_ranges, (unsigned)watched - (unsigned)r->watched);
  r->watched = watched;
}

void hx__range_watch(hx__memory *m, hx__range *r) { set_watched(m, r, is_watched(r)); }

/* False: no memory. */
static bool add_range(hx__memory *m, hx__range *r) {
  hx__lock(&m->lock);
  const bool added = hx__known_reserve(m);
  if (added) {
    hx__known_add(m, r);
    hx__range_watch(m, r);
  }
  hx__unlock(&m->lock);
  return added;
}

/* Removes the range that begins at p, after waiting until none of its pins is in use. */
static hx__range *take_range(hx__memory *m, const void *p, bool allocated) {
  hx__range *found;
  hx__lock(&m->lock);
  while ((found = hx__known_at(m, p, allocated)) != NULL && hx__pins_busy(found) && !hx__in_forked_child())
    pthread_cond_wait(&m->changed, &m->lock);
  if (found) {
    hx__known_remove(m, found);
    set_watched(m, found, false);
    hx__copies_forget(m, found);
  }
  hx__unlock(&m->lock);
  return found;
}

static void *alloc_on_device(const hx__memory *m, hx__device *d, size_t bytes, hx__range *r) {
  if (atomic_load(&d->lost) || !d->backend->memory || !(atomic_load(&d->ready) & HX__NEED_OPEN)) return NULL;
  for (size_t i = 0; i < sizeof alloc_order / sizeof alloc_order[0]; i++) {
    if (m->forced_mode != HX__MEMORY_AUTO && m->forced_mode != alloc_order[i].mode) continue;
    if (m->forced_mode == HX__MEMORY_AUTO && alloc_order[i].integrated_only && d->is_discrete) continue;
    if (!(d->modes & 1u << alloc_order[i].mode)) continue;
    const bool copied = alloc_order[i].pages && !(d->zero_copy & 1u << alloc_order[i].mode);
    if (m->forced_mode == HX__MEMORY_AUTO && copied && d->is_discrete) continue; /* a pinned block is faster */
    if (alloc_order[i].pages) return NULL;
    void *const p = d->backend->memory->alloc(d, bytes, alloc_order[i].mode, m->limit_ns, &r->block);
    if (!p) continue;
    r->device = d;
    r->mode = alloc_order[i].mode;
    return p;
  }
  return NULL;
}

void *hx__memory_alloc(hx__memory *m, hx__device *const *devices, size_t count, size_t bytes) {
  if (bytes > SIZE_MAX - PAGE) return NULL;
  const size_t rounded = bytes ? (bytes + PAGE - 1) & ~(PAGE - 1) : PAGE;
  hx__range *const r = calloc(1, sizeof *r);
  if (!r) return NULL;
  for (size_t i = 0; i < count && !r->p; i++) r->p = alloc_on_device(m, devices[i], rounded, r);
  if (!r->p) r->p = aligned_alloc(PAGE, rounded);
  if (!r->p) {
    free(r);
    return NULL;
  }
  r->bytes = rounded;
  r->allocated = true;
  void *const block = r->p;
  if (add_range(m, r)) return block;
  free_range(m, r);
  return NULL;
}

bool hx__memory_free(hx__memory *m, void *p) {
  hx__range *const r = take_range(m, p, true);
  if (!r) return false;
  free_or_defer(m, r);
  return true;
}

hx_status hx__memory_register(hx__memory *m, void *p, size_t bytes) {
  if (!p) return hx__fail(HX_INVALID_ARGUMENT, "p is NULL");
  if (!bytes) return hx__fail(HX_INVALID_ARGUMENT, "bytes is 0");
  if ((uintptr_t)p > UINTPTR_MAX - bytes)
    return hx__fail(HX_INVALID_ARGUMENT, "bytes is %zu: the range wraps around the address space", bytes);
  hx__range *const r = calloc(1, sizeof *r);
  if (!r) return hx__fail(HX_OUT_OF_MEMORY, "no memory to register a range");
  *r = (hx__range){.p = p, .bytes = bytes};
  hx__lock(&m->lock);
  size_t others;
  hx__range *const *const other = hx__known_overlapping(m, p, bytes, &others);
  const hx__range seen = others ? **other : *r;
  const bool added = !others && hx__known_reserve(m);
  if (added) hx__known_add(m, r);
  hx__unlock(&m->lock);
  if (added) return HX_OK;
  free(r);
  if (!others) return hx__fail(HX_OUT_OF_MEMORY, "no memory to register a range");
  return hx__fail(HX_INVALID_ARGUMENT, "p = %p with %zu bytes overlaps the known range %p with %zu bytes", p, bytes,
                  seen.p, seen.bytes);
}

hx_status hx__memory_unregister(hx__memory *m, void *p) {
  hx__range *const r = take_range(m, p, false);
  if (!r) return hx__fail(HX_INVALID_ARGUMENT, "p = %p was not registered", p);
  free_or_defer(m, r);
  return HX_OK;
}

size_t hx__memory_range_bytes(hx__memory *m, const void *p) {
  hx__lock(&m->lock);
  const hx__range *const block = hx__known_at(m, p, true), *const r = block ? block : hx__known_at(m, p, false);
  const size_t bytes = r ? r->bytes : 0;
  hx__unlock(&m->lock);
  return bytes;
}

hx_status hx__memory_known_range(hx__memory *m, const void **p, size_t *bytes, const char *what) {
  hx__lock(&m->lock);
  const hx__range *const r = hx__range_of(m, *p, *bytes);
  const hx__range seen = r ? *r : (hx__range){.p = NULL};
  hx__unlock(&m->lock);
  if (!r)
    return hx__fail(HX_INVALID_ARGUMENT, "%s: p = %p with %zu bytes is not inside a range from hx_alloc or hx_register",
                    what, *p, *bytes);
  *p = seen.p;
  *bytes = seen.bytes;
  return HX_OK;
}

hx_status hx__memory_known(hx__memory *m, const void *p, size_t bytes, const char *what) {
  return hx__memory_known_range(m, &p, &bytes, what);
}

/* Whether a device has a result that the host lacks and that may not stay there with the new advice. */
static bool advice_loses_result(const hx__range *r, const hx__range *advised) {
  for (const hx__copy *c = r->copies; c; c = c->next)
    if (!c->stale && c->device_only && !c->overwritten &&
        !hx__range_keeps_result(advised, c->result.p, hx__array_bytes(&c->result)))
      return true;
  return false;
}

hx_status hx__memory_advise(hx__memory *m, const void *p, size_t bytes, unsigned advice, bool *again) {
  *again = false;
  if (advice & ~(unsigned)KNOWN_ADVICE)
    return hx__fail(HX_INVALID_ARGUMENT, "advice is 0x%x: HX_READ_MOSTLY (1) and HX_RESIDENT (2) are known", advice);
  hx__lock(&m->lock);
  hx__range *const r = hx__range_of(m, p, bytes);
  const hx__range advised = {
      .advice = advice, .advised = (uintptr_t)p, .advised_end = (uintptr_t)p + bytes}; /* only these members count */
  if (r) *again = advice_loses_result(r, &advised);
  if (r && !*again) {
    r->advice = advice;
    r->advised = advised.advised;
    r->advised_end = advised.advised_end;
    r->version = hx__next_version();
    hx__copies_invalidate(m, r->p, r->bytes, true);
    hx__range_watch(m, r);
  }
  hx__unlock(&m->lock);
  return r ? HX_OK : hx__memory_known(m, p, bytes, "hx_advise");
}

hx_status hx__memory_modified(hx__memory *m, const void *p, size_t bytes) {
  hx__lock(&m->lock);
  hx__range *const r = hx__range_of(m, p, bytes);
  if (r) {
    r->version = hx__next_version();
    hx__copies_invalidate(m, p, bytes, false);
  }
  hx__unlock(&m->lock);
  return r ? HX_OK : hx__memory_known(m, p, bytes, "hx_modified");
}
