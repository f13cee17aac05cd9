/* SPDX-License-Identifier: Apache-2.0
 * A map-reduce computes the elements of a leaf, or of the lines of a slice, then reduces them while they are in the
 * first cache: the slots are those of an array of them. */
#include "runtime/backend/mapped.h"

void hx__map_elements(const hx__cpu_kernels *cpu, const hx__work *w, hx__elements e, bool past_caches, uint32_t *to) {
  for (size_t done = 0; done < e.count;) {
    const hx__map_part part = hx__map_part_at(w, e.first + done, e.count - done);
    const hx__expr_rows rows = {.n = part.cols,
                                .rows = part.rows,
                                .ld = w->ld,
                                .ld_out = to ? part.cols : w->ld_out,
                                .row = (uint32_t)part.row,
                                .index = (uint32_t)part.col};
    void *outputs[HX__EXPR_OUTPUTS] = {to ? to + done : NULL};
    for (unsigned o = 0; !to && o < w->kernel->expr.outputs; o++)
      outputs[o] = (uint32_t *)w->output[o] + part.row * w->ld_out + part.col;
    cpu->evaluate(&w->kernel->code, hx__inputs_at(w, part.row, part.col).p, w->parameter, rows, past_caches, outputs);
    done += part.rows * part.cols;
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
