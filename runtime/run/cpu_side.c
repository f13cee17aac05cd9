/* SPDX-License-Identifier: Apache-2.0
 * The CPU's side of a run: every thread of the team takes slices from the front until nothing is left, and then,
 * where a device is late, of what that has in flight. */
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/run/internal.h"
#include "runtime/topo/topo.h"

#define LEAST_LEAVES 4u /* of a grab: 64 KiB */
#define MOST_LEAVES 64u
#define SHORT_UNITS (1u << 25)    /* of a product: half a millisecond of one core */
#define SHORT_ELEMENTS (1u << 22) /* of a reduction: as long, from the caches */
#define LONGER_UNITS (1u << 27)   /* also short with so many slices a thread that packing for oneself is soon paid */
#define LONGER_SLICES 96u
#define WORTH_SLICES 96u /* 24 multiply-adds for each byte of the shared operand */
#define TAIL 128u        /* of a product: a thread's part over its last chunk */

/* Over before a stolen core is given back, so that equal parts do: but where one kind of core is slower than another.
 * Parts of an array that is reduced again and again then stay in the cache of one core. */
static bool is_short(const hx__run_state *run) {
  const hx__work *const w = run->work;
  const bool fits = !w->matmul ? w->units <= SHORT_ELEMENTS
                               : w->units < SHORT_UNITS || (w->units < LONGER_UNITS &&
                                                            w->slices >= (size_t)LONGER_SLICES * run->plan->threads);
  return run->feeds == 0 && fits && hx__topo_get()->kinds == 1;
}

/* Of an array, so that it fits. */
static size_t shared_bytes(const hx__work *w) {
  return sizeof(float) * (w->by_columns ? w->gemm.m * w->gemm.k : w->gemm.k * w->gemm.n);
}

/* Whether one thread beside devices packs the shared operand, near as it is, for each chunk anew: that is hidden behind
 * the chunk's multiply-adds, while ahead of them all it delays a short run by a tenth. */
static bool packs_alone(const hx__run_state *run) {
  return run->feeds && run->plan->threads == 1 && shared_bytes(run->work) <= 2 * hx__topo_get()->l2_bytes;
}

/* Slices that make up for reading the shared operand from beyond the second cache, or for packing it. */
static size_t worth(const hx__run_state *run) {
  const hx__work *const w = run->work;
  if (!w->matmul) return 0;
  return packs_alone(run) || shared_bytes(w) > hx__topo_get()->l2_bytes ? WORTH_SLICES : 0;
}

/* Beside devices: a part of what is fair for the CPU, by the rates that the run has shown. */
static size_t grab_beside(const hx__run_state *run, size_t grain) {
  hx__cpu_chunk_view view = {.left = hx__work_range_left(&run->ends),
                             .grain = grain,
                             .least = run->work->matmul ? grain : LEAST_LEAVES,
                             .most = run->work->matmul ? run->work->slices : MOST_LEAVES,
                             .worth = worth(run),
                             .threads = run->plan->threads,
                             .rate = hx__run_cpu_rate(run)};
  view.others = hx__run_participants(run, NULL, view.party);
  return hx__cpu_chunk_size(&view);
}

/* Slices for one grab of one of `threads` threads: a guided part of what is left, so that a slow core and a stolen one
 * do not stall the others at the end. */
static size_t grab(const hx__run_state *run, size_t grain) {
  if (run->feeds && run->plan->policy) return grab_beside(run, grain);
  const size_t left = hx__work_range_left(&run->ends), parts = run->plan->threads;
  if (parts == 1) return left;
  if (is_short(run)) return (run->work->slices + parts - 1) / parts;
  if (run->work->matmul) {
    const size_t guided = left / (2 * parts), least = run->work->slices / (TAIL * parts);
    const size_t want = guided < least ? least : guided;
    return want < grain ? grain : (want + grain - 1) / grain * grain;
  }
  const size_t want = left / (8 * parts);
  return want < LEAST_LEAVES ? LEAST_LEAVES : want > MOST_LEAVES ? MOST_LEAVES : want;
}

/* A thread has finished `slices` that it began at from_ns. Returns when. */
static uint64_t show(hx__run_state *run, size_t slices, uint64_t from_ns) {
  const uint64_t now = hx__now_ns();
  atomic_fetch_add_explicit(&run->cpu_done, slices, memory_order_relaxed);
  atomic_fetch_add_explicit(&run->cpu_busy_ns, now - from_ns, memory_order_relaxed);
  return now;
}

static void body(void *p) {
  hx__run_state *const run = p;
  hx__stream *const stream = run->team->cpu;
  const size_t grain = hx__stream_grain(stream, run->work);
  uint32_t chunks = 0;
  uint64_t units = 0, began = run->feeds ? run->cpu_from_ns : 0;
  if (run->packed) hx__cpu_pack(run->packed);
  for (;;) {
    hx__inflight *ticket;
    const hx__chunk chunk =
        run->late ? hx__redo_next_part(run, grain) : hx__work_range_take_front(&run->ends, grab(run, grain));
    if (chunk.count == 0) break;
    const uint64_t from = run->team->trace ? hx__now_ns() : 0;
    stream->device->backend->submit(stream, &run->request, chunk, &ticket);
    if (run->team->trace) hx__trace_cpu(run, from, chunk, hx__chunk_units(run->work, chunk), 1);
    units += hx__chunk_units(run->work, chunk);
    if (began) began = show(run, chunk.count, began);
    chunks++;
  }
  hx__chunk across;
  for (hx__chunk chunk; !run->late && hx__remainder_next(&run->tail, run->work, &chunk, &across); chunks++) {
    const uint64_t from = run->team->trace ? hx__now_ns() : 0;
    hx__cpu_block(stream, &run->request, chunk, across);
    if (run->team->trace) hx__trace_cpu(run, from, chunk, (uint64_t)chunk.count * across.count * run->work->gemm.k, 1);
    units += (uint64_t)chunk.count * across.count * run->work->gemm.k;
  }
  atomic_fetch_add(&run->cpu_chunks, chunks);
  atomic_fetch_add(&run->cpu_units, units);
}

/* The operand that all chunks share, packed ahead: where more than one chunk follows, or where it stays packed. Not for
 * a short product: lines that go from core to core cost more than packing twice. */
static hx__packed *pack_ahead(const hx__run_state *run) {
  if (!run->work->matmul) return NULL;
  hx__stream *const stream = run->team->cpu;
  const uint64_t version = hx__memory_version(run->team->memory, run->work, !run->work->by_columns);
  const bool once = grab(run, hx__stream_grain(stream, run->work)) >= hx__work_range_left(&run->ends);
  if (!version && (is_short(run) || packs_alone(run) || once)) return NULL;
  return hx__cpu_pack_open(stream, run->work, version);
}

/* A product that the team has for itself ends in two dimensions. */
static void set_tail_aside(hx__run_state *run) {
  const hx__work *const w = run->work;
  run->tail.blocks = 0;
  if (!w->matmul || run->plan->threads < 2 || run->feeds || is_short(run) ||
      hx__work_range_left(&run->ends) != w->slices)
    return;
  hx__remainder_plan(&run->tail, run->team->cpu, w, run->plan->threads);
  if (run->tail.blocks) hx__work_range_take_back(&run->ends, run->tail.slices.count);
}

void hx__cpu_side(hx__run_state *run) {
  if (hx__cpu_panels(run)) return;
  set_tail_aside(run);
  run->packed = pack_ahead(run);
  run->request.packed = run->packed;
  hx__cpu_pool_run(run->plan->threads, body, run);
  if (run->packed) hx__cpu_pack_close(run->team->cpu, run->packed);
}

/* All of run->late's last chunk, by the team. */
static void do_late(hx__run_state *run) {
  run->packed = NULL;
  run->request.packed = NULL;
  if (run->cpu_from_ns) run->cpu_from_ns = hx__now_ns();
  hx__cpu_pool_run(run->plan->threads, body, run);
  run->late = NULL;
}

void hx__redo_overdue(hx__run_state *run) {
  const double rate = hx__run_cpu_rate(run);
  if (!(rate > 0.0) || hx__work_range_left(&run->ends)) return;
  pthread_mutex_lock(&run->lock);
  for (;;) {
    uint64_t look_ns;
    run->late = hx__find_overdue(run, rate, &look_ns);
    if (run->late) {
      pthread_mutex_unlock(&run->lock);
      do_late(run);
      pthread_mutex_lock(&run->lock);
    } else if (look_ns) {
      hx__cond_wait_until(&run->landed, &run->lock, look_ns);
    } else {
      break;
    }
  }
  pthread_mutex_unlock(&run->lock);
}
