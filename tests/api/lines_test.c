/* SPDX-License-Identifier: Apache-2.0
 * Reductions of rows, columns and strided lines: every value has the bits of the definition for a packed copy of its
 * line, for every operation and type, around every boundary of leaf, round, vector and line, for any stride and any
 * 4-byte alignment, with any share of the devices. Nothing else is written. Then the errors, and the functions that
 * make numbers of results. Usage: lines_test [devices [memory [cases
 * [seed]]]] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "runtime/hx.h"
#include "tests/check.h"

#define OPS 9
#define MOST_ELEMENTS ((size_t)3 << 16)

static hx_context *hx;
static uint64_t seed, drawn;

static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }
#define PICK(list) (list)[draw(sizeof(list) / sizeof((list)[0]))]

/* Strides, and a matrix of such lines: `elements` in all. */
typedef struct array {
  size_t line_stride, stride, elements;
  uint32_t *block; /* with one element before and after it that must not matter */
  uint32_t *p;
} array;

typedef enum layout { ROWS, COLUMNS, STRIDED, OVERLAPPING, OVERLAPPING_COLUMNS, ANY, LAYOUTS } layout;

static void set_strides(array *a, layout layout, size_t lines, size_t n) {
  static const size_t gaps[] = {0, 0, 1, 3, 5, 64}, steps[] = {1, 2, 3, 7};
  const size_t gap = PICK(gaps), step = PICK(steps), line_step = PICK(steps);
  switch (layout) {
    case ROWS:
      a->line_stride = n + gap, a->stride = 1;
      break;
    case COLUMNS:
      a->line_stride = 1, a->stride = lines + gap;
      break;
    case STRIDED:
      a->line_stride = n * step + gap, a->stride = step;
      break;
    case OVERLAPPING:
      a->line_stride = 1 + draw(n), a->stride = 1;
      break;
    case OVERLAPPING_COLUMNS:
      a->line_stride = 1, a->stride = 1 + draw(lines);
      break;
    default:
      a->line_stride = line_step, a->stride = lines * line_step + gap;
  }
  a->elements = (lines - 1) * a->line_stride + (n - 1) * a->stride + 1;
}

static void fill(array *a, hx_type type, data_kind kind, uint64_t of) {
  const size_t shift = 1 + draw(16);
  a->block = malloc((a->elements + 32) * sizeof *a->block);
  a->p = a->block + shift;
  memset(a->block, 0xff, (a->elements + 32) * sizeof *a->block);
  data_fill(type, kind, of, a->p, a->elements);
}

static uint64_t wanted(hx_op op, hx_type type, const array *x, const array *y, size_t line, size_t n,
                       uint32_t *packed) {
  for (size_t i = 0; i < n; i++) {
    packed[i] = x->p[line * x->line_stride + i * x->stride];
    packed[n + i] = op == HX_DOT ? y->p[line * y->line_stride + i * y->stride] : 0;
  }
  return ref_reduce(op, type, packed, packed + n, n).u64;
}

static void check_case(void) {
  static const size_t lengths[] = {1,    2,    3,    4,    7,    8,    9,    15,   16,    17,   31,  32,
                                   33,   63,   64,   65,   127,  128,  129,  255,  257,   511,  513, 1024,
                                   1025, 1536, 4095, 4096, 4097, 8191, 8192, 8193, 12300, 20001};
  static const size_t counts[] = {1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,   23,  31,
                                  33, 48, 49, 64, 65, 100, 129, 255, 257, 300, 1000, 4097};
  static const float shares[] = {-1, 0, 0.25f, 0.5f, 1};
  const uint64_t at = drawn;
  const hx_op op = (hx_op)(1 + draw(OPS));
  const hx_type type = (hx_type)(1 + draw(3));
  const data_kind kind = (data_kind)draw(DATA_KINDS);
  const layout form = (layout)draw(LAYOUTS), second = draw(4) ? form : (layout)draw(LAYOUTS);
  const size_t n = PICK(lengths);
  size_t lines = PICK(counts);
  if (lines * n > MOST_ELEMENTS) lines = 1 + MOST_ELEMENTS / n;
  array x, y;
  set_strides(&x, form, lines, n);
  set_strides(&y, second, lines, n);
  if (x.elements > 8 * MOST_ELEMENTS || y.elements > 8 * MOST_ELEMENTS) return;
  fill(&x, type, kind, at);
  fill(&y, type, kind, at + 1);
  hx_value *const out = malloc((lines + 2) * sizeof *out);
  uint32_t *const packed = malloc(2 * n * sizeof *packed);
  memset(out, 0x5a, (lines + 2) * sizeof *out);
  hx_task t = hx_reduce_rows(op, type, x.p, lines, n, x.line_stride, out + 1);
  t.lines.stride = x.stride;
  t.lines.y = op == HX_DOT ? y.p : NULL;
  t.lines.y_line_stride = y.line_stride;
  t.lines.y_stride = y.stride;
  t.gpu_share = PICK(shares);
  hx_report report;
  CHECK_OK(hx_offload(hx, &t, draw(2) ? &report : NULL));
  for (size_t l = 0; l < lines; l++) {
    const uint64_t want = wanted(op, type, &x, &y, l, n, packed);
    CHECK(
        out[l + 1].u64 == want,
        "seed %llu, draw %llu: op %d type %d kind %d layout %d lines %zu n %zu strides %zu %zu, %zu %zu share %g: line "
        "%zu is %016llx, not %016llx",
        (unsigned long long)seed, (unsigned long long)at, (int)op, (int)type, (int)kind, (int)form, lines, n,
        x.line_stride, x.stride, y.line_stride, y.stride, (double)t.gpu_share, l, (unsigned long long)out[l + 1].u64,
        (unsigned long long)want);
    if (out[l + 1].u64 != want) break;
  }
  CHECK(out[0].u64 == 0x5a5a5a5a5a5a5a5aull && out[lines + 1].u64 == 0x5a5a5a5a5a5a5a5aull, "written beside out");
  free(x.block);
  free(y.block);
  free(out);
  free(packed);
}

/* Long and wide matrices, which several threads and devices share. */
static void check_large(hx_op op, size_t rows, size_t columns, float share) {
  const size_t ld = columns + 5, elements = rows * ld;
  float *const x = malloc(elements * sizeof *x), *const packed = malloc(rows * sizeof *packed);
  hx_value *const out = malloc((rows + columns) * sizeof *out);
  data_fill(HX_F32, DATA_SIGNED, seed, x, elements);
  hx_task t = hx_reduce_rows(op, HX_F32, x, rows, columns, ld, out);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_reduce_columns(op, HX_F32, x, rows, columns, ld, out + rows);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, NULL));
  size_t wrong = 0;
  for (size_t r = 0; r < rows; r++) wrong += ref_reduce(op, HX_F32, x + r * ld, NULL, columns).u64 != out[r].u64;
  for (size_t c = 0; c < columns; c++) {
    for (size_t r = 0; r < rows; r++) packed[r] = x[r * ld + c];
    wrong += ref_reduce(op, HX_F32, packed, NULL, rows).u64 != out[rows + c].u64;
  }
  CHECK(wrong == 0, "op %d, %zu x %zu, share %g: %zu values are wrong", (int)op, rows, columns, (double)share, wrong);
  free(x);
  free(packed);
  free(out);
}

/* Minima and maxima of columns with zeros, infinities and NaNs of both signs, quiet and signalling: some columns have a
 * NaN, and some have nothing but infinities. */
static void check_special(hx_op op, size_t n) {
  static const uint32_t special[] = {0,           0x80000000u, 1,           0x80000001u, 0x7f7fffffu, 0xff7fffffu,
                                     0x7f800000u, 0xff800000u, 0x7f800001u, 0xff800001u, 0x7fbfffffu, 0xffbfffffu,
                                     0x7fc00000u, 0xffc00000u, 0x7fffffffu, 0xffffffffu};
  enum { LINES = 97, NUMBERS = 8, ALL = 16 };
  uint32_t *const x = malloc(LINES * n * sizeof *x), *const packed = malloc(n * sizeof *packed);
  hx_value out[LINES];
  for (size_t i = 0; i < LINES * n; i++) x[i] = i % LINES % 5 ? special[draw(NUMBERS)] : special[6 + i % LINES % 2];
  for (size_t l = 0; l < LINES; l += 3) x[draw(n) * LINES + l] = special[NUMBERS + draw(ALL - NUMBERS)];
  hx_task t = hx_reduce_columns(op, HX_F32, x, n, LINES, LINES, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  for (size_t l = 0; l < LINES; l++) {
    for (size_t i = 0; i < n; i++) packed[i] = x[i * LINES + l];
    const uint64_t want = ref_reduce(op, HX_F32, packed, NULL, n).u64;
    CHECK(out[l].u64 == want, "seed %llu: op %d, n %zu: column %zu is %08x, not %08x", (unsigned long long)seed,
          (int)op, n, l, out[l].u32, (uint32_t)want);
  }
  free(x);
  free(packed);
}

static void check_empty(void) {
  hx_value out[3];
  memset(out, 0x5a, sizeof out);
  hx_task t = hx_reduce_rows(HX_SUM, HX_F32, NULL, 3, 0, 0, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(out[0].u64 == 0 && out[2].u64 == 0, "a sum of nothing");
  t = hx_reduce_columns(HX_PROD, HX_F32, NULL, 0, 2, 0, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(out[0].u64 == 0x3f800000 && out[1].u64 == 0x3f800000 && out[2].u64 == 0, "a product of nothing");
  t = hx_reduce_strided(HX_PROD, HX_U32, NULL, 9, 0, out);
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(out[0].u64 == 1, "a product of no integer");
  t = hx_reduce_rows(HX_MAX, HX_F32, NULL, 0, 7, 0, NULL);
  CHECK_OK(hx_offload(hx, &t, NULL));
}

static void check_errors(void) {
  static float x[64];
  static hx_value out[8];
  hx_task t = hx_reduce_rows(HX_MIN, HX_F32, x, 3, 0, 0, out);
#define REFUSED(text)                                                     \
  do {                                                                    \
    memset(out, 0x5a, sizeof out);                                        \
    CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, text);   \
    CHECK(out[0].u64 == 0x5a5a5a5a5a5a5a5aull, "the output was written"); \
  } while (0)
  REFUSED("n is 0: HX_MIN has no value");
  t = hx_reduce_rows(HX_SUM, HX_F32, NULL, 3, 5, 0, out);
  REFUSED("x is NULL");
  t = hx_reduce_rows(HX_DOT, HX_F32, x, 3, 5, 0, out);
  REFUSED("y is NULL");
  t = hx_reduce_rows(HX_SUM, HX_F32, x, 3, 5, 0, NULL);
  REFUSED("out is NULL with lines = 3");
  t = hx_reduce_rows(HX_SUM, HX_F32, x, 3, 5, 0, (hx_value *)(void *)((char *)out + 4));
  REFUSED("not aligned to 8 bytes");
  t = hx_reduce_rows(HX_SUM, HX_F32, (char *)x + 1, 3, 5, 0, out);
  REFUSED("not aligned to 4 bytes");
  t = hx_reduce_rows((hx_op)10, HX_F32, x, 3, 5, 0, out);
  REFUSED("op is 10");
  t = hx_reduce_rows(HX_SUM, (hx_type)4, x, 3, 5, 0, out);
  REFUSED("type is 4");
  t = hx_reduce_rows(HX_SUM, HX_F32, x, 3, 5, 0, out);
  t.lines.stride = 0;
  REFUSED("stride is 0 with n = 5");
  t.lines.stride = 1;
  t.lines.line_stride = 0;
  REFUSED("line_stride is 0 with 3 lines");
  t = hx_reduce_rows(HX_DOT, HX_F32, x, 3, 5, 0, out);
  t.lines.y = x;
  t.lines.y_stride = 0;
  REFUSED("y_stride is 0");
  t.lines.y_stride = 1;
  t.lines.y_line_stride = 0;
  REFUSED("y_line_stride is 0");
  t = hx_reduce_rows(HX_SUM, HX_F32, x, 3, SIZE_MAX / 2, 0, out);
  REFUSED("overflow");
  t = hx_reduce_columns(HX_SUM, HX_F32, x, 3, 5, SIZE_MAX / 4, out);
  REFUSED("overflow");
  t = hx_reduce_columns(HX_SUM, HX_F32, x, SIZE_MAX, 1, 1, out);
  REFUSED("overflow");
  t = hx_reduce_rows(HX_SUM, HX_F32, x, SIZE_MAX / 8 + 1, 1, 1, out);
  REFUSED("overflow");
  t = hx_reduce_strided(HX_SUM, HX_F32, x, SIZE_MAX / 16, 5, out);
  REFUSED("wraps the address space");
  t = hx_reduce_rows(HX_SUM, HX_F32, x, 3, 5, 0, out);
  t.reserved[7] = 1;
  REFUSED("reserved[7]");
#undef REFUSED
  static union {
    float f32[64];
    hx_value value[32];
  } both;
#define REFUSED() CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "shares an element")
  t = hx_reduce_rows(HX_SUM, HX_F32, both.f32, 4, 6, 8, &both.value[2]);
  REFUSED();
  t = hx_reduce_rows(HX_SUM, HX_F32, both.f32, 4, 6, 8,
                     &both.value[3]); /* its first value is in a gap, others are not */
  REFUSED();
  t = hx_reduce_rows(HX_SUM, HX_F32, both.f32, 1, 6, 8, &both.value[3]);
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_reduce_columns(HX_SUM, HX_F32, both.f32, 4, 4, 14, &both.value[2]); /* 8 elements in a gap of 10 */
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_reduce_columns(HX_SUM, HX_F32, both.f32, 4, 4, 10, &both.value[2]);
  REFUSED();
  t = hx_reduce_strided(HX_SUM, HX_F32, both.f32, 4, 16, &both.value[1]); /* a result between the fields */
  CHECK_OK(hx_offload(hx, &t, NULL));
  t = hx_reduce_strided(HX_SUM, HX_F32, both.f32, 3, 16, &both.value[1]);
  REFUSED();
  t = hx_reduce_rows(HX_SUM, HX_F32, both.f32, 2, 2, 8, &both.value[10]);
  t.lines.stride = 3;
  CHECK_OK(hx_offload(hx, &t, NULL)); /* behind the last element */
  static const float ones[] = {1, 1, 1, 1};
  for (int i = 0; i < 4; i++) both.f32[14 * i] = (float)i, both.f32[14 * i + 1] = 10;
  t = hx_reduce_rows(HX_DOT, HX_F32, ones, 2, 4, 1, &both.value[2]); /* x by rows, y by columns with gaps of 12 */
  t.lines.y = both.f32, t.lines.y_line_stride = 1, t.lines.y_stride = 14;
  t.lines.n = 3;
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(both.value[2].f32 == 3 && both.value[3].f32 == 30, "%g and %g", both.value[2].f32, both.value[3].f32);
  t.lines.out = &both.value[6]; /* with elements 14 and 15 for it to share */
  REFUSED();
  t = hx_reduce_rows(HX_SUM, HX_F32, x, 1, 1, 0, out);
  t.lines.stride = t.lines.line_stride = 0; /* not used */
  CHECK_OK(hx_offload(hx, &t, NULL));
#undef REFUSED
}

#define NEAR(got, want) CHECK(fabs((got) - (want)) <= 1e-12 * fabs(want), "%g, not %g", (got), (want))

static void check_values(void) {
  NEAR(hx_value_as_double(HX_SUM, HX_F32, (hx_value){.f32 = -1.5f}), -1.5);
  NEAR(hx_value_as_double(HX_SUM, HX_I32, (hx_value){.i64 = -7}), -7.0);
  NEAR(hx_value_as_double(HX_SUM, HX_U32, (hx_value){.u64 = UINT64_MAX}), 0x1p64);
  NEAR(hx_value_as_double(HX_MAX, HX_I32, (hx_value){.i32 = INT32_MIN}), -0x1p31);
  NEAR(hx_value_as_double(HX_MIN, HX_U32, (hx_value){.u32 = UINT32_MAX}), 0x1p32 - 1);
  NEAR(hx_value_as_double(HX_ARGMIN, HX_F32, (hx_value){.u64 = 12345}), 12345.0);
  CHECK(isnan(hx_value_as_double((hx_op)0, HX_F32, (hx_value){.u64 = 0})), "op 0");
  CHECK(isnan(hx_value_as_double((hx_op)10, HX_F32, (hx_value){.u64 = 0})), "op 10");
  CHECK(isnan(hx_value_as_double(HX_SUM, (hx_type)0, (hx_value){.u64 = 0})), "type 0");
  CHECK(isnan(hx_value_as_double(HX_SUM, (hx_type)4, (hx_value){.u64 = 0})), "type 4");
  static int32_t far[1000]; /* a large mean and a small variance: 999999 / 12 */
  static float near[1000];
  for (int i = 0; i < 1000; i++) far[i] = 2000000000 - i, near[i] = (float)i;
  hx_value v[2];
  const hx_field fields[] = {{HX_SUM, HX_I32, far, NULL}, {HX_SUM_SQUARES, HX_I32, far, NULL}};
  hx_task t = hx_reduce_soa(fields, 2, 1000, v);
  CHECK_OK(hx_offload(hx, &t, NULL));
  NEAR(hx_mean(HX_I32, v[0], 1000), 1999999500.5);
  const double overflown = hx_variance(HX_I32, v[0], v[1], 1000);
  for (int i = 0; i < 1000; i++) far[i] = -20000000 + i;
  CHECK_OK(hx_offload(hx, &t, NULL));
  NEAR(hx_variance(HX_I32, v[0], v[1], 1000), 999999.0 / 12.0);
  (void)overflown; /* the squares exceed 64 bits: any number */
  const hx_field floats[] = {{HX_SUM, HX_F32, near, NULL}, {HX_SUM_SQUARES, HX_F32, near, NULL}};
  t = hx_reduce_soa(floats, 2, 1000, v);
  CHECK_OK(hx_offload(hx, &t, NULL));
  NEAR(hx_mean(HX_F32, v[0], 1000), 499.5); /* exact: all partial sums are integers below 2^24 */
  CHECK(fabs(hx_variance(HX_F32, v[0], v[1], 1000) - 83333.25) < 999.0 * 999.0 * 0x1p-20, "variance");
  CHECK(fabs(hx_norm(HX_F32, v[1]) - sqrt(332833500.0)) < 1e-3, "norm");
  CHECK(isnan(hx_mean(HX_F32, v[0], 0)) && isnan(hx_variance(HX_I32, v[0], v[1], 0)), "n == 0");
}

int main(int argc, char **argv) {
  const hx_settings settings = {.devices = argc > 1 ? argv[1] : "cpu", .memory = argc > 2 ? argv[2] : NULL};
  const int cases = argc > 3 ? atoi(argv[3]) : 1000;
  seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 20261126;
  printf("seed %llu\n", (unsigned long long)seed);
  hx = open_or_exit(&settings);
  for (int i = 0; i < cases; i++) check_case();
  static const struct {
    size_t rows, columns;
  } shapes[] = {{3000, 700}, {3, 400000}, {400000, 3}, {9000, 130}, {17, 60000}};
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    check_large(i % 2 ? HX_SUM : HX_ARGMAX, shapes[i].rows, shapes[i].columns, -1);
    check_large(i % 2 ? HX_SUM_SQUARES : HX_MIN, shapes[i].rows, shapes[i].columns, 0.5f);
  }
  static const size_t few[] = {1, 2, 7, 8, 9, 300, 5000};
  for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
    check_special(HX_MIN, few[i]);
    check_special(HX_MAX, few[i]);
  }
  check_empty();
  check_errors();
  check_values();
  hx_close(hx);
  return checks_end("lines_test");
}
