/* SPDX-License-Identifier: Apache-2.0
 * An operand packed once: units are handed out by a counter. */
#define _GNU_SOURCE
#include "runtime/backend/cpu/packed.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>

#define ALIGNMENT ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)
#define MOST_BYTES ((size_t)256 << 20) /* beyond, chunks pack for themselves */
#define KEPT_BYTES ((size_t)64 << 20)  /* a larger one is given back at the end of its run */
#define SPINS 2000u                    /* a unit takes some 50 us */

struct hx__packed {
  void *p;
  size_t bytes;
  const hx__cpu_kernels *kernels;
  const hx__gemm *gemm;
  bool of_b;
  size_t units;
  _Atomic size_t next, done;
};

static void discard(hx__packed *packed) {
  if (!packed) return;
  free(packed->p);
  free(packed);
}

void hx__packed_store_init(hx__packed_store *store) { atomic_init(&store->spare, NULL); }

void hx__packed_store_free(hx__packed_store *store) { discard(atomic_load(&store->spare)); }

/* Room for so many bytes, in large pages where they are many: 2 MB are read by every chunk. */
static bool reserve(hx__packed *packed, size_t bytes) {
  if (packed->bytes >= bytes) return true;
  const size_t unit = bytes >= HUGE_PAGE ? HUGE_PAGE : ALIGNMENT;
  free(packed->p);
  packed->bytes = (bytes + unit - 1) / unit * unit;
  packed->p = aligned_alloc(unit, packed->bytes);
  if (packed->p && unit == HUGE_PAGE) (void)madvise(packed->p, packed->bytes, MADV_HUGEPAGE);
  return packed->p;
}

hx__packed *hx__packed_open(hx__packed_store *store, const hx__cpu_kernels *kernels, const hx__work *work) {
  const bool of_b = !work->by_columns;
  const size_t bytes = kernels->packed_bytes(&work->gemm, of_b);
  if (bytes == 0 || bytes > MOST_BYTES) return NULL;
  hx__packed *packed = atomic_exchange(&store->spare, NULL);
  if (!packed) packed = calloc(1, sizeof *packed);
  if (!packed || !reserve(packed, bytes)) {
    discard(packed);
    return NULL;
  }
  packed->kernels = kernels;
  packed->gemm = &work->gemm;
  packed->of_b = of_b;
  packed->units = kernels->pack_units(&work->gemm, of_b);
  atomic_init(&packed->next, 0);
  atomic_init(&packed->done, 0);
  return packed;
}

void hx__packed_close(hx__packed_store *store, hx__packed *packed) {
  if (!packed) return;
  discard(packed->bytes <= KEPT_BYTES ? atomic_exchange(&store->spare, packed) : packed);
}

const void *hx__packed_data(const hx__packed *packed) { return packed->p; }

void hx__cpu_pack(hx__packed *packed) {
  for (size_t unit; (unit = atomic_fetch_add(&packed->next, 1)) < packed->units; atomic_fetch_add(&packed->done, 1))
    packed->kernels->pack(packed->gemm, packed->of_b, unit, packed->p);
  for (unsigned spins = 0; atomic_load_explicit(&packed->done, memory_order_acquire) < packed->units; spins++)
    if (spins >= SPINS) sched_yield();
}
