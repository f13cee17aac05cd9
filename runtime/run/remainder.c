/* SPDX-License-Identifier: Apache-2.0
 * A few slices for each thread cannot be shared out evenly: of a product of 512 rows, each of sixteen threads gets two
 * register tiles, and one that gets a third holds up all others. So the last slices are cut along the cross extent,
 * too, into blocks of about ten microseconds. If each thread would get only a few slices, all slices are cut this way,
 * into larger blocks: otherwise all threads read all of the shared operand, which the last cache delivers too slowly
 * (docs/measurements/cpu-grids.tsv). */
#include "runtime/run/remainder.h"

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/thresholds.h"

#define GRAINS_EACH 2u         /* grains of slices in the remainder, for each thread */
#define BLOCK_UNITS (1u << 19) /* multiply-adds of a block: about ten microseconds */
#define LEAST_CROSS_GRAINS 4u  /* of a block, which packs its own slices whatever its width */
#define READ_UNITS 16.0        /* multiply-adds in the time in which an element comes from the last cache */

hx__chunk hx__part_in_grains(size_t extent, size_t grain, size_t parts, size_t i) {
  const size_t grains = extent / grain, from = grains * i / parts * grain;
  return (hx__chunk){from, (i + 1 == parts ? extent : grains * (i + 1) / parts * grain) - from};
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

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
  const size_t slices = least(want, most) * grain;
  t->slices = (hx__chunk){w->slices - slices, slices};
  t->grain = grain;
  t->cross_grain = cross_grain;
  t->down = slices / grain;
  t->across = extent / width;
  t->blocks = t->down * t->across;
  atomic_init(&t->next, 0);
}

/* The longest part of an extent, apart from what is less than a grain. */
static double longest_part(size_t extent, size_t grain, size_t parts) {
  const size_t grains = extent / grain;
  return (double)((grains + parts - 1) / parts * grain);
}

/* The time of a product that is cut into down x across blocks, in multiply-adds of a step of k: a thread's share of all
 * blocks, and one block that it may have more than others. */
static double cost_of(const hx__remainder *t, size_t slices, size_t extent, size_t down, size_t across,
                      unsigned threads) {
  const double rows = longest_part(slices, t->grain, down), columns = longest_part(extent, t->cross_grain, across);
  const double m = (double)slices, n = (double)extent;
  const double all = m * n + READ_UNITS * (m * (double)across + n * (double)down);
  return all / threads + rows * columns + READ_UNITS * (rows + columns);
}

bool hx__remainder_suits_uneven(const hx__work *w, unsigned threads) {
  const uint64_t each = w->units / threads;
  return w->matmul && w->units >= HX__GRID_UNEVEN_UNITS && each >= HX__GRID_UNEVEN_UNITS / 4 &&
         each <= HX__LONGER_EACH_UNITS;
}

/* Whether blocks pay for a product that gives each thread `each` multiply-adds. */
static bool is_for_grid(const hx__work *w, uint64_t each, unsigned threads, bool uneven) {
  if (uneven) return hx__remainder_suits_uneven(w, threads);
  if (threads < HX__GRID_THREADS || w->gemm.k < HX__GRID_K) return false;
  if (each < HX__GRID_LEAST_UNITS || each > HX__GRID_MOST_UNITS) return false;
  return w->slices / threads <= HX__GRID_SLICES || (w->by_columns && w->gemm.m <= HX__WIDE_ROWS);
}

bool hx__remainder_plan_whole(hx__remainder *t, const hx__stream *cpu, const hx__work *w, unsigned threads,
                              bool uneven) {
  const size_t extent = hx__work_cross_extent(w);
  const uint64_t each = w->units / threads;
  t->blocks = 0;
  if (!is_for_grid(w, each, threads, uneven)) return false;
  t->grain = hx__stream_grain(cpu, w);
  t->cross_grain = hx__cpu_cross_grain(cpu, w);
  const size_t most_down = w->slices / t->grain, most_across = extent / t->cross_grain;
  const size_t share = (size_t)(each / HX__GRID_BLOCK_UNITS), wanted = threads * (share < 4 ? 4 : least(share, 8));
  if (most_across < LEAST_CROSS_GRAINS || most_down * most_across < wanted) return false;
  double lowest = 0.0;
  for (size_t down = 1; down <= least(most_down, wanted); down++) {
    const size_t across = least(most_across, (wanted + down - 1) / down);
    const double cost = cost_of(t, w->slices, extent, down, across, threads);
    if (t->blocks && cost >= lowest) continue;
    lowest = cost;
    t->down = down;
    t->across = across;
    t->blocks = down * across;
  }
  t->slices = (hx__chunk){0, w->slices};
  atomic_init(&t->next, 0);
  return true;
}

bool hx__remainder_next(hx__remainder *t, const hx__work *w, hx__chunk *chunk, hx__chunk *cross) {
  if (t->blocks == 0) return false;
  const size_t at = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed);
  if (at >= t->blocks) return false;
  *chunk = hx__part_in_grains(t->slices.count, t->grain, t->down, at / t->across);
  chunk->first += t->slices.first;
  *cross = hx__part_in_grains(hx__work_cross_extent(w), t->cross_grain, t->across, at % t->across);
  return true;
}
