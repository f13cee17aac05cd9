/* SPDX-License-Identifier: Apache-2.0
 * hx_map and hx_map_reduce: random expressions have the bits of a scalar interpreter (expr_tree.h), on every
 * instruction set that the machine has, for every kind of data, at sizes around every boundary of vector, group, leaf
 * and chunk, for any 4-byte alignment, in place and not, with any share of the devices, synchronously, in the
 * background and in lists. Nothing else is written. Usage: map_test [devices [memory [cases [seed]]]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "runtime/base/expr_code.h"
#include "runtime/hx_map.h"
#include "tests/check.h"
#include "tests/expr_tree.h"

#define MOST ((size_t)70000)
#define MARGIN 40
#define UNTOUCHED 0xdeadbeefu

static uint64_t seed, drawn;
static unsigned shared;         /* tasks of which devices have done a part */
static unsigned longer_than[2]; /* expressions of more than 256 steps, of more than 384 */
static size_t draw(size_t below) { return data_u64(seed, drawn++) % below; }
#define PICK(list) (list)[draw(sizeof(list) / sizeof((list)[0]))]

/* The arrays of a case, with a margin before and after each. */
typedef struct arrays {
  uint32_t *block[TREE_INPUTS + 1], *p[TREE_INPUTS + 1]; /* the last one is the output */
  const void *inputs[TREE_INPUTS];
  hx_value parameters[TREE_PARAMETERS];
} arrays;

static void arrays_make(arrays *a, const tree *t, size_t n) {
  for (unsigned i = 0; i <= TREE_INPUTS; i++) {
    a->block[i] = malloc((n + 2 * MARGIN) * sizeof(uint32_t));
    if (!a->block[i]) abort();
    a->p[i] = a->block[i] + 1 + draw(MARGIN - 1);
    for (size_t k = 0; k < n + 2 * MARGIN; k++) a->block[i][k] = UNTOUCHED;
    if (i < tree_input_count(t)) data_fill(tree_input_type(t, i), (data_kind)draw(DATA_KINDS), draw(1000), a->p[i], n);
    if (i < TREE_INPUTS) a->inputs[i] = a->p[i];
  }
  for (unsigned i = 0; i < TREE_PARAMETERS; i++) {
    a->parameters[i].u64 = 0;
    const float f = data_f32((data_kind)draw(DATA_KINDS), draw(1000), i);
    memcpy(&a->parameters[i].f32, &f, sizeof f);
  }
}

static void arrays_free(arrays *a) {
  for (unsigned i = 0; i <= TREE_INPUTS; i++) free(a->block[i]);
}

static hx_status offload(hx_context *hx, const hx_task *task) {
  hx_event *event;
  hx_report report;
  hx_status s;
  switch (draw(4)) {
    case 0:
      s = hx_offload_async(hx, task, &event);
      return s == HX_OK ? hx_wait(event, NULL) : s;
    case 1:
      return hx_offload_many(hx, task, 1, NULL);
    case 2:
      s = hx_offload(hx, task, &report);
      if (s == HX_OK && task->map.n) {
        uint64_t units = 0;
        for (uint32_t i = 0; i < report.device_count; i++) units += report.device[i].units;
        CHECK(units == task->map.n, "%llu units of %zu", (unsigned long long)units, task->map.n);
        shared += report.gpu_share > 0.0;
      }
      return s;
    default:
      return hx_offload(hx, task, NULL);
  }
}

static void check_map(hx_context *hx, const tree *t, const hx_kernel *k, arrays *a, size_t n, const uint32_t *wanted,
                      float share) {
  const unsigned replaced = tree_input_count(t) ? (unsigned)draw(tree_input_count(t)) : 0;
  const bool in_place = tree_input_count(t) && draw(4) == 0 && !tree_input_is_per_row(t, replaced);
  uint32_t *const out = a->p[in_place ? replaced : TREE_INPUTS];
  hx_task task = hx_map(k, a->inputs, n, a->parameters, out);
  task.gpu_share = share;
  CHECK_OK(offload(hx, &task));
  size_t wrong = 0;
  while (wrong < n && out[wrong] == wanted[wrong]) wrong++;
  CHECK(wrong == n, "[%zu] of %zu is %08x, not %08x%s: %s; inputs %s; parameters %s", wrong, n, out[wrong],
        wanted[wrong], in_place ? " (in place)" : "", tree_text(t), tree_inputs(t), tree_parameters(t));
  if (wrong < n)
    for (unsigned i = 0; i < TREE_INPUTS; i++)
      printf("  x%u %08x p%u %08x\n", i, a->p[i][wrong], i, a->parameters[i].u32);
  CHECK(out[-1] == UNTOUCHED && out[n] == UNTOUCHED, "written outside of %zu elements", n);
}

static void check_reduction(hx_context *hx, const tree *t, const hx_kernel *k, arrays *a, size_t n,
                            const uint32_t *values, float share) {
  static const hx_op ops[] = {HX_SUM, HX_MIN, HX_MAX, HX_ARGMIN, HX_ARGMAX, HX_SUM_ABS, HX_SUM_SQUARES, HX_PROD};
  const hx_op op = PICK(ops);
  hx_value out = {.u64 = 1}, wanted;
  if (n == 0 && op >= HX_MIN && op <= HX_ARGMAX) return;
  hx_task task = hx_map_reduce(op, k, a->inputs, n, a->parameters, &out);
  task.gpu_share = share;
  CHECK_OK(offload(hx, &task));
  wanted = ref_reduce(op, tree_type(t), values, values, n);
  CHECK(out.u64 == wanted.u64, "op %d of %zu is %llx, not %llx: %s; inputs %s; parameters %s", op, n,
        (unsigned long long)out.u64, (unsigned long long)wanted.u64, tree_text(t), tree_inputs(t), tree_parameters(t));
}

/* Several operations in one task. */
static void check_fields(hx_context *hx, const tree *t, const hx_kernel *k, arrays *a, size_t n, const uint32_t *values,
                         float share) {
  static const hx_op ops[] = {HX_SUM, HX_SUM_ABS, HX_SUM_SQUARES, HX_PROD, HX_MIN, HX_MAX, HX_ARGMIN, HX_ARGMAX};
  enum { MOST_FIELDS = 11 };
  hx_field fields[MOST_FIELDS];
  hx_value out[MOST_FIELDS + 1];
  const size_t count = draw(MOST_FIELDS + 1);
  for (size_t f = 0; f < count; f++) fields[f] = (hx_field){.op = ops[draw(n ? 8 : 4)], .type = tree_type(t)};
  for (size_t f = 0; f <= count; f++) out[f].u64 = UNTOUCHED;
  hx_task task = hx_map_reduce_fields(fields, count, k, a->inputs, n, a->parameters, out);
  task.gpu_share = share;
  CHECK_OK(offload(hx, &task));
  for (size_t f = 0; f < count; f++) {
    const hx_value wanted = ref_reduce(fields[f].op, tree_type(t), values, values, n);
    CHECK(out[f].u64 == wanted.u64, "field %zu of %zu, op %d of %zu, is %llx, not %llx: %s", f, count, fields[f].op, n,
          (unsigned long long)out[f].u64, (unsigned long long)wanted.u64, tree_text(t));
  }
  CHECK(out[count].u64 == UNTOUCHED, "more than %zu results were written", count);
}

static void check_refused_fields(hx_context *hx) {
  static const hx_kernel_source source = {.text = "x", .inputs = "int x"};
  int x[8] = {0};
  hx_field fields[2] = {{.op = HX_SUM, .type = HX_I32}, {.op = HX_MIN, .type = HX_F32}};
  const void *inputs[] = {x};
  hx_value out[2];
  hx_kernel *k;
  CHECK_OK(hx_compile(hx, &source, &k));
  hx_task t = hx_map_reduce_fields(fields, 2, k, inputs, 8, NULL, out);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "type of field 1 is f32; the kernel gives i32");
  fields[1].type = HX_I32;
  t.map.n = 0;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "HX_MIN of field 1 has no value");
  t.map.n = 8;
  fields[1].op = HX_DOT;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "op of field 1 is HX_DOT");
  fields[1].op = (hx_op)12;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "op of field 1 is 12");
  fields[1].op = HX_MIN;
  t.map.out = fields;
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "overlaps fields");
  t = hx_map_reduce_fields(NULL, 2, k, inputs, 8, NULL, out);
  CHECK_REFUSED(hx_offload(hx, &t, NULL), HX_INVALID_ARGUMENT, "fields is NULL");
  t = hx_map_reduce_fields(NULL, 0, k, NULL, 8, NULL, NULL);
  CHECK_OK(hx_offload(hx, &t, NULL));
  hx_kernel_free(k);
}

static void check_case(hx_context *hx, unsigned depth, size_t most) {
  static const size_t sizes[] = {0,    1,    2,    3,     15,    16,    17,    31,    32,    33,   63,   64,
                                 65,   127,  128,  129,   255,   256,   257,   1000,  4095,  4096, 4097, 4160,
                                 8191, 8192, 8193, 12289, 20001, 32767, 32768, 32769, 65535, 65537};
  static const float shares[] = {-1, 0, 0.5f, 1};
  const uint64_t at = drawn;
  tree *const t = tree_new(seed + 1000003 * drawn, depth);
  const hx_kernel_source source = {.text = tree_text(t), .inputs = tree_inputs(t), .parameters = tree_parameters(t)};
  hx_kernel *k = NULL;
  size_t n = PICK(sizes);
  if (n > most) n = most - draw(200);
  const float share = PICK(shares);
  const hx_status s = hx_compile(hx, &source, &k);
  if (s == HX_INVALID_ARGUMENT &&
      (strstr(hx_error_detail(), "the whole text") || strstr(hx_error_detail(), "more values"))) { /* limits */
    tree_free(t);
    return;
  }
  CHECK(s == HX_OK, "seed %llu at %llu: %s: %s; inputs %s", (unsigned long long)seed, (unsigned long long)at,
        hx_error_detail(), tree_text(t), tree_inputs(t));
  if (s == HX_OK) {
    longer_than[0] += k->code.steps > 256;
    longer_than[1] += k->code.steps > 384;
    arrays a;
    arrays_make(&a, t, n);
    uint32_t *const values = malloc((n + 1) * sizeof *values);
    if (!values) abort();
    for (size_t i = 0; i < n; i++) values[i] = tree_value(t, (const uint32_t *const *)a.inputs, a.parameters, i);
    CHECK(hx_kernel_type(k) == tree_type(t), "type %d", hx_kernel_type(k));
    check_reduction(hx, t, k, &a, n, values, share);
    if (draw(2)) check_fields(hx, t, k, &a, n, values, share);
    check_map(hx, t, k, &a, n, values, share);
    free(values);
    arrays_free(&a);
  }
  hx_kernel_free(k);
  tree_free(t);
}

static bool is_nan(uint32_t bits) { return (bits & 0x7fffffffu) > 0x7f800000u; }
/* Greater the greater the float is, and -0 is below +0. */
static uint32_t rank(uint32_t bits) { return bits >> 31 ? ~bits : bits | 0x80000000u; }

/* All pairs of zeros, infinities and NaNs, also of NaNs without a common bit of their payloads. */
static void check_extrema(hx_context *hx) {
  static const uint32_t special[] = {0,           0x80000000u, 1,           0x80000001u, 0x3f800000u,
                                     0xbf800000u, 0x7f800000u, 0xff800000u, 0x7f800001u, 0x7f800002u,
                                     0xff800004u, 0x7fc00000u, 0xffc00001u};
  enum { COUNT = sizeof special / sizeof special[0] };
  static const char *const texts[] = {"fminf(x, y)", "fmaxf(x, y)"};
  uint32_t x[COUNT * COUNT], y[COUNT * COUNT], out[COUNT * COUNT];
  const void *const inputs[] = {x, y};
  for (size_t i = 0; i < COUNT * COUNT; i++) x[i] = special[i / COUNT], y[i] = special[i % COUNT];
  for (int greatest = 0; greatest < 2; greatest++) {
    const hx_kernel_source source = {.text = texts[greatest], .inputs = "float x, float y"};
    hx_kernel *k;
    CHECK_OK(hx_compile(hx, &source, &k));
    const hx_task task = hx_map(k, inputs, COUNT * COUNT, NULL, out);
    CHECK_OK(hx_offload(hx, &task, NULL));
    for (size_t i = 0; i < COUNT * COUNT; i++) {
      const bool takes_x = is_nan(y[i]) || (!is_nan(x[i]) && (rank(x[i]) > rank(y[i])) == greatest);
      const uint32_t taken = takes_x ? x[i] : y[i], wanted = is_nan(taken) ? 0x7fc00000u : taken;
      CHECK(out[i] == wanted, "%s of %08x and %08x is %08x, not %08x", texts[greatest], x[i], y[i], out[i], wanted);
    }
    hx_kernel_free(k);
  }
}

/* Squares, which have steps of their own: a product and a sum are rounded twice. */
static void check_squares(hx_context *hx) {
  static const char *const texts[] = {"(x - y) * (x - y)",
                                      "(x - y) * (x - y) + p",
                                      "p + (x - y) * (x - y)",
                                      "y + (x - y) * (x - y)",
                                      "(x - y) * (x - y) + (x - y)",
                                      "(x - p) * (x - p) + (y - p) * (y - p)",
                                      "float d = x - y; float e = d * d; e * e + d * e"};
  enum { N = 1000 };
  float x[N], y[N], out[N];
  const void *const inputs[] = {x, y};
  const hx_value p = {.f32 = 0.7f};
  data_fill(HX_F32, DATA_SIGNED, seed, x, N);
  data_fill(HX_F32, DATA_SIGNED, seed + 1, y, N);
  for (unsigned t = 0; t < sizeof texts / sizeof texts[0]; t++) {
    const hx_kernel_source source = {.text = texts[t], .inputs = "float x, float y", .parameters = "float p"};
    hx_kernel *k;
    CHECK_OK(hx_compile(hx, &source, &k));
    const hx_task task = hx_map(k, inputs, N, &p, out);
    CHECK_OK(hx_offload(hx, &task, NULL));
    for (size_t i = 0; i < N; i++) {
      const float d = x[i] - y[i], e = x[i] - 0.7f, f = y[i] - 0.7f;
      const volatile float dd = d * d, ee = e * e, ff = f * f, dddd = dd * dd, ddd = d * dd;
      const float wanted[] = {dd, dd + 0.7f, 0.7f + dd, y[i] + dd, dd + d, ee + ff, dddd + ddd};
      CHECK(memcmp(&out[i], &wanted[t], sizeof out[i]) == 0, "%s is %a, not %a", texts[t], (double)out[i],
            (double)wanted[t]);
    }
    hx_kernel_free(k);
  }
}

static void check_cases(hx_context *hx, unsigned long cases) {
  const unsigned failed = checks_failed;
  check_extrema(hx);
  check_squares(hx);
  check_refused_fields(hx);
  for (unsigned long c = 0; c < cases && checks_failed < failed + 5; c++)
    check_case(hx, 1 + (unsigned)(c % 5), c % 8 ? 300 : MOST);
  for (unsigned long c = 0; c < cases / 4 && checks_failed < failed + 5; c++) check_case(hx, 8, 300); /* long ones */
}

/* With devices: each kernel is built, so there are fewer and larger ones. */
static void check_devices(const char *devices, const char *memory, unsigned long cases) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = devices;
  settings.memory = memory;
  hx_context *const hx = open_or_exit(&settings);
  const unsigned failed = checks_failed;
  for (unsigned long c = 0; c < cases && checks_failed < failed + 5; c++) check_case(hx, 1 + (unsigned)(c % 5), MOST);
  hx_close(hx);
  printf("map_test: devices took part in %u tasks\n", shared);
  CHECK(shared > 0, "devices did nothing");
}

/* Every instruction set of this machine; returns their number. */
static unsigned check_isas(unsigned long cases) {
  static const char *const isas[] = {"sse2", "avx2", "avx512", "neon"};
  unsigned checked = 0;
  for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
    hx_context *hx = NULL;
    hx_settings settings = HX_SETTINGS_DEFAULT;
    settings.isa = isas[i];
    settings.devices = "cpu";
    if (hx_open(&hx, &settings) != HX_OK) {
      printf("%s: left out: %s\n", isas[i], hx_error_detail());
      continue;
    }
    checked++;
    check_cases(hx, cases);
    hx_close(hx);
  }
  return checked;
}

int main(int argc, char **argv) {
  const char *const devices = argc > 1 ? argv[1] : "cpu";
  const unsigned long cases = argc > 3 ? strtoul(argv[3], NULL, 10) : 1200;
  seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 20261127;
  printf("map_test: seed %llu, %lu cases\n", (unsigned long long)seed, cases);
  if (strcmp(devices, "cpu") != 0)
    check_devices(devices, argc > 2 ? argv[2] : NULL, cases);
  else
    CHECK(check_isas(cases) > 0, "no instruction set");
  printf("map_test: %u expressions of more than 256 steps, %u of more than 384\n", longer_than[0], longer_than[1]);
  return checks_end("map_test");
}
