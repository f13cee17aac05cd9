/* SPDX-License-Identifier: Apache-2.0
 * Plans of the rows for few rows or columns of C (hx__kernel_row.few): B is read once, so what counts is that all of
 * the device's memory is kept busy. */
#include <math.h>

#include "kernels/plan.h"

#define LAUNCH_NS 2500.0
#define READ_BYTES_A_NS 4000.0 /* of B, by all groups */
#define FMA_A_NS 100.0         /* of a compute unit */
#define ROW_NS 10.0            /* of two rows that can do a product, the smaller tile is the better one */
#define PANEL_NS 1600.0        /* of a group alone, and with B [column][k] the least that a launch takes */
#define JOIN_NS 1000.0         /* of a join in the product's launch, by one group */
#define JOIN_TURN_NS 950.0     /* for as many sums as its local memory takes */
#define GROUP_NS 300.0         /* of a group more of a unit, where B lies [column][k] */
#define GROUPS_A_UNIT 2u       /* that have registers, where B lies [k][line] */
#define MOST_APART ((size_t)1 << 30)
#define MOST_PARTIALS ((size_t)64 << 20) /* elements */

/* [k][line]: groups that stay, each with panels of one tile, or with all panels of several; as many turns for each. */
static void stay(hx__tiles_plan *p, unsigned units) {
  const size_t most = (size_t)units * GROUPS_A_UNIT, at_once = most / p->tiles;
  p->whole = p->tiles > most ? hx__plan_ceiling(p->tiles, hx__plan_ceiling(p->tiles, most)) : p->tiles;
  const size_t y = at_once < 1           ? 1
                   : at_once < p->panels ? hx__plan_ceiling(p->panels, hx__plan_ceiling(p->panels, at_once))
                                         : p->panels;
  p->groups = p->whole * y;
  p->joins = y > 1;
}

static hx__tiles_plan plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s, unsigned units) {
  hx__tiles_plan p = {.tiles = hx__plan_ceiling(s->n, row->tile_n),
                      .panels = hx__plan_ceiling(s->k, HX__PANEL),
                      .tile_m = row->tile_m,
                      .tile_n = row->tile_n,
                      .ns = INFINITY};
  const bool by_k = s->b.cs == 1 && s->b.rs != 1;
  const size_t apart = by_k ? s->b.rs : s->b.cs;
  if (s->m > row->tile_m || row->rate[layout] == 0 || by_k != (layout == HX__LAYOUT_NN) || apart >= MOST_APART)
    return p;
  p.lies = (s->a.rs == 1 && s->a.cs != 1 ? HX__LIES_A_BY_K : 0) | (by_k ? HX__LIES_B_BY_K : 0) |
           (s->b.even && apart % 4 == 0 ? HX__LIES_B_IN_FOURS : 0);
  if (by_k) {
    stay(&p, units);
  } else {
    p.whole = 1;
    p.groups = p.tiles * p.panels;
    p.joins = p.panels > 1;
  }
  const size_t sums = (size_t)row->tile_m * row->tile_n;
  if (p.groups > UINT32_MAX || p.panels > UINT32_MAX / p.tiles) return p;
  if (p.joins && (p.tiles > HX__JOIN_TICKETS || p.panels > MOST_PARTIALS / sums / p.tiles)) return p;
  p.partials = p.joins ? p.tiles * p.panels * sums : 0;
  const double lines = (double)s->n * (double)s->k, fma = lines * row->tile_m / (FMA_A_NS * units);
  const size_t turns = by_k ? hx__plan_ceiling(p.tiles, p.whole) * hx__plan_ceiling(p.panels, p.groups / p.whole) : 1;
  p.ns = LAUNCH_NS + fmax(fmax(4.0 * lines / READ_BYTES_A_NS, fma), PANEL_NS * (double)turns) + ROW_NS * row->tile_m;
  if (!by_k) p.ns += GROUP_NS * (double)(p.groups / units);
  if (p.joins)
    p.ns += JOIN_NS + JOIN_TURN_NS * (double)hx__plan_ceiling(p.panels * sums, row->tile_m > 4 ? 2048 : 4096);
  return p;
}

hx__tiles_plan hx__few_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s,
                                const hx__tiles_shape *other, unsigned units) {
  const hx__tiles_plan straight = plan_for(row, layout, s, units);
  hx__tiles_plan across = plan_for(row, layout, other, units);
  across.across = true;
  return across.ns < straight.ns ? across : straight;
}
