/* SPDX-License-Identifier: Apache-2.0
 * The self-test of the kernels for lines: rows, columns and strided lines that end within a leaf, a round and a vector,
 * compared with the CPU's kernels. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cases.h"
#include "runtime/backend/lines.h"
#include "runtime/backend/opencl/selftest.h"

/* Lines of n elements. Each case is cut where slices end, so that several rectangles are launched. */
typedef struct lines_case {
  size_t lines, n, line_stride, stride;
} lines_case;

static const lines_case cases[] = {
    {3, 1, 2, 1},   {5, 37, 41, 1},   {2, HX__LEAF, HX__LEAF, 1}, {3, HX__LEAF + 131, HX__LEAF + 150, 1},
    {37, 3, 1, 40}, {19, 300, 1, 19}, {9, HX__LEAF + 77, 1, 11},  {1, HX__LEAF + 9, 1, 2},
};

static hx__work work_of(const hx_field *field, const lines_case *c, hx_value *out) {
  hx__work w = {.by_lines = true, .n = c->n, .nfields = 1, .fields = field, .single = *field, .out = out};
  hx__lines *const l = &w.lines;
  *l = (hx__lines){.count = c->lines,
                   .line_stride = c->line_stride,
                   .stride = c->stride,
                   .y_line_stride = c->line_stride,
                   .y_stride = c->stride};
  l->leaves = (c->n + HX__LEAF - 1) / HX__LEAF;
  l->together = c->n < HX__LEAF ? HX__LEAF / c->n : 1;
  l->across = c->lines > 1 && c->line_stride < c->stride;
  w.slices = l->leaves == 1 ? (c->lines + l->together - 1) / l->together : c->lines * l->leaves;
  w.units = (uint64_t)c->lines * c->n;
  return w;
}

/* The values of the lines, from the CPU. */
static void expected_values(const hx__cpu_kernels *cpu, const hx__work *w, hx_value *want, uint64_t *slots,
                            void *scratch) {
  const hx__lines_place place = {cpu, w->fields->x, w->fields->y, HX__IN_L2, scratch, HX__LEAST_COLUMNS_SCRATCH};
  hx__work own = *w;
  own.out = want;
  hx__compute_lines(&place, w, (hx__chunk){0, w->slices}, slots);
  hx__join_lines(&own, slots, slots + hx__work_slots(w));
}

static const char *test_case(hx__stream *stream, const hx_field *what, const lines_case *c, bool special,
                             hx__memory_mode mode) {
  const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(HX__ISA_AUTO);
  const size_t elements = (c->lines - 1) * c->line_stride + (c->n - 1) * c->stride + 1;
  const size_t most_slots = c->lines * 2 + 2;
  uint32_t *const x = malloc(2 * (elements + 8) * sizeof *x);
  uint64_t *const slots = malloc(most_slots * sizeof *slots);
  hx_value *const got = malloc(2 * c->lines * sizeof *got);
  void *const scratch = aligned_alloc(64, HX__LEAST_COLUMNS_SCRATCH);
  const char *why = "no host memory";
  if (x && slots && got && scratch) {
    hx_value *const want = got + c->lines;
    for (size_t i = 0; i < 2 * (elements + 8); i++) x[i] = hx__case_element(what->op, what->type, i, special);
    const hx_field field = {what->op, what->type, x + 1, what->op == HX_DOT ? x + elements + 3 : NULL};
    const hx__work work = work_of(&field, c, got);
    hx__array arrays[2];
    for (int of_y = 0; of_y < 2; of_y++) {
      const hx__matrix m = hx__lines_matrix(&work, of_y && field.op == HX_DOT);
      arrays[of_y] = (hx__array){.p = m.base, .rows = m.rows, .cols = m.cols, .ld = m.ld, .mode = mode};
    }
    expected_values(cpu, &work, want, slots, scratch);
    const bool direct = hx__slots_are_values(&work);
    const hx__request request = {
        .work = &work, .kernels = cpu, .arrays = arrays, .slots = direct ? (uint64_t *)(void *)got : slots};
    memset(got, 0xa5, c->lines * sizeof *got);
    memset(slots, 0xa5, most_slots * sizeof *slots);
    bool unused;
    const hx__outcome outcome = hx__cl_run_once(stream, &request, &unused);
    if (outcome == HX__DONE && !direct) hx__join_lines(&work, slots, slots + hx__work_slots(&work));
    const bool same = memcmp(got, want, c->lines * sizeof *got) == 0;
    why = outcome != HX__DONE ? "it gave no answer on a small case of lines"
          : same              ? NULL
                              : "its bits differ on a small case of lines";
  }
  free(x);
  free(slots);
  free(got);
  free(scratch);
  return why;
}

const char *hx__cl_test_lines(hx__stream *stream, hx_op op, hx_type type, bool once) {
  static const hx__memory_mode modes[] = {HX__MEMORY_COPY, HX__MEMORY_HOSTPTR};
  const hx_field what = {op, type, NULL, NULL};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
      if (!(stream->device->modes & 1u << modes[m]) || (once && m == 0 && stream->device->modes & 1u << modes[1]))
        continue;
      const char *const why = test_case(stream, &what, &cases[i], type == HX_F32 && i % 2 == m, modes[m]);
      if (why) return why;
    }
  return NULL;
}

static float time_lines(hx__cl_device *d, hx__stream *stream, const hx_field *field, size_t elements, hx_value *out) {
  const lines_case c = {.lines = elements / HX__LEAF, .n = HX__LEAF, .line_stride = HX__LEAF, .stride = 1};
  const hx__work work = work_of(field, &c, out);
  const hx__memory_mode mode = d->base.zero_copy & 1u << HX__MEMORY_HOSTPTR ? HX__MEMORY_HOSTPTR : HX__MEMORY_COPY;
  const hx__array array = {.p = field->x, .rows = 1, .cols = elements, .ld = elements, .mode = mode};
  const hx__array arrays[2] = {array, array};
  const hx__request request = {
      .work = &work, .kernels = hx__cpu_kernels_for(HX__ISA_AUTO), .arrays = arrays, .slots = (uint64_t *)(void *)out};
  return (float)hx__cl_time_second(stream, &request);
}

float hx__cl_time_lines(hx__cl_device *d, hx__stream *stream, const hx_field *field, size_t elements) {
  hx_value *const out = calloc(elements / HX__LEAF, sizeof *out);
  const float ns = out ? time_lines(d, stream, field, elements, out) : 0.0f;
  free(out);
  return ns;
}
