/* SPDX-License-Identifier: Apache-2.0
 * Plans of the rows whose tiles the launch chooses (hx__kernel_row.blocks): matmul_grid.cl and matmul_cells.cl. */
#include <math.h>

#include "kernels/plan.h"

/* Where the launch chooses the sides of tiles: of a step of k, for each group of a unit and each of its warps. */
#define GRID_BLOCK 16u
#define GRID_GROUP_NS 26.5
#define GRID_WARP_NS 3.6
#define GRID_RESIDENT 3u
#define GRID_READ_BYTES_A_NS 2000.0
#define GRID_JOIN_BYTES_A_NS 20000.0
#define GRID_LEAST ((size_t)1 << 27)   /* multiply-adds: less takes less time than a panel of such a tile */
#define GRID_LONGEST ((size_t)1 << 26) /* from a line to the next: offsets have 32 bits */
#define GRID_ONE_ROW 0.95              /* where all tiles read the same rows of A */
/* In cells of 8 x 8 (matmul_cells.cl): of a step of k, for each warp of the quarter of a unit that has most of them,
 * each line of an operand that lies [k][line] or [line][k], each operand not copied by fours, each group but one, and
 * at least. */
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
#define CELLS_MARGIN 1.02 /* what such a tile has to bring */

/* A step of k of so many groups of a unit: chain_ns for each round of them, full_ns for each of them. A second round
 * that does not fill the unit waits as one group does. */
static double grid_step_ns(double chain_ns, double full_ns, size_t groups) {
  const double short_of = groups > GRID_RESIDENT ? fmax(2.0 * GRID_RESIDENT - (double)groups, 0.0) : 0.0;
  return ((double)hx__plan_ceiling(groups, GRID_RESIDENT) + 0.5 * short_of) * chain_ns + (double)groups * full_ns;
}

/* For how many steps of k the unit that is done last has how many groups at once, or one after the other where it has
 * no room for all. */
typedef struct span {
  size_t depth, groups;
} span;

/* All tiles in panels. The groups of a last, short panel are launched last: where all find room at once they end
 * sooner; where the full ones just do, those that found none follow in the room that others leave; with more rounds
 * units are as good as evenly loaded. */
static void spans_of(const hx__tiles_plan *p, size_t k, size_t units, span to[2]) {
  const size_t last = (k - 1) % HX__PANEL + 1, shorts = last < HX__PANEL ? p->tiles : 0, full = p->groups - shorts;
  const size_t room = GRID_RESIDENT * units;
  if (p->groups <= room) {
    to[0] = (span){last, hx__plan_ceiling(p->groups, units)};
    to[1] = (span){HX__PANEL - last, hx__plan_ceiling(full, units)};
  } else if (full > room) {
    to[0] = (span){HX__PANEL, hx__plan_ceiling(full * HX__PANEL + shorts * last, HX__PANEL * units)};
    to[1] = (span){0, 0};
  } else {
    const size_t beside = full % room ? (room - full) * (HX__PANEL / last) : 0;
    to[0] = (span){full ? HX__PANEL : 0, GRID_RESIDENT};
    to[1] = (span){last, hx__plan_ceiling(shorts > beside ? shorts - beside : 0, units)};
  }
}

/* A row whose tiles this launch chooses: all in panels of k. A group takes the same whatever its tile, and more by its
 * warps, eight blocks each. */
static double grid_ns(const hx__kernel_row *row, const hx__tiles_plan *p, const hx__tiles_shape *s, unsigned units) {
  const size_t whole_m = s->m / p->tile_m, rest_m = hx__plan_ceiling(s->m % p->tile_m, GRID_BLOCK);
  const size_t whole_n = s->n / p->tile_n, rest_n = hx__plan_ceiling(s->n % p->tile_n, GRID_BLOCK);
  const size_t side_m = p->tile_m / GRID_BLOCK, side_n = p->tile_n / GRID_BLOCK;
  const size_t warps = whole_m * whole_n * hx__plan_ceiling(side_m * side_n, 8) +
                       whole_m * hx__plan_ceiling(side_m * rest_n, 8) + whole_n * hx__plan_ceiling(rest_m * side_n, 8) +
                       hx__plan_ceiling(rest_m * rest_n, 8);
  const double mean = (double)warps / (double)p->tiles;
  const double chain = row->chain[HX__LAYOUT_NN] * 1e-3;
  const double full = (GRID_GROUP_NS + GRID_WARP_NS * mean) * 100.0 / row->rate[HX__LAYOUT_NN];
  span of[2];
  spans_of(p, s->k, units, of);
  const double work = ((double)of[0].depth * grid_step_ns(chain, full, of[0].groups) +
                       (double)of[1].depth * grid_step_ns(chain, full, of[1].groups)) /
                      HX__PLAN_PART;
  const double read = (double)p->tiles * (p->tile_m + p->tile_n) * (double)s->k * 4.0 / GRID_READ_BYTES_A_NS;
  const double ns = HX__PLAN_LAUNCH_NS + fmax(work, read) + HX__PLAN_JOIN_NS +
                    (double)p->panels * HX__PLAN_JOIN_PANEL_NS +
                    (double)(s->m * s->n * p->panels) * 8.0 / GRID_JOIN_BYTES_A_NS;
  return s->m <= p->tile_m ? GRID_ONE_ROW * ns : ns;
}

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

static hx__tiles_plan grid_of(const hx__kernel_row *row, const hx__tiles_shape *s, unsigned units, uint32_t side_m,
                              uint32_t side_n) {
  hx__tiles_plan p = {.tile_m = side_m * row->block, .tile_n = side_n * row->block};
  p.lies = hx__plan_lies(s->a.rs, s->a.cs, s->a.even, s->m) | hx__plan_lies(s->b.cs, s->b.rs, s->b.even, s->n) << 1;
  p.tiles = hx__plan_ceiling(s->m, p.tile_m) * hx__plan_ceiling(s->n, p.tile_n);
  p.panels = hx__plan_ceiling(s->k, HX__PANEL);
  p.groups = p.tiles * p.panels;
  p.partials = p.groups * p.tile_m * p.tile_n;
  p.ns = row->lines ? cells_ns(&p, s, units) : grid_ns(row, &p, s, units);
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

hx__tiles_plan hx__grid_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s,
                                 unsigned units) {
  const size_t most_m = hx__plan_ceiling(s->m, row->block), most_n = hx__plan_ceiling(s->n, row->block);
  const size_t longest = hx__plan_greater(hx__plan_greater(s->a.rs, s->a.cs), hx__plan_greater(s->b.rs, s->b.cs));
  hx__tiles_plan best = grid_of(row, s, units, 1, 1);
  best.ns = INFINITY;
  /* One panel needs no sums that wait. */
  const bool fits = s->k > HX__PANEL && ((best.lies / HX__LIES_A_IN_FOURS) & row->fours) == row->fours &&
                    longest < GRID_LONGEST &&
                    (most_m + row->sides[0]) * (most_n + row->sides[1]) * row->block * row->block <=
                        HX__PLAN_MOST_PARTIALS / 4 / best.panels;
  /* Others are faster then: no search. */
  const bool small = s->m * s->n < GRID_LEAST / s->k;
  const uint32_t few_m = row->lines ? 16 : 4;
  const uint32_t from_m = small ? (uint32_t)hx__plan_lesser(hx__plan_lesser(most_m, row->sides[0]), few_m) : 1;
  const uint32_t from_n =
      small ? (uint32_t)hx__plan_lesser(hx__plan_lesser(most_n, row->sides[1]), row->blocks / few_m) : 1;
  for (uint32_t m = from_m; fits && layout == HX__LAYOUT_NN && m <= row->sides[0] && m <= most_m; m++)
    for (uint32_t n = from_n; n <= row->sides[1] && n <= most_n && m * n <= row->blocks; n++) {
      if (row->lines && !small && !worth(row, m, n, most_m, most_n)) continue;
      const hx__tiles_plan p = grid_of(row, s, units, m, n);
      if (p.ns < best.ns) best = p;
    }
  return best;
}
