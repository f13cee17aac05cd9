/* SPDX-License-Identifier: Apache-2.0
 * The self-test of a user kernel: random and special elements, compared with the CPU's results bit by bit, in each
 * memory mode that runs use. */
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/maps.h"
#include "runtime/backend/opencl/selftest.h"
#include "runtime/base/clock.h"

#define MOST_ELEMENTS 70000u /* PoCL compiles a kernel again for 65536 items */
#define SLOW_NS 20000000u    /* a device that takes longer is not timed with more elements */

/* Zeros, denormals, infinities, NaNs, ends of ranges; as floats and as integers. */
static const uint32_t special[] = {0x00000000u, 0x80000000u, 0x3f800000u, 0xbf800000u, 0x7f800000u, 0xff800000u,
                                   0x7fc00000u, 0xffc12345u, 0x00000001u, 0x80000001u, 0x007fffffu, 0x00800000u,
                                   0x7f7fffffu, 0xff7fffffu, 0x4f000000u, 0xcf000000u, 0x4f800000u, 0x4effffffu,
                                   0x4b000001u, 0xcb7fffffu, 0x3f000000u, 0xbf000000u, 0x3fc00000u, 0x40200000u,
                                   0xffffffffu, 0x7fffffffu, 0x00000002u, 0x0000001fu, 0x00000020u, 0x33800000u};
enum { SPECIALS = sizeof special / sizeof special[0] };

/* Element i of array a: special values in all combinations of two neighbouring arrays, then bits of which a part are
 * floats of ordinary size. */
static uint32_t element(size_t a, size_t i) {
  if (i < (size_t)SPECIALS * SPECIALS) return special[a % 2 ? i / SPECIALS : (i + a) % SPECIALS];
  uint32_t x = (uint32_t)(i * 2654435761u + a * 40503u + 12345u);
  x = (x ^ x >> 15) * 0x2c1b3c6du;
  x = (x ^ x >> 12) * 0x297a2d39u;
  x ^= x >> 15;
  return i % 4 ? (x & 0x83ffffffu) | 0x3c000000u : x;
}

enum { LEAVES = (MOST_ELEMENTS + HX__LEAF - 1) / HX__LEAF };

typedef struct buffers {
  uint32_t *input[HX__EXPR_INPUTS], *got, *want;
  uint64_t slots[LEAVES];
} buffers;

static bool allocate(buffers *b, unsigned inputs, unsigned outputs) {
  b->got = malloc((size_t)outputs * MOST_ELEMENTS * sizeof *b->got);
  b->want = malloc((size_t)outputs * MOST_ELEMENTS * sizeof *b->want);
  bool all = b->got && b->want;
  for (unsigned a = 0; a < inputs; a++) {
    b->input[a] = malloc((MOST_ELEMENTS + 1) * sizeof *b->got);
    all = all && b->input[a];
    for (size_t i = 0; b->input[a] && i <= MOST_ELEMENTS; i++) b->input[a][i] = element(a, i);
  }
  return all;
}

static void release(buffers *b, unsigned inputs) {
  for (unsigned a = 0; a < inputs; a++) free(b->input[a]);
  free(b->got);
  free(b->want);
}

static const char *const differ = "its bits differ on a small case";

static const char *compare_elements(const buffers *b, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (b->got[i] != b->want[i]) {
      hx__log(HX__LOG_DEBUG, "a user kernel gives %08x for element %zu, not %08x", b->got[i], i, b->want[i]);
      return differ;
    }
  return NULL;
}

/* The slots of all leaves together, which the device has joined. */
static const char *compare_joined(const hx__cpu_kernels *cpu, const hx__cl_map *map, buffers *b, size_t n) {
  const hx_type type = hx__expr_type(&map->kernel.expr);
  const size_t leaves = (n + HX__LEAF - 1) / HX__LEAF;
  uint64_t want[LEAVES];
  for (size_t l = 0; l < leaves; l++) {
    const size_t left = n - l * HX__LEAF, count = left < HX__LEAF ? left : HX__LEAF;
    want[l] = cpu->one_leaf[map->op][type](b->want + l * HX__LEAF, NULL, count);
  }
  return hx__join(map->op, type, b->slots, leaves).u64 == hx__join(map->op, type, want, leaves).u64 ? NULL : differ;
}

static const char *compare_slots(const hx__cpu_kernels *cpu, const hx__cl_map *map, const buffers *b, size_t n) {
  const hx_type type = hx__expr_type(&map->kernel.expr);
  for (size_t l = 0; l * HX__LEAF < n; l++) {
    const size_t left = n - l * HX__LEAF, count = left < HX__LEAF ? left : HX__LEAF;
    const uint64_t want = cpu->one_leaf[map->op][type](b->want + l * HX__LEAF, NULL, count);
    if (hx__cl_same_slot(map->op, type, b->slots[l], want)) continue;
    hx__log(HX__LOG_DEBUG, "a user kernel gives %016llx for leaf %zu, not %016llx", (unsigned long long)b->slots[l], l,
            (unsigned long long)want);
    return differ;
  }
  return NULL;
}

/* The elements of a map or map-reduce, which begin `shift` elements into the arrays. */
typedef struct shape {
  size_t rows, cols, shift;
} shape;

/* One map or map-reduce. If it has several rows, every third input has but one. Inputs that have one value per row have
 * another one in each round. */
static const char *run(hx__stream *stream, const hx__cl_map *map, buffers *b, shape s, unsigned round,
                       hx__memory_mode mode, uint64_t *ns) {
  const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(HX__ISA_AUTO);
  const struct hx_kernel *const k = &map->kernel;
  const hx_field field = {.op = map->op, .type = hx__expr_type(&k->expr)};
  hx_value unused_result;
  const size_t n = s.rows * s.cols;
  hx__work w = {
      .kernel = k, .n = n, .slices = (n + HX__LEAF - 1) / HX__LEAF, .units = n, .cols = s.cols, .ld_out = s.cols};
  if (map->op) {
    w.fields = &field;
    w.nfields = 1;
    w.out = &unused_result;
  } else {
    w.map = true;
    for (unsigned o = 0; o < k->expr.outputs; o++) w.output[o] = b->got + o * n;
  }
  const size_t results = n * hx__work_outputs(&w);
  hx__array arrays[HX__EXPR_INPUTS + 1] = {{.p = NULL}};
  for (unsigned a = 0; a < k->expr.inputs; a++) {
    const bool per_row = k->expr.per_row[a];
    w.input[a] = b->input[a] + (per_row ? round * 37u : s.shift);
    w.ld[a] = s.rows > 1 && a % 3 == 2 ? 0 : (per_row ? 1 : s.cols) + (s.rows > 1) * a;
    const hx__matrix m = hx__input_matrix(&w, a);
    arrays[a] = (hx__array){.p = m.base, .rows = m.rows, .cols = m.cols, .ld = m.ld, .mode = mode};
  }
  for (unsigned p = 0; p < k->expr.parameters; p++) w.parameter[p] = element(p, round * 37u + p * 900u);
  const hx__request request = {.work = &w, .kernels = cpu, .arrays = arrays, .slots = b->slots};
  bool joined;
  memset(b->got, 0xa5, results * sizeof *b->got);
  memset(b->slots, 0xa5, sizeof b->slots);
  const uint64_t from = hx__now_ns();
  if (hx__cl_run_once(stream, &request, &joined) != HX__DONE) return "it gave no answer on a small case";
  *ns = hx__now_ns() - from;
  void *want[HX__EXPR_OUTPUTS];
  for (unsigned o = 0; o < HX__EXPR_OUTPUTS; o++) want[o] = b->want + (o < k->expr.outputs ? o * n : 0);
  const hx__expr_rows rows = {.n = s.cols, .rows = s.rows, .ld = w.ld, .ld_out = s.cols};
  cpu->evaluate(&k->code, hx__inputs_at(&w, 0, 0).p, w.parameter, rows, false, want);
  if (!map->op) return compare_elements(b, results);
  return joined ? compare_joined(cpu, map, b, n) : compare_slots(cpu, map, b, n);
}

static const char *run_all(hx__stream *stream, const hx__cl_map *k, buffers *b, float *rate) {
  static const hx__memory_mode modes[] = {HX__MEMORY_COPY, HX__MEMORY_HOSTPTR};
  /* The last one has the highest work-groups. */
  static const shape shapes[] = {{1, 1, 0}, {1, HX__LEAF + 1, 1}, {1, MOST_ELEMENTS, 0}, {41, 1601, 1}, {999, 1, 1}};
  const size_t count = k->op ? 3 : 5; /* rows of maps only */
  uint64_t ns = 0;
  unsigned round = 0;
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
    if (!(stream->device->modes & 1u << modes[m])) continue;
    ((hx__cl_stream *)stream)->joins = m == 0; /* the other mode compares each leaf */
    for (size_t i = 0; i < count; i++) {
      const char *const why = run(stream, k, b, shapes[i], round++, modes[m], &ns);
      if (why) return why;
    }
  }
  hx__cl_self_test_state *const state = &((hx__cl_stream *)stream)->self_test;
  ((hx__cl_stream *)stream)->joins = true; /* as in runs */
  state->full_groups = k->group_makes_leaf;
  const char *why = k->group_makes_leaf ? run(stream, k, b, shapes[2], round, modes[0], &ns) : NULL;
  state->full_groups = false;
  if (!why && ns < SLOW_NS) why = run(stream, k, b, shapes[2], 0, modes[0], &ns);
  const float launch = stream->device->launch_ns < 0.75f * (float)ns ? stream->device->launch_ns : 0.75f * (float)ns;
  *rate = ns ? (float)MOST_ELEMENTS / ((float)ns - launch) : 0.0f;
  return why;
}

const char *hx__cl_test_map(hx__stream *stream, const hx__cl_map *map, float *rate) {
  const unsigned inputs = map->kernel.expr.inputs;
  buffers b = {.got = NULL};
  const char *const why =
      allocate(&b, inputs, map->kernel.expr.outputs) ? run_all(stream, map, &b, rate) : "no host memory";
  release(&b, inputs);
  return why;
}
