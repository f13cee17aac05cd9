/* SPDX-License-Identifier: Apache-2.0
 * A product with few rows (or, mirrored, few columns) by the thread pool, cut into a grid: parts of k, in whole panels
 * of docs/ARITHMETIC.md, by parts of the long side of C. Threads that cut the long side alone would each read a narrow
 * part of every row of the large operand. Such parts of rows that are a power of two apart share few sets of a core's
 * second cache, which then keeps half of what it has room for or less, and what comes from memory is read in short
 * pieces. Each block has places of its own for the sums of its panels. When the blocks of a part of the long side are
 * done, the threads add them in order, each a piece of C. */
#include <sched.h>
#include <stdlib.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"
#include "runtime/run/internal.h"

#define CACHE_LINE ((size_t)64)
#define SPINS 2000u /* before a thread that waits for a block yields its core */

/* Blocks that are not computed yet, of one part of the slices. */
typedef struct blocks_left {
  _Alignas(CACHE_LINE) _Atomic size_t count;
} blocks_left;

typedef struct panel_grid {
  hx__run_state *run;
  size_t panels, down, across; /* down: parts of k; across: parts of the slices. Block b is part b % across of these. */
  hx__gemm gemm;
  float *sums;             /* panel p of C at sums + p * cells, without gaps between rows */
  size_t cells;            /* of C */
  blocks_left *left;       /* of each part of the slices */
  hx__thread_parts pieces; /* of C, as many as blocks: what a thread adds at a time */
} panel_grid;

static const hx__take_size one_at_a_time = {1, 1, 1};

static hx__chunk part_of(const panel_grid *r, size_t i) {
  const hx__work *const w = r->run->work;
  return hx__part_in_grains(w->slices, hx__stream_grain(r->run->table->cpu, w), r->across, i);
}

/* Where the sums of a part of the slices begin in those of a panel. */
static size_t offset_of(const panel_grid *r, hx__chunk part) {
  return r->run->work->by_columns ? part.first : part.first * r->gemm.n;
}

static void compute_block(panel_grid *r, hx__chunk part, size_t first, size_t panels) {
  hx__stream *const stream = r->run->table->cpu;
  hx__work work = *r->run->work;
  hx__request request = r->run->cpu.request;
  hx__inflight *submitted;
  const size_t p = first * HX__PANEL, left = r->gemm.k - p;
  hx__gemm *const g = &work.gemm;
  *g = hx__chunk_gemm(&work, part);
  work.by_columns = false;
  work.slices = g->m;
  g->k = left < panels * HX__PANEL ? left : panels * HX__PANEL;
  g->a += p * g->a_cs;
  g->b += p * g->b_rs;
  g->c = r->sums + first * r->cells + offset_of(r, part);
  g->ldc = r->gemm.n;
  g->apart = g->k > HX__PANEL ? r->cells : 0; /* 0: kernels for few rows take one panel */
  g->alpha = 1;
  g->beta = 0;
  request.work = &work;
  request.packed = NULL;
  stream->device->backend->submit(stream, &request, (hx__chunk){0, work.slices}, &submitted);
}

/* Adds the panels of some slices in order, and stores them as docs/ARITHMETIC.md says: t = alpha S, then beta. The
 * first panel is the sum itself: +0 would change the sign of -0. */
static void store_slices(const panel_grid *r, hx__chunk slices) {
  const hx__gemm g = hx__chunk_gemm(r->run->work, slices);
  float *const sums = r->sums + offset_of(r, slices);
  const size_t ld = r->gemm.n;
  for (size_t i = 0; i < g.m; i++) {
    float *const s = sums + i * ld;
    for (size_t p = 1; p < r->panels; p++)
      for (size_t j = 0; j < g.n; j++) s[j] += s[p * r->cells + j];
    for (size_t j = 0; g.alpha != 1 && j < g.n; j++) s[j] *= g.alpha;
  }
  r->run->table->kernels->store(sums, ld, g.m, g.n, g.c, g.ldc, g.beta, false);
}

/* Waits for the blocks of a part of the slices. Other threads compute them: no thread gets here before all blocks have
 * been taken. */
static void wait_for_blocks(const panel_grid *r, size_t across) {
  for (unsigned spins = 0; atomic_load_explicit(&r->left[across].count, memory_order_acquire); spins++) {
    if (spins >= SPINS) sched_yield();
  }
}

static void compute_blocks(void *p) {
  panel_grid *const r = p;
  const unsigned thread = hx__cpu_pool_thread();
  uint32_t blocks = 0;
  for (hx__chunk block; (block = hx__thread_parts_take(&r->run->parts, thread)).count; blocks++) {
    const size_t down = block.first / r->across, across = block.first % r->across;
    const size_t first = r->panels * down / r->down, end = r->panels * (down + 1) / r->down;
    compute_block(r, part_of(r, across), first, end - first);
    atomic_fetch_sub_explicit(&r->left[across].count, 1, memory_order_release);
  }
  for (hx__chunk piece; (piece = hx__thread_parts_take(&r->pieces, thread)).count;) {
    const size_t across = piece.first % r->across;
    const hx__chunk part = part_of(r, across);
    hx__chunk slices = hx__part_in_grains(part.count, CACHE_LINE / sizeof(float), r->down, piece.first / r->across);
    slices.first += part.first;
    wait_for_blocks(r, across);
    store_slices(r, slices);
  }
  atomic_fetch_add(&r->run->cpu.chunks, blocks);
}

static size_t round_to_lines(size_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

/* Whether there are enough slices for so many parts. Kernels do not take parts without any. */
static bool has_slices(const hx__run_state *run, size_t across) {
  return run->work->slices / hx__stream_grain(run->table->cpu, run->work) >= across;
}

bool hx__cpu_panel_grid(hx__run_state *run) {
  const hx__work *const w = run->work;
  const unsigned threads = run->plan->threads, down = run->plan->cpu_parts_of_k;
  if (run->progress.devices || down < 2 || !has_slices(run, threads / down) ||
      hx__work_range_left(&run->range) != w->slices)
    return false;
  panel_grid r = {.run = run,
                  .panels = (w->gemm.k + HX__PANEL - 1) / HX__PANEL,
                  .down = down,
                  .across = threads / down,
                  .cells = w->gemm.m * w->gemm.n};
  const size_t heads = round_to_lines(r.across * sizeof *r.left);
  void *const memory = aligned_alloc(CACHE_LINE, heads + round_to_lines(r.panels * r.cells * sizeof(float)));
  if (!memory) return false;
  const hx__chunk all = hx__work_range_take_front(&run->range, w->slices), blocks = {0, threads};
  const uint64_t from = run->table->trace ? hx__now_ns() : 0;
  r.gemm = hx__chunk_gemm(w, all);
  r.left = memory;
  r.sums = (float *)(void *)((char *)memory + heads);
  for (size_t i = 0; i < r.across; i++) atomic_init(&r.left[i].count, r.down);
  hx__thread_parts_init(&run->parts, blocks, threads, one_at_a_time);
  hx__thread_parts_init(&r.pieces, blocks, threads, one_at_a_time);
  hx__cpu_pool_run(threads, compute_blocks, &r);
  if (run->table->trace) hx__trace_cpu(run, from, all, hx__chunk_units(w, all), threads);
  atomic_fetch_add(&run->cpu.units, hx__chunk_units(w, all));
  free(memory);
  return true;
}
