/* SPDX-License-Identifier: Apache-2.0
 * The reduction of lines on the CPU: lines of adjacent elements, and adjacent lines, by kernels that read them in
 * place; other leaves are copied to scratch memory one by one. */
#include "runtime/backend/lines.h"

#include <string.h>

#define MOST_GATHERED HX__LEAF
_Static_assert(MOST_GATHERED * sizeof(uint32_t) <= HX__LEAST_COLUMNS_SCRATCH, "a leaf fits in scratch memory");

/* Leaves with the same place in neighbouring lines, or neighbouring leaves of one line. */
typedef struct leaves {
  const uint32_t *x, *y; /* the first element of the first leaf */
  size_t count, n;       /* leaves, and elements of each; of the last leaf of one line fewer */
} leaves;

static void gather(uint32_t *to, const uint32_t *x, size_t stride, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = x[i * stride];
}

/* A leaf of a dot product of floats is the sum of its products, which are rounded one by one. */
static uint64_t gather_float_dot(const hx__lines_place *p, const hx__lines *l, const uint32_t *x, const uint32_t *y,
                                 size_t n) {
  float *const products = p->scratch, *const a = products; /* one name for each type of access */
  for (size_t i = 0; i < n; i++) {
    float u, v;
    memcpy(&u, x + i * l->stride, sizeof u);
    memcpy(&v, y + i * l->y_stride, sizeof v);
    a[i] = u * v;
  }
  return p->kernels->one_leaf[HX_SUM][HX_F32](products, NULL, n);
}

/* A dot product of integers is exact in any order, and so in two halves, each with half of the scratch memory. */
static uint64_t gather_integer_dot(const hx__lines_place *p, const hx__lines *l, hx_type type, const uint32_t *x,
                                   const uint32_t *y, size_t n) {
  const size_t half = MOST_GATHERED / 2;
  uint32_t *const a = p->scratch, *const b = a + half;
  uint64_t sum = 0;
  for (size_t at = 0; at < n; at += half) {
    const size_t part = n - at < half ? n - at : half;
    gather(a, x + at * l->stride, l->stride, part);
    gather(b, y + at * l->y_stride, l->y_stride, part);
    sum += p->kernels->one_leaf[HX_DOT][type](a, b, part);
  }
  return sum;
}

/* Elements that are up to so far apart are read with what lies between them, as one column of a narrow matrix: a vector
 * of elements and gaps costs less than loading elements one by one. */
#define NEAR_STRIDE 4u
#define LEAST_COLUMN 256u /* elements: of fewer the call costs more */

static bool column_leaf(const hx__lines_place *p, const hx__work *w, const uint32_t *x, size_t n, uint64_t *slot) {
  if (n < LEAST_COLUMN || w->lines.stride > NEAR_STRIDE) return false;
  const hx__columns column = {.x = x,
                              .ld = w->lines.stride,
                              .lines = 1,
                              .n = n,
                              .distant = p->reach != HX__IN_L2,
                              .scratch = p->scratch,
                              .scratch_bytes = p->scratch_bytes};
  return p->kernels->lines->columns[w->fields->op][w->fields->type](&column, slot);
}

/* The slot of one leaf whose elements are apart. */
static uint64_t gather_leaf(const hx__lines_place *p, const hx__work *w, const uint32_t *x, const uint32_t *y,
                            size_t n) {
  const hx_op op = w->fields->op;
  const hx_type type = w->fields->type;
  if (op == HX_DOT && type == HX_F32) return gather_float_dot(p, &w->lines, x, y, n);
  if (op == HX_DOT) return gather_integer_dot(p, &w->lines, type, x, y, n);
  uint64_t slot;
  if (column_leaf(p, w, x, n, &slot)) return slot;
  gather(p->scratch, x, w->lines.stride, n);
  return p->kernels->one_leaf[op][type](p->scratch, NULL, n);
}

/* Whether each line has its elements, or all lines have theirs, one after the other. */
static bool is_packed(const hx__work *w) {
  const hx__lines *const l = &w->lines;
  return w->n == 1 || (l->stride == 1 && (w->fields->op != HX_DOT || l->y_stride == 1));
}
/* Whether the lines are columns of a matrix: side by side, and no row reaches into the next one, if there is one. */
static bool is_columns(const hx__work *w) {
  const hx__lines *const l = &w->lines;
  const bool one_row = w->n == 1;
  return (l->across || one_row) && l->line_stride == 1 && (one_row || l->stride >= l->count) &&
         (w->fields->op != HX_DOT || (l->y_line_stride == 1 && (one_row || l->y_stride >= l->count)));
}

/* The same leaf of `count` lines. */
static void compute_across(const hx__lines_place *p, const hx__work *w, const leaves *v, uint64_t *slots) {
  const hx__lines *const l = &w->lines;
  const hx_field *const f = w->fields;
  const hx__columns columns = {.x = v->x,
                               .y = v->y,
                               .ld = w->n == 1 ? v->count : l->stride,
                               .y_ld = w->n == 1 ? v->count : l->y_stride,
                               .lines = v->count,
                               .n = v->n,
                               .distant = p->reach != HX__IN_L2,
                               .scratch = p->scratch,
                               .scratch_bytes = p->scratch_bytes};
  if (is_columns(w) && p->kernels->lines->columns[f->op][f->type](&columns, slots)) return;
  if (is_packed(w)) {
    p->kernels->lines->rows[f->op][f->type](v->x, l->line_stride, v->y, l->y_line_stride, v->count, v->n, slots);
    return;
  }
  for (size_t i = 0; i < v->count; i++)
    slots[i] = gather_leaf(p, w, v->x + i * l->line_stride, v->y ? v->y + i * l->y_line_stride : NULL, v->n);
}

/* Neighbouring leaves of one line; all but the last are full. */
static void compute_along(const hx__lines_place *p, const hx__work *w, const leaves *v, uint64_t *slots) {
  const hx__lines *const l = &w->lines;
  const hx_field *const f = w->fields;
  if (is_packed(w)) {
    p->kernels->leaf[f->op][f->type](v->x, v->y, v->n, p->reach, slots);
    return;
  }
  for (size_t i = 0, at = 0; at < v->n; i++, at += HX__LEAF) {
    const size_t part = v->n - at < HX__LEAF ? v->n - at : HX__LEAF;
    slots[i] = gather_leaf(p, w, v->x + at * l->stride, v->y ? v->y + at * l->y_stride : NULL, part);
  }
}

/* The leaves from `slot` on, at most `most`, that one of the two functions can compute: all in one line, or in the same
 * place of several lines. */
static leaves leaves_from(const hx__lines_place *p, const hx__work *w, size_t slot, size_t most) {
  const hx__lines *const l = &w->lines;
  const hx__line_leaf at = hx__leaf_of_slot(w, slot);
  const size_t x = at.line * l->line_stride + at.first * l->stride,
               y = at.line * l->y_line_stride + at.first * l->y_stride;
  const bool same_place = l->across || l->leaves == 1;
  const size_t left = same_place ? l->count - at.line : l->leaves - at.first / HX__LEAF;
  leaves v = {.x = (const uint32_t *)p->x + x, .count = left < most ? left : most, .n = at.count};
  if (w->fields->op == HX_DOT) v.y = (const uint32_t *)p->y + y;
  if (!same_place) v.n = v.count == left ? w->n - at.first : v.count * HX__LEAF;
  return v;
}

void hx__compute_lines(const hx__lines_place *p, const hx__work *w, hx__chunk chunk, uint64_t *slots) {
  const bool along = !w->lines.across && w->lines.leaves > 1;
  const size_t end = hx__first_slot(w, chunk.first + chunk.count);
  for (size_t slot = hx__first_slot(w, chunk.first); slot < end;) {
    const leaves v = leaves_from(p, w, slot, end - slot);
    (along ? compute_along : compute_across)(p, w, &v, slots);
    slot += v.count;
    slots += v.count;
  }
}

uint64_t hx__compute_line_leaf(const hx__lines_place *p, const hx__work *w, size_t slot) {
  uint64_t result = 0;
  const leaves v = leaves_from(p, w, slot, 1);
  compute_along(p, w, &v, &result);
  return result;
}
