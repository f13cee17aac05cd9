/* SPDX-License-Identifier: Apache-2.0
 * Slices alone cannot be shared out evenly where there are few of them for every thread: a team of sixteen has two
 * register tiles each of a product of 512 rows, and waits for whoever has three. The last slices are therefore cut
 * across as well, into blocks of some ten microseconds. */
#include "runtime/run/remainder.h"

#include "runtime/backend/cpu/cpu_backend.h"

#define GRAINS_EACH 2u         /* of slices that are left to the tail, for every thread */
#define BLOCK_UNITS (1u << 19) /* multiply-adds: some ten microseconds */
#define LEAST_GRAINS_ACROSS 4u /* of a block: each packs its own slices, for all that it crosses */

void hx__remainder_plan(hx__remainder *t, const hx__stream *cpu, const hx__work *w, unsigned threads) {
  const size_t grain = hx__stream_grain(cpu, w), cross = hx__cpu_cross_grain(cpu, w), across = hx__work_cross_extent(w);
  const size_t most = w->slices / grain, want = (size_t)GRAINS_EACH * threads;
  t->blocks = 0;
  if (w->gemm.k == 0 || across == 0 || most == 0 || w->slices > UINT32_MAX) return;
  const uint64_t line = (uint64_t)grain * w->gemm.k;
  size_t width = BLOCK_UNITS / line / cross * cross;
  if (width < LEAST_GRAINS_ACROSS * cross) width = LEAST_GRAINS_ACROSS * cross;
  if (across < 2 * width) return;
  t->rows = grain;
  t->width = width;
  t->parts = across / width; /* the last one is the longest */
  const size_t slices = (want < most ? want : most) * grain;
  t->slices = (hx__chunk){w->slices - slices, slices};
  t->blocks = slices / grain * t->parts;
  atomic_init(&t->next, 0);
}

bool hx__remainder_next(hx__remainder *t, const hx__work *w, hx__chunk *chunk, hx__chunk *across) {
  if (t->blocks == 0) return false;
  const size_t at = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
  if (at >= t->blocks) return false;
  const size_t part = at % t->parts, first = part * t->width;
  *chunk = (hx__chunk){t->slices.first + at / t->parts * t->rows, t->rows};
  *across = (hx__chunk){first, part + 1 == t->parts ? hx__work_cross_extent(w) - first : t->width};
  return true;
}
