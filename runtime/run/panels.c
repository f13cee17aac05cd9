/* SPDX-License-Identifier: Apache-2.0
 * A product with a small C and a long k, by the thread pool. A counter hands out stretches: a few consecutive panels of
 * docs/ARITHMETIC.md, which a thread computes one after the other, so that it can prefetch the next one. A stretch goes
 * into a free slot, and a thread that finds the next stretch done adds it, so that panels are added in order. A thread
 * that loses its core to another program delays the adding; the other threads go on until the slots run out. */
#include <sched.h>
#include <stdlib.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"
#include "runtime/run/internal.h"

#define SLOTS_A_THREAD 2u
#define STRETCHES_A_THREAD 4u /* at least, so that no thread waits long for the last one */
#define SLOT_BYTES ((size_t)256 << 10)
#define MOST_BYTES ((size_t)4 << 20) /* of all slots */
#define WORD 64u                     /* bits of a word of the set of free slots */
#define SPINS 2000u                  /* before a thread yields its core: a slot takes up to some 200 us */
#define ALIGNMENT ((size_t)64)

typedef struct panel_run {
  hx__run_state *run;
  hx__gemm gemm;
  size_t cells;                         /* floats of C without gaps */
  size_t panels, stretches, in_stretch; /* stretches: the parts of `in_stretch` panels; the last may have fewer */
  size_t slots, slot_floats, words;     /* words: of the set of free slots */
  float *sums, *slot;                   /* only slots that are used are touched */
  _Atomic uint64_t *unused;             /* one bit for each slot */
  _Atomic size_t *done;                 /* of stretch t, at t % slots: t * slots + its slot + 1, once it is computed */
  _Atomic size_t next, added;           /* stretches handed out, and those in sums */
  _Atomic bool adding;
} panel_run;

/* Takes the first free slot, which is the most likely to be in a cache. There is always one: the stretches that are
 * handed out and not added yet, including the caller's, are no more than the slots. */
static size_t take_slot(panel_run *r) {
  for (size_t word = 0;; word = (word + 1) % r->words) {
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

static size_t panels_in(const panel_run *r, size_t stretch) {
  const size_t left = r->panels - stretch * r->in_stretch;
  return left < r->in_stretch ? left : r->in_stretch;
}

/* Adds the stretches that are done, in order, unless another thread is adding. The first panel is the sum itself: +0
 * would change the sign of -0. */
static void add_stretches(panel_run *r) {
  if (atomic_exchange_explicit(&r->adding, true, memory_order_acquire)) return;
  for (size_t t = atomic_load(&r->added); t < r->stretches; t++) {
    const size_t done = atomic_load_explicit(&r->done[t % r->slots], memory_order_acquire);
    if (done <= t * r->slots) break;
    const size_t slot = (done - 1) % r->slots;
    const float *panel = r->slot + slot * r->slot_floats;
    for (size_t p = 0; p < panels_in(r, t); p++, panel += r->cells) {
      if (t == 0 && p == 0)
        for (size_t i = 0; i < r->cells; i++) r->sums[i] = panel[i];
      else
        for (size_t i = 0; i < r->cells; i++) r->sums[i] += panel[i];
    }
    free_slot(r, slot);
    atomic_store_explicit(&r->added, t + 1, memory_order_release);
  }
  atomic_store_explicit(&r->adding, false, memory_order_release);
}

static void compute_stretch(panel_run *r, hx__stream *stream, size_t t) {
  const size_t first = t * r->in_stretch * HX__PANEL, left = r->gemm.k - first, most = r->in_stretch * HX__PANEL,
               slot = take_slot(r);
  hx__work work = *r->run->work;
  hx__request request = r->run->cpu.request;
  hx__inflight *submitted;
  work.gemm = r->gemm;
  work.by_columns = false;
  work.slices = r->gemm.m;
  work.gemm.k = left < most ? left : most;
  work.gemm.a += first * r->gemm.a_cs;
  work.gemm.b += first * r->gemm.b_rs;
  work.gemm.c = r->slot + slot * r->slot_floats;
  work.gemm.ldc = r->gemm.n;
  work.gemm.apart = r->cells;
  work.gemm.alpha = 1;
  work.gemm.beta = 0;
  request.work = &work;
  request.packed = NULL;
  stream->device->backend->submit(stream, &request, (hx__chunk){0, r->gemm.m}, &submitted);
  atomic_store_explicit(&r->done[t % r->slots], t * r->slots + slot + 1, memory_order_release);
}

static void compute_stretches(void *p) {
  panel_run *const r = p;
  size_t panels = 0;
  for (size_t t; (t = atomic_fetch_add(&r->next, 1)) < r->stretches; panels += panels_in(r, t)) {
    for (unsigned spins = 0; t >= atomic_load_explicit(&r->added, memory_order_acquire) + r->slots; spins++) {
      add_stretches(r);
      if (spins >= SPINS) sched_yield();
    }
    compute_stretch(r, r->run->table->cpu, t);
    add_stretches(r);
  }
  atomic_fetch_add(&r->run->cpu.chunks, (uint32_t)panels);
}

/* Stores the sums in C as docs/ARITHMETIC.md says: t = alpha S, then beta. */
static void store_product(panel_run *r) {
  const hx__gemm *const g = &r->gemm;
  for (size_t i = 0; g->alpha != 1 && i < r->cells; i++) r->sums[i] *= g->alpha;
  r->run->table->kernels->store(r->sums, g->n, g->m, g->n, g->c, g->ldc, g->beta, false);
}

/* Cuts the panels into stretches, and sets the number of slots: enough for the stretches that are computed while a
 * thread that has lost its core delays the adding. */
static void set_stretches(panel_run *r, unsigned threads) {
  const size_t panel_bytes = r->cells * sizeof(float), fit = SLOT_BYTES / panel_bytes;
  const size_t share = r->panels / ((size_t)STRETCHES_A_THREAD * threads), in_stretch = fit < share ? fit : share;
  r->in_stretch = in_stretch ? in_stretch : 1;
  r->stretches = (r->panels + r->in_stretch - 1) / r->in_stretch;
  r->slot_floats = r->in_stretch * r->cells;
  const size_t wanted = MOST_BYTES / (r->in_stretch * panel_bytes), least = (size_t)SLOTS_A_THREAD * threads;
  const size_t slots = wanted < least ? least : wanted < r->stretches ? wanted : r->stretches;
  r->slots = slots;
  r->words = (slots + WORD - 1) / WORD;
}

bool hx__cpu_panels(hx__run_state *run) {
  const hx__work *const w = run->work;
  const unsigned threads = run->plan->threads;
  if (run->progress.devices || !run->plan->cpu_by_panels || hx__work_range_left(&run->range) != w->slices) return false;
  panel_run r = {.run = run, .cells = w->gemm.m * w->gemm.n, .panels = (w->gemm.k + HX__PANEL - 1) / HX__PANEL};
  set_stretches(&r, threads);
  const size_t heads = ((r.slots + r.words) * sizeof(uint64_t) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const size_t bytes = heads + (r.cells + r.slots * r.slot_floats) * sizeof(float);
  void *const memory = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!memory) return false;
  const hx__chunk all = hx__work_range_take_front(&run->range, w->slices);
  r.gemm = hx__chunk_gemm(w, all);
  const uint64_t from = run->table->trace ? hx__now_ns() : 0;
  r.done = memory;
  r.unused = (_Atomic uint64_t *)(void *)(r.done + r.slots);
  r.sums = (float *)(void *)((char *)memory + heads);
  r.slot = r.sums + r.cells;
  for (size_t i = 0; i < r.slots; i++) atomic_init(&r.done[i], 0);
  for (size_t i = 0; i < r.words; i++) atomic_init(&r.unused[i], 0);
  for (size_t i = 0; i < r.slots; i++) free_slot(&r, i);
  hx__cpu_pool_run(threads, compute_stretches, &r);
  add_stretches(&r);
  store_product(&r);
  if (run->table->trace) hx__trace_cpu(run, from, all, hx__chunk_units(w, all), threads);
  atomic_fetch_add(&run->cpu.units, hx__chunk_units(w, all));
  free(memory);
  return true;
}
