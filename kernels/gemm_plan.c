/* SPDX-License-Identifier: Apache-2.0
 * Lists the plans that a row offers for a product, and chooses the fastest by gemm_model.c. */
#include "kernels/gemm_plan.h"

#include <math.h>

#include "kernels/gemm_model.h"

#define MOST_PARTIALS ((size_t)256 << 20) /* bytes of partial sums that are joined later */
#define NARROW 32u                        /* a C of so few rows or columns has few tiles */
#define FEW_ROWS_GROUPS 2u                /* groups for which a compute unit has registers, with B [k][column] */
#define FEW_ROWS_STRIDE ((size_t)1 << 30)
#define FEW_ROWS_PARTIALS ((size_t)64 << 20) /* elements */

static size_t round_up_to_4(size_t n) { return (n + 3) & ~(size_t)3; }

/* The layout bits of A for rows that read it in place. For B, pass its strides exchanged and shift the result by one.
 * */
static uint32_t layout_of(size_t rs, size_t cs, bool aligned, size_t lines) {
  if (rs != 1 || cs == 1) return 0;
  return HX__A_BY_K | (aligned && cs % 4 == 0 && lines % 4 == 0 ? HX__A_VEC4 : 0);
}

/* Whether a row can read an operand laid out [k][line] in place. */
static bool reads_in_place(const hx__kernel_row *row, bool aligned, size_t ld, size_t lines) {
  return row->width == 1 || (aligned && ld % row->width == 0 && lines % row->width == 0);
}

/* Whether the operands that a row copies as float4 along k are aligned. */
static bool vec4_aligned(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *s, bool copy_a) {
  if (!row->vec4) return true;
  return (copy_a || (s->a.aligned && s->a.rs % 4 == 0)) &&
         (layout != HX__LAYOUT_NT || (s->b.aligned && s->b.cs % 4 == 0));
}

/* The plan in which all tiles from `full_tiles` on are cut into panels. */
static hx__gemm_plan cut_after(size_t full_tiles, const hx__kernel_row *row, hx__layout layout, const hx__gemm_plan *p,
                               const hx__gemm_shape *s, unsigned units) {
  const size_t cut_tiles = p->tiles - full_tiles, area = (size_t)row->tile_m * row->tile_n;
  hx__gemm_plan cut = *p;
  cut.full_tiles = full_tiles;
  cut.groups = full_tiles + cut_tiles * hx__gemm_ceiling(p->panels, row->slices);
  cut.joins = hx__kernel_in_place(row) && p->panels <= HX__GEMM_JOIN_PANELS && cut_tiles <= HX__JOIN_TICKETS;
  cut.ns = INFINITY;
  if (p->panels == 1 || cut_tiles == 0 || cut_tiles * area * sizeof(float) > MOST_PARTIALS / p->panels) return cut;
  cut.ns = hx__gemm_tiles_ns(row, layout, &cut, s, units);
  if (!row->chains || p->panels > HX__JOIN_TICKETS / cut_tiles) return cut;
  hx__gemm_plan chain = cut;
  chain.joins = true;
  chain.ns = hx__gemm_tiles_ns(row, layout, &chain, s, units);
  return chain.ns < cut.ns ? chain : cut;
}

/* The time of several products, all of whose tiles are full. */
static double batch_ns(const hx__kernel_row *row, hx__layout layout, hx__gemm_plan all, const hx__gemm_shape *s,
                       unsigned units) {
  if (__builtin_mul_overflow(all.tiles, s->products, &all.tiles)) return INFINITY;
  all.full_tiles = all.groups = all.tiles;
  return hx__gemm_tiles_ns(row, layout, &all, s, units) + hx__gemm_batch_turns_ns(row, all.tiles, s->k, units) +
         hx__gemm_copies_ns(&all, s);
}

/* The plan of a row of HX__SHAPE_TILES or HX__SHAPE_SMALL in one orientation. */
static hx__gemm_plan tiles_plan(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *s, unsigned units) {
  const bool in_place = hx__kernel_in_place(row);
  hx__gemm_plan p = {.tiles = hx__gemm_ceiling(s->m, row->tile_m) * hx__gemm_ceiling(s->n, row->tile_n),
                     .panels = hx__gemm_ceiling(s->k, HX__PANEL)};
  const bool fits =
      layout == HX__LAYOUT_TN
          ? s->a.rs == 1 && s->a.cs != 1 && reads_in_place(row, s->a.aligned, s->a.cs, s->m) && s->m >= row->tile_m
      : layout == HX__LAYOUT_NT ? s->b.rs == 1 && s->b.cs != 1 && s->n >= row->tile_n
                                : true;
  p.layout = layout_of(s->a.rs, s->a.cs, s->a.aligned, s->m) | layout_of(s->b.cs, s->b.rs, s->b.aligned, s->n) << 1;
  p.copy_a = !in_place && layout != HX__LAYOUT_TN && (s->a.cs != 1 || s->m < row->tile_m);
  p.copy_b = !in_place && layout != HX__LAYOUT_NT &&
             (s->b.cs != 1 || !reads_in_place(row, s->b.aligned, s->b.rs, s->n) || s->n < row->tile_n);
  p.pitch_a = round_up_to_4(s->k);
  p.lines_a = hx__gemm_greater(s->m, row->tile_m);
  p.pitch_b = hx__gemm_greater(round_up_to_4(s->n), row->tile_n);
  p.ns = INFINITY;
  if (!fits || row->rate[layout] == 0 || !vec4_aligned(row, layout, s, p.copy_a)) return p;
  /* Either all tiles are full, or those that do not fill the units are cut into panels. */
  const bool can_be_full = row->slices == 1 || p.panels <= row->slices;
  p.full_tiles = p.groups = p.tiles;
  if (s->products > 1) {
    if (row->slices == 1) p.ns = batch_ns(row, layout, p, s, units);
    return p;
  }
  if (can_be_full) p.ns = hx__gemm_tiles_ns(row, layout, &p, s, units);
  const size_t most = can_be_full ? p.tiles / units * units : 0;
  const hx__gemm_plan some = cut_after(most, row, layout, &p, s, units);
  if (some.ns < p.ns) p = some;
  if (most && (!in_place || hx__gemm_lesser(s->m, s->n) <= NARROW)) { /* panels leave fewer units idle than tiles */
    hx__gemm_plan all = cut_after(0, row, layout, &p, s, units);
    all.ns += all.joins && in_place ? hx__gemm_join_bytes_ns(row, &all) : 0.0;
    if (all.ns < p.ns) p = all;
  }
  p.partials = (p.tiles - p.full_tiles) * p.panels * row->tile_m * row->tile_n;
  p.ns += hx__gemm_copies_ns(&p, s);
  return p;
}

/* The plan of a row of HX__SHAPE_BATCH. */
static hx__gemm_plan batch_plan(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *s, unsigned units) {
  const size_t items = (row->tile_m / row->item_m) * (row->tile_n / row->item_n);
  hx__gemm_plan p = {
      .tiles = hx__gemm_ceiling(s->m, row->tile_m) * hx__gemm_ceiling(s->n, row->tile_n), .panels = 1, .ns = INFINITY};
  if (row->rate[layout] == 0 || s->products < 2 || s->k > HX__PANEL || p.tiles > UINT32_MAX / s->products) return p;
  p.tiles *= s->products;
  p.full_tiles = p.tiles;
  p.groups = hx__gemm_ceiling(p.tiles, row->local[0] / items);
  const bool a_by_k = s->a.rs == 1 && s->a.cs != 1, b_by_k = s->b.cs == 1 && s->b.rs != 1;
  const size_t lda = a_by_k ? s->a.cs : s->a.rs, ldb = b_by_k ? s->b.rs : s->b.cs;
  const bool a_vec4 = s->a.aligned && lda % 4 == 0 && (a_by_k ? s->m : s->k) % 4 == 0;
  const bool b_vec4 = s->b.aligned && ldb % 4 == 0 && (b_by_k ? s->n : s->k) % 4 == 0;
  p.layout =
      (a_by_k ? HX__A_BY_K : 0) | (b_by_k ? HX__B_BY_K : 0) | (a_vec4 ? HX__A_VEC4 : 0) | (b_vec4 ? HX__B_VEC4 : 0);
  p.ns = hx__gemm_batch_ns(row, layout, &p, s, units);
  return p;
}

/* For B laid out [k][column]: chooses persistent groups with equally many turns. Each computes panels of one tile, or
 * all panels of several tiles. */
static void spread_over_units(hx__gemm_plan *p, unsigned units) {
  const size_t most = (size_t)units * FEW_ROWS_GROUPS, at_once = most / p->tiles;
  p->full_tiles = p->tiles > most ? hx__gemm_ceiling(p->tiles, hx__gemm_ceiling(p->tiles, most)) : p->tiles;
  const size_t y = at_once < 1           ? 1
                   : at_once < p->panels ? hx__gemm_ceiling(p->panels, hx__gemm_ceiling(p->panels, at_once))
                                         : p->panels;
  p->groups = p->full_tiles * y;
  p->joins = y > 1;
}

/* The plan of a row of HX__SHAPE_FEW_ROWS in one orientation. B is read once, so the time depends on the use of memory
 * bandwidth. */
static hx__gemm_plan few_rows_plan(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *s,
                                   unsigned units) {
  hx__gemm_plan p = {
      .tiles = hx__gemm_ceiling(s->n, row->tile_n), .panels = hx__gemm_ceiling(s->k, HX__PANEL), .ns = INFINITY};
  const bool by_k = s->b.cs == 1 && s->b.rs != 1;
  const size_t stride = by_k ? s->b.rs : s->b.cs;
  if (s->products > 1 || s->m > row->tile_m || row->rate[layout] == 0 || by_k != (layout == HX__LAYOUT_NN) ||
      stride >= FEW_ROWS_STRIDE)
    return p;
  p.layout = (s->a.rs == 1 && s->a.cs != 1 ? HX__A_BY_K : 0) | (by_k ? HX__B_BY_K : 0) |
             (s->b.aligned && stride % 4 == 0 ? HX__B_VEC4 : 0);
  if (by_k) {
    spread_over_units(&p, units);
  } else {
    p.full_tiles = 1;
    p.groups = p.tiles * p.panels;
    p.joins = p.panels > 1;
  }
  const size_t sums = (size_t)row->tile_m * row->tile_n;
  if (p.groups > UINT32_MAX || p.panels > UINT32_MAX / p.tiles) return p;
  if (p.joins && (p.tiles > HX__JOIN_TICKETS || p.panels > FEW_ROWS_PARTIALS / sums / p.tiles)) return p;
  p.partials = p.joins ? p.tiles * p.panels * sums : 0;
  const size_t turns =
      by_k ? hx__gemm_ceiling(p.tiles, p.full_tiles) * hx__gemm_ceiling(p.panels, p.groups / p.full_tiles) : 1;
  p.ns = hx__gemm_few_rows_ns(row, &p, s, turns, units);
  return p;
}

hx__gemm_plan hx__gemm_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *s, unsigned units) {
  const hx__gemm_operand a = {s->b.cs, s->b.rs, s->b.aligned}, b = {s->a.cs, s->a.rs, s->a.aligned};
  const hx__gemm_shape other = {s->n, s->m, s->k, a, b, s->products};
  hx__gemm_plan (*const plan)(const hx__kernel_row *, hx__layout, const hx__gemm_shape *, unsigned) =
      row->shape == HX__SHAPE_FEW_ROWS ? few_rows_plan
      : row->shape == HX__SHAPE_BATCH  ? batch_plan
                                       : tiles_plan;
  const hx__gemm_plan straight = plan(row, layout, s, units ? units : 1);
  hx__gemm_plan transposed = plan(row, layout, &other, units ? units : 1);
  transposed.transposed = true;
  return transposed.ns < straight.ns ? transposed : straight;
}
