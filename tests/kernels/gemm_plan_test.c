/* SPDX-License-Identifier: Apache-2.0
 * gemm_plan_test TIMINGS BATCHES: plans of products by a set of rows. For every row and layout: what a program can read
 * in place, what is copied first, and that tiles and panels make up the product. Against timings of a GPU: how good the
 * choices are. No device is needed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/gemm_plan.h"
#include "tests/check.h"

enum { UNITS = 132 };

#define MOST_LOST 0.035      /* allowed loss of the planner's choices to the best program, mean of logarithms */
#define MOST_OFF 0.12        /* allowed error of its predictions */
#define MOST_LOST_BATCH 0.25 /* the same loss of one choice for a batch; short ones are as long as a launch */

static size_t divide_up(size_t n, size_t of) { return (n + of - 1) / of; }

static hx__gemm_shape shape_of(size_t m, size_t n, size_t k, bool trans_a, bool trans_b) {
  const hx__gemm_operand a = {trans_a ? 1 : k, trans_a ? m : 1, true}, b = {trans_b ? 1 : n, trans_b ? k : 1, true};
  return (hx__gemm_shape){m, n, k, a, b, 1};
}

/* The product as the plan computes it, possibly transposed. */
static hx__gemm_shape shape_of_plan(const hx__gemm_plan *p, const hx__gemm_shape *s) {
  if (!p->transposed) return *s;
  const hx__gemm_operand a = {s->b.cs, s->b.rs, s->b.aligned}, b = {s->a.cs, s->a.rs, s->a.aligned};
  return (hx__gemm_shape){s->n, s->m, s->k, a, b, s->products};
}

/* For a row for few rows of C: every panel of every tile belongs to one group, and there is space for every sum that is
 * joined later. */
static void check_few(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *given) {
  const hx__gemm_plan p = hx__gemm_plan_for(row, layout, given, UNITS);
  const bool fits = given->m <= row->tile_m || given->n <= row->tile_m;
  if (!fits) CHECK(isinf(p.ns), "%s: %zux%zu has a plan for few rows", row->name, given->m, given->n);
  if (isinf(p.ns)) return;
  const hx__gemm_shape s = shape_of_plan(&p, given);
  const bool by_k = p.layout & HX__B_BY_K;
  CHECK(s.m <= row->tile_m && p.tiles == divide_up(s.n, row->tile_n) && p.panels == divide_up(s.k, HX__PANEL),
        "%s: %zux%zux%zu", row->name, s.m, s.n, s.k);
  CHECK(by_k == (layout == HX__LAYOUT_NN) && (by_k ? s.b.cs == 1 : s.b.rs == 1), "%s: B has another layout", row->name);
  CHECK(p.layout & HX__A_BY_K ? s.a.rs == 1 : s.a.cs == 1, "%s: A has another layout", row->name);
  CHECK(!(p.layout & HX__B_VEC4) || (s.b.aligned && (by_k ? s.b.rs : s.b.cs) % 4 == 0), "%s: B is not aligned",
        row->name);
  CHECK(p.partials == (p.joins ? p.tiles * p.panels * row->tile_m * row->tile_n : 0), "%s: %zu sums to join", row->name,
        p.partials);
  if (!by_k) {
    CHECK(p.groups == p.tiles * p.panels && p.joins == (p.panels > 1), "%s: %zu groups", row->name, p.groups);
    return;
  }
  const size_t by = p.groups / p.full_tiles;
  CHECK(p.groups % p.full_tiles == 0 && p.full_tiles <= p.tiles && by <= p.panels && p.joins == (by > 1),
        "%s: %zu groups, %zu", row->name, p.groups, p.full_tiles);
  CHECK(by == 1 || p.full_tiles == p.tiles, "%s: the panels of several tiles are in several groups", row->name);
  CHECK(p.groups <= 2 * UNITS, "%s: %zu groups at once", row->name, p.groups);
}

static void check_plan(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *given) {
  const hx__gemm_plan p = hx__gemm_plan_for(row, layout, given, UNITS);
  const char *const name = row->name;
  if (layout == HX__LAYOUT_NN && row->rate[layout] != 0 && row->slices == 1 && !row->vec4)
    CHECK(isfinite(p.ns), "%s: %zux%zux%zu has no plan", name, given->m, given->n, given->k);
  if (row->rate[layout] == 0) CHECK(isinf(p.ns), "%s has no program of layout %d", name, (int)layout);
  if (isinf(p.ns)) return;
  const hx__gemm_shape s = shape_of_plan(&p, given);
  const size_t slices = row->slices;
  CHECK(p.tiles == divide_up(s.m, row->tile_m) * divide_up(s.n, row->tile_n) && p.panels == divide_up(s.k, HX__PANEL) &&
            p.full_tiles <= p.tiles &&
            p.groups == p.full_tiles + (p.tiles - p.full_tiles) * divide_up(p.panels, slices),
        "%s: %zux%zux%zu: %zu tiles, %zu full, %zu panels, %zu groups", name, s.m, s.n, s.k, p.tiles, p.full_tiles,
        p.panels, p.groups);
  CHECK(slices == 1 || p.full_tiles == 0 || p.panels <= slices, "%s: %zu panels at once", name, p.panels);
  const size_t tail = p.tiles - p.full_tiles, taken = hx__kernel_in_place(row) ? tail
                                                      : row->chains            ? tail * p.panels
                                                                               : SIZE_MAX;
  CHECK(!p.joins || taken <= HX__JOIN_TICKETS, "%s: %zux%zux%zu takes %zu tickets", name, s.m, s.n, s.k, taken);
  if (hx__kernel_in_place(row)) {
    CHECK(!p.copy_a && !p.copy_b, "%s copies", name);
    CHECK(p.layout & HX__A_BY_K ? s.a.rs == 1 : s.a.cs == 1, "%s: A has another layout", name);
    CHECK(p.layout & HX__B_BY_K ? s.b.cs == 1 : s.b.rs == 1, "%s: B has another layout", name);
    CHECK(!(p.layout & HX__A_VEC4) || (p.layout & HX__A_BY_K && s.a.aligned && s.a.cs % 4 == 0 && s.m % 4 == 0),
          "%s: A is not aligned", name);
    CHECK(!(p.layout & HX__B_VEC4) || (s.b.aligned && p.layout & HX__B_BY_K && s.b.rs % 4 == 0 && s.n % 4 == 0),
          "%s: B is not aligned", name);
    CHECK(layout != HX__LAYOUT_NT || s.n >= row->tile_n, "%s: %zu columns", name, s.n);
    return;
  }
  CHECK(!row->vec4 || ((p.copy_a || (s.a.aligned && s.a.rs % 4 == 0)) &&
                       (layout != HX__LAYOUT_NT || (s.b.aligned && s.b.cs % 4 == 0))),
        "%s: operands are not aligned", name);
  /* An operand that is not copied has the layout that the program reads, and at least one full tile. */
  if (!p.copy_a && layout == HX__LAYOUT_TN)
    CHECK(s.a.rs == 1 && (row->width == 1 || (s.a.aligned && s.a.cs % 4 == 0)) && s.m >= row->tile_m,
          "%s: A by k of %zu rows", name, s.m);
  else if (!p.copy_a)
    CHECK(s.a.cs == 1 && s.m >= row->tile_m, "%s: A by rows, %zu of them", name, s.m);
  else
    CHECK(layout != HX__LAYOUT_TN && p.pitch_a >= s.k && p.lines_a >= row->tile_m, "%s: the copy of A", name);
  if (!p.copy_b && layout == HX__LAYOUT_NT)
    CHECK(s.b.rs == 1 && s.n >= row->tile_n, "%s: B by columns, %zu of them", name, s.n);
  else if (!p.copy_b)
    CHECK(s.b.cs == 1 && (row->width == 1 || (s.b.aligned && s.b.rs % 4 == 0 && s.n % 4 == 0)) && s.n >= row->tile_n,
          "%s: B by k", name);
  else
    CHECK(layout != HX__LAYOUT_NT && p.pitch_b >= s.n && p.pitch_b % 4 == 0, "%s: the copy of B", name);
}

/* A row for batches has no plan for a product alone, and groups for all tiles of all products of a batch. */
static void check_batch(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *given) {
  hx__gemm_shape s = *given;
  CHECK(isinf(hx__gemm_plan_for(row, layout, &s, UNITS).ns), "%s has a plan for one product", row->name);
  s.products = 1000;
  const size_t tiles = 1000 * divide_up(s.m, row->tile_m) * divide_up(s.n, row->tile_n);
  const bool fits = layout == HX__LAYOUT_NN && s.k <= HX__PANEL && tiles <= UINT32_MAX;
  const hx__gemm_plan p = hx__gemm_plan_for(row, layout, &s, UNITS);
  CHECK(isfinite(p.ns) == fits, "%s: %zux%zux%zu: %g ns", row->name, s.m, s.n, s.k, p.ns);
  const size_t items = row->tile_m * row->tile_n / (row->item_m * row->item_n),
               each = items ? row->local[0] / items : 0;
  CHECK(!fits || (p.groups * each >= tiles && (p.groups - 1) * each < tiles && p.full_tiles == tiles && !p.copy_a &&
                  !p.copy_b && !p.joins && !p.partials),
        "%s: %zu groups", row->name, p.groups);
}

/* Batches by other rows: no tile is cut into panels, and a row that can compute every product can every batch. */
static void check_batch_of_tiles(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *given) {
  hx__gemm_shape s = *given;
  s.products = 1000;
  const hx__gemm_plan p = hx__gemm_plan_for(row, layout, &s, UNITS);
  CHECK(isfinite(p.ns) || row->shape != HX__SHAPE_TILES || layout != HX__LAYOUT_NN || row->rate[layout] == 0 ||
            row->slices > 1 || row->vec4,
        "%s: %zux%zux%zu: a batch has no plan", row->name, s.m, s.n, s.k);
  if (isinf(p.ns)) return;
  CHECK(row->slices == 1 && row->shape != HX__SHAPE_FEW_ROWS, "%s computes a batch", row->name);
  CHECK(p.full_tiles == p.tiles && p.groups == p.tiles && !p.partials,
        "%s: 1000 of %zux%zux%zu: %zu groups of %zu tiles", row->name, s.m, s.n, s.k, p.groups, p.tiles);
}

/* The fastest plan of the set. */
static hx__gemm_plan best_of(const hx__kernel_row *rows, size_t count, const hx__gemm_shape *s) {
  hx__gemm_plan best = {.ns = INFINITY};
  for (size_t i = 0; i < count; i++)
    for (int layout = 0; layout < HX__LAYOUTS && hx__kernel_of_set(&rows[i]); layout++) {
      const hx__gemm_plan p = hx__gemm_plan_for(&rows[i], (hx__layout)layout, s, UNITS);
      if (p.ns < best.ns) best = p;
    }
  return best;
}

static bool best_few(const hx__kernel_row *rows, size_t count, const hx__gemm_shape *s) {
  const double best = best_of(rows, count, s).ns;
  bool few = false;
  for (size_t i = 0; i < count; i++)
    for (int layout = 0; layout < HX__LAYOUTS && rows[i].shape == HX__SHAPE_FEW_ROWS; layout++)
      few |= hx__gemm_plan_for(&rows[i], (hx__layout)layout, s, UNITS).ns == best;
  return few;
}

typedef struct column {
  const hx__kernel_row *row; /* NULL: the measured program no longer exists */
  hx__layout layout;
} column;

enum { MOST_COLUMNS = 80, SHAPE_WORDS = 6 };

/* The programs of the columns of docs/measurements/nvidia-rows.tsv, "128x64x8/nn" and so on; returns how many exist. */
static unsigned read_columns(char *line, const hx__kernel_row *rows, size_t count, column *columns) {
  static const char prefix[] = "matmul-nvidia-ptx-", *const layouts[HX__LAYOUTS] = {"nn", "tn", "nt"};
  unsigned known = 0;
  char *rest = line;
  for (int c = -SHAPE_WORDS; c < MOST_COLUMNS; c++) {
    char *const name = strsep(&rest, "\t\n"), *const slash = name ? strchr(name, '/') : NULL;
    if (c < 0 || !slash) continue;
    *slash = '\0';
    columns[c] = (column){NULL, HX__LAYOUT_NN};
    for (size_t i = 0; i < count; i++)
      if (hx__kernel_of_set(&rows[i]) && strcmp(rows[i].name + strlen(prefix), name) == 0) columns[c].row = &rows[i];
    for (int l = 0; l < HX__LAYOUTS; l++)
      if (strcmp(layouts[l], slash + 1) == 0) columns[c].layout = (hx__layout)l;
    if (columns[c].row && columns[c].row->rate[columns[c].layout] == 0) columns[c].row = NULL;
    known += columns[c].row != NULL;
  }
  return known;
}

/* The nanoseconds in a cell "12000" or "j12000,13000", for the way in which the plan adds panels. */
static double cell_ns(const char *cell, bool joins) {
  const char *const second = strchr(cell, ',');
  const char *const at = second && (cell[0] == 'j') != joins ? second + 1 : cell;
  return strtod(at + (at[0] == 'j'), NULL);
}

/* Compares the plan of one shape with times measured on a GPU: how much longer the planner's choice took than the best
 * program, and how far its predicted time is from the measured one, as logarithms. */
static void check_shape(char *line, const column *columns, double *lost, double *off) {
  size_t m = 0, n = 0, k = 0;
  int trans_a = 0, trans_b = 0;
  double best = INFINITY, chosen = INFINITY, plan_ns = INFINITY;
  char *rest = line;
  CHECK(sscanf(line, "%zu %zu %zu %d %d", &m, &n, &k, &trans_a, &trans_b) == 5, "not a line of timings: %s", line);
  const hx__gemm_shape s = shape_of(m, n, k, trans_a, trans_b);
  for (int c = -SHAPE_WORDS; c < MOST_COLUMNS && rest; c++) {
    const char *const cell = strsep(&rest, "\t\n");
    if (c < 0 || !*cell || !columns[c].row) continue;
    const hx__gemm_plan p = hx__gemm_plan_for(columns[c].row, columns[c].layout, &s, UNITS);
    const double ns = cell_ns(cell, p.joins);
    best = fmin(best, ns);
    if (p.ns >= plan_ns) continue;
    plan_ns = p.ns;
    chosen = ns;
  }
  *lost = log(chosen / best);
  *off = fabs(log(plan_ns / chosen));
}

static void against_timings(const char *name, const hx__kernel_row *rows, size_t count) {
  static column columns[MOST_COLUMNS];
  static char line[8192];
  FILE *const f = fopen(name, "r");
  CHECK(f, "%s cannot be opened", name);
  unsigned known = 0, shapes = 0;
  double lost = 0.0, off = 0.0, most = 0.0;
  while (f && fgets(line, sizeof line, f)) {
    double one_lost, one_off;
    if (line[0] == '#') continue;
    if (!known) {
      known = read_columns(line, rows, count, columns);
      continue;
    }
    check_shape(line, columns, &one_lost, &one_off);
    lost += one_lost, off += one_off, shapes++;
    most = fmax(most, one_lost);
  }
  if (f) fclose(f);
  unsigned programs = 0;
  for (size_t i = 0; i < count; i++)
    for (int l = 0; l < HX__LAYOUTS; l++)
      programs += hx__kernel_of_set(&rows[i]) && rows[i].shape != HX__SHAPE_BATCH && rows[i].rate[l] != 0;
  CHECK(known == programs, "%u of %u programs have timings", known, programs);
  CHECK(shapes > 300 && lost / shapes < MOST_LOST && off / shapes < MOST_OFF,
        "%u shapes: choices take %.3f longer than the best in the mean, predictions are off by %.3f", shapes,
        lost / shapes, off / shapes);
  printf(
      "gemm_plan_test: %u shapes: choices take %.2f %% longer than the best in the mean, %.0f %% at most; predictions "
      "are "
      "off by %.1f %%\n",
      shapes, 100 * lost / shapes, 100 * expm1(most), 100 * off / shapes);
}

/* A batch, and what a GPU took by the best row and by the one that the planner chooses. */
typedef struct timed_batch {
  size_t side, count;
  double best, chosen, plan_ns;
} timed_batch;

static void check_batch_choice(const timed_batch *b, double *lost) {
  const double one = log(b->chosen / b->best);
  CHECK(one < MOST_LOST_BATCH, "%zu of %zu: the chosen row takes %g us, the best one %g", b->count, b->side, b->chosen,
        b->best);
  *lost += one;
}

/* Compares choices for batches with docs/measurements/batches-card-rows.tsv. */
static void against_batches(const char *name, const hx__kernel_row *rows, size_t count) {
  char line[256], row[64];
  FILE *const f = fopen(name, "r");
  CHECK(f, "%s cannot be opened", name);
  timed_batch b = {0}, one = {0};
  double us, lost = 0.0;
  unsigned batches = 0;
  while (f && fgets(line, sizeof line, f)) {
    if (sscanf(line, "%zu %zu %63s %lf", &one.side, &one.count, row, &us) != 4) continue;
    if (one.side != b.side || one.count != b.count) {
      if (batches++) check_batch_choice(&b, &lost);
      b = (timed_batch){one.side, one.count, INFINITY, INFINITY, INFINITY};
    }
    hx__gemm_shape s = shape_of(b.side, b.side, b.side, false, false);
    s.products = b.count;
    for (size_t i = 0; i < count; i++) {
      if (strcmp(rows[i].name, row) != 0) continue;
      const double ns = hx__gemm_plan_for(&rows[i], HX__LAYOUT_NN, &s, UNITS).ns;
      if (ns < b.plan_ns) b.plan_ns = ns, b.chosen = us;
      b.best = fmin(b.best, us);
    }
  }
  if (f) fclose(f);
  if (batches) check_batch_choice(&b, &lost);
  CHECK(batches > 10 && lost / batches < MOST_LOST, "%u batches: choices take %.3f longer than the best", batches,
        lost / batches);
}

int main(int argc, char **argv) {
  static const size_t sizes[] = {1, 7, 64, 100, 256, 1000, 1023, 1024, 4097};
  static const uint32_t none[3] = {0, 0, 0};
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  size_t count;
  const hx__kernel_row *const rows = hx__kernel_rows(&count);
  for (size_t i = 0; i < count; i++)
    for (size_t c = 0; c < SIZES * SIZES * SIZES * 4 * HX__LAYOUTS && hx__kernel_of_set(&rows[i]); c++) {
      const size_t mnk = c / (4 * HX__LAYOUTS);
      const hx__gemm_shape s =
          shape_of(sizes[mnk % SIZES], sizes[mnk / SIZES % SIZES], sizes[mnk / SIZES / SIZES], c & 1, c >> 1 & 1);
      const hx__layout layout = (hx__layout)(c / 4 % HX__LAYOUTS);
      (rows[i].shape == HX__SHAPE_FEW_ROWS ? check_few
       : rows[i].shape == HX__SHAPE_BATCH  ? check_batch
                                           : check_plan)(&rows[i], layout, &s);
      if (rows[i].shape != HX__SHAPE_BATCH) check_batch_of_tiles(&rows[i], layout, &s);
    }
  const hx__gemm_shape apart = shape_of(1000, 1000, 1000, false, true),
                       together = shape_of(1024, 1024, 1024, false, true),
                       large = shape_of(2048, 2048, 2048, false, true);
  CHECK(!best_of(rows, count, &apart).copy_b, "1000: a transposed B is copied");
  CHECK(!best_of(rows, count, &together).copy_b, "1024: a transposed B with columns 4 KB apart is copied");
  CHECK(best_of(rows, count, &large).copy_b, "2048: a B of many tiles with such columns is not copied");
  const hx__gemm_shape narrow = shape_of(4096, 3, 4096, false, false);
  CHECK(!best_of(rows, count, &narrow).copy_b, "4096 x 3: B is copied");
  for (unsigned way = 0; way < 4; way++) {
    const hx__gemm_shape row = shape_of(1, 4096, 4096, way & 1, way >> 1),
                         column = shape_of(4096, 1, 4096, way & 1, way >> 1);
    CHECK(best_few(rows, count, &row) && best_few(rows, count, &column),
          "one row or column, transposes %u: no row for few rows is chosen", way);
  }
  const hx__gemm_shape tall = shape_of(100000, 8, 16, false, false), deep = shape_of(2048, 8, 8192, false, false);
  CHECK(!best_few(rows, count, &tall), "100000 x 8 x 16: a row for few rows is chosen");
  CHECK(best_few(rows, count, &deep), "2048 x 8 x 8192: no row for few rows is chosen");
  const hx__gemm_shape least = shape_of(1, 1, 1, false, false), odd = shape_of(4097, 4097, 4097, true, true);
  for (size_t i = 0; i < count; i++) {
    const uint32_t tile[3] = {rows[i].tile_m, rows[i].tile_n, rows[i].tile_k};
    const hx__kernel_row *const r = hx__kernel_row_for(HX__KERNEL_MATMUL, HX_F32, HX__FAMILY_NVIDIA,
                                                       rows[i].kind == HX__KERNEL_MATMUL ? tile : none, 1024);
    CHECK(!r || !hx__kernel_of_set(r) ||
              (isfinite(hx__gemm_plan_for(r, HX__LAYOUT_NN, &least, UNITS).ns) &&
               isfinite(hx__gemm_plan_for(r, HX__LAYOUT_NN, &odd, UNITS).ns)),
          "HX_TILE of %s selects a row that cannot compute every product", rows[i].name);
  }
  CHECK(argc == 3, "usage: gemm_plan_test TIMINGS BATCHES");
  if (argc == 3) against_timings(argv[1], rows, count);
  if (argc == 3) against_batches(argv[2], rows, count);
  return checks_end("gemm_plan_test");
}
