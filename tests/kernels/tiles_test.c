/* SPDX-License-Identifier: Apache-2.0
 * Plans of products by a set of rows: what a program can read in place, what is copied first, and that tiles and panels
 * make up the whole, for every row, layout and way of lying. No device is needed. */
#include <math.h>

#include "kernels/tiles.h"
#include "tests/check.h"

enum { UNITS = 132 };

static size_t up(size_t n, size_t of) { return (n + of - 1) / of; }

static hx__tiles_shape shape_of(size_t m, size_t n, size_t k, bool trans_a, bool trans_b) {
  const hx__tiles_operand a = {trans_a ? 1 : k, trans_a ? m : 1, true}, b = {trans_b ? 1 : n, trans_b ? k : 1, true};
  return (hx__tiles_shape){m, n, k, a, b};
}

/* The operands as the plan turns them. */
static hx__tiles_shape turned(const hx__tiles_plan *p, const hx__tiles_shape *s) {
  if (!p->across) return *s;
  return (hx__tiles_shape){s->n, s->m, s->k, {s->b.cs, s->b.rs, s->b.even}, {s->a.cs, s->a.rs, s->a.even}};
}

/* Of a row for few rows of C: every panel of every tile is some group's, and what waits for a join has its place. */
static void check_few(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *given) {
  const hx__tiles_plan p = hx__tiles_plan_for(row, layout, given, UNITS);
  const bool fits = given->m <= row->tile_m || given->n <= row->tile_m;
  if (!fits) CHECK(isinf(p.ns), "%s: %zux%zu are not few rows", row->name, given->m, given->n);
  if (isinf(p.ns)) return;
  const hx__tiles_shape s = turned(&p, given);
  const bool by_k = p.lies & HX__LIES_B_BY_K;
  CHECK(s.m <= row->tile_m && p.tiles == up(s.n, row->tile_n) && p.panels == up(s.k, HX__PANEL), "%s: %zux%zux%zu",
        row->name, s.m, s.n, s.k);
  CHECK(by_k == (layout == HX__LAYOUT_NN) && (by_k ? s.b.cs == 1 : s.b.rs == 1), "%s: B lies otherwise", row->name);
  CHECK(p.lies & HX__LIES_A_BY_K ? s.a.rs == 1 : s.a.cs == 1, "%s: A lies otherwise", row->name);
  CHECK(!(p.lies & HX__LIES_B_IN_FOURS) || (s.b.even && (by_k ? s.b.rs : s.b.cs) % 4 == 0), "%s: B is not in fours",
        row->name);
  CHECK(p.partials == (p.joins ? p.tiles * p.panels * row->tile_m * row->tile_n : 0), "%s: %zu sums that wait",
        row->name, p.partials);
  if (!by_k) {
    CHECK(p.groups == p.tiles * p.panels && p.joins == (p.panels > 1), "%s: %zu groups", row->name, p.groups);
    return;
  }
  const size_t by = p.groups / p.whole;
  CHECK(p.groups % p.whole == 0 && p.whole <= p.tiles && by <= p.panels && p.joins == (by > 1), "%s: %zu groups, %zu",
        row->name, p.groups, p.whole);
  CHECK(by == 1 || p.whole == p.tiles, "%s: panels of several tiles apart", row->name);
  CHECK(p.groups <= 2 * UNITS, "%s: %zu groups at once", row->name, p.groups);
}

static void check_plan(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *given) {
  const hx__tiles_plan p = hx__tiles_plan_for(row, layout, given, UNITS);
  const char *const name = row->name;
  if (layout == HX__LAYOUT_NN && row->rate[layout] != 0 && row->slices == 1 && !row->skinny && !row->fours &&
      (!row->blocks || (given->k > HX__PANEL && given->k <= 1024)))
    CHECK(isfinite(p.ns), "%s: %zux%zux%zu has no plan", name, given->m, given->n, given->k);
  if (row->rate[layout] == 0) CHECK(isinf(p.ns), "%s has no program of layout %d", name, (int)layout);
  if (row->blocks && given->k <= HX__PANEL) CHECK(isinf(p.ns), "%s: one panel waits to be joined", name);
  if (isinf(p.ns)) return;
  const hx__tiles_shape s = turned(&p, given);
  const size_t slices = row->slices;
  if (row->blocks)
    CHECK(!p.across && p.whole == 0 && p.tile_m % row->block == 0 && p.tile_n % row->block == 0 &&
              p.tile_m * p.tile_n <= row->blocks * row->block * row->block && p.tile_m <= row->sides[0] * row->block &&
              p.tile_n <= row->sides[1] * row->block && (row->lines == 0 || p.tile_m + p.tile_n <= row->lines),
          "%s: a tile of %ux%u", name, p.tile_m, p.tile_n);
  else
    CHECK(p.tile_m == row->tile_m && p.tile_n == row->tile_n, "%s: a tile of %ux%u", name, p.tile_m, p.tile_n);
  CHECK(p.tiles == up(s.m, p.tile_m) * up(s.n, p.tile_n) && p.panels == up(s.k, HX__PANEL) && p.whole <= p.tiles &&
            p.groups == p.whole + (p.tiles - p.whole) * up(p.panels, slices),
        "%s: %zux%zux%zu: %zu tiles, %zu whole, %zu panels, %zu groups", name, s.m, s.n, s.k, p.tiles, p.whole,
        p.panels, p.groups);
  CHECK(slices == 1 || p.whole == 0 || p.panels <= slices, "%s: %zu panels at once", name, p.panels);
  const size_t tail = p.tiles - p.whole, taken = row->in_place ? tail : row->chains ? tail * p.panels : SIZE_MAX;
  CHECK(!p.joins || taken <= HX__JOIN_TICKETS, "%s: %zux%zux%zu takes %zu tickets", name, s.m, s.n, s.k, taken);
  if (row->in_place) {
    CHECK(!p.copy_a && !p.copy_b, "%s copies", name);
    CHECK(p.lies & HX__LIES_A_BY_K ? s.a.rs == 1 : s.a.cs == 1, "%s: A lies otherwise", name);
    CHECK(p.lies & HX__LIES_B_BY_K ? s.b.cs == 1 : s.b.rs == 1, "%s: B lies otherwise", name);
    CHECK(!(p.lies & HX__LIES_A_IN_FOURS) || (p.lies & HX__LIES_A_BY_K && s.a.even && s.a.cs % 4 == 0 && s.m % 4 == 0),
          "%s: A is not in fours", name);
    CHECK(!(p.lies & HX__LIES_B_IN_FOURS) || (s.b.even && (p.lies & HX__LIES_B_BY_K ? s.b.rs % 4 == 0 && s.n % 4 == 0
                                                                                    : row->skinny && s.b.cs % 4 == 0)),
          "%s: B is not in fours", name);
    CHECK(!row->skinny || !(p.lies & HX__LIES_B_BY_K) == (layout == HX__LAYOUT_NT), "%s: B lies otherwise", name);
    CHECK(layout != HX__LAYOUT_NT || s.n >= row->tile_n, "%s: %zu columns", name, s.n);
    return;
  }
  CHECK(!row->fours ||
            ((p.copy_a || (s.a.even && s.a.rs % 4 == 0)) && (layout != HX__LAYOUT_NT || (s.b.even && s.b.cs % 4 == 0))),
        "%s: operands are not in fours", name);
  /* What is not copied lies as the program reads it, a whole tile of it at least. */
  if (!p.copy_a && layout == HX__LAYOUT_TN)
    CHECK(s.a.rs == 1 && (row->width == 1 || (s.a.even && s.a.cs % 4 == 0)) && s.m >= row->tile_m,
          "%s: A by k of %zu rows", name, s.m);
  else if (!p.copy_a)
    CHECK(s.a.cs == 1 && s.m >= row->tile_m, "%s: A by rows, %zu of them", name, s.m);
  else
    CHECK(layout != HX__LAYOUT_TN && p.pitch_a >= s.k && p.lines_a >= row->tile_m, "%s: the copy of A", name);
  if (!p.copy_b && layout == HX__LAYOUT_NT)
    CHECK(s.b.rs == 1 && s.n >= row->tile_n, "%s: B by columns, %zu of them", name, s.n);
  else if (!p.copy_b)
    CHECK(s.b.cs == 1 && (row->width == 1 || (s.b.even && s.b.rs % 4 == 0 && s.n % 4 == 0)) && s.n >= row->tile_n,
          "%s: B by k", name);
  else
    CHECK(layout != HX__LAYOUT_NT && p.pitch_b >= s.n && p.pitch_b % 4 == 0, "%s: the copy of B", name);
}

/* The fastest plan of the set. */
static hx__tiles_plan best_of(const hx__kernel_row *rows, size_t count, const hx__tiles_shape *s) {
  hx__tiles_plan best = {.ns = INFINITY};
  for (size_t i = 0; i < count; i++)
    for (int layout = 0; layout < HX__LAYOUTS && hx__kernel_of_set(&rows[i]); layout++) {
      const hx__tiles_plan p = hx__tiles_plan_for(&rows[i], (hx__layout)layout, s, UNITS);
      if (p.ns < best.ns) best = p;
    }
  return best;
}

static bool best_few(const hx__kernel_row *rows, size_t count, const hx__tiles_shape *s) {
  const double best = best_of(rows, count, s).ns;
  bool few = false;
  for (size_t i = 0; i < count; i++)
    for (int layout = 0; layout < HX__LAYOUTS && rows[i].few; layout++)
      few |= hx__tiles_plan_for(&rows[i], (hx__layout)layout, s, UNITS).ns == best;
  return few;
}

/* What the best plan took on an H200, in microseconds, and its tiles: sides that give each unit one tile (512 to 1216)
 * or two, as many tiles as units (700), full panels that some units get more of (1372), short last ones that fill up
 * what the others leave, rounds that begin together (1478), panels that meet as they end (from 1100 on), and those of
 * few tiles, which a launch of their own adds (500, 300, 64). Groups that begin and end, where k is short (4096 x 4096,
 * 50000), and small tiles that go through several panels (3000, 128, 512 x 768). */
static void against_the_card(const hx__kernel_row *rows, size_t count) {
  static const struct {
    size_t m, n, k;
    bool trans_a, trans_b;
    uint32_t tile_m, tile_n;
    double us;
  } card[] = {{512, 512, 512, false, false, 32, 64, 11.5},         {600, 600, 600, false, false, 32, 64, 20.0},
              {700, 700, 700, false, false, 32, 128, 23.1},        {768, 768, 768, false, false, 32, 64, 30.9},
              {777, 777, 777, false, false, 32, 64, 35.6},         {1024, 1024, 1024, false, false, 64, 128, 48.3},
              {896, 896, 896, false, false, 32, 128, 38.5},        {1100, 1100, 1100, false, false, 80, 128, 69.0},
              {1100, 1100, 1100, true, false, 80, 128, 69.2},      {1152, 1152, 1152, false, false, 64, 128, 79.0},
              {1216, 1216, 1216, false, true, 96, 128, 89.5},      {1280, 1280, 1280, false, false, 80, 128, 104.7},
              {1300, 1300, 1300, false, false, 32, 128, 117.0},    {1792, 1792, 1792, false, false, 64, 128, 236.3},
              {2048, 2048, 2048, false, false, 128, 256, 335.9},   {2047, 2047, 2047, false, false, 128, 256, 345.1},
              {8192, 8192, 8192, false, false, 128, 256, 20502.0}, {880, 1408, 2500, false, true, 64, 128, 143.7},
              {1400, 1004, 4284, false, true, 64, 128, 266.2},     {2040, 1368, 3768, false, false, 64, 128, 435.8},
              {2068, 456, 3852, false, false, 64, 128, 172.2},     {1280, 1280, 3000, false, false, 64, 128, 218.7},
              {2164, 1176, 3368, false, false, 48, 128, 387.5},    {716, 2040, 5964, false, false, 48, 128, 369.4},
              {1024, 1024, 16384, false, false, 64, 128, 691.7},   {600, 600, 50000, false, false, 64, 128, 819.5},
              {500, 500, 5000, false, false, 32, 128, 71.8},       {300, 300, 6000, false, false, 32, 64, 42.3},
              {64, 64, 65536, false, false, 32, 64, 24.6},         {1478, 301, 3552, false, false, 32, 64, 101.0},
              {1372, 962, 1093, true, true, 48, 128, 80.0},        {4096, 4096, 16, false, false, 64, 128, 31.9},
              {4096, 4096, 32, false, false, 64, 128, 42.8},       {2048, 3648, 16, false, true, 80, 128, 15.2},
              {50000, 32, 64, false, false, 32, 64, 14.7},         {128, 2304, 768, false, true, 32, 64, 21.1},
              {3000, 16, 1000, false, false, 16, 16, 14.1},        {2048, 192, 2048, false, false, 64, 64, 50.7},
              {512, 768, 768, false, true, 32, 64, 21.2}};
  for (size_t i = 0; i < sizeof card / sizeof card[0]; i++) {
    const hx__tiles_shape s = shape_of(card[i].m, card[i].n, card[i].k, card[i].trans_a, card[i].trans_b);
    const hx__tiles_plan p = best_of(rows, count, &s);
    const double ratio = p.ns * 1e-3 / card[i].us;
    CHECK(ratio > 0.92 && ratio < 1.08 && p.tile_m == card[i].tile_m && p.tile_n == card[i].tile_n,
          "%zux%zux%zu %d%d: %.1f us for %.1f, tiles of %ux%u", s.m, s.n, s.k, card[i].trans_a, card[i].trans_b,
          p.ns * 1e-3, card[i].us, p.tile_m, p.tile_n);
  }
}

int main(void) {
  static const size_t sizes[] = {1, 7, 64, 100, 256, 1000, 1023, 1024, 4097};
  static const uint32_t none[3] = {0, 0, 0};
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  size_t count;
  const hx__kernel_row *const rows = hx__kernel_rows(&count);
  for (size_t i = 0; i < count; i++)
    for (size_t c = 0; c < SIZES * SIZES * SIZES * 4 * HX__LAYOUTS && hx__kernel_of_set(&rows[i]); c++) {
      const size_t mnk = c / (4 * HX__LAYOUTS);
      const hx__tiles_shape s =
          shape_of(sizes[mnk % SIZES], sizes[mnk / SIZES % SIZES], sizes[mnk / SIZES / SIZES], c & 1, c >> 1 & 1);
      (rows[i].few ? check_few : check_plan)(&rows[i], (hx__layout)(c / 4 % HX__LAYOUTS), &s);
    }
  const hx__tiles_shape apart = shape_of(1000, 1000, 1000, false, true),
                        together = shape_of(1024, 1024, 1024, false, true),
                        large = shape_of(2048, 2048, 2048, false, true);
  CHECK(!best_of(rows, count, &apart).copy_b, "1000: a transposed B is read where it lies");
  CHECK(!best_of(rows, count, &together).copy_b, "1024: so is one whose columns lie 4 KB apart, by four stages");
  CHECK(best_of(rows, count, &large).copy_b, "2048: such a B of many tiles is copied first");
  const hx__tiles_shape narrow = shape_of(4096, 3, 4096, false, false);
  CHECK(!best_of(rows, count, &narrow).copy_b, "4096 x 3: nothing is copied");
  for (unsigned way = 0; way < 4; way++) {
    const hx__tiles_shape row = shape_of(1, 4096, 4096, way & 1, way >> 1),
                          column = shape_of(4096, 1, 4096, way & 1, way >> 1);
    CHECK(best_few(rows, count, &row) && best_few(rows, count, &column), "one row or column, transposes %u", way);
  }
  const hx__tiles_shape tall = shape_of(100000, 8, 16, false, false), deep = shape_of(2048, 8, 8192, false, false);
  CHECK(!best_few(rows, count, &tall), "100000 x 8 x 16: many groups that do little");
  CHECK(best_few(rows, count, &deep), "2048 x 8 x 8192: few columns");
  const hx__tiles_shape least = shape_of(1, 1, 1, false, false), odd = shape_of(4097, 4097, 4097, true, true);
  for (size_t i = 0; i < count; i++) {
    const uint32_t tile[3] = {rows[i].tile_m, rows[i].tile_n, rows[i].tile_k};
    const hx__kernel_row *const r = hx__kernel_row_for(HX__KERNEL_MATMUL, HX_F32, HX__FAMILY_NVIDIA,
                                                       rows[i].kind == HX__KERNEL_MATMUL ? tile : none, 1024);
    CHECK(!r || !hx__kernel_of_set(r) ||
              (isfinite(hx__tiles_plan_for(r, HX__LAYOUT_NN, &least, UNITS).ns) &&
               isfinite(hx__tiles_plan_for(r, HX__LAYOUT_NN, &odd, UNITS).ns)),
          "HX_TILE of %s: a row that cannot do every product", rows[i].name);
  }
  against_the_card(rows, count);
  return checks_end("tiles_test");
}
