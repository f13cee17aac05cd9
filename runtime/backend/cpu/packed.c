/* SPDX-License-Identifier: Apache-2.0
 * A packed operand. Threads take units to pack from a counter. A cached operand has the version of its contents, so
 * that it is never used after the caller has modified them. */
#define _GNU_SOURCE
#include "runtime/backend/cpu/packed.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/base/thread.h"

#define ALIGNMENT ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)
#define MOST_BYTES ((size_t)256 << 20) /* chunks pack larger operands; also the limit of all cached operands */
#define SPARE_BYTES ((size_t)64 << 20) /* larger memory is freed at the end of its run */
#define SPINS 2000u                    /* before a waiting thread yields: a unit takes some 50 us */

/* Identifies a cached operand. */
typedef struct identity {
  uint64_t version;
  const float *p;
  size_t lines, k, line_stride, k_stride;
  bool of_b;
} identity;

struct hx__packed {
  void *p;
  size_t bytes;
  const hx__cpu_kernels *kernels;
  const hx__gemm *gemm;
  bool of_b;
  size_t units;
  _Atomic size_t next, done;

  identity id; /* version 0: used by one run only */
  unsigned users;
  hx__packed *next_cached;
};

static void free_packed(hx__packed *packed) {
  if (!packed) return;
  free(packed->p);
  free(packed);
}

void hx__packed_store_init(hx__packed_store *store) {
  atomic_init(&store->spare, NULL);
  pthread_mutex_init(&store->lock, NULL);
  store->cached = NULL;
}

void hx__packed_store_free(hx__packed_store *store) {
  free_packed(atomic_load(&store->spare));
  for (hx__packed *at = store->cached, *next_cached; at; at = next_cached) {
    next_cached = at->next_cached;
    free_packed(at);
  }
  pthread_mutex_destroy(&store->lock);
}

/* Makes room for `bytes`. Uses huge pages if it is 2 MiB or more, because every chunk reads all of it. */
static bool reserve_bytes(hx__packed *packed, size_t bytes) {
  if (packed->bytes >= bytes) return true;
  const size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
  free(packed->p);
  packed->bytes = (bytes + unit - 1) / unit * unit;
  packed->p = aligned_alloc(unit, packed->bytes);
  if (packed->p && unit == HUGE_PAGE) (void)madvise(packed->p, packed->bytes, MADV_HUGEPAGE);
  return packed->p;
}

static identity identity_of(const hx__gemm *g, bool of_b, uint64_t version) {
  if (of_b) return (identity){version, g->b, g->n, g->k, g->b_cs, g->b_rs, true};
  return (identity){version, g->a, g->m, g->k, g->a_rs, g->a_cs, false};
}

static bool same_identity(const identity *a, const identity *b) {
  return a->version == b->version && a->p == b->p && a->lines == b->lines && a->k == b->k &&
         a->line_stride == b->line_stride && a->k_stride == b->k_stride && a->of_b == b->of_b;
}

/* The cached operand, moved to the front of the list; NULL if it is not cached. */
static hx__packed *find_cached(hx__packed_store *store, const identity *id) {
  hx__packed *match = NULL;
  hx__lock(&store->lock);
  for (hx__packed **at = &store->cached; *at && !match; at = &(*at)->next_cached)
    if (same_identity(&(*at)->id, id)) {
      match = *at;
      *at = match->next_cached;
      match->next_cached = store->cached;
      store->cached = match;
      match->users++;
      break;
    }
  hx__unlock(&store->lock);
  return match;
}

/* Puts a packed operand at the front of the list and frees unused ones from the end that exceed the limit. */
static void cache_packed(hx__packed_store *store, hx__packed *packed) {
  size_t total = 0;
  hx__lock(&store->lock);
  packed->next_cached = store->cached;
  store->cached = packed;
  for (hx__packed **at = &store->cached; *at;) {
    hx__packed *const entry = *at;
    const bool stale = entry->id.p == packed->id.p && entry->id.version != packed->id.version;
    total += entry->bytes;
    if (entry != packed && (total > MOST_BYTES || stale) && entry->users == 0) {
      total -= entry->bytes;
      *at = entry->next_cached;
      free_packed(entry);
    } else {
      at = &entry->next_cached;
    }
  }
  hx__unlock(&store->lock);
}

hx__packed *hx__packed_open(hx__packed_store *store, const hx__cpu_kernels *kernels, const hx__work *work,
                            uint64_t version) {
  const bool of_b = !work->by_columns;
  const size_t bytes = kernels->packed_bytes(&work->gemm, of_b);
  if (bytes == 0 || bytes > MOST_BYTES) return NULL;
  const identity id = identity_of(&work->gemm, of_b, version);
  hx__packed *packed = version ? find_cached(store, &id) : NULL;
  if (packed) return packed;
  if (!version) packed = atomic_exchange(&store->spare, NULL);
  if (!packed) packed = calloc(1, sizeof *packed);
  if (!packed || !reserve_bytes(packed, bytes)) {
    free_packed(packed);
    return NULL;
  }
  packed->kernels = kernels;
  packed->gemm = &work->gemm;
  packed->of_b = of_b;
  packed->units = kernels->pack_units(&work->gemm, of_b);
  packed->id = id;
  packed->users = 0;
  atomic_init(&packed->next, 0);
  atomic_init(&packed->done, 0);
  return packed;
}

void hx__packed_close(hx__packed_store *store, hx__packed *packed) {
  if (!packed) return;
  if (packed->id.version == 0) {
    free_packed(packed->bytes <= SPARE_BYTES ? atomic_exchange(&store->spare, packed) : packed);
    return;
  }
  hx__lock(&store->lock);
  const bool was_cached = packed->users != 0;
  if (was_cached) packed->users--;
  hx__unlock(&store->lock);
  if (!was_cached) cache_packed(store, packed);
}

const void *hx__packed_data(const hx__packed *packed) { return packed->p; }

void hx__cpu_pack(hx__packed *packed) {
  if (atomic_load_explicit(&packed->done, memory_order_acquire) == packed->units) return; /* cached by an earlier run */
  for (size_t unit; (unit = atomic_fetch_add(&packed->next, 1)) < packed->units; atomic_fetch_add(&packed->done, 1))
    packed->kernels->pack(packed->gemm, packed->of_b, unit, packed->p);
  for (unsigned spins = 0; atomic_load_explicit(&packed->done, memory_order_acquire) < packed->units; spins++)
    if (spins >= SPINS) sched_yield();
}
