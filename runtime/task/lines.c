/* SPDX-License-Identifier: Apache-2.0
 * The slots and slices of lines, and where their elements are. Pure functions. */
#include "runtime/task/task.h"

size_t hx__first_slot(const hx__work *w, size_t slice) {
  const hx__lines *const l = &w->lines;
  if (!w->by_lines || l->leaves != 1) return slice;
  return slice == w->slices ? l->count : slice * l->together;
}

hx__line_leaf hx__leaf_of_slot(const hx__work *w, size_t slot) {
  const hx__lines *const l = &w->lines;
  const size_t leaf = l->across ? slot / l->count : slot % l->leaves, first = leaf * HX__LEAF, left = w->n - first;
  return (hx__line_leaf){.line = l->across ? slot % l->count : slot / l->leaves,
                         .first = first,
                         .count = left < HX__LEAF ? left : HX__LEAF};
}

hx__matrix hx__lines_matrix(const hx__work *w, bool of_y) {
  const hx__lines *const l = &w->lines;
  const float *const p = of_y ? w->single.y : w->single.x;
  const size_t line = of_y ? l->y_line_stride : l->line_stride, one = of_y ? l->y_stride : l->stride;
  if (l->across && line == 1 && one >= l->count) return (hx__matrix){p, w->n, l->count, one};
  const size_t all = (l->count - 1) * line + (w->n - 1) * one + 1;
  return (hx__matrix){p, 1, all, all};
}
