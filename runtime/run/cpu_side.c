/* SPDX-License-Identifier: Apache-2.0
 * The CPU's side of a run: the threads of the pool take slices until nothing is left. Then, if a device is overdue,
 * they compute again what it has in flight. */
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/base/thresholds.h"
#include "runtime/plan/threads.h"
#include "runtime/run/internal.h"
#include "runtime/topo/topo.h"

#define LEAST_LEAVES 4u /* of a chunk: 64 KiB */
#define MOST_LEAVES 64u
#define LAST_PART 128u        /* of a product: the last chunk is this part of a thread's slices */
#define LEAST_EQUAL_SLICES 8u /* of a thread: the lengths of equal parts then differ by an eighth at most */

/* Whether a run is over before, or about when, a thread that lost its core would get it back, so that equal parts are
 * as good as any, unless some cores are slower than others. With equal parts, an array that is reduced again and again
 * stays in the caches of the same cores. */
static bool fits_equal_parts(const hx__run_state *run) {
  const hx__work *const w = run->work;
  const uint64_t threads = run->plan->threads;
  const uint64_t most = threads < HX__GRID_THREADS ? threads * HX__LONGER_EACH_UNITS : HX__LONGER_UNITS;
  const bool fits = !w->matmul
                        ? w->units <= HX__SHORT_ELEMENTS
                        : w->units < HX__SHORT_UNITS || (w->units <= most && w->slices / threads >= HX__LONGER_SLICES);
  return run->progress.devices == 0 && fits && hx__topo_get()->kinds == 1;
}

/* Bytes of the operand that all chunks share. It is an array, so the product cannot overflow. */
static size_t shared_operand_bytes(const hx__work *w) {
  return sizeof(float) * (w->by_columns ? w->gemm.m * w->gemm.k : w->gemm.k * w->gemm.n);
}

/* Whether a single thread beside devices packs the shared operand, which is in its cache, again for each chunk. That
 * time overlaps with the multiply-adds of the chunk; packing it before the first chunk delays a short run by a tenth.
 */
static bool packs_alone(const hx__run_state *run) {
  return run->progress.devices && run->plan->threads == 1 &&
         shared_operand_bytes(run->work) <= 2 * hx__topo_get()->l2_bytes;
}

/* Slices that make up for reading the shared operand from beyond the second cache, or for packing it. */
static size_t slices_worth_packing(const hx__run_state *run) {
  const hx__work *const w = run->work;
  if (!w->matmul || w->by_products) return 0;
  return packs_alone(run) || shared_operand_bytes(w) > hx__topo_get()->l2_bytes ? HX__PACKING_SLICES : 0;
}

/* Lines side by side have a grain. */
static size_t least_leaves(size_t grain) { return grain > LEAST_LEAVES ? grain : LEAST_LEAVES; }
static size_t most_leaves(size_t grain) { return grain > MOST_LEAVES ? grain : MOST_LEAVES; }

/* Beside devices: a part of the CPU's fair share, by the rates measured in this run. */
static size_t chunk_beside_devices(const hx__run_state *run, size_t grain) {
  const bool product = run->work->matmul;
  const hx__cpu_chunk_view view = {.grain = grain,
                                   .least = product ? grain : least_leaves(grain),
                                   .most = product ? run->work->slices : most_leaves(grain),
                                   .worth = slices_worth_packing(run)};
  return hx__run_cpu_chunk(&run->progress, view, (double)hx__now_ns());
}

/* Slices of a product that a thread takes next: a guided part of what is left, so that the others do not wait at the
 * end for a slow core or one that another program uses. */
static size_t guided_chunk(const hx__run_state *run, size_t grain) {
  const size_t left = hx__work_range_left(&run->range), parts = run->plan->threads;
  if (parts <= 1) return left;
  const size_t guided = left / (2 * parts), least = run->work->slices / (LAST_PART * parts);
  const size_t want = guided < least ? least : guided;
  return want < grain ? grain : (want + grain - 1) / grain * grain;
}

/* How many slices a thread takes at a time of those that have a part for each thread. */
static hx__take_size take_size_of(const hx__run_state *run, size_t grain) {
  const hx__work *const w = run->work;
  const size_t left = hx__work_range_left(&run->range), threads = run->plan->threads;
  if (w->by_products) return (hx__take_size){1, 1, hx__products_at_once(w, left, run->plan->threads)};
  if (run->cpu.equal_parts) return (hx__take_size){1, 1, (left + threads - 1) / threads};
  return (hx__take_size){8, least_leaves(grain), most_leaves(grain)};
}

static size_t chunk_for_thread(const hx__run_state *run, size_t grain) {
  return run->progress.devices && run->plan->policy ? chunk_beside_devices(run, grain) : guided_chunk(run, grain);
}

void hx__trace_cpu(const hx__run_state *run, uint64_t from_ns, hx__chunk chunk, uint64_t units, unsigned threads) {
  const double slices = (double)run->work->slices;
  const double rate = slices > 0.0 ? run->progress.cpu.rate * (double)run->work->units / slices : 0.0;
  const double expected_ns = rate > 0.0 ? (double)units * run->plan->threads / (rate * threads) : 0.0;
  hx__trace_chunk(run->table->trace, &(hx__trace_slice){hx__work_trace(run->work), 0, from_ns, hx__now_ns(),
                                                        chunk.first, chunk.count, units, expected_ns, "done"});
}

/* The next chunk of a thread; count 0: nothing is left. */
static hx__chunk next_chunk(hx__run_state *run, size_t grain, unsigned thread) {
  if (run->cpu.overdue) return hx__redo_next_part(&run->progress, run->cpu.overdue, grain, (double)hx__now_ns());
  if (run->cpu.in_parts) return hx__thread_parts_take(&run->parts, thread);
  return hx__work_range_take_front(&run->range, chunk_for_thread(run, grain));
}

/* Notes when a thread has computed its part. */
static void note_end(hx__run_state *run) {
  const uint64_t now_ns = hx__now_ns();
  uint64_t first_ns = 0;
  atomic_compare_exchange_strong(&run->cpu.first_ns, &first_ns, now_ns);
  atomic_store(&run->cpu.last_ns, now_ns); /* Two threads at once differ by less than matters. */
}

/* One thread of the pool. */
static void compute_chunks(void *arg) {
  hx__run_state *const run = arg;
  hx__stream *const stream = run->table->cpu;
  const size_t grain = hx__stream_grain(stream, run->work);
  const bool traced = run->table->trace != NULL;
  const unsigned thread = hx__cpu_pool_thread();
  uint32_t chunks = 0;
  uint64_t units = 0, began_ns = run->progress.devices ? run->cpu.from_ns : 0;
  if (run->cpu.packed) hx__cpu_pack(run->cpu.packed);
  for (hx__chunk chunk; (chunk = next_chunk(run, grain, thread)).count; chunks++) {
    hx__inflight *submitted;
    const uint64_t from_ns = traced ? hx__now_ns() : 0;
    stream->device->backend->submit(stream, &run->cpu.request, chunk, &submitted);
    if (traced) hx__trace_cpu(run, from_ns, chunk, hx__chunk_units(run->work, chunk), 1);
    units += hx__chunk_units(run->work, chunk);
    if (!began_ns) continue;
    const uint64_t now_ns = hx__now_ns();
    hx__run_cpu_done(&run->progress, chunk.count, (double)(now_ns - began_ns));
    began_ns = now_ns;
  }
  hx__chunk cross;
  for (hx__chunk chunk; !run->cpu.overdue && hx__remainder_next(&run->cpu.remainder, run->work, &chunk, &cross);
       chunks++) {
    const uint64_t from_ns = traced ? hx__now_ns() : 0, block = (uint64_t)chunk.count * cross.count * run->work->gemm.k;
    hx__cpu_block(stream, &run->cpu.request, chunk, cross);
    if (traced) hx__trace_cpu(run, from_ns, chunk, block, 1);
    units += block;
  }
  atomic_fetch_add(&run->cpu.chunks, chunks);
  atomic_fetch_add(&run->cpu.units, units);
  if (run->cpu.notes_ends && chunks) note_end(run);
}

/* The pool computes. Beside devices, whose workers copy, it has no more threads than the plan says. */
static void run_pool(hx__run_state *run) {
  (run->progress.devices ? hx__cpu_pool_run_beside : hx__cpu_pool_run)(run->plan->threads, compute_chunks, run);
}

/* Packs the operand that all chunks share before the first chunk, if several chunks follow or it stays packed for later
 * calls. Not for a short product: moving its cache lines from core to core costs more than packing twice. */
static hx__packed *pack_ahead(const hx__run_state *run) {
  if (!run->work->matmul || run->work->by_products) return NULL;
  hx__stream *const stream = run->table->cpu;
  const uint64_t version = hx__memory_version(run->table->memory, run->work, !run->work->by_columns);
  const bool once = chunk_for_thread(run, hx__stream_grain(stream, run->work)) >= hx__work_range_left(&run->range);
  if (!version && (run->cpu.equal_parts || packs_alone(run) || once)) return NULL;
  return hx__cpu_pack_open(stream, run->work, version);
}

/* The last slices of a product without devices, or all of them, are cut in two dimensions. */
static void set_remainder_aside(hx__run_state *run, bool uneven) {
  const hx__work *const w = run->work;
  run->cpu.remainder.blocks = 0;
  if (!w->matmul || w->by_products || run->plan->threads < 2 || run->progress.devices ||
      hx__work_range_left(&run->range) != w->slices)
    return;
  const bool whole = hx__remainder_plan_whole(&run->cpu.remainder, run->table->cpu, w, run->plan->threads, uneven) &&
                     !hx__memory_version(run->table->memory, w, !w->by_columns); /* It may be packed already. */
  if (!whole) run->cpu.remainder.blocks = 0;
  if (whole) run->cpu.equal_parts = false;
  if (!whole && !run->cpu.equal_parts) hx__remainder_plan(&run->cpu.remainder, run->table->cpu, w, run->plan->threads);
  if (run->cpu.remainder.blocks) hx__work_range_take_back(&run->range, run->cpu.remainder.slices.count);
}

/* Decides how threads share the run. Returns whether it is to be learned how long its equal parts take: those of a
 * product that would be cut into a grid if they ended apart. Reductions gained too seldom by that. */
static bool choose_parts(hx__run_state *run) {
  const hx__work *const w = run->work;
  const unsigned threads = run->plan->threads;
  run->cpu.equal_parts = threads > 1 && fits_equal_parts(run);
  atomic_store(&run->cpu.first_ns, 0);
  const bool may_be_cut = run->cpu.equal_parts && hx__remainder_suits_uneven(w, threads);
  set_remainder_aside(run, may_be_cut && hx__cpu_pool_is_uneven());
  return may_be_cut && run->cpu.equal_parts && w->slices / LEAST_EQUAL_SLICES >= threads;
}

/* Each thread gets a part of its own, except of long products, whose threads share packed panels, and beside devices
 * that take from the same range. */
static void cut_into_parts(hx__run_state *run) {
  const hx__work *const w = run->work;
  const bool shared = run->progress.devices && run->plan->policy, long_product = w->matmul && !w->by_products;
  run->cpu.in_parts = run->plan->threads > 1 && !shared && (run->cpu.equal_parts || !long_product);
  if (!run->cpu.in_parts) return;
  const hx__take_size size = take_size_of(run, hx__stream_grain(run->table->cpu, w));
  const hx__chunk all = hx__work_range_take_front(&run->range, hx__work_range_left(&run->range));
  hx__thread_parts_init(&run->parts, all, run->plan->threads, size);
}

void hx__cpu_side(hx__run_state *run) {
  if (hx__cpu_panels(run) || hx__cpu_panel_grid(run)) return;
  run->cpu.notes_ends = choose_parts(run);
  const uint64_t from_ns = run->cpu.notes_ends ? hx__now_ns() : 0;
  run->cpu.packed = pack_ahead(run);
  run->cpu.request.packed = run->cpu.packed;
  cut_into_parts(run);
  run_pool(run);
  if (run->cpu.packed) hx__cpu_pack_close(run->table->cpu, run->cpu.packed);
  if (run->cpu.notes_ends)
    hx__cpu_pool_learn_parts(from_ns, atomic_load(&run->cpu.first_ns), atomic_load(&run->cpu.last_ns));
}

/* The pool computes all that is left of the overdue device's last chunk. */
static void redo_chunk(hx__run_state *run) {
  run->cpu.notes_ends = run->cpu.in_parts = false;
  run->cpu.packed = NULL;
  run->cpu.request.packed = NULL;
  if (run->cpu.from_ns) run->cpu.from_ns = hx__now_ns();
  run_pool(run);
  run->cpu.overdue = NULL;
}

/* A bit for each device whose worker is stuck in a driver call. It is given up as soon as the run waits for nothing
 * else.
 */
static uint32_t stuck_devices(const hx__run_state *run) {
  uint32_t stuck = 0;
  for (size_t i = 0; i < run->progress.devices; i++) {
    const hx__device_job *const job = &run->job[i];
    if (job->started && hx__device_entry_is_stuck(job->entry, job->call_limit_ns)) stuck |= 1u << i;
  }
  return stuck;
}

void hx__redo_overdue(hx__run_state *run) {
  hx__run_progress *const progress = &run->progress;
  const double rate = hx__run_cpu_rate(progress, (double)hx__now_ns());
  if (!(rate > 0.0) || hx__work_range_left(&run->range)) return;
  pthread_mutex_lock(&progress->lock);
  for (;;) {
    double check_ns;
    run->cpu.overdue = hx__find_overdue(progress, rate, (double)hx__now_ns(), stuck_devices(run), &check_ns);
    if (run->cpu.overdue) {
      pthread_mutex_unlock(&progress->lock);
      redo_chunk(run);
      pthread_mutex_lock(&progress->lock);
    } else if (check_ns > 0.0) {
      hx__cond_wait_until(&progress->changed, &progress->lock, (uint64_t)check_ns);
    } else {
      break;
    }
  }
  pthread_mutex_unlock(&progress->lock);
}
