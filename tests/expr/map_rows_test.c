/* SPDX-License-Identifier: Apache-2.0
 * hx_map_rows: matrices of any leading dimension, rows that all rows share, in place and not, give the bits of the
 * loop in hx_map.h, and nothing is written between the rows; with any share of a device, also if the result stays
 * there. hx_map_reduce_rows gives the values of its rows. So do kernels that have an input with one value per row, or
 * that use the number of the row and that of the element.
 * Usage: map_rows_test [DEVICES [MEMORY [CASES [SEED
 * [DRESS]]]]], by default of the CPU. DRESS: gpu, for the kernel of GPUs (dress_layer). */
#include <math.h>
#include <stdint.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

enum { INPUTS = 3, UNTOUCHED = 0x7fc0dead };

static uint64_t seed, drawn;
static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }

static hx_context *hx;
enum { KERNELS = 4 };
static hx_kernel *kernels[KERNELS]; /* of 1 and 3, inputs[1] has one value per row; 2 and 3 use index and row */
static unsigned shared;
static bool narrow;      /* every matrix has gaps, and the device, if there is one, does all of it */
static bool with_device; /* the context has another device than the CPU */

/* A chunk has at most so many leaves. A device's own limit is too large for a test. */
static size_t most_leaves = SIZE_MAX;

hx__cl_cut __real_hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *w, bool resident);
hx__cl_cut __wrap_hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *w, bool resident);
hx__cl_cut __wrap_hx__cl_cut_of(const hx__cl_stream *stream, const hx__work *w, bool resident) {
  hx__cl_cut cut = __real_hx__cl_cut_of(stream, w, resident);
  if (cut.slices > most_leaves) cut.slices = most_leaves;
  return cut;
}

/* A matrix of a case, as words of one array; per_row: a value for each row. */
typedef struct matrix {
  uint32_t *p;
  size_t ld;
  bool per_row;
} matrix;

static float element_of(const matrix *m, size_t row, size_t col) {
  float x;
  memcpy(&x, &m->p[row * m->ld + (m->per_row ? 0 : col)], sizeof x);
  return x;
}

/* Whether an ld of NULL means this one. */
static bool is_dense(const matrix *m, size_t cols) { return m->ld == (m->per_row ? 1 : cols); }

static void fill(matrix m, size_t words, data_kind kind) {
  data_fill(HX_F32, kind, draw(1000), m.p, words);
  if (draw(2)) CHECK_OK(hx_advise(hx, m.p, words * sizeof *m.p, (unsigned)draw(4)));
}

/* No word behind the last value is known to hx. */
static matrix new_values(size_t rows, size_t cols) {
  const size_t distances[] = {0, 1, 1, 2, 3, cols};
  matrix m = {.ld = distances[draw(6)], .per_row = true};
  const size_t words = (rows - 1) * m.ld + 1;
  m.p = hx_alloc(hx, words * sizeof *m.p);
  if (!m.p) exit(1);
  fill(m, words, draw(8) ? DATA_SIGNED : DATA_NAN);
  return m;
}

static matrix new_matrix(size_t rows, size_t cols, bool once) {
  static const size_t gaps[] = {0, 0, 1, 3, 16, 100};
  const size_t gap = narrow ? gaps[2 + draw(3)] : gaps[draw(rows > 4096 ? 4 : 6)];
  matrix m = {.ld = once ? 0 : cols + gap};
  const size_t words = (once ? 1 : rows) * (cols + gap) + 8;
  m.p = hx_alloc(hx, words * sizeof *m.p);
  if (!m.p) exit(1);
  fill(m, words, DATA_SIGNED);
  return m;
}

/* The inputs of a case; returns the kernel. */
static unsigned new_inputs(matrix in[INPUTS], size_t rows, size_t cols) {
  const unsigned k = (unsigned)draw(KERNELS);
  for (int i = 0; i < INPUTS; i++)
    in[i] = i == 1 && k % 2 ? new_values(rows, cols) : new_matrix(rows, cols, draw(4) == 0);
  return k;
}

static float value(unsigned k, const matrix in[INPUTS], size_t row, size_t col) {
  const float x = element_of(&in[0], row, col), y = element_of(&in[1], row, col), z = element_of(&in[2], row, col);
  const uint32_t number = (uint32_t)row * 40503u ^ (uint32_t)col;
  const float v = 0.75f * x + y * z, w = k < 2 ? v : v + (float)number;
  return w == w ? w : NAN;
}

static void check_case(size_t rows, size_t cols) {
  static const float shares[] = {-1, 0, 0.4f, 1, 1};
  matrix in[INPUTS], result;
  const void *inputs[INPUTS];
  size_t ld[INPUTS];
  const unsigned k = new_inputs(in, rows, cols);
  const bool in_place = in[0].ld && draw(3) == 0;
  result = in_place ? in[0] : new_matrix(rows, cols, false);
  const size_t ld_out = result.ld, words = (rows - 1) * ld_out + cols;
  for (size_t i = 0; i < words && !in_place; i++) result.p[i] = UNTOUCHED;
  if (draw(4)) CHECK_OK(hx_advise(hx, result.p, words * sizeof *result.p, HX_RESIDENT));
  CHECK_OK(hx_modified(hx, result.p, words * sizeof *result.p));
  uint32_t *const want = malloc(words * sizeof *want);
  if (!want) exit(1);
  memcpy(want, result.p, words * sizeof *want);
  for (int i = 0; i < INPUTS; i++) inputs[i] = in[i].p, ld[i] = in[i].ld;
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      const float v = value(k, in, i, j);
      memcpy(&want[i * ld_out + j], &v, sizeof v);
    }
  const hx_value a = {.f32 = 0.75f};
  most_leaves = draw(2) ? 2 : SIZE_MAX;
  hx_report report;
  bool dense = ld_out == cols;
  for (int i = 0; i < INPUTS; i++) dense = dense && is_dense(&in[i], cols);
  hx_task t = hx_map_rows(kernels[k], inputs, dense && draw(2) ? NULL : ld, rows, cols, &a, result.p,
                          ld_out == cols && draw(2) ? 0 : ld_out);
  t.gpu_share = narrow ? 1 : shares[draw(5)];
  CHECK_OK(hx_offload(hx, &t, &report));
  shared += report.gpu_share > 0;
  CHECK(report.recovered == 0, "%u chunks of %zu x %zu were recovered", report.recovered, rows, cols);
  CHECK(!(narrow && with_device) || report.gpu_share == 1, "the device did %g of %zu x %zu", report.gpu_share, rows,
        cols);
  CHECK_OK(hx_sync(hx, result.p, words * sizeof *result.p));
  size_t wrong = 0;
  while (wrong < words && result.p[wrong] == want[wrong]) wrong++;
  CHECK(wrong == words, "kernel %u: %zu x %zu, ld %zu %zu %zu -> %zu%s, share %g: word %zu is %08x, not %08x", k, rows,
        cols, ld[0], ld[1], ld[2], ld_out, in_place ? " in place" : "", (double)t.gpu_share, wrong, result.p[wrong],
        want[wrong]);
  free(want);
  for (int i = 0; i < INPUTS; i++) hx_free(hx, in[i].p);
  if (!in_place) hx_free(hx, result.p);
}

/* Every reduction of the rows, whose elements are the same expression. */
static void check_reduction(size_t rows, size_t cols) {
  static const hx_op ops[] = {HX_SUM, HX_MIN, HX_MAX, HX_ARGMIN, HX_ARGMAX, HX_SUM_ABS, HX_SUM_SQUARES, HX_PROD};
  static const float shares[] = {-1, 0, 0.4f, 1, 1};
  const hx_op op = ops[draw(sizeof ops / sizeof ops[0])];
  matrix in[INPUTS];
  const void *inputs[INPUTS];
  size_t ld[INPUTS], wrong = 0;
  bool dense = true;
  const unsigned k = new_inputs(in, rows, cols);
  for (int i = 0; i < INPUTS; i++) {
    inputs[i] = in[i].p, ld[i] = in[i].ld;
    dense = dense && is_dense(&in[i], cols);
  }
  hx_value *const out = hx_alloc(hx, (rows + 1) * sizeof *out);
  float *const row = malloc(cols * sizeof *row);
  if (!out || !row) exit(1);
  for (size_t i = 0; i <= rows; i++) out[i].u64 = UNTOUCHED;
  const hx_value a = {.f32 = 0.75f};
  most_leaves = draw(2) ? 2 : SIZE_MAX;
  hx_task t = hx_map_reduce_rows(op, kernels[k], inputs, dense && draw(2) ? NULL : ld, rows, cols, &a, out);
  t.gpu_share = narrow ? 1 : shares[draw(5)];
  hx_report report;
  CHECK_OK(hx_offload(hx, &t, &report));
  shared += report.gpu_share > 0;
  CHECK(report.recovered == 0, "%u chunks of %zu x %zu were recovered", report.recovered, rows, cols);
  CHECK(!(narrow && with_device) || report.gpu_share == 1, "the device did %g of %zu x %zu", report.gpu_share, rows,
        cols);
  uint64_t units = 0;
  for (uint32_t i = 0; i < report.device_count; i++) units += report.device[i].units;
  CHECK(units == rows * cols, "%llu units of %zu x %zu", (unsigned long long)units, rows, cols);
  for (size_t i = 0; i < rows && !wrong; i++) {
    for (size_t j = 0; j < cols; j++) row[j] = value(k, in, i, j);
    const hx_value want = ref_reduce(op, HX_F32, row, row, cols);
    wrong = want.u64 != out[i].u64;
    CHECK(!wrong, "kernel %u: op %d of row %zu of %zu x %zu, ld %zu %zu %zu, share %g, is %llx, not %llx", k, op, i,
          rows, cols, ld[0], ld[1], ld[2], (double)t.gpu_share, (unsigned long long)out[i].u64,
          (unsigned long long)want.u64);
  }
  CHECK(out[rows].u64 == UNTOUCHED, "more than %zu results were written", rows);
  free(row);
  for (int i = 0; i < INPUTS; i++) hx_free(hx, in[i].p);
  hx_free(hx, out);
}

/* Rows and columns around the widths and heights of work-groups, which have several rows of a narrow matrix. */
static void check_narrow(void) {
  static const size_t rows[] = {1, 2, 127, 128, 129, 1000},
                      cols[] = {1, 2, 3, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129};
  narrow = true;
  for (size_t j = 0; j < sizeof cols / sizeof cols[0]; j++)
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && checks_failed < 5; i++) {
      check_case(rows[i], cols[j]);
      if (i % 2) check_reduction(rows[i], cols[j]);
    }
  narrow = false;
}

/* Results of hx_map_reduce_rows as values of rows: hx_value has two words. */
static void check_chain(size_t rows, size_t cols) {
  enum { WORDS = sizeof(hx_value) / sizeof(float) };
  matrix in[INPUTS] = {new_matrix(rows, cols, false), {.p = NULL}, new_matrix(rows, cols, true)};
  const matrix to = new_matrix(rows, cols, false);
  hx_value *const sums = hx_alloc(hx, rows * sizeof *sums);
  if (!sums) exit(1);
  in[1] = in[0];
  const hx_value a = {.f32 = 0.75f};
  const void *inputs[INPUTS] = {in[0].p, in[1].p, in[2].p};
  size_t ld[INPUTS] = {in[0].ld, in[1].ld, in[2].ld};
  const hx_task reduction = hx_map_reduce_rows(HX_SUM, kernels[0], inputs, ld, rows, cols, &a, sums);
  CHECK_OK(hx_offload(hx, &reduction, NULL));
  inputs[1] = sums, ld[1] = WORDS;
  const hx_task map = hx_map_rows(kernels[1], inputs, ld, rows, cols, &a, to.p, to.ld);
  CHECK_OK(hx_offload(hx, &map, NULL));
  CHECK_OK(hx_sync(hx, to.p, ((rows - 1) * to.ld + cols) * sizeof *to.p));
  const matrix used[INPUTS] = {in[0], {.p = (uint32_t *)(void *)sums, .ld = WORDS, .per_row = true}, in[2]};
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols && checks_failed < 5; j++) {
      const float want = value(1, used, i, j);
      const float got = element_of(&to, i, j);
      CHECK(memcmp(&got, &want, sizeof got) == 0, "chain: element %zu of row %zu of %zu x %zu is %a, not %a", j, i,
            rows, cols, (double)got, (double)want);
    }
  for (int i = 0; i < INPUTS; i += 2) hx_free(hx, in[i].p);
  hx_free(hx, to.p);
  hx_free(hx, sums);
}

static void check_refused_values(void) {
  static float x[64], z[64], out[64], m[16];
  static hx_value sums[8];
  const void *inputs[INPUTS] = {x, m, z};
  const hx_value a = {.f32 = 1};
  size_t ld[INPUTS] = {8, 1, 0};
  hx_task t = hx_map_rows(kernels[1], inputs, ld, 8, 8, &a, out, 8);
  CHECK_OK(hx_offload(hx, &t, NULL));
  inputs[1] = out + 63; /* the last element of out is in its last row */
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "inputs[1] at");
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "has one value for each row");
  inputs[1] = out; /* an input with an element for each element may be replaced */
  ld[1] = 8;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "has one value for each row");
  t = hx_map(kernels[1], inputs, 8, &a, out);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "has one value for each row");
  inputs[1] = sums, ld[1] = 2;
  t = hx_map_reduce_rows(HX_SUM, kernels[1], inputs, ld, 8, 8, &a, sums);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "shares an element with inputs[1]");
  inputs[1] = NULL;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "inputs[1] is NULL");
  inputs[1] = (char *)m + 2;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "inputs[1] is");
  inputs[1] = m, ld[1] = SIZE_MAX / 4;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "ld of inputs[1] is");
}

static void check_refused_reductions(void) {
  hx_kernel *const kernel = kernels[0];
  static float x[64];
  static hx_value out[8];
  const void *inputs[INPUTS] = {x, x, x};
  const hx_value a = {.f32 = 1};
  size_t ld[INPUTS] = {8, 7, 0};
  hx_task t = hx_map_reduce_rows(HX_SUM, kernel, inputs, ld, 4, 8, &a, out);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "ld of inputs[1] is 7");
  ld[1] = 16;
  t.map.op = HX_DOT;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "HX_DOT");
  t.map.op = HX_SUM;
  t.map.out = (char *)out + 4;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "not aligned to 8 bytes");
  t.map.out = x + 32;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "shares an element with inputs[1]");
  t.map.ld_out = 2;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "ld_out is 2");
  t = hx_map_reduce_rows(HX_MAX, kernel, inputs, ld, 4, 0, &a, out);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "n is 0: HX_MAX");
  t = hx_map_reduce_rows(HX_MAX, kernel, inputs, ld, 0, 8, &a, NULL);
  CHECK_OK(hx_offload(hx, &t, NULL));
  for (int i = 0; i < 8; i++) out[i].u64 = UNTOUCHED;
  t = hx_map_reduce_rows(HX_SUM, kernel, NULL, ld, 4, 0, NULL, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(out[0].u64 == 0 && out[3].u64 == 0 && out[4].u64 == UNTOUCHED, "sums of no elements: %llx %llx %llx",
        (unsigned long long)out[0].u64, (unsigned long long)out[3].u64, (unsigned long long)out[4].u64);
}

static void check_refusals(void) {
  hx_kernel *const kernel = kernels[0];
  static float x[64], out[64];
  const void *inputs[INPUTS] = {x, x + 1, x};
  const hx_value a = {.f32 = 1};
  size_t ld[INPUTS] = {8, 7, 0};
  hx_task t = hx_map_rows(kernel, inputs, ld, 4, 8, &a, out, 8);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "ld of inputs[1] is 7");
  ld[1] = 8;
  t.map.ld_out = 7;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "ld of out is 7");
  t.map.ld_out = 9;
  t.map.out = x;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "not as far apart");
  t.map.out = x + 2;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "does not begin there");
  t.map.out = out;
  t.map.rows = SIZE_MAX / 8;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "overflow");
  t.map.rows = 4;
  ld[0] = SIZE_MAX;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "ld of inputs[0] is 18446744073709551615");
  t = hx_map_rows(kernel, inputs, ld, 0, 8, &a, NULL, 8);
  CHECK_OK(hx_offload(hx, &t, NULL));
  hx_value sum;
  t = hx_map_reduce(HX_SUM, kernel, inputs, 8, &a, &sum);
  t.map.rows = 2;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "map-reduce");
}

/* Programs of devices are found by the expression. One that has an input with one value per row differs from one that
 * does not, also if it does not use it. */
static void check_equality(void) {
  hx_kernel *unused[2];
  for (int k = 0; k < 2; k++) {
    const hx_kernel_source source = {.text = "x", .inputs = k ? "float x, row float y" : "float x, float y"};
    CHECK_OK(hx_compile(hx, &source, &unused[k]));
  }
  CHECK(kernels[0]->hash != kernels[1]->hash, "the hash is the same");
  CHECK(!hx__expr_equal(&kernels[0]->expr, &kernels[1]->expr), "the expressions are equal");
  CHECK(!hx__expr_equal(&unused[0]->expr, &unused[1]->expr), "the expressions without y are equal");
  for (int k = 0; k < 2; k++) hx_kernel_free(unused[k]);
}

int main(int argc, char **argv) {
  static const size_t shapes[][2] = {{1, 1},     {1, 4097},  {2, 4096}, {3, 4095},  {4097, 1}, {700, 3},
                                     {41, 100},  {2, 40000}, {9, 911},  {4096, 16}, {64, 64},  {300, 257},
                                     {17, 5000}, {40000, 2}, {5, 17},   {1, 70000}};
  enum { SHAPES = sizeof shapes / sizeof shapes[0] };
  const unsigned long cases = argc > 3 ? strtoul(argv[3], NULL, 10) : 400;
  seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 20261127;
  const bool dressed = argc > 5;
  if (dressed) setenv("DRESS", argv[5], 1);
  hx_settings s = HX_SETTINGS_DEFAULT;
  if (dressed) s.timeout_ms = "off"; /* PoCL compiles a kernel again for each shape of work-group */
  s.devices = argc > 1 ? argv[1] : "cpu";
  s.memory = argc > 2 ? argv[2] : NULL;
  with_device = strcmp(s.devices, "cpu") != 0;
  hx = open_or_exit(&s);
  static const char *const declarations[] = {"float x, float y, float z", "float x, row float y, float z"};
  static const char *const texts[] = {"a * x + y * z", "a * x + y * z + (row * 40503u ^ index)"};
  for (int k = 0; k < KERNELS; k++) {
    const hx_kernel_source source = {.text = texts[k / 2], .inputs = declarations[k % 2], .parameters = "float a"};
    CHECK_OK(hx_compile(hx, &source, &kernels[k]));
  }
  printf("map_rows_test: seed %llu, %lu cases\n", (unsigned long long)seed, cases);
  check_refusals();
  check_refused_reductions();
  check_refused_values();
  check_equality();
  check_narrow();
  for (unsigned long i = 0; i < cases && checks_failed < 5; i++)
    (i / SHAPES % 2 ? check_reduction : check_case)(shapes[i % SHAPES][0], shapes[i % SHAPES][1]);
  for (size_t i = 0; i < SHAPES && checks_failed < 5; i++) check_chain(shapes[i][0], shapes[i][1]);
  printf("map_rows_test: devices took part in %u tasks\n", shared);
  CHECK(shared || !with_device, "devices did nothing");
  for (int k = 0; k < KERNELS; k++) hx_kernel_free(kernels[k]);
  hx_close(hx);
  return checks_end("map_rows_test");
}
