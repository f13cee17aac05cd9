/* SPDX-License-Identifier: Apache-2.0
 * The workload `maps` of the fault matrix: user kernels. Most calls use one whose program is in the cache; the
 * map-reduce of another one is built and tested anew in every child. Plain loops make the elements that are expected,
 * and the scalar definition reduces them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference/data.h"
#include "reference/ref.h"
#include "tests/faults/child.h"

enum { N = 40007, FIELDS = 2, MOST_ROWS = 400 };

/* Matrices in the arrays: long rows, of more than a leaf, and short ones, of which a leaf has many. */
typedef struct shape {
  size_t rows, cols, ld;
} shape;
static const shape kShapes[] = {{9, 4111, 4440}, {331, 113, 120}};

static hx_kernel *distance, *mix, *both;
static float *b, *c, *r, *x, *z, *z2;
static float values[N], old[N]; /* what is expected, and what an output holds before */
static bool own_b, own_r, x_registered;

/* Each call has another parameter, so that results of an earlier one are never right. */
static hx_value next_scale(void) {
  static float scale = 1.25f;
  return (hx_value){.f32 = scale += 0.25f};
}

static float distance_of(float u, float v, hx_value scale) { return fabsf(u - v) * scale.f32; }

static void expect_distances(const float *u, const float *v, size_t n, hx_value scale) {
  for (size_t i = 0; i < n; i++) values[i] = distance_of(u[i], v[i], scale);
}

static void fill_old(float *into) {
  for (int i = 0; i < N; i++) old[i] = (float)(i % 11) - 5.0f;
  memcpy(into, old, sizeof old);
}

static void check_elements(const float *got, const float *wanted, size_t n, float share, const char *what) {
  for (size_t i = 0; i < n; i++)
    if (!same_bits(&got[i], &wanted[i], sizeof *got)) {
      complain(&out->wrong, "%s, share %g: element %zu is %a instead of %a", what, (double)share, i, (double)got[i],
               (double)wanted[i]);
      return;
    }
}

static void map(const float *u, float *into, float share, unsigned how) {
  static const char what[] = "map";
  const hx_value scale = next_scale();
  const void *const inputs[] = {u, b};
  fill_old(into);
  if (how & RESIDENT) modified(into, sizeof old);
  expect_distances(u, b, N - 1, scale);
  hx_task t = hx_map(distance, inputs, N - 1, &scale, into);
  if (run_task(&t, share, how, what) && (!(how & RESIDENT) || synced(into, sizeof old)))
    check_elements(into, values, N - 1, share, how & RESIDENT ? "map, resident" : what);
}

/* What a chunk that is computed again reads must not be overwritten by then. */
static void map_in_place(float share, unsigned how) {
  const hx_value scale = next_scale();
  const void *const inputs[] = {z, x};
  memcpy(z, b, sizeof old);
  expect_distances(z, x, N, scale);
  hx_task t = hx_map(distance, inputs, N, &scale, z);
  if (run_task(&t, share, how, "map in place")) check_elements(z, values, N, share, "map in place");
}

/* Each of two outputs replaces the input that the other one needs, too. */
static void map_two_in_place(float share, unsigned how) {
  const hx_value scale = next_scale();
  const void *const inputs[] = {z, z2};
  void *const outputs[] = {z2, z};
  static float sums[N];
  memcpy(z, b, sizeof old);
  memcpy(z2, x, sizeof old);
  expect_distances(z, z2, N, scale);
  for (int i = 0; i < N; i++) sums[i] = z[i] + z2[i];
  hx_task t = hx_map_outputs(both, inputs, N, &scale, outputs);
  if (!run_task(&t, share, how, "map of two outputs")) return;
  check_elements(z2, values, N, share, "map of two outputs, the first");
  check_elements(z, sums, N, share, "map of two outputs, the second");
}

/* The second input has one row, which all rows share. Between its rows an output keeps what it holds. */
static void map_rows(const float *u, shape s, float share) {
  const hx_value scale = next_scale();
  const void *const inputs[] = {u, b};
  const size_t ld[] = {s.ld, 0};
  fill_old(c);
  memcpy(values, old, sizeof old);
  for (size_t i = 0; i < s.rows; i++)
    for (size_t j = 0; j < s.cols; j++) values[i * s.ld + j] = distance_of(u[i * s.ld + j], b[j], scale);
  hx_task t = hx_map_rows(distance, inputs, ld, s.rows, s.cols, &scale, c, s.ld);
  if (run_task(&t, share, 0, "map of rows")) check_elements(c, values, N, share, "map of rows");
}

static void reduce_rows(hx_op op, const float *u, shape s, float share, unsigned how) {
  const hx_value scale = next_scale();
  const void *const inputs[] = {u, b};
  const size_t ld[] = {s.ld, 0};
  hx_value got[MOST_ROWS];
  memset(got, 0xa5, sizeof got);
  hx_task t = hx_map_reduce_rows(op, distance, inputs, ld, s.rows, s.cols, &scale, got);
  const bool ok = run_task(&t, share, how, "map-reduce of rows");
  for (size_t i = 0; ok && i < s.rows; i++) {
    expect_distances(u + i * s.ld, b, s.cols, scale);
    const hx_value wanted = ref_reduce(op, HX_F32, values, NULL, s.cols);
    if (got[i].u64 == wanted.u64) continue;
    complain(&out->wrong, "map-reduce of rows, share %g: row %zu is %llx instead of %llx", (double)share, i,
             (unsigned long long)got[i].u64, (unsigned long long)wanted.u64);
    return;
  }
}

static void fields(const float *u, float share) {
  static const hx_field f[FIELDS] = {{HX_SUM, HX_F32, NULL, NULL}, {HX_ARGMAX, HX_F32, NULL, NULL}};
  const hx_value scale = next_scale();
  const void *const inputs[] = {u, b};
  hx_value got[FIELDS];
  expect_distances(u, b, N - 1, scale);
  hx_task t = hx_map_reduce_fields(f, FIELDS, distance, inputs, N - 1, &scale, got);
  const bool ok = run_task(&t, share, 0, "map-reduce of fields");
  for (int i = 0; ok && i < FIELDS; i++)
    if (got[i].u64 != ref_reduce(f[i].op, HX_F32, values, NULL, N - 1).u64)
      complain(&out->wrong, "field %d of a map, share %g", i, (double)share);
}

/* The bits of floats as integers. */
static void reduce(const float *u, float share, unsigned how) {
  static uint32_t factor = 0x9e3779b9u;
  const hx_value p = {.u32 = factor += 2};
  const void *const inputs[] = {u, b};
  hx_value got = {.u64 = UINT64_C(0x1234567890abcdef)};
  uint64_t wanted = 0;
  for (int i = 0; i < N - 1; i++) {
    uint32_t v, w;
    memcpy(&v, u + i, sizeof v);
    memcpy(&w, b + i, sizeof w);
    wanted += v * p.u32 ^ w;
  }
  hx_task t = hx_map_reduce(HX_SUM, mix, inputs, N - 1, &p, &got);
  if (run_task(&t, share, how, "map-reduce") && got.u64 != wanted)
    complain(&out->wrong, "map-reduce, share %g: %llx instead of %llx", (double)share, (unsigned long long)got.u64,
             (unsigned long long)wanted);
}

static hx_kernel *compile(const char *text, const char *inputs, const char *parameters, const char *outputs) {
  const hx_kernel_source source = {.text = text, .inputs = inputs, .parameters = parameters, .outputs = outputs};
  hx_kernel *k = NULL;
  hx_status s;
  TIMED("hx_compile", s = hx_compile(hx, &source, &k));
  if (!went_well(s, false)) exit(3);
  return k;
}

static void make_data(void) {
  c = malloc(sizeof old), x = malloc(sizeof old), z = malloc(sizeof old), z2 = malloc(sizeof old);
  if (!c || !x || !z || !z2) exit(3);
  data_fill(HX_F32, DATA_SIGNED, 1, x, N);
}

static void allocate_arrays(void) {
  b = allocate(sizeof old, &own_b), r = allocate(sizeof old, &own_r);
  data_fill(HX_F32, DATA_SIGNED, 2, b, N);
  x_registered = registered(x, sizeof old);
  distance = compile("fabsf(x - y) * scale", "float x, float y", "float scale", NULL);
  mix = compile("x * p ^ y", "unsigned x, unsigned y", "unsigned p", NULL);
  both = compile("float d = fabsf(x - y) * scale; float s = x + y;", "float x, float y", "float scale", "d, s");
}

/* As the rounds of the workload `tasks`. The first call of each kernel waits for its program, and the
 * first reduction of lines by an operation for that of the lines. */
static void run(void) {
  static const float kShares[] = {0.5f, 1.0f};
  const unsigned stays = own_r ? RESIDENT : 0;
  for (int round = 0; round < 2; round++) {
    const float share = kShares[round];
    const float *const u = x + round;
    const unsigned first = round == 0 ? BUILDS : 0;
    map(u, c, share, first);
    if (!at->fills_cache) reduce(u, share, first);
    map_in_place(share, round == 1 ? ASYNC : 0);
    map_two_in_place(share, first);
    let_it_know();
    map_rows(u, kShapes[round], 0.5f);
    reduce_rows(HX_SUM, u, kShapes[round], share, first);
    fields(u, share);
    if (round == 0) advise(b, sizeof old, HX_READ_MOSTLY, own_b);
    if (round == 0) advise(r, sizeof old, HX_RESIDENT, own_r);
    let_it_know();
    map(u, r, 1.0f, stays);
    reduce_rows(HX_ARGMIN, u, kShapes[1 - round], 0.5f, first);
    map(u, r, share, stays);
    if (!at->fills_cache) reduce(u, 0.5f, round == 1 ? ASYNC : 0);
  }
  map(x, c, -1, 0); /* later calls, with shares that hx chooses */
  if (!at->fills_cache) reduce(x, -1, 0);
}

static void give_back(void) {
  hx_kernel_free(distance);
  hx_kernel_free(mix);
  hx_kernel_free(both);
  unregister(x, x_registered);
  TIMED("hx_free", if (own_r) hx_free(hx, r); if (own_b) hx_free(hx, b));
}

const workload kMaps = {make_data, allocate_arrays, run, give_back};
