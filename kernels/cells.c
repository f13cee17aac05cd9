/* SPDX-License-Identifier: Apache-2.0
 * Plans of the row whose tiles the launch chooses (hx__kernel_row.blocks): matmul_cells.cl. */
#include <math.h>

#include "kernels/plan.h"

/* Of a step of k, for each warp of the quarter of a unit that has most of them, each line of an operand that lies
 * [k][line] or [line][k], each operand not copied by fours, each group but one, and at least. */
#define CELLS_WARP_NS 22.0
#define CELLS_LINE_NS 0.062
#define CELLS_LINE_OF_K_NS 0.033
#define CELLS_SINGLES_NS 3.3
#define CELLS_GROUP_NS 4.1
#define CELLS_LEAST_NS 33.2
#define CELLS_RESIDENT 2u
#define CELLS_A_WARP 16u
#define CELLS_READ_BYTES_A_NS 2620.0
#define CELLS_FAR_BYTES_A_NS 1750.0 /* of an operand that lies [line][k], from far memory */
#define CELLS_APART 0.65
#define CELLS_JOIN_NS 2350.0
#define SMALL_M 16u                     /* blocks of a tile where C is small, one above the other */
#define CELLS_MARGIN 1.02               /* what such a tile has to bring */
#define CELLS_LEAST ((size_t)1 << 27)   /* multiply-adds: less takes less time than a panel of such a tile */
#define CELLS_LONGEST ((size_t)1 << 26) /* from a line to the next: offsets have 32 bits */

/* What copying an operand's lines takes of a step of k; lies: as of A. */
static double cells_copy_ns(uint32_t lies, uint32_t lines) {
  return lines * (lies & HX__LIES_A_BY_K ? CELLS_LINE_NS : CELLS_LINE_OF_K_NS) +
         (lies & HX__LIES_A_IN_FOURS ? 0.0 : CELLS_SINGLES_NS);
}

/* A step of k of one group of a unit, or of two. */
static double cells_step_ns(const hx__tiles_plan *p, size_t groups) {
  const size_t warps = hx__plan_ceiling((size_t)p->tile_m / 8 * (p->tile_n / 8), CELLS_A_WARP);
  const double copies = cells_copy_ns(p->lies, p->tile_m) + cells_copy_ns(p->lies >> 1, p->tile_n);
  const double busy = (double)hx__plan_ceiling(groups * warps, 4) * CELLS_WARP_NS +
                      (double)groups * (copies + CELLS_GROUP_NS) - CELLS_GROUP_NS;
  const double squared = busy * busy;
  return groups ? sqrt(sqrt(squared * squared + CELLS_LEAST_NS * CELLS_LEAST_NS * CELLS_LEAST_NS * CELLS_LEAST_NS))
                : 0.0;
}

/* Tiles of cells. A unit has one group or two at once, those of the last, short panel last. */
static double cells_ns(const hx__tiles_plan *p, const hx__tiles_shape *s, unsigned units) {
  const size_t together = hx__plan_ceiling(p->groups, units),
               full = hx__plan_ceiling(s->k / HX__PANEL * p->tiles, units);
  const double rest = (double)(s->k % HX__PANEL), k = (double)s->k;
  double work;
  if (together <= CELLS_RESIDENT)
    work = rest * cells_step_ns(p, together) + (HX__PANEL - rest) * cells_step_ns(p, full);
  else
    work = k / (double)p->panels *
           ((double)(together / CELLS_RESIDENT) * cells_step_ns(p, CELLS_RESIDENT) +
            cells_step_ns(p, together % CELLS_RESIDENT));
  /* Lines of k of A that lie a multiple of 4 KB apart meet in few sets of the cache. */
  const double near = p->lies & HX__LIES_A_BY_K && s->a.cs % 1024 == 0 ? CELLS_APART : 1.0;
  const double read = (double)p->tiles * (p->tile_m + p->tile_n) * k * 4.0 / (CELLS_READ_BYTES_A_NS * near);
  const double lines = (double)((p->lies & HX__LIES_A_BY_K ? 0 : s->m) + (p->lies >> 1 & HX__LIES_A_BY_K ? 0 : s->n));
  const double far = lines * k * 4.0 / CELLS_FAR_BYTES_A_NS;
  return CELLS_MARGIN * (HX__PLAN_LAUNCH_NS + fmax(fmax(work, read), far) + CELLS_JOIN_NS +
                         (double)p->panels * HX__PLAN_JOIN_PANEL_NS);
}

static hx__tiles_plan cells_of(const hx__kernel_row *row, const hx__tiles_shape *s, unsigned units, uint32_t side_m,
                               uint32_t side_n) {
  hx__tiles_plan p = {.tile_m = side_m * row->block, .tile_n = side_n * row->block};
  p.lies = hx__plan_lies(s->a.rs, s->a.cs, s->a.even, s->m) | hx__plan_lies(s->b.cs, s->b.rs, s->b.even, s->n) << 1;
  p.tiles = hx__plan_ceiling(s->m, p.tile_m) * hx__plan_ceiling(s->n, p.tile_n);
  p.panels = hx__plan_ceiling(s->k, HX__PANEL);
  p.groups = p.tiles * p.panels;
  p.partials = p.groups * p.tile_m * p.tile_n;
  p.ns = cells_ns(&p, s, units);
  return p;
}

/* Whether tiles of m x n blocks may be the best: with one row or column less they would be more, they have a quarter of
 * the blocks or all of C's side, and as many lines as there may be. */
static bool worth(const hx__kernel_row *row, size_t m, size_t n, size_t most_m, size_t most_n) {
  if ((m + n) * row->block > row->lines) return false;
  if (m * n * 4 < row->blocks && m < most_m && n < most_n && n < row->sides[1]) return false;
  return (m == 1 || hx__plan_ceiling(most_m, m) < hx__plan_ceiling(most_m, m - 1)) &&
         (n == 1 || hx__plan_ceiling(most_n, n) < hx__plan_ceiling(most_n, n - 1));
}

hx__tiles_plan hx__cells_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s,
                                  unsigned units) {
  const size_t most_m = hx__plan_ceiling(s->m, row->block), most_n = hx__plan_ceiling(s->n, row->block);
  const size_t longest = hx__plan_greater(hx__plan_greater(s->a.rs, s->a.cs), hx__plan_greater(s->b.rs, s->b.cs));
  hx__tiles_plan best = cells_of(row, s, units, 1, 1);
  best.ns = INFINITY;
  /* One panel needs no sums that wait. */
  const bool fits = s->k > HX__PANEL && longest < CELLS_LONGEST &&
                    (most_m + row->sides[0]) * (most_n + row->sides[1]) * row->block * row->block <=
                        HX__PLAN_MOST_PARTIALS / 4 / best.panels;
  /* Others are faster then: no search. */
  const bool small = s->m * s->n < CELLS_LEAST / s->k;
  const uint32_t from_m = small ? (uint32_t)hx__plan_lesser(hx__plan_lesser(most_m, row->sides[0]), SMALL_M) : 1;
  const uint32_t from_n =
      small ? (uint32_t)hx__plan_lesser(hx__plan_lesser(most_n, row->sides[1]), row->blocks / SMALL_M) : 1;
  for (uint32_t m = from_m; fits && layout == HX__LAYOUT_NN && m <= row->sides[0] && m <= most_m; m++)
    for (uint32_t n = from_n; n <= row->sides[1] && n <= most_n && m * n <= row->blocks; n++) {
      if (!small && !worth(row, m, n, most_m, most_n)) continue;
      const hx__tiles_plan p = cells_of(row, s, units, m, n);
      if (p.ns < best.ns) best = p;
    }
  return best;
}
