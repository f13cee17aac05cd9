/* SPDX-License-Identifier: Apache-2.0
 * The elements of a leaf, or of the lines of a slice, are computed, then reduced while they are in the first cache: the
 * slots are those of an array of them. */
#include "runtime/backend/mapped.h"

/* Elements, counted row by row. */
static void evaluate(const hx__cpu_kernels *cpu, const hx__work *w, hx__elements e, uint32_t *to) {
  while (e.count) {
    const hx__map_part part = hx__map_part_at(w, e.first, e.count);
    for (size_t row = part.row; row < part.row + part.rows; row++, to += part.cols) {
      const hx__inputs inputs = hx__inputs_at(w, row, part.col);
      cpu->evaluate(&w->kernel->code, inputs.p, w->parameter, part.cols, 1, 0, to);
    }
    e.first += part.rows * part.cols;
    e.count -= part.rows * part.cols;
  }
}

void hx__reduce_mapped(const hx__cpu_kernels *cpu, const hx__work *w, hx__chunk chunk, uint32_t *leaf,
                       uint64_t *slots) {
  const hx_type type = w->fields->type;
  const bool whole_lines = w->by_lines && w->lines.leaves == 1;
  for (size_t i = chunk.first; i < chunk.first + chunk.count; i++) {
    const hx__chunk slice = {i, 1};
    const hx__elements e = hx__elements_of(w, slice);
    evaluate(cpu, w, e, leaf);
    if (whole_lines) cpu->lines->rows[w->fields->op][type](leaf, w->n, NULL, w->n, e.count / w->n, w->n, slots);
    for (size_t f = 0; f < w->nfields && !whole_lines; f++)
      cpu->leaf[w->fields[f].op][type](leaf, NULL, e.count, HX__IN_L2, slots + f * w->slices);
    slots += hx__chunk_slots(w, slice);
  }
}

uint64_t hx__reduce_mapped_leaf(const hx__cpu_kernels *cpu, const hx__work *w, const hx_field *field, size_t slot,
                                uint32_t *leaf) {
  const hx__elements e = hx__elements_of_slot(w, slot);
  evaluate(cpu, w, e, leaf);
  return cpu->one_leaf[field->op][field->type](leaf, NULL, e.count);
}
