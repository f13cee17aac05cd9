/* SPDX-License-Identifier: Apache-2.0
 * Estimates the time of a plan. */
#include "kernels/gemm_model.h"

#include <math.h>

const hx__gemm_device hx__gemm_nvidia = {
#define DEVICE(name, value) .name = value,
#include "kernels/device_constants.inc"
#undef DEVICE
};

#define LOCAL_BYTES ((size_t)227 << 10) /* the local memory of a compute unit */
#define REGISTERS 65536u
#define REGISTERS_AN_ITEM 128u
#define PACKED_ROOM 3u /* how many groups a unit had room for when `packed` was measured */

static const hx__gemm_device *const device = &hx__gemm_nvidia;

/* How many groups a compute unit has local memory and registers for. */
static size_t groups_per_unit(const hx__kernel_row *row) {
  const size_t stages = (size_t)(row->tile_m + row->tile_n + 8) * row->tile_k * row->stages * row->slices;
  const size_t by_memory = LOCAL_BYTES / ((stages + (size_t)row->tile_m * row->tile_n) * sizeof(float) + 1024);
  const size_t by_registers = REGISTERS / (REGISTERS_AN_ITEM * row->local[0]);
  return hx__gemm_greater(row->local[0] < 128 || by_memory < by_registers ? by_memory : by_registers, 1);
}

/* The time of one step of k of a row: for the fma at full speed, and for a group that is alone on its compute unit,
 * whose warps stall. */
typedef struct pace {
  const hx__kernel_row *row;
  double full_ns, alone_ns;
} pace;

/* The time of a step of k for several groups of a compute unit: that of all their fma or that of one group alone,
 * whichever is longer, and somewhat more if the two are close. */
static double step_ns(const pace *of, size_t groups) {
  const double busy = (double)groups * of->full_ns / (of->row->slices > 1 && groups > 1 ? device->apart : 1.0);
  const double chain = (double)hx__gemm_ceiling(groups, groups_per_unit(of->row)) * of->alone_ns;
  return sqrt(sqrt(busy * busy * busy * busy + chain * chain * chain * chain));
}

/* The speed if an operand comes from global memory, because each tile reads another part of it: two stages do not hide
 * the latency. */
static double far_speed(const hx__kernel_row *row, const hx__gemm_shape *s) {
  return row->stages == 2 && (s->m <= row->tile_m || s->n <= row->tile_n) ? device->far : 1.0;
}

/* The speed of a group with few warps if its lines share few sets of the cache. Copies as float4 use fewer lines at
 * once, but if there are few tiles of columns, all groups then read the same columns of B laid out [k][column]. */
static double spread_speed(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *s) {
  if (hx__kernel_in_place(row)) return 1.0;
  if (row->vec4)
    return layout == HX__LAYOUT_NN && s->n <= 3 * row->tile_n && s->m >= 8 * s->n ? device->vec4_shared : 1.0;
  return layout == HX__LAYOUT_NT && row->slices == 1 && s->b.cs % 32 == 0 ? device->few_warps_spread : 1.0;
}

/* The probability that the unit that ends last has one full tile more than `full`, when `parts` groups of one panel
 * follow: the device distributes groups unevenly until it is full. */
static double uneven_share(const hx__kernel_row *row, size_t full, size_t parts, unsigned units) {
  if (hx__kernel_in_place(row)) return full > 0 && full < 6 && groups_per_unit(row) > 1 ? 1.0 : 0.0;
  return full > 0 && full < groups_per_unit(row) && parts >= units ? device->one_more : 0.0;
}

double hx__gemm_join_bytes_ns(const hx__kernel_row *row, const hx__gemm_plan *p) {
  return (double)((p->tiles - p->full_tiles) * p->panels) * row->tile_m * row->tile_n * 8.0 / device->join_bytes_ns;
}

/* The time to store C if k is one panel; with more panels it is a small part, which the rates include. Groups that
 * share a unit store while others compute; of the slices only the first one stores. */
static double store_ns(const hx__kernel_row *row, const hx__gemm_plan *p, const hx__gemm_shape *s) {
  if (p->panels > 1 || hx__kernel_in_place(row)) return 0.0;
  const double rate = row->slices > 1 ? device->store_slices_bytes_ns
                                      : device->store_bytes_ns * sqrt(sqrt((double)groups_per_unit(row)));
  return (double)(s->m * s->n) * sizeof(float) / rate;
}

/* The number of groups of the unit that has the most. */
static size_t most_groups_of_unit(size_t groups, unsigned units) {
  return (size_t)ceil((double)groups * device->uneven / (double)units - 1e-9);
}

/* The time if all tiles are cut into panels, of which the short last ones come after the others. If there are at least
 * as many groups as the units have room for, each unit gets as many as it has room for at once, and some units get more
 * full panels than others. The groups of a unit with room for three may end together and be followed by as many, while
 * other units have none. */
static double panels_ns(const pace *of, const hx__gemm_plan *p, size_t k, unsigned units) {
  const size_t here = groups_per_unit(of->row), room = here * units, last = (k - 1) % HX__PANEL + 1;
  const size_t shorts = last < HX__PANEL ? p->tiles : 0, full = p->groups - shorts, over = full % room;
  const bool later = full >= room, fit = over + shorts < room + later;
  const size_t each = over ? hx__gemm_lesser(here, most_groups_of_unit(over, units) + !fit) : 0;
  const size_t beside = fit ? hx__gemm_lesser(here, most_groups_of_unit(over + shorts, units)) : here;
  const size_t after = fit ? 0 : over + shorts - room, last_round = after % room;
  const double all = step_ns(of, here), rounds = (double)(full / room) * HX__PANEL * all;
  const double short_rounds = (double)(after / room * last) * all;
  const double even = (double)(HX__PANEL - last) * step_ns(of, each) +
                      (double)last * (step_ns(of, beside) + step_ns(of, hx__gemm_ceiling(last_round, units)));
  const double packed = (double)((over ? HX__PANEL : shorts ? last : 0) + (last_round ? last : 0)) * all;
  const bool may_pack = of->row->chains && p->joins && here == PACKED_ROOM && (later || !fit);
  return rounds + short_rounds + even + (may_pack ? device->packed * fmax(packed - even, 0.0) : 0.0);
}

/* The time of groups of one panel, after those of full tiles (`full` for each unit) or alone. */
static double parts_ns(const pace *of, const hx__gemm_plan *p, size_t k, unsigned units, size_t full) {
  const hx__kernel_row *const row = of->row;
  const bool steady = (row->chains && p->joins) || (row->slices > 1 && row->stages > 2);
  const double speed = steady ? 1.0 : device->partial_speed;
  const double panel = p->panels > 2 ? (double)k / (double)p->panels : fmin((double)k, HX__PANEL);
  const size_t share = hx__gemm_ceiling(p->groups - p->full_tiles, units);
  if (p->full_tiles == 0 && row->slices == 1) return panels_ns(of, p, k, units) / speed;
  if (p->full_tiles == 0 || groups_per_unit(row) == 1) return panel * step_ns(of, share) / speed;
  return device->beside * panel * (step_ns(of, full + share) - step_ns(of, full)) / speed;
}

/* The time to add chains of panels: one group adds the panels of a tile that end at the same time. Panels beside full
 * tiles end earlier. */
static double chain_ns(const hx__kernel_row *row, const hx__gemm_plan *p, unsigned units) {
  if (p->full_tiles) return device->chain_ns + device->chain_panel_ns;
  const double together = (double)(groups_per_unit(row) * units) / (double)p->tiles;
  return device->chain_ns + device->chain_panel_ns * fmin(together, (double)p->panels);
}

/* The time of the unit that ends last: its full tiles, and its share of the groups of one panel. */
static double work_ns(const pace *of, const hx__gemm_plan *p, size_t k, unsigned units, size_t full) {
  const hx__kernel_row *const row = of->row;
  const bool cut = p->full_tiles < p->tiles;
  const double depth = row->slices == 1 ? (double)k : ceil((double)k / (double)hx__gemm_lesser(p->panels, row->slices));
  const double through = hx__kernel_in_place(row) && !cut && p->panels > 1 ? device->through_panels : 1.0;
  return through * depth * step_ns(of, full) + (cut ? parts_ns(of, p, k, units, full) : 0.0);
}

double hx__gemm_tiles_ns(const hx__kernel_row *row, hx__layout layout, const hx__gemm_plan *p, const hx__gemm_shape *s,
                         unsigned units) {
  const bool cut = p->full_tiles < p->tiles, in_place = hx__kernel_in_place(row);
  const size_t at_once = hx__gemm_lesser(p->panels, row->slices);
  const double area = (double)row->tile_m * row->tile_n, k = (double)s->k;
  const double speed = 0.01 * row->rate[layout] * spread_speed(row, layout, s) * far_speed(row, s);
  const pace of = {row, area * (double)at_once / (device->fma_ns * speed), row->chain[layout] * 1e-3};
  const size_t full = cut ? p->full_tiles / units : hx__gemm_ceiling(p->full_tiles, units);
  const double more = cut ? uneven_share(row, full, p->groups - p->full_tiles, units) : 0.0;
  double work = (1.0 - more) * work_ns(&of, p, s->k, units, full);
  if (more > 0.0) work += more * work_ns(&of, p, s->k, units, full + 1);
  /* Only the last panel can have an odd number of steps, and it is shorter if there are others. */
  const double odd = device->odd_steps * (double)(s->k % row->tile_k), last = (double)((s->k - 1) % HX__PANEL + 1);
  const double added = cut && p->panels > 1 ? fmax(odd + last - HX__PANEL, 0.0) : odd;
  const double rest = in_place || row->vec4 ? added * fmax(of.full_ns, of.alone_ns) : 0.0;
  const double fetch = row->vec4 && rest > 0.0 ? device->odd_fetch_ns : 0.0;
  const size_t follow = full + (more > 0.0);
  const double begin = in_place && follow > 1 ? (double)(follow - 1) * area * device->begin_element_ns : 0.0;
  const double read = (double)p->tiles * (row->tile_m + row->tile_n) * k * 4.0 / device->read_bytes_ns;
  const double ns = (in_place ? device->launch_in_place_ns : device->launch_ns) + fmax(work + rest + fetch, read) +
                    begin + store_ns(row, p, s);
  if (!cut) return ns;
  if (p->joins && row->chains) return ns + chain_ns(row, p, units);
  if (p->joins) return ns + device->ticket_ns + (double)p->panels * device->ticket_panel_ns;
  return ns + device->join_ns + (double)p->panels * device->join_panel_ns + hx__gemm_join_bytes_ns(row, p);
}

double hx__gemm_few_rows_ns(const hx__kernel_row *row, const hx__gemm_plan *p, const hx__gemm_shape *s, size_t turns,
                            unsigned units) {
  const double elements = (double)s->n * (double)s->k, fma = elements * row->tile_m / (device->few_rows_fma_ns * units);
  double ns = device->launch_few_rows_ns + device->few_rows_row_ns * row->tile_m +
              fmax(fmax(4.0 * elements / device->few_rows_bytes_ns, fma), device->few_rows_panel_ns * (double)turns);
  if (!(p->layout & HX__B_BY_K)) ns += device->few_rows_group_ns * (double)(p->groups / units);
  if (!p->joins) return ns;
  const size_t sums = p->panels * row->tile_m * row->tile_n, held = row->tile_m > 4 ? 2048 : 4096;
  return ns + device->few_rows_join_ns + device->few_rows_join_turn_ns * (double)hx__gemm_ceiling(sums, held);
}

double hx__gemm_batch_turns_ns(const hx__kernel_row *row, size_t tiles, size_t k, unsigned units) {
  const double odd = row->vec4 && k % row->tile_k ? device->batch_odd_ns : 0.0;
  return (double)(tiles / units) * (row->tile_m * row->tile_n * device->batch_element_ns + odd);
}

double hx__gemm_batch_ns(const hx__kernel_row *row, hx__layout layout, const hx__gemm_plan *p, const hx__gemm_shape *s,
                         unsigned units) {
  const double area = (double)row->tile_m * row->tile_n, k = (double)(s->k + row->start);
  const double tiles = (double)(hx__gemm_ceiling(p->tiles, units) * units); /* some units wait for the last ones */
  const double work = tiles * area * k / (device->fma_ns * units * 0.01 * row->rate[layout]);
  const double bytes = 4.0 * (double)(s->m * s->k + s->k * s->n + s->m * s->n) * (double)s->products;
  return device->launch_ns + fmax(work, bytes / device->batch_bytes_ns);
}

double hx__gemm_copies_ns(const hx__gemm_plan *p, const hx__gemm_shape *s) {
  const double products = s->products > 1 ? (double)s->products : 1.0;
  double ns = 0.0;
  if (p->copy_a) ns += device->copy_ns + products * (double)(p->pitch_a * p->lines_a) * 8.0 / device->copy_bytes_ns;
  if (p->copy_b) ns += device->copy_ns + products * (double)(p->pitch_b * s->k) * 8.0 / device->copy_bytes_ns;
  return ns;
}
