/* SPDX-License-Identifier: Apache-2.0
 * Plans by a model of the device: every compute unit takes its share of tiles and panels, and what is left over at the
 * end leaves the others idle. The constants are those of one card, but only their ratios matter. */
#include "kernels/plan.h"

#include <math.h>

#define FMA_A_NS 200.0 /* of a compute unit, at rate 100 */
#define LAUNCH_IN_PLACE_NS 4490.0
#define READ_BYTES_A_NS 3870.0  /* by all groups, of what others read as well */
#define STORE_BYTES_A_NS 3150.0 /* of C, by the one group of a unit */
#define STORE_BYTES_OF_SLICES_A_NS 1700.0
#define JOIN_BYTES_A_NS 7600.0 /* that a join moves, in the cache */
#define CHAIN_NS 500.0         /* of panels that meet in the product's launch, */
#define CHAIN_PANEL_NS 1100.0  /* and of each of a tile that ends with others */
#define ONE_MORE 0.65          /* of the cost of one more whole tile a unit */
#define UNEVEN 101u            /* percent of a unit's share of groups that the unit with most has */
#define PACKED 0.2             /* of what it costs if all of them come so, */
#define PACKED_ROOM 3u         /* which was seen where a unit has room for three */
#define TICKET_NS 1360.0       /* of a join in the product's launch, by one group */
#define TICKET_PANEL_NS 79.0
#define TICKET_PANELS 24u
#define COPY_NS 3430.0
#define COPY_BYTES_A_NS 3990.0 /* that a copy moves */
#define LOCAL_BYTES ((size_t)227 << 10)
#define REGISTERS 65536u
#define REGISTERS_AN_ITEM 128u
#define APART 0.91            /* the speed of slices of several groups of a unit, which do not keep step */
#define NEAR 0.97             /* the speed where an operand comes from far memory */
#define BEGIN_ELEMENT_NS 0.25 /* of a tile */
#define THROUGH_PANELS 1.08   /* times as long where a tile in place goes through several */
#define REST 2.4              /* steps of k that are no whole tile, one after the other */
#define FETCH_NS 700.0        /* until these are there, where they are up to 31 */
#define BESIDE 0.9            /* of the time that groups of one panel would take a unit's whole tiles to wait for */
#define SPREAD_4K 0.85
#define SPREAD_1K 0.94
#define FEW_WARPS_SPREAD 0.93
#define FEW_READ 0.86
#define SKINNY_ROWS 32u     /* of C: others are faster with more */
#define SKINNY_SINGLES 1.13 /* times as long where the wide operand is not copied by fours */
#define SHORT_PANEL 64u     /* of k: the last of several, which takes next to no time */

static size_t fours(size_t n) { return (n + 3) & ~(size_t)3; }

/* Groups that a compute unit has local memory and registers for. */
static size_t resident(const hx__kernel_row *row) {
  const size_t stages = (size_t)(row->tile_m + row->tile_n + 8) * row->tile_k * row->stages * row->slices;
  const size_t by_memory = LOCAL_BYTES / ((stages + (size_t)row->tile_m * row->tile_n) * sizeof(float) + 1024);
  const size_t by_registers = REGISTERS / (REGISTERS_AN_ITEM * row->local[0]);
  return hx__plan_greater(row->local[0] < 128 || by_memory < by_registers ? by_memory : by_registers, 1);
}

/* What decides a step of k of a row: one group's fma at full speed, as it takes where it has the unit alone and its
 * warps wait. */
typedef struct pace {
  const hx__kernel_row *row;
  double full_ns, alone_ns;
} pace;

/* A step of k of so many groups of a compute unit: as long as their fma take, or as one of them takes alone, and more
 * where both are near. */
static double step_ns(const pace *of, size_t groups) {
  const double busy = (double)groups * of->full_ns / (of->row->slices > 1 && groups > 1 ? APART : 1.0);
  const double chain = (double)hx__plan_ceiling(groups, resident(of->row)) * of->alone_ns;
  return sqrt(sqrt(busy * busy * busy * busy + chain * chain * chain * chain));
}

/* An operand that each tile reads a part of for itself comes from far memory; two stages do not wait for it in vain. */
static double nearness(const hx__kernel_row *row, const hx__tiles_shape *s) {
  return row->stages == 2 && (s->m <= row->tile_m || s->n <= row->tile_n) ? NEAR : 1.0;
}

/* How likely the unit that is done last has one whole tile more than `wholes`, where `parts` groups of one panel
 * follow: the device hands groups out unevenly until it is full. */
static double uneven(const hx__kernel_row *row, size_t wholes, size_t parts, unsigned units) {
  if (row->in_place) return wholes > 0 && wholes < 6 && resident(row) > 1 ? 1.0 : 0.0;
  return wholes > 0 && wholes < resident(row) && parts >= units ? ONE_MORE : 0.0;
}

/* What a join of a plan's panels moves. */
static double join_bytes_ns(const hx__kernel_row *row, const hx__tiles_plan *p) {
  return (double)((p->tiles - p->whole) * p->panels) * row->tile_m * row->tile_n * 8.0 / JOIN_BYTES_A_NS;
}

/* What storing C adds where k is one panel: with more it is a small part, which the rates have in them. Groups that
 * share a unit store while others compute; of slices only the first has anything to do then. */
static double store_ns(const hx__kernel_row *row, const hx__tiles_plan *p, const hx__tiles_shape *s) {
  if (p->panels > 1 || row->in_place) return 0.0;
  const double rate =
      row->slices > 1 ? STORE_BYTES_OF_SLICES_A_NS : STORE_BYTES_A_NS * sqrt(sqrt((double)resident(row)));
  return (double)(s->m * s->n) * sizeof(float) / rate;
}

/* What the unit that gets most has of so many groups. */
static size_t share_of(size_t groups, unsigned units) { return hx__plan_ceiling(groups * UNEVEN, (size_t)units * 100); }

/* All tiles in panels, the short ones of a last panel after the others. With more groups than the units have room for,
 * or just as many at first, each unit gets all that it has room for at once, and some more of the full ones than
 * others. Those of a unit that has room for three may end together and be followed by as many, while other units have
 * none. */
static double panels_ns(const pace *of, const hx__tiles_plan *p, size_t k, unsigned units) {
  const size_t here = resident(of->row), room = here * units, last = (k - 1) % HX__PANEL + 1;
  const size_t shorts = last < HX__PANEL ? p->tiles : 0, full = p->groups - shorts, over = full % room;
  const bool late = full >= room, fit = over + shorts < room + late;
  const size_t each = over ? hx__plan_lesser(here, share_of(over, units) + !fit) : 0;
  const size_t beside = fit ? hx__plan_lesser(here, share_of(over + shorts, units)) : here;
  const size_t after = fit ? 0 : over + shorts - room, last_round = after % room;
  const double all = step_ns(of, here), rounds = (double)(full / room) * HX__PANEL * all;
  const double short_rounds = (double)(after / room * last) * all;
  const double even = (double)(HX__PANEL - last) * step_ns(of, each) +
                      (double)last * (step_ns(of, beside) + step_ns(of, hx__plan_ceiling(last_round, units)));
  const double packed = (double)((over ? HX__PANEL : shorts ? last : 0) + (last_round ? last : 0)) * all;
  const bool may_pack = of->row->chains && p->joins && here == PACKED_ROOM && (late || !fit);
  return rounds + short_rounds + even + (may_pack ? PACKED * fmax(packed - even, 0.0) : 0.0);
}

/* The groups of one panel after those of whole tiles, `wholes` of them a unit; or alone. */
static double parts_ns(const pace *of, const hx__tiles_plan *p, size_t k, unsigned units, size_t wholes) {
  const hx__kernel_row *const row = of->row;
  const double part = (row->chains && p->joins) || (row->slices > 1 && row->stages > 2) ? 1.0 : HX__PLAN_PART;
  const double panel = p->panels > 2 ? (double)k / (double)p->panels : fmin((double)k, HX__PANEL);
  const size_t share = hx__plan_ceiling(p->groups - p->whole, units);
  if (p->whole == 0 && row->slices == 1) return panels_ns(of, p, k, units) / part;
  if (p->whole == 0 || resident(row) == 1) return panel * step_ns(of, share) / part;
  return BESIDE * panel * (step_ns(of, wholes + share) - step_ns(of, wholes)) / part;
}

/* A chain of panels: those of a tile that end together are added by one group. Those beside whole tiles end before. */
static double chain_ns(const hx__kernel_row *row, const hx__tiles_plan *p, unsigned units) {
  if (p->whole) return CHAIN_NS + CHAIN_PANEL_NS;
  const double together = (double)(resident(row) * units) / (double)p->tiles;
  return CHAIN_NS + CHAIN_PANEL_NS * fmin(together, (double)p->panels);
}

/* What groups with operands in place take to begin and to end, where they follow one another on a unit. */
static double begin_ns(const hx__kernel_row *row, size_t wholes) {
  return wholes > 1 ? (double)(wholes - 1) * row->tile_m * row->tile_n * BEGIN_ELEMENT_NS : 0.0;
}

/* What the unit that is done last has to do: so many whole tiles, and its share of the groups of one panel. */
static double work_ns(const pace *of, const hx__tiles_plan *p, size_t k, unsigned units, size_t wholes) {
  const hx__kernel_row *const row = of->row;
  const bool tail = p->whole < p->tiles;
  const double depth = row->slices == 1 ? (double)k : ceil((double)k / (double)hx__plan_lesser(p->panels, row->slices));
  const double through = row->in_place && !tail && p->panels > 1 ? THROUGH_PANELS : 1.0;
  return through * depth * step_ns(of, wholes) + (tail ? parts_ns(of, p, k, units, wholes) : 0.0);
}

static double product_ns(const hx__kernel_row *row, hx__layout layout, double percent, const hx__tiles_plan *p,
                         const hx__tiles_shape *s, unsigned units) {
  const size_t tail = p->tiles - p->whole, at_once = p->panels < row->slices ? p->panels : row->slices;
  const double area = (double)row->tile_m * row->tile_n, k = (double)s->k;
  const double full = area * (double)at_once / (FMA_A_NS * 0.01 * percent * nearness(row, s));
  const pace of = {row, full, row->chain[layout] * 1e-3};
  const size_t wholes = tail == 0 ? hx__plan_ceiling(p->whole, units) : p->whole / units;
  const double more = tail == 0 ? 0.0 : uneven(row, wholes, p->groups - p->whole, units);
  double work = (1.0 - more) * work_ns(&of, p, s->k, units, wholes);
  if (more > 0.0) work += more * work_ns(&of, p, s->k, units, wholes + 1);
  /* The last panel alone has them, and is shorter where there are others. */
  const double odd = REST * (double)(s->k % row->tile_k), last = (double)((s->k - 1) % HX__PANEL + 1);
  const double late = tail && p->panels > 1 ? fmax(odd + last - HX__PANEL, 0.0) : odd;
  const double rest = row->in_place || row->fours ? late * fmax(full, of.alone_ns) : 0.0;
  const double fetch = row->fours && rest > 0.0 ? FETCH_NS : 0.0;
  const double begin = row->in_place ? begin_ns(row, wholes + (more > 0.0)) : 0.0;
  const double read = (double)p->tiles * (row->tile_m + row->tile_n) * k * 4.0 / READ_BYTES_A_NS;
  const double ns = (row->in_place ? LAUNCH_IN_PLACE_NS : HX__PLAN_LAUNCH_NS) + fmax(work + rest + fetch, read) +
                    begin + store_ns(row, p, s);
  if (tail == 0) return ns;
  if (p->joins && row->chains) return ns + chain_ns(row, p, units);
  if (p->joins) return ns + TICKET_NS + (double)p->panels * TICKET_PANEL_NS;
  return ns + HX__PLAN_JOIN_NS + (double)p->panels * HX__PLAN_JOIN_PANEL_NS + join_bytes_ns(row, p);
}

/* Groups of a row for tens of rows that a compute unit has room for. */
static size_t room(const hx__kernel_row *row) {
  const size_t cells = (size_t)row->tile_m * row->tile_n / row->local[0], registers = 110 + 3 * cells;
  return hx__plan_lesser(resident(row), REGISTERS / (registers * row->local[0]));
}

/* A row for tens of rows or columns of C, all its tiles whole or all in panels. Groups that the units have no room for
 * wait until those before them end; where a unit has room for four, those do at the same time, and the others then fill
 * one unit after the other. */
static double skinny_ns(const hx__kernel_row *row, hx__layout layout, double percent, const hx__tiles_plan *p,
                        const hx__tiles_shape *s, unsigned units) {
  const double alone = row->chain[layout] * 1e-3;
  const pace of = {row, (double)row->tile_m * row->tile_n / (FMA_A_NS * 0.01 * percent), alone};
  const size_t last = (s->k - 1) % HX__PANEL + 1, short_of = p->panels > 1 && last < SHORT_PANEL;
  const size_t groups = p->whole ? p->tiles : p->tiles * (p->panels - short_of), full_unit = room(row);
  const size_t share = hx__plan_ceiling(groups, units),
               rounds = full_unit > 4 ? share / full_unit : groups / (full_unit * units);
  const size_t others = full_unit > 4 || rounds == 0 ? share - rounds * full_unit : groups % (full_unit * units);
  const double step = (double)rounds * step_ns(&of, full_unit) + step_ns(&of, hx__plan_lesser(others, full_unit));
  const double singles = p->lies & HX__LIES_B_IN_FOURS ? 1.0 : SKINNY_SINGLES;
  const double work = singles * (double)(p->whole ? s->k : hx__plan_lesser(s->k, HX__PANEL)) * step;
  const double rest = REST * (double)(s->k % row->tile_k) * alone;
  const double read = (double)p->tiles * (row->tile_m + row->tile_n) * (double)s->k * 4.0 / READ_BYTES_A_NS;
  const double ns = LAUNCH_IN_PLACE_NS + fmax(work + (p->whole || p->panels == 1 ? rest : 0.0), read);
  if (p->whole) return ns + begin_ns(row, share);
  const double join = p->joins ? TICKET_NS + (double)p->panels * TICKET_PANEL_NS
                               : HX__PLAN_JOIN_NS + (double)p->panels * HX__PLAN_JOIN_PANEL_NS;
  return ns + join + join_bytes_ns(row, p);
}

static double time_ns(const hx__kernel_row *row, hx__layout layout, double percent, const hx__tiles_plan *p,
                      const hx__tiles_shape *s, unsigned units) {
  return (row->skinny ? skinny_ns : product_ns)(row, layout, percent, p, s, units);
}

/* Columns of B that lie a multiple of 4 KB apart meet in few sets of the cache, of 1 KB in some; with four stages
 * nobody waits for that, but where a group has few warps, and then from 128 bytes on. What is copied by fours is less
 * than that at once; there B as [k][column] slows it where its columns are few tiles', which all groups read at once.
 */
static double spread(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s) {
  if (row->fours) return layout == HX__LAYOUT_NN && s->n <= 3 * row->tile_n && s->m >= 8 * s->n ? FEW_READ : 1.0;
  if (layout != HX__LAYOUT_NT) return 1.0;
  if (row->stages > 2) return row->slices > 1 || s->b.cs % 32 != 0 ? 1.0 : FEW_WARPS_SPREAD;
  if (s->b.cs % 256 != 0) return 1.0;
  return s->b.cs % 1024 == 0 ? SPREAD_4K : SPREAD_1K;
}

/* Whether a row reads lines of an operand that lies [k][line] where they are. */
static bool reads(const hx__kernel_row *row, bool even, size_t ld, size_t lines) {
  return row->width == 1 || (even && ld % row->width == 0 && lines % row->width == 0);
}

/* Whether what a row copies by four neighbours of k lies so. */
static bool lies_in_fours(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s, bool copy_a) {
  if (!row->fours) return true;
  return (copy_a || (s->a.even && s->a.rs % 4 == 0)) && (layout != HX__LAYOUT_NT || (s->b.even && s->b.cs % 4 == 0));
}

/* The plan with all tiles after the first `whole` ones cut into panels. */
static hx__tiles_plan cut_after(size_t whole, const hx__kernel_row *row, hx__layout layout, double percent,
                                const hx__tiles_plan *p, const hx__tiles_shape *s, unsigned units) {
  const size_t tail = p->tiles - whole, area = (size_t)row->tile_m * row->tile_n;
  hx__tiles_plan cut = *p;
  cut.whole = whole;
  cut.groups = whole + tail * hx__plan_ceiling(p->panels, row->slices);
  cut.joins = row->in_place && p->panels <= TICKET_PANELS && tail <= HX__JOIN_TICKETS;
  cut.ns = INFINITY;
  if (p->panels == 1 || tail == 0 || tail * area * sizeof(float) > HX__PLAN_MOST_PARTIALS / p->panels) return cut;
  cut.ns = time_ns(row, layout, percent, &cut, s, units);
  if (!row->chains || p->panels > HX__JOIN_TICKETS / tail) return cut;
  hx__tiles_plan chain = cut;
  chain.joins = true;
  chain.ns = time_ns(row, layout, percent, &chain, s, units);
  return chain.ns < cut.ns ? chain : cut;
}

/* One way round. */
static hx__tiles_plan plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s, unsigned units) {
  const double percent = (row->in_place ? 1.0 : spread(row, layout, s)) * row->rate[layout];
  hx__tiles_plan p = {.tiles = hx__plan_ceiling(s->m, row->tile_m) * hx__plan_ceiling(s->n, row->tile_n),
                      .panels = hx__plan_ceiling(s->k, HX__PANEL),
                      .tile_m = row->tile_m,
                      .tile_n = row->tile_n};
  const bool fits = layout == HX__LAYOUT_TN
                        ? s->a.rs == 1 && s->a.cs != 1 && reads(row, s->a.even, s->a.cs, s->m) && s->m >= row->tile_m
                    : layout == HX__LAYOUT_NT ? s->b.rs == 1 && s->b.cs != 1 && s->n >= row->tile_n
                                              : !row->skinny || (s->b.cs == 1 && s->b.rs != 1);
  const bool narrow = !row->skinny || s->m <= SKINNY_ROWS;
  p.lies = hx__plan_lies(s->a.rs, s->a.cs, s->a.even, s->m) | hx__plan_lies(s->b.cs, s->b.rs, s->b.even, s->n) << 1;
  if (row->skinny && layout == HX__LAYOUT_NT && s->b.even && s->b.cs % 4 == 0) p.lies |= HX__LIES_B_IN_FOURS;
  p.copy_a = !row->in_place && layout != HX__LAYOUT_TN && (s->a.cs != 1 || s->m < row->tile_m);
  p.copy_b = !row->in_place && layout != HX__LAYOUT_NT &&
             (s->b.cs != 1 || !reads(row, s->b.even, s->b.rs, s->n) || s->n < row->tile_n);
  p.pitch_a = fours(s->k);
  p.lines_a = hx__plan_greater(s->m, row->tile_m);
  p.pitch_b = hx__plan_greater(fours(s->n), row->tile_n);
  if (!fits || !narrow || percent == 0 || !lies_in_fours(row, layout, s, p.copy_a)) {
    p.ns = INFINITY;
    return p;
  }
  /* All whole, or what does not fill the units cut into panels. */
  const bool can_whole = row->slices == 1 || p.panels <= row->slices;
  p.whole = p.groups = p.tiles;
  p.ns = can_whole ? time_ns(row, layout, percent, &p, s, units) : INFINITY;
  const size_t most = can_whole && !row->skinny ? p.tiles / units * units : 0;
  const hx__tiles_plan some = cut_after(most, row, layout, percent, &p, s, units);
  if (some.ns < p.ns) p = some;
  const bool few_lines = hx__plan_lesser(s->m, s->n) <= SKINNY_ROWS;
  if (most && (!row->in_place || few_lines)) { /* groups of one panel leave less over than those of a tile */
    hx__tiles_plan all = cut_after(0, row, layout, percent, &p, s, units);
    all.ns += all.joins && row->in_place ? join_bytes_ns(row, &all) : 0.0;
    if (all.ns < p.ns) p = all;
  }
  p.partials = (p.tiles - p.whole) * p.panels * row->tile_m * row->tile_n;
  if (p.copy_a) p.ns += COPY_NS + (double)(p.pitch_a * p.lines_a) * 8.0 / COPY_BYTES_A_NS;
  if (p.copy_b) p.ns += COPY_NS + (double)(p.pitch_b * s->k) * 8.0 / COPY_BYTES_A_NS;
  return p;
}

hx__tiles_plan hx__tiles_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *s,
                                  unsigned units) {
  if (row->blocks) return hx__cells_plan_for(row, layout, s, units ? units : 1);
  const hx__tiles_shape other = {s->n, s->m, s->k, {s->b.cs, s->b.rs, s->b.even}, {s->a.cs, s->a.rs, s->a.even}};
  if (row->few) return hx__few_plan_for(row, layout, s, &other, units ? units : 1);
  const hx__tiles_plan straight = plan_for(row, layout, s, units ? units : 1);
  hx__tiles_plan across = plan_for(row, layout, &other, units ? units : 1);
  across.across = true;
  return across.ns < straight.ns ? across : straight;
}
