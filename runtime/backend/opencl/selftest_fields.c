/* SPDX-License-Identifier: Apache-2.0
 * The self-test of the kernels for several fields: the slots of every leaf of every field, compared with the CPU's
 * kernels. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cases.h"
#include "runtime/backend/opencl/selftest.h"

/* A case: the fields, with their arrays in `memory`, and the slots of the device and then of the CPU. */
typedef struct fields_case {
  unsigned count;
  size_t n, leaves;
  hx_field field[HX__MOST_FIELDS];
  hx__array arrays[2 * HX__MOST_FIELDS];
  uint32_t *memory;
  uint64_t *slots;
} fields_case;

/* Fills an array with elements that suit the field, unless it is shared by a product: those are what products need. */
static void *fill_array(fields_case *c, unsigned array, hx_op op, hx_type type, bool special) {
  uint32_t *const x = c->memory + array * (c->n + 8) + 1;
  for (size_t i = 0; i < c->n; i++) x[i] = hx__case_element(op, type, i + array, special);
  return x;
}

static void fill_fields(fields_case *c, hx__kernel_fields fields, bool special) {
  for (unsigned f = 0; f < c->count; f++) {
    const unsigned reduction = hx__field_reduction(fields, f);
    hx_field *const field = &c->field[f];
    *field = (hx_field){hx__reduction_op(reduction), hx__reduction_type(reduction), NULL, NULL};
    const bool shared = hx__field_of(fields, f) & HX__SAME_ARRAY,
               factors = field->op == HX_PROD && field->type == HX_F32;
    field->x = shared ? field[-1].x : fill_array(c, 2 * f, field->op, field->type, special);
    if (shared && factors)
      for (size_t i = 0; i < c->n; i++)
        ((uint32_t *)(uintptr_t)field->x)[i] = hx__case_element(field->op, field->type, i, special);
    if (field->op == HX_DOT) field->y = fill_array(c, 2 * f + 1, field->op, field->type, special);
  }
}

/* Compares the slots of every leaf. The CPU computes leaf by leaf, because one call of argmin or argmax only gives the
 * index of the overall winner. */
static bool slots_are_right(const fields_case *c) {
  const hx__cpu_kernels *const cpu = hx__cpu_kernels_for(HX__ISA_AUTO);
  for (unsigned f = 0; f < c->count; f++)
    for (size_t l = 0; l < c->leaves; l++) {
      const hx_field *const field = &c->field[f];
      const size_t at = l * HX__LEAF, part = c->n - at < HX__LEAF ? c->n - at : HX__LEAF;
      const uint32_t *const x = field->x, *const y = field->y;
      uint64_t want;
      cpu->leaf[field->op][field->type](x + at, y ? y + at : NULL, part, HX__IN_L2, &want);
      if (!hx__cl_same_slot(field->op, field->type, c->slots[f * c->leaves + l], want)) return false;
    }
  return true;
}

static const char *run_case(hx__stream *stream, fields_case *c, hx__memory_mode mode) {
  hx_value unused[HX__MOST_FIELDS];
  for (unsigned i = 0; i < 2 * c->count; i++) {
    const hx_field *const field = &c->field[i / 2];
    const void *const p = i % 2 && field->y ? field->y : field->x;
    c->arrays[i] = (hx__array){.p = p, .rows = 1, .cols = c->n, .ld = c->n, .mode = mode};
  }
  const hx__work work = {.slices = c->leaves, .n = c->n, .nfields = c->count, .fields = c->field, .out = unused};
  const hx__request request = {
      .work = &work, .kernels = hx__cpu_kernels_for(HX__ISA_AUTO), .arrays = c->arrays, .slots = c->slots};
  memset(c->slots, 0xa5, c->count * c->leaves * sizeof *c->slots);
  bool joined;
  if (hx__cl_run_once(stream, &request, &joined) != HX__DONE) return "it gave no answer on a small case of fields";
  return slots_are_right(c) ? NULL : "its bits differ on a small case of fields";
}

static const char *test_case(hx__stream *stream, hx__kernel_fields fields, size_t n, bool special,
                             hx__memory_mode mode) {
  fields_case c = {.n = n, .leaves = (n + HX__LEAF - 1) / HX__LEAF};
  while (hx__field_of(fields, c.count)) c.count++;
  c.memory = malloc(2 * c.count * (n + 8) * sizeof *c.memory);
  c.slots = malloc(c.count * c.leaves * sizeof *c.slots);
  const char *why = "no host memory";
  if (c.memory && c.slots) {
    fill_fields(&c, fields, special);
    why = run_case(stream, &c, mode);
  }
  free(c.memory);
  free(c.slots);
  return why;
}

static const char *test_all(hx__stream *stream, hx__kernel_fields fields) {
  static const hx__memory_mode modes[] = {HX__MEMORY_COPY, HX__MEMORY_HOSTPTR};
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++)
    for (size_t i = 0; i < HX__CASE_SIZES && stream->device->modes & 1u << modes[m]; i++)
      for (int special = 0; special <= 1; special++) {
        const char *const why = test_case(stream, fields, hx__case_sizes[i], special, modes[m]);
        if (why) return why;
      }
  return NULL;
}

const char *hx__cl_test_fields(hx__stream *stream, hx__kernel_fields fields, bool once) {
  hx__cl_stream *const own = (hx__cl_stream *)stream;
  const hx__memory_mode mode = stream->device->modes & 1u << HX__MEMORY_HOSTPTR ? HX__MEMORY_HOSTPTR : HX__MEMORY_COPY;
  own->joins = own->self_test.reached = false; /* all slots are compared */
  const char *const why = once ? test_case(stream, fields, HX__LEAF + 1, false, mode) : test_all(stream, fields);
  own->joins = true;
  return why ? why : own->self_test.reached ? NULL : "no small case reaches it";
}
