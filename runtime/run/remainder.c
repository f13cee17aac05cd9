/* SPDX-License-Identifier: Apache-2.0
 * A few slices for each thread cannot be shared out evenly: of a product of 512 rows, each of sixteen threads gets two
 * register tiles, and one that gets a third holds up all others. So the last slices are cut along the cross extent,
 * too, into blocks of about ten microseconds. */
#include "runtime/run/remainder.h"

#include "runtime/backend/cpu/cpu_backend.h"

#define GRAINS_EACH 2u         /* grains of slices in the remainder, for each thread */
#define BLOCK_UNITS (1u << 19) /* multiply-adds of a block: about ten microseconds */
#define LEAST_CROSS_GRAINS 4u  /* of a block, which packs its own slices whatever its width */

void hx__remainder_plan(hx__remainder *t, const hx__stream *cpu, const hx__work *w, unsigned threads) {
  const size_t grain = hx__stream_grain(cpu, w), cross_grain = hx__cpu_cross_grain(cpu, w);
  const size_t extent = hx__work_cross_extent(w);
  const size_t most = w->slices / grain, want = (size_t)GRAINS_EACH * threads;
  t->blocks = 0;
  if (w->gemm.k == 0 || extent == 0 || most == 0 || w->slices > UINT32_MAX) return;
  const uint64_t line = (uint64_t)grain * w->gemm.k;
  size_t width = BLOCK_UNITS / line / cross_grain * cross_grain;
  if (width < LEAST_CROSS_GRAINS * cross_grain) width = LEAST_CROSS_GRAINS * cross_grain;
  if (extent < 2 * width) return;
  t->rows = grain;
  t->width = width;
  t->parts = extent / width; /* the last one is the longest */
  const size_t slices = (want < most ? want : most) * grain;
  t->slices = (hx__chunk){w->slices - slices, slices};
  t->blocks = slices / grain * t->parts;
  atomic_init(&t->next, 0);
}

bool hx__remainder_next(hx__remainder *t, const hx__work *w, hx__chunk *chunk, hx__chunk *cross) {
  if (t->blocks == 0) return false;
  const size_t at = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
  if (at >= t->blocks) return false;
  const size_t part = at % t->parts, first = part * t->width;
  *chunk = (hx__chunk){t->slices.first + at / t->parts * t->rows, t->rows};
  *cross = (hx__chunk){first, part + 1 == t->parts ? hx__work_cross_extent(w) - first : t->width};
  return true;
}
