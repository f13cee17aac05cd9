/* SPDX-License-Identifier: Apache-2.0
 * Cuts a task into slices. Pure functions. */
#include "runtime/task/task.h"

#include "runtime/base/operations.h"

size_t hx__share_slices(const hx__work *w, double share) {
  const double exact = share * (double)w->slices + 0.5;
  if (!(exact >= 1.0)) return 0;
  return exact >= (double)w->slices ? w->slices : (size_t)exact;
}

size_t hx__chunk_elements(const hx__work *w, hx__chunk c) {
  const size_t first = c.first * HX__LEAF;
  const size_t elements = c.count * (size_t)HX__LEAF; /* n fits size_t in bytes, so leaves * 4096 fits in elements */
  return w->n - first < elements ? w->n - first : elements;
}

hx__elements hx__elements_of_slot(const hx__work *w, size_t slot) {
  if (!w->by_lines) return (hx__elements){slot * HX__LEAF, hx__chunk_elements(w, (hx__chunk){slot, 1})};
  const hx__line_leaf leaf = hx__leaf_of_slot(w, slot);
  return (hx__elements){leaf.line * w->n + leaf.first, leaf.count};
}

hx__elements hx__elements_of(const hx__work *w, hx__chunk c) {
  if (!w->by_lines) return (hx__elements){c.first * HX__LEAF, hx__chunk_elements(w, c)};
  const hx__elements first = hx__elements_of_slot(w, hx__first_slot(w, c.first)),
                     last = hx__elements_of_slot(w, hx__first_slot(w, c.first + c.count) - 1);
  return (hx__elements){first.first, last.first + last.count - first.first};
}

/* Slots of whole leaves, and those of leaves that end a line. The elements are in memory, so nothing overflows. */
static uint64_t units_of_lines(const hx__work *w, hx__chunk c) {
  const hx__lines *const l = &w->lines;
  const size_t first = hx__first_slot(w, c.first), end = hx__first_slot(w, c.first + c.count);
  const size_t ends = (l->leaves - 1) * l->count; /* across: where the slots of the last leaves begin */
  const size_t last = !l->across   ? end / l->leaves - first / l->leaves
                      : end < ends ? 0
                                   : end - (first > ends ? first : ends);
  return (uint64_t)(end - first) * HX__LEAF - (uint64_t)last * (l->leaves * HX__LEAF - w->n);
}

uint64_t hx__chunk_units(const hx__work *w, hx__chunk c) {
  if (c.count == 0) return 0;
  if (c.count == w->slices) return w->units;
  uint64_t units;
  if (w->by_lines) return units_of_lines(w, c);
  if (w->kernel) return hx__chunk_elements(w, c);
  if (!w->matmul)
    return __builtin_mul_overflow((uint64_t)hx__chunk_elements(w, c), w->nfields, &units) ? UINT64_MAX : units;
  const uint64_t cross = hx__work_cross_extent(w);
  if (__builtin_mul_overflow((uint64_t)c.count, cross, &units) ||
      __builtin_mul_overflow(units, (uint64_t)w->gemm.k, &units))
    return UINT64_MAX;
  return units;
}

static void cut_rows(hx__gemm *g, hx__chunk rows) {
  g->m = rows.count;
  if (g->a) g->a += rows.first * g->a_rs;
  g->c += rows.first * g->ldc;
}

static void cut_columns(hx__gemm *g, hx__chunk columns) {
  g->n = columns.count;
  if (g->b) g->b += columns.first * g->b_cs;
  g->c += columns.first;
}

hx__gemm hx__chunk_gemm(const hx__work *w, hx__chunk c) {
  hx__gemm g = w->gemm;
  g.full_extent = w->slices;
  if (c.count < w->slices) g.next = (hx__gemm_operands){NULL, NULL, NULL}; /* Each chunk would prefetch all of it. */
  (w->by_columns ? cut_columns : cut_rows)(&g, c);
  return g;
}

hx__gemm hx__block_gemm(const hx__work *w, hx__chunk c, hx__chunk cross) {
  hx__gemm g = hx__chunk_gemm(w, c);
  (w->by_columns ? cut_rows : cut_columns)(&g, cross);
  return g;
}

hx__trace_task hx__work_trace(const hx__work *w) {
  if (w->matmul) {
    return (hx__trace_task){.op = "matmul",
                            .fields = 1,
                            .m = w->gemm.m,
                            .n = w->gemm.n,
                            .k = w->gemm.k,
                            .trans_a = w->trans_a,
                            .trans_b = w->trans_b,
                            .batch = w->batch.count};
  }
  hx__trace_task task = {.fields = w->nfields, .n = w->n};
  if (w->map) {
    task.fields = 1;
    task.op = "map";
    task.type = hx__type_names[hx__expr_type(&w->kernel->expr)];
  }
  if (w->nfields != 1) return task;
  task.mapped = w->kernel != NULL;
  if (w->by_lines) task.m = w->lines.count;
  task.op = hx__op_names[w->fields[0].op];
  task.type = hx__type_names[w->fields[0].type];
  return task;
}
