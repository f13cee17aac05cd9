/* SPDX-License-Identifier: Apache-2.0
 * Kernels with several outputs: each output has the bits of a kernel that computes it alone, on every instruction set
 * of the machine, for random texts, rows of every width around the boundaries of vectors and groups, gaps between rows,
 * one value per row, any alignment, outputs in place of inputs, and any share of the devices. Nothing else is written.
 * Usage: map_outputs_test [devices [memory [cases [seed]]]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "runtime/hx_map.h"
#include "tests/check.h"

enum { MOST = 80000, MARGIN = 40, VARIABLES = 12 };
#define UNTOUCHED 0xdeadbeefu

static uint64_t seed, drawn;
static unsigned shared; /* tasks of which devices have done a part */
static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }

/* Inputs f0, f1 and i0, and the parameter p0, of every kernel, in this order; f1 has one value per row in some. */
enum { F0, F1, I0, INPUTS };

/* A random text: variables f2, f3, ... and i1, i2, ..., each of those before it. */
typedef struct text {
  char declarations[4096], inputs[64], outputs[128];
  char output[HX_MAX_OUTPUTS][16];
  unsigned floats, ints, count;
  bool per_row;
} text;

static void add_variable(text *t) {
  static const char *const of_floats[] = {"f%u + f%u",
                                          "f%u - f%u",
                                          "f%u * f%u",
                                          "f%u / f%u",
                                          "f%u < f%u ? f%u : p0",
                                          "fmaf(f%u, f%u, f%u)",
                                          "sqrtf(fabsf(f%u))",
                                          "fminf(f%u, f%u)",
                                          "p0",
                                          "f%u * f%u + f%u",
                                          "expf(f%u)",
                                          "(float)i%u",
                                          "f%u"};
  static const char *const of_ints[] = {"i%u + i%u", "i%u * i%u",           "i%u ^ i%u", "i%u < i%u", "(int)f%u",
                                        "i%u >> 3",  "i%u < 5 ? i%u : i%u", "i%u",       "7"};
  const bool is_float = draw(3) != 0;
  const size_t row = draw(is_float ? sizeof of_floats / sizeof of_floats[0] : sizeof of_ints / sizeof of_ints[0]);
  const char *const form = is_float ? of_floats[row] : of_ints[row];
  const bool takes_floats = is_float ? strcmp(form, "(float)i%u") != 0 : strcmp(form, "(int)f%u") == 0;
  const unsigned below = takes_floats ? t->floats : t->ints;
  char value[80];
  snprintf(value, sizeof value, form, (unsigned)draw(below), (unsigned)draw(below), (unsigned)draw(below));
  char *const end = t->declarations + strlen(t->declarations);
  const size_t room = sizeof t->declarations - (size_t)(end - t->declarations);
  if (is_float)
    snprintf(end, room, "float f%u = %s; ", t->floats++, value);
  else
    snprintf(end, room, "int i%u = %s; ", t->ints++, value);
}

static text draw_text(void) {
  text t = {.floats = 2, .ints = 1, .per_row = draw(3) == 0};
  for (size_t i = 0, n = 1 + draw(VARIABLES); i < n; i++) add_variable(&t);
  snprintf(t.inputs, sizeof t.inputs, "float f0, %sfloat f1, int i0", t.per_row ? "row " : "");
  t.count = 1 + (unsigned)draw(HX_MAX_OUTPUTS);
  for (unsigned o = 0; o < t.count; o++) {
    const bool is_float = draw(2);
    snprintf(t.output[o], sizeof t.output[o], "%c%u", is_float ? 'f' : 'i',
             (unsigned)draw(is_float ? t.floats : t.ints));
    const size_t at = strlen(t.outputs);
    snprintf(t.outputs + at, sizeof t.outputs - at, "%s%s", o ? ", " : "", t.output[o]);
  }
  return t;
}

/* rows x cols elements of each array, and the elements from row to row. */
typedef struct shape {
  size_t rows, cols, ld[INPUTS], ld_out;
} shape;

static shape draw_shape(const text *t, size_t most) {
  static const size_t widths[] = {1,  2,   3,   7,   15,  16,  17,  31,   32,   33,   63,   64,
                                  65, 127, 128, 129, 130, 255, 257, 4095, 4096, 4097, 9001, 40001};
  shape s = {.cols = widths[draw(sizeof widths / sizeof widths[0])]};
  if (s.cols > most) s.cols = most;
  s.rows = draw(2) ? 1 : 1 + draw(most / s.cols < 300 ? most / s.cols : 300);
  const bool gaps = draw(2);
  for (unsigned i = 0; i < INPUTS; i++) s.ld[i] = draw(8) == 0 ? 0 : s.cols + (gaps ? draw(3) : 0);
  s.ld_out = s.cols + (gaps ? draw(3) : 0);
  if (t->per_row) s.ld[F1] = draw(4);
  return s;
}

/* An array with margins, whose elements are all UNTOUCHED. */
static uint32_t *new_array(size_t elements, uint32_t **block) {
  const size_t all = elements + 2 * MARGIN;
  *block = malloc(all * sizeof **block);
  if (!*block) abort();
  for (size_t i = 0; i < all; i++) (*block)[i] = UNTOUCHED;
  return *block + 1 + draw(MARGIN - 1);
}

static size_t extent(const shape *s, size_t ld, size_t cols) { return (s->rows - 1) * ld + cols; }

/* The arrays of a case: an output may be an input. */
typedef struct arrays {
  uint32_t *block[INPUTS + HX_MAX_OUTPUTS], *before[INPUTS];
  uint32_t *input[INPUTS], *output[HX_MAX_OUTPUTS];
  bool in_place[HX_MAX_OUTPUTS];
} arrays;

static void make_inputs(arrays *a, const text *t, const shape *s) {
  for (unsigned i = 0; i < INPUTS; i++) {
    const size_t n = extent(s, s->ld[i], i == F1 && t->per_row ? 1 : s->cols);
    a->input[i] = new_array(n, &a->block[i]);
    data_fill(i == I0 ? HX_I32 : HX_F32, (data_kind)draw(DATA_KINDS), draw(1000), a->input[i], n);
    a->before[i] = malloc(n * sizeof(uint32_t));
    if (!a->before[i]) abort();
    memcpy(a->before[i], a->input[i], n * sizeof(uint32_t));
  }
}

static void make_outputs(arrays *a, const text *t, const shape *s) {
  bool taken[INPUTS] = {false};
  for (unsigned o = 0; o < t->count; o++) {
    const unsigned i = (unsigned)draw(INPUTS);
    a->in_place[o] = draw(2) && !taken[i] && s->ld[i] == s->ld_out && !(i == F1 && t->per_row);
    if (a->in_place[o])
      taken[i] = true, a->output[o] = a->input[i];
    else
      a->output[o] = new_array(extent(s, s->ld_out, s->cols), &a->block[INPUTS + o]);
  }
}

static void free_arrays(arrays *a) {
  for (unsigned i = 0; i < INPUTS + HX_MAX_OUTPUTS; i++) free(a->block[i]);
  for (unsigned i = 0; i < INPUTS; i++) free(a->before[i]);
}

/* The output that a kernel of its own computes from the inputs as they were. */
static uint32_t *alone(hx_context *hx, const text *t, unsigned o, const arrays *a, const shape *s, hx_value p) {
  char body[sizeof t->declarations + 16];
  snprintf(body, sizeof body, "%s %s", t->declarations, t->output[o]);
  const hx_kernel_source source = {.text = body, .inputs = t->inputs, .parameters = "float p0"};
  uint32_t *const want = malloc(s->rows * s->cols * sizeof *want);
  hx_kernel *k;
  if (!want) abort();
  CHECK_OK(hx_compile(hx, &source, &k));
  const void *inputs[INPUTS] = {a->before[F0], a->before[F1], a->before[I0]};
  hx_task task = hx_map_rows(k, inputs, s->ld, s->rows, s->cols, &p, want, 0);
  task.gpu_share = 0.0f;
  CHECK_OK(hx_offload(hx, &task, NULL));
  hx_kernel_free(k);
  return want;
}

static void compare(const text *t, unsigned o, const arrays *a, const shape *s, const uint32_t *want) {
  const uint32_t *const got = a->output[o];
  size_t wrong = 0;
  const size_t n = s->rows * s->cols;
  while (wrong < n && got[wrong / s->cols * s->ld_out + wrong % s->cols] == want[wrong]) wrong++;
  CHECK(wrong == n, "output %u (%s%s), element %zu of %zux%zu: %08x, not %08x: inputs %s; outputs %s; %s", o,
        t->output[o], a->in_place[o] ? ", in place" : "", wrong, s->rows, s->cols,
        got[wrong / s->cols * s->ld_out + wrong % s->cols], want[wrong], t->inputs, t->outputs, t->declarations);
  bool outside = got[-1] != UNTOUCHED || got[extent(s, s->ld_out, s->cols)] != UNTOUCHED;
  for (size_t r = 0; r + 1 < s->rows && !a->in_place[o]; r++)
    for (size_t c = s->cols; c < s->ld_out; c++) outside = outside || got[r * s->ld_out + c] != UNTOUCHED;
  CHECK(!outside, "output %u of %zux%zu: written outside", o, s->rows, s->cols);
}

static hx_status offload(hx_context *hx, const hx_task *task) {
  hx_event *event;
  hx_report report = {.gpu_share = 0.0};
  const hx_task both[] = {*task, hx_map_reduce(HX_SUM, NULL, NULL, 0, NULL, NULL)};
  switch (draw(3)) {
    case 0: {
      const hx_status s = hx_offload_async(hx, task, &event);
      return s == HX_OK ? hx_wait(event, NULL) : s;
    }
    case 1:
      return hx_offload_many(hx, both, 1, NULL);
    default: {
      const hx_status s = hx_offload(hx, task, &report);
      CHECK(task->gpu_share < 0 || report.recovered == 0, "%u chunks were recovered", report.recovered);
      shared += report.gpu_share > 0.0;
      return s;
    }
  }
}

static void check_case(hx_context *hx, size_t most) {
  static const float shares[] = {-1, 0, 0.5f, 1};
  const text t = draw_text();
  const shape s = draw_shape(&t, most);
  const hx_kernel_source source = {
      .text = t.declarations, .inputs = t.inputs, .parameters = "float p0", .outputs = t.outputs};
  hx_kernel *k;
  CHECK_OK(hx_compile(hx, &source, &k));
  if (!k) return;
  hx_value p = {.f32 = data_f32((data_kind)draw(DATA_KINDS), draw(1000), 0)};
  arrays a = {.block = {NULL}};
  make_inputs(&a, &t, &s);
  make_outputs(&a, &t, &s);
  const void *inputs[INPUTS] = {a.input[F0], a.input[F1], a.input[I0]};
  void *outputs[HX_MAX_OUTPUTS];
  for (unsigned o = 0; o < t.count; o++) outputs[o] = a.output[o];
  const bool simple = s.rows == 1 && draw(2);
  hx_task task = simple ? hx_map_outputs(k, inputs, s.cols, &p, outputs)
                        : hx_map_rows_outputs(k, inputs, s.ld, s.rows, s.cols, &p, outputs, s.ld_out);
  task.gpu_share = shares[draw(4)];
  CHECK_OK(offload(hx, &task));
  for (unsigned o = 0; o < t.count; o++) {
    uint32_t *const want = alone(hx, &t, o, &a, &s, p);
    const hx_type type = t.output[o][0] == 'f' ? HX_F32 : HX_I32;
    CHECK(hx_kernel_output_type(k, o) == type, "output %u: type %d", o, hx_kernel_output_type(k, o));
    compare(&t, o, &a, &s, want);
    free(want);
  }
  CHECK(hx_kernel_output_type(k, t.count) == 0, "there is no output %u", t.count);
  free_arrays(&a);
  hx_kernel_free(k);
}

enum { HELD = 50000 };

static float *new_held(hx_context *hx, unsigned advice) {
  float *const p = hx_alloc(hx, HELD * sizeof *p);
  if (!p) abort();
  CHECK_OK(hx_advise(hx, p, HELD * sizeof *p, advice));
  return p;
}

/* y as a device has it, and as the host has it. An old copy would be noticed by the spot check, after which the CPU
 * does what the device was asked for. */
static void check_held(hx_context *hx, const float *y, const float *want, const char *what) {
  hx_value wanted, got;
  hx_report report;
  hx_task sum = hx_reduce(HX_SUM, HX_F32, want, HELD, &wanted);
  sum.gpu_share = 0.0f;
  CHECK_OK(hx_offload(hx, &sum, NULL));
  for (int on_devices = 1; on_devices >= 0; on_devices--) {
    const float share = (float)on_devices;
    sum = hx_reduce(HX_SUM, HX_F32, y, HELD, &got);
    sum.gpu_share = share;
    CHECK_OK(hx_offload(hx, &sum, &report));
    CHECK(hx_device_count(hx) < 2 || report.gpu_share == (double)share, "%s: the devices did %g", what,
          report.gpu_share);
    CHECK(got.u64 == wanted.u64, "%s, share %g: the sum is %g, not %g", what, (double)share, (double)got.f32,
          (double)wanted.f32);
  }
}

/* The second output is where a device has a copy of it, or a result that the host lacks. */
static void check_held_outputs(hx_context *hx) {
  const hx_kernel_source two = {
      .text = "float u = x + 1.0f; float v = x - 1.0f;", .inputs = "float x", .outputs = "u, v"};
  const hx_kernel_source one = {.text = "x * 2.0f", .inputs = "float x"};
  static float x[HELD], u[HELD], want[HELD];
  float *const result = new_held(hx, HX_RESIDENT), *const read = new_held(hx, HX_READ_MOSTLY);
  hx_kernel *twice, *both;
  CHECK_OK(hx_compile(hx, &two, &both));
  CHECK_OK(hx_compile(hx, &one, &twice));
  data_fill(HX_F32, DATA_SIGNED, seed, x, HELD);
  hx_task make = hx_map(twice, (const void *[]){x}, HELD, NULL, result);
  make.gpu_share = 1.0f;
  for (size_t n = HELD; n; n = n == HELD ? HELD / 2 : 0) {
    for (size_t i = 0; i < HELD; i++) want[i] = i < n ? x[i] - 1.0f : 2.0f * x[i];
    CHECK_OK(hx_offload(hx, &make, NULL));
    hx_task task = hx_map_outputs(both, (const void *[]){x}, n, NULL, (void *[]){u, result});
    CHECK_OK(hx_offload(hx, &task, NULL));
    check_held(hx, result, want, n == HELD ? "all of a result" : "half of a result");
  }
  CHECK_OK(hx_offload(hx, &make, NULL));
  hx_task in_place = hx_map_outputs(both, (const void *[]){result}, HELD, NULL, (void *[]){u, result});
  CHECK_OK(hx_offload(hx, &in_place, NULL));
  for (size_t i = 0; i < HELD; i++) want[i] = 2.0f * x[i] - 1.0f;
  check_held(hx, result, want, "in place of a result");
  memcpy(read, x, sizeof x);
  CHECK_OK(hx_advise(hx, read, sizeof x, HX_READ_MOSTLY));
  check_held(hx, read, x, "before");
  hx_task over = hx_map_outputs(both, (const void *[]){x}, HELD, NULL, (void *[]){u, read});
  CHECK_OK(hx_offload(hx, &over, NULL));
  for (size_t i = 0; i < HELD; i++) want[i] = x[i] - 1.0f;
  check_held(hx, read, want, "over a copy");
  hx_kernel_free(both);
  hx_kernel_free(twice);
  hx_free(hx, result);
  hx_free(hx, read);
}

static void check_all(hx_context *hx, unsigned long cases) {
  const unsigned failed = checks_failed;
  check_held_outputs(hx);
  for (unsigned long c = 0; c < cases && checks_failed < failed + 5; c++) check_case(hx, c % 8 ? 3000 : MOST);
}

int main(int argc, char **argv) {
  static const char *const isas[] = {"sse2", "avx2", "avx512", "neon"};
  const char *const devices = argc > 1 ? argv[1] : "cpu";
  const unsigned long cases = argc > 3 ? strtoul(argv[3], NULL, 10) : 1500;
  unsigned checked = 0;
  seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 20261201;
  printf("map_outputs_test: seed %llu, %lu cases\n", (unsigned long long)seed, cases);
  for (size_t i = 0; i < sizeof isas / sizeof isas[0] && (i == 0 || argc < 2); i++) {
    hx_context *hx = NULL;
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.devices = devices;
    if (argc > 2) settings.memory = argv[2];
    if (argc < 2) settings.isa = isas[i];
    if (hx_open(&hx, &settings) != HX_OK) {
      printf("%s: left out: %s\n", isas[i], hx_error_detail());
      continue;
    }
    checked++;
    check_all(hx, cases);
    hx_close(hx);
  }
  CHECK(checked > 0, "no instruction set");
  printf("map_outputs_test: devices took part in %u tasks\n", shared);
  CHECK(shared || !strcmp(devices, "cpu"), "devices did nothing");
  return checks_end("map_outputs_test");
}
