/* SPDX-License-Identifier: Apache-2.0
 * panels_rows_test [--small]: rows of a set whose groups compute one panel each, on every device of this process by
 * OpenCL 1.2 alone. The panels are added by a second launch, and by the product's own launch; buffers end with the last
 * element of their operand, and rows and columns do not fill tiles. Rows that need no PTX and no more than two stages
 * are run, except for the largest. --small: one row, by two launches, because a simulator does not see that tickets
 * order groups. */
#include "tests/kernel_device.h"

#include "tests/check.h"
#include "reference/data.h"
#include "reference/ref.h"

/* If groups run in the order of the panels, each finds the sum of the panels before its own. If they run backwards,
 * each leaves its own sum, and one group adds all of them. */
static const char in_order[] = "", backwards[] = "#define get_group_id(d) (get_num_groups(d) - 1 - get_group_id(d))\n";

/* The program of such a row, as the runtime builds it but without PTX. */
static cl_program build_row(const kernel_device *d, const hx__kernel_row *row, hx__layout layout, const char *groups,
                            bool small) {
  static const uint32_t no_tile[3] = {0, 0, 0};
  char options[1024];
  if (!hx__kernel_options(options, sizeof options - 64, row, HX_SUM, HX_F32, no_tile, HX__ARITHMETIC_PLAIN))
    return NULL;
  char *const ptx = strstr(options, "-DHX_PTX=1");
  if (!ptx) return NULL;
  ptx[strlen("-DHX_PTX=")] = '0';
  /* PoCL's optimizer takes minutes for these programs. */
  snprintf(options + strlen(options), 64, " -DHX_LAYOUT=%d%s", (int)layout, small ? "" : " -cl-opt-disable");
  return kernel_program(d, row, groups, options);
}

typedef struct product {
  size_t m, n, k, full_tiles; /* the other tiles are cut into panels */
} product;

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* With tickets it is launched twice: the second launch must not use sums of the first one. */
static bool product_is_right(const kernel_device *d, cl_program program, const hx__kernel_row *row, hx__layout layout,
                             const product *p, cl_uint join) {
  const bool trans_a = layout == HX__LAYOUT_TN, trans_b = layout == HX__LAYOUT_NT;
  const size_t a_rows = trans_a ? p->k : p->m, a_cols = trans_a ? p->m : p->k,
               lda = round_up(a_cols, trans_a || row->vec4 ? row->width : 1);
  const size_t b_rows = trans_b ? p->n : p->k, b_cols = trans_b ? p->k : p->n,
               ldb = round_up(b_cols, trans_b && !row->vec4 ? 1 : row->width);
  const size_t first = row->width == 1, a_count = first + (a_rows - 1) * lda + a_cols,
               b_count = first + (b_rows - 1) * ldb + b_cols, c_count = p->m * p->n;
  const size_t tiles = round_up(p->m, row->tile_m) / row->tile_m * (round_up(p->n, row->tile_n) / row->tile_n);
  const size_t panels = round_up(p->k, HX__PANEL) / HX__PANEL, tile = (size_t)row->tile_m * row->tile_n;
  float *const a = malloc(a_count * 4), *const b = malloc(b_count * 4), *const c = malloc(c_count * 4);
  float *const want = malloc(c_count * 4), *const sums = malloc(tiles * panels * tile * 4);
  uint32_t *const tickets = calloc(tiles * panels, sizeof *tickets);
  data_fill(HX_F32, DATA_EXPONENTS, 3, a, a_count);
  data_fill(HX_F32, DATA_SIGNED, 4, b, b_count);
  memset(sums, 0xff, tiles * panels * tile * 4); /* NaN, so that a sum that is not stored gives a wrong result */
  const struct hx_matmul_args args = {.trans_a = trans_a,
                                      .trans_b = trans_b,
                                      .m = p->m,
                                      .n = p->n,
                                      .k = p->k,
                                      .alpha = -1.5f,
                                      .a = a + first,
                                      .lda = lda,
                                      .b = b + first,
                                      .ldb = ldb,
                                      .c = want,
                                      .ldc = p->n};
  ref_matmul(&args);
  const cl_mem ma = kernel_buffer(d, a, a_count * 4), mb = kernel_buffer(d, b, b_count * 4);
  const cl_mem mt = kernel_buffer(d, tickets, tiles * panels * sizeof *tickets);
  bool same = true;
  for (int turn = 0; turn < (join ? 2 : 1) && same; turn++) {
    memset(c, 0xa5, c_count * 4);
    const cl_mem mc = kernel_buffer(d, c, c_count * 4), mp = kernel_buffer(d, sums, tiles * panels * tile * 4);
    const kernel_value v[] = {{.m = ma},   {.n = first}, {.n = lda},  {.m = mb},   {.n = first},
                              {.n = ldb},  {.n = p->m},  {.n = p->n}, {.n = p->k}, {.f = -1.5f},
                              {.f = 0.0f}, {.m = mc},    {.n = p->n}, {.u = 0},    {.u = (cl_uint)p->full_tiles},
                              {.m = mp},   {.u = join},  {.m = mt}};
    const kernel_value j[] = {{.n = p->m},
                              {.n = p->n},
                              {.n = p->k},
                              {.f = -1.5f},
                              {.f = 0.0f},
                              {.m = mc},
                              {.n = p->n},
                              {.u = 0},
                              {.u = (cl_uint)p->full_tiles},
                              {.m = mp},
                              {.u = row->tile_m},
                              {.u = row->tile_n},
                              {.u = trans_b ? 1 : row->width},
                              {.u = 0}};
    static const uint32_t local[2] = {128, 1};
    const size_t tail = tiles - p->full_tiles, groups = p->full_tiles + tail * panels, joins = tail * tile / local[0];
    same = kernel_launch(d, program, "hx_matmul", "mnnmnnnnnffmnuumumnnn", v, 1, &groups, row->local) &&
           (join || kernel_launch(d, program, "hx_matmul_join", "nnnffmnuumuuuu", j, 1, &joins, local)) &&
           clEnqueueReadBuffer(d->queue, mc, CL_TRUE, 0, c_count * 4, c, 0, NULL, NULL) == CL_SUCCESS &&
           clEnqueueReadBuffer(d->queue, mt, CL_TRUE, 0, tiles * panels * sizeof *tickets, tickets, 0, NULL, NULL) ==
               CL_SUCCESS &&
           memcmp(c, want, c_count * 4) == 0;
    for (size_t i = 0; i < tiles * panels; i++) same = same && tickets[i] == 0;
    clReleaseMemObject(mc);
    clReleaseMemObject(mp);
  }
  clReleaseMemObject(ma);
  clReleaseMemObject(mb);
  clReleaseMemObject(mt);
  free(a);
  free(b);
  free(c);
  free(want);
  free(sums);
  free(tickets);
  return same;
}

static void test_row(const kernel_device *d, const hx__kernel_row *row, hx__layout layout, bool small) {
  const size_t m = row->tile_m, n = row->tile_n, width = layout == HX__LAYOUT_NT ? 1 : row->width;
  const product few = {m, round_up(n + 3, width), HX__PANEL + row->tile_k + 1, 0};
  const product many[] = {few,
                          {round_up(m + 5, width), round_up(n + 1, width), 4 * HX__PANEL + 2 * row->tile_k, 1},
                          {round_up(2 * m + 1, width), n, 3 * HX__PANEL - 1, 0}};
  const char *const orders[] = {in_order, backwards};
  for (size_t o = 0; o < (small ? 1 : 2); o++) {
    cl_program program = build_row(d, row, layout, orders[o], small);
    CHECK(program, "%s, layout %d does not build", row->name, (int)layout);
    for (size_t i = 0; program && i < (small ? 1 : sizeof many / sizeof many[0]); i++)
      for (cl_uint join = (cl_uint)o; join < (small ? 1 : 2); join++)
        CHECK(product_is_right(d, program, row, layout, &many[i], join),
              "%s, layout %d on %s: %zu x %zu x %zu, joined by %s%s", row->name, (int)layout, d->name, many[i].m,
              many[i].n, many[i].k, join ? "itself" : "another launch", o ? ", backwards" : "");
    if (program) clReleaseProgram(program);
  }
  printf("%s: %s, layout %d\n", d->name, row->name, (int)layout);
  fflush(stdout);
}

int main(int argc, char **argv) {
  const bool small = argc > 1 && strcmp(argv[1], "--small") == 0;
  cl_device_id ids[16];
  kernel_device d;
  size_t count;
  const hx__kernel_row *const rows = hx__kernel_rows(&count);
  const cl_uint found = kernel_devices(ids, 16);
  CHECK(found > 0, "no device");
  for (cl_uint i = 0; i < found; i++) {
    unsigned tested = 0;
    CHECK(kernel_device_open(&d, ids[i]), "%s: no queue", d.name);
    for (size_t r = 0; r < count && d.queue; r++)
      for (int layout = 0; layout < HX__LAYOUTS; layout++)
        if (rows[r].chains && (rows[r].stages == 2 || rows[r].vec4) && rows[r].rate[layout] != 0 &&
            rows[r].tile_m <= 32 && !(small && layout != HX__LAYOUT_NN)) {
          test_row(&d, &rows[r], (hx__layout)layout, small);
          tested++;
        }
    CHECK(tested > 0, "%s: no row", d.name);
  }
  return checks_end("panels_rows_test");
}
