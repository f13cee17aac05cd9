/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/pieces.h"

#include "runtime/api/here.h"
#include "runtime/plan/share.h"
#include "runtime/plan/threads.h"

#define TOGETHER 8u                /* pieces that prefetch, which a thread takes at a time, */
#define TOGETHER_EFFORT (1u << 24) /* if their effort is at most this: some tenths of a millisecond */

static void compute_some(void *arg) {
  hx__pieces *const p = arg;
  const unsigned thread = hx__cpu_pool_thread();
  uint32_t chunks = 0;
  for (hx__chunk chunk; (chunk = hx__thread_parts_take(&p->parts, thread)).count; chunks++) p->compute(p, chunk);
  atomic_fetch_add_explicit(&p->chunks, chunks, memory_order_relaxed);
}

/* The pool's state is read once in a call, because each look counts as a call. */
static unsigned threads_for(hx__pieces *p) {
  if (p->count < 2 || p->effort < 2 * HX__AWAKE_UNITS) return 1;
  const unsigned most = hx__cpu_threads(&p->hx->config);
  if (most < 2) return 1;
  if (!p->pool_known) p->pool = hx__cpu_pool_state();
  p->pool_known = true;
  const unsigned threads = hx__threads_for_pieces(p->effort, p->count, most, p->pool);
  if (threads > 1) p->pool = HX__POOL_AWAKE;
  return threads;
}

/* How many a thread takes at a time. The last one of them prefetches nothing. */
static size_t each_of(const hx__pieces *p, unsigned threads) {
  const size_t few = hx__taken_at_once(p->effort, p->count, threads);
  if (!p->looks_ahead) return few;
  if (threads == 1) return p->count;
  const size_t part = p->count / threads / HX__PIECES_PER_THREAD, most = part < TOGETHER ? part : TOGETHER;
  const uint64_t fit = TOGETHER_EFFORT / (p->effort / p->count + 1);
  const size_t together = fit < most ? (size_t)fit : most;
  return together > few ? together : few;
}

void hx__pieces_run(hx__pieces *p) {
  atomic_init(&p->chunks, 0);
  if (p->count == 0) return;
  const unsigned threads = threads_for(p);
  p->looks_ahead = p->elements && hx__cpu_looks_ahead(p->elements / threads);
  hx__thread_parts_init(&p->parts, (hx__chunk){0, p->count}, threads, (hx__take_size){1, 1, each_of(p, threads)});
  hx__cpu_pool_run(threads, compute_some, p);
}

void hx__pieces_report(const hx__pieces *p, uint64_t units, hx_report *r) {
  const uint32_t chunks = atomic_load_explicit(&p->chunks, memory_order_relaxed);
  if (!chunks) return;
  r->chunks = chunks;
  r->device_count = 1;
  r->device[0] = (hx_device_report){.index = 0, .chunks = chunks, .units = units};
}

/* A part of a limit for few tasks, at least `least`: at the end the threads wait for one that has a task more. */
static size_t limit_for(size_t count, size_t enough, size_t limit, size_t least) {
  const size_t part = count < enough ? limit / enough * count : limit;
  return part > least ? part : least;
}

/* If a setting asks for devices, only the smallest tasks stay on the CPU, as in hx_offload. */
hx__piece_limits hx__piece_limits_of(const hx_context *hx, size_t count) {
  const hx__config *const c = &hx->config;
  const bool asked = hx->wants_devices && (c->min_offload != UINT64_MAX || c->schedule != HX__SCHEDULE_ADAPTIVE);
  if (asked) return (hx__piece_limits){HX__ONE_THREAD_UNITS, HX__ONE_THREAD_ELEMENTS};
  const unsigned threads = hx__cpu_threads(c);
  const size_t enough = threads > 1 ? (size_t)HX__PIECES_PER_THREAD * threads : 0;
  return (hx__piece_limits){limit_for(count, enough, HX__PIECE_UNITS, HX__ONE_THREAD_UNITS),
                            limit_for(count, enough, HX__PIECE_ELEMENTS, HX__ONE_THREAD_ELEMENTS)};
}

bool hx__is_piece(const hx_context *hx, const hx__piece_limits *most, const hx__work *w) {
  const bool fits =
      w->matmul ? w->units <= most->units && w->slices <= most->units : w->units <= most->elements && hx__fits_stack(w);
  return fits && !w->batch.count && (hx__share_of(&hx->config, w) == 0.0 || (hx->small_stay && !(w->gpu_share > 0.0f)));
}
