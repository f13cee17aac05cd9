/* SPDX-License-Identifier: Apache-2.0
 * Plans by a model of the device: every compute unit takes its share of tiles and panels, and what is left over at the
 * end leaves the others idle. The constants are those of one card, but only their ratios matter. */
#include "kernels/tiles.h"

#include <math.h>

#define FMA_A_NS 200.0 /* of a compute unit, at rate 100 */
#define LAUNCH_NS 2500.0
#define READ_BYTES_A_NS 3000.0 /* by all groups, of what others read as well */
#define JOIN_BYTES_A_NS 5000.0 /* that a join moves, in the cache */
#define JOIN_PANEL_NS 15.0
#define TICKET_NS 1000.0 /* of a join in the product's launch, by one group */
#define TICKET_PANEL_NS 100.0
#define TICKET_PANELS 24u
#define COPY_BYTES_A_NS 3500.0 /* that a copy moves */
#define LOCAL_BYTES ((size_t)227 << 10)
#define PART 0.93 /* the speed of groups of one panel, which begin and end more often */
#define MOST_PARTIALS ((size_t)256 << 20)

static size_t ceiling(size_t n, size_t of) { return n / of + (n % of != 0); }
static size_t greater(size_t a, size_t b) { return a > b ? a : b; }
static size_t fours(size_t n) { return (n + 3) & ~(size_t)3; }

/* Groups that a compute unit has local memory for. */
static size_t resident(const hx__kernel_row *row) {
  const size_t stages = (size_t)(row->tile_m + row->tile_n + 8) * row->tile_k * row->stages * row->slices;
  return LOCAL_BYTES / ((stages + (size_t)row->tile_m * row->tile_n) * sizeof(float));
}

/* Few warps leave a compute unit waiting, and slices of several groups do not keep step: the share of its speed that it
 * then has. */
static double occupancy(const hx__kernel_row *row, size_t groups, size_t at_once, unsigned units) {
  const size_t together = ceiling(groups, units) < resident(row) ? ceiling(groups, units) : resident(row);
  const size_t warps = together * row->local[0] / 32 * at_once / row->slices;
  if (row->slices > 1 && groups > units) return 0.88;
  return warps >= 8 ? 1.0 : warps >= 4 ? 0.84 : warps >= 3 ? 0.7 : 0.5;
}

/* An operand that each tile reads a part of for itself comes from far memory; two stages do not wait for it in vain. */
static double nearness(const hx__kernel_row *row, const hx__tiles_shape *s) {
  return row->stages == 2 && (s->m <= row->tile_m || s->n <= row->tile_n) ? 0.88 : 1.0;
}

static double product_ns(const hx__kernel_row *row, double percent, const hx__tiles_plan *p, const hx__tiles_shape *s,
                         unsigned units) {
  const size_t tail = p->tiles - p->whole, groups = p->groups;
  const double area = (double)row->tile_m * row->tile_n, k = (double)s->k, panel = s->k < HX__PANEL ? k : HX__PANEL;
  const size_t at_once = p->panels < row->slices ? p->panels : row->slices;
  const double rate = FMA_A_NS * 0.01 * percent * nearness(row, s) * occupancy(row, groups, at_once, units);
  const double rest = row->in_place ? 2.0 * (double)(s->k % row->tile_k) : 0.0; /* one step after the other */
  const double depth =
      (double)ceiling(p->whole, units) * k + (double)(ceiling(groups - p->whole, units) * at_once) * panel / PART;
  const double read = (double)p->tiles * (row->tile_m + row->tile_n) * k * 4.0 / READ_BYTES_A_NS;
  const double ns = LAUNCH_NS + fmax(depth * area / rate, read) + rest * area / rate;
  if (tail == 0) return ns;
  if (p->joins) return ns + TICKET_NS + (double)p->panels * TICKET_PANEL_NS;
  return ns + LAUNCH_NS + (double)p->panels * JOIN_PANEL_NS + (double)(tail * p->panels) * area * 8.0 / JOIN_BYTES_A_NS;
}

/* Columns of B that lie a multiple of 4 KB apart meet in few sets of the cache. */
static double spread(hx__layout layout, const hx__tiles_shape *s) {
  return layout == HX__LAYOUT_NT && s->b.cs % 1024 == 0 ? 0.85 : 1.0;
}

/* How a row with operands in place finds A; B is asked for as its transpose, and has twice the bits. */
static uint32_t lies(size_t rs, size_t cs, bool even, size_t lines) {
  if (rs != 1 || cs == 1) return 0;
  return HX__LIES_A_BY_K | (even && cs % 4 == 0 && lines % 4 == 0 ? HX__LIES_A_IN_FOURS : 0);
}

/* Whether a row reads lines of an operand that lies [k][line] where they are. */
static bool reads(const hx__kernel_row *row, bool even, size_t ld, size_t lines) {
  return row->width == 1 || (even && ld % row->width == 0 && lines % row->width == 0);
}

/* One way round. */
static hx__tiles_plan plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s, unsigned units) {
  hx__tiles_plan p = {.tiles = ceiling(s->m, row->tile_m) * ceiling(s->n, row->tile_n),
                      .panels = ceiling(s->k, HX__PANEL)};
  const double rate = spread(layout, s) * row->rate[layout];
  const bool fits = layout == HX__LAYOUT_TN
                        ? s->a.rs == 1 && s->a.cs != 1 && reads(row, s->a.even, s->a.cs, s->m) && s->m >= row->tile_m
                    : layout == HX__LAYOUT_NT
                        ? s->b.rs == 1 && s->b.cs != 1 && s->n % row->width == 0 && s->n >= row->tile_n
                        : true;
  p.lies = lies(s->a.rs, s->a.cs, s->a.even, s->m) | lies(s->b.cs, s->b.rs, s->b.even, s->n) << 1;
  p.copy_a = !row->in_place && layout != HX__LAYOUT_TN && (s->a.cs != 1 || s->m < row->tile_m);
  p.copy_b = !row->in_place && layout != HX__LAYOUT_NT &&
             (s->b.cs != 1 || !reads(row, s->b.even, s->b.rs, s->n) || s->n < row->tile_n);
  p.pitch_a = fours(s->k);
  p.lines_a = greater(s->m, row->tile_m);
  p.pitch_b = greater(fours(s->n), row->tile_n);
  if (!fits || rate == 0) {
    p.ns = INFINITY;
    return p;
  }
  /* All whole, or what does not fill the units cut into panels. */
  const bool can_whole = row->slices == 1 || p.panels <= row->slices;
  p.whole = p.groups = p.tiles;
  p.ns = can_whole ? product_ns(row, rate, &p, s, units) : INFINITY;
  hx__tiles_plan cut = p;
  cut.whole = can_whole ? p.tiles / units * units : 0;
  cut.groups = cut.whole + (cut.tiles - cut.whole) * ceiling(p.panels, row->slices);
  cut.joins = row->in_place && p.panels <= TICKET_PANELS && cut.tiles - cut.whole <= HX__JOIN_TICKETS;
  const size_t bytes = (cut.tiles - cut.whole) * row->tile_m * row->tile_n * sizeof(float);
  if (p.panels > 1 && cut.whole < p.tiles && bytes <= MOST_PARTIALS / p.panels) {
    cut.ns = product_ns(row, rate, &cut, s, units);
    if (cut.ns < p.ns) p = cut;
  }
  p.partials = (p.tiles - p.whole) * p.panels * row->tile_m * row->tile_n;
  if (p.copy_a) p.ns += LAUNCH_NS + (double)(p.pitch_a * p.lines_a) * 8.0 / COPY_BYTES_A_NS;
  if (p.copy_b) p.ns += LAUNCH_NS + (double)(p.pitch_b * s->k) * 8.0 / COPY_BYTES_A_NS;
  return p;
}

hx__tiles_plan hx__tiles_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s,
                                  unsigned units) {
  const hx__tiles_shape other = {s->n, s->m, s->k, {s->b.cs, s->b.rs, s->b.even}, {s->a.cs, s->a.rs, s->a.even}};
  if (row->few) return hx__few_plan_for(row, layout, s, &other, units ? units : 1);
  const hx__tiles_plan straight = plan_for(row, layout, s, units ? units : 1);
  hx__tiles_plan across = plan_for(row, layout, &other, units ? units : 1);
  across.across = true;
  return across.ns < straight.ns ? across : straight;
}
