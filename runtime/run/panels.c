/* SPDX-License-Identifier: Apache-2.0
 * A product with a small C and a long k, by the thread pool. A counter hands out the panels of docs/ARITHMETIC.md. Each
 * is computed into a free slot, and a thread that finds the next one done adds it, so that they are added in order. A
 * thread that loses its core to another program delays the adding; the other threads go on until the slots run out. */
#include <sched.h>
#include <stdlib.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"
#include "runtime/run/internal.h"

#define SLOTS_A_THREAD 2u
#define MOST_BYTES ((size_t)4 << 20) /* of slots: 10 ms of panels of 128x128 */
#define WORD 64u                     /* bits of a word of the set of free slots */
#define SPINS 2000u                  /* before a thread yields its core: a panel takes 1 to 200 us */
#define ALIGNMENT ((size_t)64)

typedef struct panel_run {
  hx__run_state *run;
  hx__gemm gemm;
  size_t panels, slots, cells; /* cells: floats of C without gaps */
  float *sums, *slot;          /* slot: slots x cells; only slots that are used are touched */
  _Atomic uint64_t *unused;    /* one bit for each slot */
  _Atomic size_t *done;        /* of panel q, at q % slots: q * slots + its slot + 1, once it is computed */
  _Atomic size_t next, added;  /* panels handed out, and those in sums */
  _Atomic bool adding;
} panel_run;

/* Takes the first free slot, which is the most likely to be in a cache. There is always one: the panels that are handed
 * out and not added yet, including the caller's, are no more than the slots. */
static size_t take_slot(panel_run *r) {
  for (size_t word = 0;; word = (word + 1) % (r->slots / WORD)) {
    uint64_t bits = atomic_load_explicit(&r->unused[word], memory_order_relaxed);
    while (bits) {
      if (atomic_compare_exchange_weak_explicit(&r->unused[word], &bits, bits & (bits - 1), memory_order_acquire,
                                                memory_order_relaxed))
        return word * WORD + (size_t)__builtin_ctzll(bits);
    }
  }
}
static void free_slot(panel_run *r, size_t slot) {
  atomic_fetch_or_explicit(&r->unused[slot / WORD], (uint64_t)1 << slot % WORD, memory_order_release);
}

/* Adds the panels that are done, in order, unless another thread is adding. */
static void add_panels(panel_run *r) {
  if (atomic_exchange_explicit(&r->adding, true, memory_order_acquire)) return;
  for (size_t q = atomic_load(&r->added); q < r->panels; q++) {
    const size_t done = atomic_load_explicit(&r->done[q % r->slots], memory_order_acquire);
    if (done <= q * r->slots) break;
    const float *const panel = r->slot + (done - 1) % r->slots * r->cells;
    if (q == 0) /* the first panel is the sum itself: +0 would change the sign of -0 */
      for (size_t i = 0; i < r->cells; i++) r->sums[i] = panel[i];
    else
      for (size_t i = 0; i < r->cells; i++) r->sums[i] += panel[i];
    free_slot(r, (done - 1) % r->slots);
    atomic_store_explicit(&r->added, q + 1, memory_order_release);
  }
  atomic_store_explicit(&r->adding, false, memory_order_release);
}

static void compute_panel(panel_run *r, hx__stream *stream, size_t q) {
  const size_t first = q * HX__PANEL, left = r->gemm.k - first, slot = take_slot(r);
  hx__work work = *r->run->work;
  hx__request request = r->run->cpu.request;
  hx__inflight *submitted;
  work.gemm = r->gemm;
  work.by_columns = false;
  work.slices = r->gemm.m;
  work.gemm.k = left < HX__PANEL ? left : HX__PANEL;
  work.gemm.a += first * r->gemm.a_cs;
  work.gemm.b += first * r->gemm.b_rs;
  work.gemm.c = r->slot + slot * r->cells;
  work.gemm.ldc = r->gemm.n;
  work.gemm.alpha = 1;
  work.gemm.beta = 0;
  request.work = &work;
  request.packed = NULL;
  stream->device->backend->submit(stream, &request, (hx__chunk){0, r->gemm.m}, &submitted);
  atomic_store_explicit(&r->done[q % r->slots], q * r->slots + slot + 1, memory_order_release);
}

static void compute_panels(void *p) {
  panel_run *const r = p;
  uint32_t chunks = 0;
  for (size_t q; (q = atomic_fetch_add(&r->next, 1)) < r->panels; chunks++) {
    for (unsigned spins = 0; q >= atomic_load_explicit(&r->added, memory_order_acquire) + r->slots; spins++) {
      add_panels(r);
      if (spins >= SPINS) sched_yield();
    }
    compute_panel(r, r->run->table->cpu, q);
    add_panels(r);
  }
  atomic_fetch_add(&r->run->cpu.chunks, chunks);
}

/* Stores the sums in C as docs/ARITHMETIC.md says: t = alpha S, then beta. */
static void store_product(panel_run *r) {
  const hx__gemm *const g = &r->gemm;
  for (size_t i = 0; g->alpha != 1 && i < r->cells; i++) r->sums[i] *= g->alpha;
  r->run->table->kernels->store(r->sums, g->n, g->m, g->n, g->c, g->ldc, g->beta, false);
}

static size_t panels_of(const hx__work *w) { return (w->gemm.k + HX__PANEL - 1) / HX__PANEL; }

/* The number of slots: enough for the panels that are computed while a thread that has lost its core delays the
 * adding. */
static size_t slots_for(const panel_run *r, unsigned threads) {
  const size_t wanted = MOST_BYTES / (r->cells * sizeof(float)), least = (size_t)SLOTS_A_THREAD * threads;
  const size_t slots = wanted < least ? least : wanted < r->panels ? wanted : r->panels;
  return (slots + WORD - 1) / WORD * WORD;
}

bool hx__cpu_panels(hx__run_state *run) {
  const hx__work *const w = run->work;
  const unsigned threads = run->plan->threads;
  if (run->progress.devices || !run->plan->cpu_by_panels || hx__work_range_left(&run->range) != w->slices) return false;
  panel_run r = {.run = run, .panels = panels_of(w), .cells = w->gemm.m * w->gemm.n};
  r.slots = slots_for(&r, threads);
  const size_t words = r.slots / WORD, heads = (r.slots + words) * sizeof(uint64_t);
  const size_t bytes = heads + (r.slots + 1) * r.cells * sizeof(float);
  void *const memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!memory) return false;
  const hx__chunk all = hx__work_range_take_front(&run->range, w->slices);
  r.gemm = hx__chunk_gemm(w, all);
  const uint64_t from = run->table->trace ? hx__now_ns() : 0;
  r.done = memory;
  r.unused = (_Atomic uint64_t *)(void *)(r.done + r.slots);
  r.sums = (float *)(void *)(r.unused + words);
  r.slot = r.sums + r.cells;
  for (size_t i = 0; i < r.slots; i++) atomic_init(&r.done[i], 0);
  for (size_t i = 0; i < words; i++) atomic_init(&r.unused[i], UINT64_MAX);
  hx__cpu_pool_run(threads, compute_panels, &r);
  add_panels(&r);
  store_product(&r);
  if (run->table->trace) hx__trace_cpu(run, from, all, hx__chunk_units(w, all), threads);
  atomic_fetch_add(&run->cpu.units, hx__chunk_units(w, all));
  free(memory);
  return true;
}
