/* SPDX-License-Identifier: Apache-2.0
 * The check of a map and of a map-reduce. */
#include <stdio.h>
#include <string.h>

#include "runtime/base/operations.h"
#include "runtime/task/check.h"

typedef enum array_role {
  INPUT,
  OUTPUT, /* of a list */
  OUT     /* the only output */
} array_role;

typedef struct array_name {
  char text[32];
} array_name;

/* Only for messages: it takes longer than all checks. */
static array_name name_of(array_role role, unsigned index) {
  array_name name = {"out"};
  if (role != OUT) snprintf(name.text, sizeof name.text, role == INPUT ? "inputs[%u]" : "outputs[%u]", index);
  return name;
}

static hx_status check_array(const hx__work *w, hx__matrix m, array_role role, unsigned index) {
  const void *const p = m.base;
  if (!p) REFUSE("%s is NULL with n = %zu", name_of(role, index).text, w->n);
  if (misaligned(p, ELEMENT)) REFUSE("%s is %p: not aligned to 4 bytes", name_of(role, index).text, p);
  if (m.ld < m.cols) REFUSE("ld of %s is %zu: less than cols = %zu", name_of(role, index).text, m.ld, m.cols);
  size_t elements, bytes;
  if (m.rows > 1 && m.ld > SIZE_MAX / ELEMENT / (m.rows - 1))
    REFUSE("ld of %s is %zu: %zu rows overflow the address space", name_of(role, index).text, m.ld, m.rows);
  if (__builtin_mul_overflow(m.rows - 1, m.ld, &elements) || __builtin_add_overflow(elements, m.cols, &elements) ||
      __builtin_mul_overflow(elements, (size_t)ELEMENT, &bytes) || (uintptr_t)p > UINTPTR_MAX - bytes)
    REFUSE("%s is %p: wraps the address space with n = %zu", name_of(role, index).text, p, w->n);
  return HX_OK;
}

/* The bytes from the first element to the last one. */
static size_t extent(hx__matrix m) { return ((m.rows - 1) * m.ld + m.cols) * ELEMENT; }

static hx_status check_inputs(const hx__work *w) {
  for (unsigned i = 0; i < w->kernel->expr.inputs; i++) {
    const hx_status s = check_array(w, hx__input_matrix(w, i), INPUT, i);
    if (s != HX_OK) return s;
  }
  return HX_OK;
}

/* An output of `bytes`. The results of a map may replace an input, of which each element is read before it is written,
 * but not one that has a value for each row, which all elements of the row read. */
static hx_status check_overlap(const hx__work *w, const void *out, size_t bytes, array_role role, unsigned index) {
  const size_t rows = w->units / w->cols;
  for (unsigned i = 0; i < w->kernel->expr.inputs; i++) {
    const bool per_row = w->kernel->expr.per_row[i], same_rows = rows == 1 || w->ld[i] == w->ld_out;
    if (w->map && out == w->input[i] && same_rows && !per_row) continue;
    if (hx__ranges_share(out, bytes, w->input[i], extent(hx__input_matrix(w, i))))
      REFUSE("%s at %p shares an element with inputs[%u] at %p%s", name_of(role, index).text, out, i, w->input[i],
             !w->map              ? ""
             : per_row            ? ", which has one value for each row"
             : out == w->input[i] ? " and its rows are not as far apart"
                                  : " and does not begin there");
  }
  return HX_OK;
}

/* The inputs and parameters are copied, so that the caller's lists need not outlive the call. */
static hx_status copy_lists(const struct hx_map_args *t, hx__work *w) {
  const hx__expr *const e = &t->kernel->expr;
  if (t->n == 0) return HX_OK;
  if (e->inputs && !t->inputs) REFUSE("inputs is NULL, and the kernel has %u", e->inputs);
  if (e->parameters && !t->parameters) REFUSE("parameters is NULL, and the kernel has %u", e->parameters);
  for (unsigned i = 0; i < e->inputs; i++) w->input[i] = t->inputs[i];
  for (unsigned i = 0; i < e->inputs; i++) w->ld[i] = t->ld ? t->ld[i] : e->per_row[i] ? 1 : w->cols;
  for (unsigned i = 0; i < e->parameters; i++) w->parameter[i] = t->parameters[i].u32;
  return HX_OK;
}

/* Rows without gaps are one row, which devices compute faster if rows are short, unless the text asks which row or
 * which element of it is computed. */
static void join_rows(hx__work *w) {
  const hx__expr *const e = &w->kernel->expr;
  if (e->by_row || e->by_index) return;
  for (unsigned i = 0; i < e->inputs; i++)
    if (w->ld[i] != (e->per_row[i] ? 0 : w->cols)) return;
  if (w->map && w->ld_out != w->cols) return;
  for (unsigned i = 0; i < e->inputs; i++) w->ld[i] = e->per_row[i] ? 0 : w->n;
  w->cols = w->ld_out = w->n;
}

/* The results of the rows, or of the operations, of a map-reduce. */
static hx_status check_results(const struct hx_map_args *t, hx__work *w) {
  const size_t count = w->by_lines ? t->rows : w->nfields;
  if (!t->out) REFUSE("out is NULL");
  if (misaligned(t->out, 8)) REFUSE("out is %p: not aligned to 8 bytes", t->out);
  if (count > SIZE_MAX / sizeof(hx_value) || (uintptr_t)t->out > UINTPTR_MAX - count * sizeof(hx_value))
    REFUSE("%s is %zu: their results overflow the address space", w->by_lines ? "rows" : "nfields", count);
  if (t->fields && hx__ranges_share(t->out, count * sizeof(hx_value), t->fields, count * sizeof *t->fields))
    REFUSE("out at %p overlaps fields at %p", t->out, (const void *)t->fields);
  for (size_t f = 0; f < w->nfields && t->n == 0; f++)
    if (hx__needs_an_element(w->fields[f].op))
      REFUSE("n is 0: %s%s has no value", hx__op_enumerator(w->fields[f].op),
             hx__field_text(t->fields ? f : HX__NO_INDEX).text);
  const hx_status s = t->n ? check_inputs(w) : HX_OK;
  return s == HX_OK && t->n ? check_overlap(w, t->out, count * sizeof(hx_value), OUT, 0) : s;
}

/* From here on w->n is the length of a row. */
static void make_lines(const struct hx_map_args *t, hx__work *w) {
  w->n = t->n;
  w->lines = (hx__lines){
      .count = t->rows, .line_stride = t->n, .stride = 1, .y_line_stride = t->n, .y_stride = 1, .sparse = false};
  if (w->slices) hx__order_lines(w);
}

/* One operation, or a list of them. */
static hx_status check_operations(const struct hx_map_args *t, hx__work *w) {
  const hx_type type = hx__expr_type(&t->kernel->expr);
  if (!t->fields && t->nfields) REFUSE("fields is NULL with nfields = %zu", t->nfields);
  w->single = (hx_field){.op = t->op == HX__NO_OP ? (hx_op)0 : t->op, .type = type};
  w->fields = t->fields ? t->fields : &w->single;
  w->nfields = t->fields ? t->nfields : 1;
  for (size_t f = 0; f < w->nfields; f++) {
    const size_t index = t->fields ? f : HX__NO_INDEX;
    const hx_status s = hx__check_op(&w->fields[f], index);
    if (s != HX_OK) return s;
    if (w->fields[f].op == HX_DOT)
      REFUSE("op%s is HX_DOT, which has two arrays: write x * y in the expression and use HX_SUM",
             hx__field_text(index).text);
    if (w->fields[f].type != type)
      REFUSE("type%s is %s; the kernel gives %s", hx__field_text(index).text, hx__type_names[w->fields[f].type],
             hx__type_names[type]);
    w->needs |= hx__need_of(w, &w->fields[f]);
  }
  return HX_OK;
}

static hx_status check_reduction(const struct hx_map_args *t, hx__work *w) {
  w->out = t->out;
  if (t->fields && w->by_lines) REFUSE("ld_out is 1 with a list of fields, which has no rows");
  const hx_status s = check_operations(t, w);
  if (s != HX_OK) return s;
  if (hx__work_values(w) == 0) {
    w->slices = 0;
    return HX_OK;
  }
  if (w->by_lines && t->n) join_rows(w);
  const hx_status refused = check_results(t, w);
  if (refused == HX_OK && w->by_lines) make_lines(t, w);
  return refused;
}

/* The arrays that a map writes: out, or a list of them. */
static hx_status copy_outputs(const struct hx_map_args *t, hx__work *w) {
  const unsigned count = t->kernel->expr.outputs;
  if (!t->nfields && count > 1) REFUSE("the kernel has %u outputs: hx_map_outputs takes the list of them", count);
  for (unsigned o = 0; o < count; o++) w->output[o] = NULL;
  if (!t->nfields || t->n == 0) {
    w->output[0] = t->out;
    return HX_OK;
  }
  if (!t->out) REFUSE("outputs is NULL, and the kernel has %u", count);
  memcpy(w->output, t->out, count * sizeof w->output[0]);
  return HX_OK;
}

static hx__matrix output_matrix(const hx__work *w, unsigned output) {
  return (hx__matrix){w->output[output], w->n / w->cols, w->cols, w->ld_out};
}

static hx_status check_outputs(const hx__work *w, array_role role) {
  for (unsigned o = 0; o < w->kernel->expr.outputs; o++) {
    const hx_status s = check_array(w, output_matrix(w, o), role, o);
    if (s != HX_OK) return s;
  }
  return HX_OK;
}

static hx_status check_overlaps(const hx__work *w, array_role role) {
  const size_t bytes = extent(output_matrix(w, 0)); /* of each output */
  for (unsigned o = 0; o < w->kernel->expr.outputs; o++) {
    const hx_status s = check_overlap(w, w->output[o], bytes, role, o);
    if (s != HX_OK) return s;
    for (unsigned other = 0; other < o; other++)
      if (hx__ranges_share(w->output[o], bytes, w->output[other], bytes))
        REFUSE("outputs[%u] at %p shares an element with outputs[%u] at %p", o, w->output[o], other, w->output[other]);
  }
  return HX_OK;
}

static hx_status check_elements(const struct hx_map_args *t, hx__work *w) {
  w->fields = NULL;
  w->nfields = 0;
  w->out = NULL;
  hx_status s = copy_outputs(t, w);
  if (s != HX_OK || t->n == 0) return s;
  join_rows(w);
  const array_role role = t->nfields ? OUTPUT : OUT;
  if ((s = check_outputs(w, role)) != HX_OK || (s = check_inputs(w)) != HX_OK) return s;
  return check_overlaps(w, role);
}

hx_status hx__check_map(const struct hx_map_args *t, hx__work *w) {
  if (!t->kernel) REFUSE("kernel is NULL");
  if (t->n > SIZE_MAX / ELEMENT) REFUSE("n is %zu: its bytes overflow size_t", t->n);
  if (t->op && t->ld_out > 1) REFUSE("ld_out is %zu in a map-reduce: 1 if there are rows, otherwise 0", t->ld_out);
  if (t->op && !t->ld_out && (t->rows || t->ld)) REFUSE("rows and ld are not zero in a map-reduce without rows");
  if (!t->op && (t->fields || t->nfields > 1)) REFUSE("fields is not NULL, or nfields is not 0 or 1, in a map");
  if (t->op && t->kernel->expr.outputs > 1)
    REFUSE("the kernel has %u outputs: a map-reduce takes one", t->kernel->expr.outputs);
  const size_t rows = t->rows || (t->op && t->ld_out) ? t->rows : 1;
  w->kernel = t->kernel;
  w->map = t->op == 0;
  w->by_lines = t->op && t->ld_out;
  w->lines.count = t->rows;
  w->cols = t->n ? t->n : 1;
  w->ld_out = t->ld_out ? t->ld_out : t->n;
  if (__builtin_mul_overflow(t->n, rows, &w->n) || w->n > SIZE_MAX / ELEMENT)
    REFUSE("rows is %zu: its elements overflow size_t with cols = %zu", rows, t->n);
  w->slices = w->n / HX__LEAF + (w->n % HX__LEAF != 0);
  w->units = w->n;
  w->needs = HX__NEED_MAPS;
  const hx_status s = copy_lists(t, w);
  if (s != HX_OK) return s;
  return w->map ? check_elements(t, w) : check_reduction(t, w);
}
