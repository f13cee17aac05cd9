/* SPDX-License-Identifier: Apache-2.0
 * A map-reduce computes the elements of a leaf, or of the lines of a slice, then reduces them while they are in the
 * first cache: the slots are those of an array of them. */
#include "runtime/backend/mapped.h"

/* Whether the rows of all inputs are `ld` elements apart, so that one call computes several. */
static bool rows_are_alike(const hx__work *w, size_t ld) {
  for (unsigned i = 0; i < w->kernel->expr.inputs; i++)
    if (w->ld[i] != ld) return false;
  return true;
}

void hx__map_elements(const hx__cpu_kernels *cpu, const hx__work *w, hx__elements e, bool past_caches, uint32_t *to) {
  const size_t ld = to ? w->cols : w->ld_out;
  const bool alike = rows_are_alike(w, ld);
  for (size_t done = 0; done < e.count;) {
    const hx__map_part part = hx__map_part_at(w, e.first + done, e.count - done);
    const size_t at_once = alike ? part.rows : 1;
    for (size_t row = part.row; row < part.row + part.rows; row += at_once) {
      const hx__inputs inputs = hx__inputs_at(w, row, part.col);
      uint32_t *const out = to ? to + done : (uint32_t *)w->map_out + row * ld + part.col;
      cpu->evaluate(&w->kernel->code, inputs.p, w->parameter, part.cols, at_once, ld, past_caches, out);
      done += at_once * part.cols;
    }
  }
}

void hx__reduce_mapped(const hx__cpu_kernels *cpu, const hx__work *w, hx__chunk chunk, uint32_t *leaf,
                       uint64_t *slots) {
  const hx_type type = w->fields->type;
  const bool whole_lines = w->by_lines && w->lines.leaves == 1;
  for (size_t i = chunk.first; i < chunk.first + chunk.count; i++) {
    const hx__chunk slice = {i, 1};
    const hx__elements e = hx__elements_of(w, slice);
    hx__map_elements(cpu, w, e, false, leaf);
    if (whole_lines) cpu->lines->rows[w->fields->op][type](leaf, w->n, NULL, w->n, e.count / w->n, w->n, slots);
    for (size_t f = 0; f < w->nfields && !whole_lines; f++)
      cpu->leaf[w->fields[f].op][type](leaf, NULL, e.count, HX__IN_L2, slots + f * w->slices);
    slots += hx__chunk_slots(w, slice);
  }
}

uint64_t hx__reduce_mapped_leaf(const hx__cpu_kernels *cpu, const hx__work *w, const hx_field *field, size_t slot,
                                uint32_t *leaf) {
  const hx__elements e = hx__elements_of_slot(w, slot);
  hx__map_elements(cpu, w, e, false, leaf);
  return cpu->one_leaf[field->op][field->type](leaf, NULL, e.count);
}
