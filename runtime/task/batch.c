/* SPDX-License-Identifier: Apache-2.0
 * The products of a batch, and whether matrices at equal distances share elements. */
#include "runtime/task/task.h"

hx__gemm hx__batch_gemm(const hx__work *w, size_t i) {
  hx__gemm g = w->gemm;
  if (g.a) g.a += i * w->batch.stride_a;
  if (g.b) g.b += i * w->batch.stride_b;
  g.c += i * w->batch.stride_c;
  return g;
}

uint64_t hx__batch_elements(const hx__work *w) {
  uint64_t elements = 0;
  for (unsigned which = HX__BATCH_A; which <= HX__BATCH_C; which++) {
    const hx__matrices x = hx__batch_matrices(w, which);
    elements += x.first.rows * x.first.cols * x.count;
  }
  return elements;
}

hx__gemm hx__batch_gemm_ahead(const hx__work *w, size_t i) {
  const struct hx_batch *const batch = &w->batch;
  hx__gemm g = hx__batch_gemm(w, i);
  if (g.a && batch->stride_a) g.next.a = g.a + batch->stride_a;
  if (g.b && batch->stride_b) g.next.b = g.b + batch->stride_b;
  g.next.c = g.c + batch->stride_c;
  return g;
}

hx__work hx__batch_product(const hx__work *w, size_t i) {
  hx__work product = *w;
  product.gemm = hx__batch_gemm(w, i);
  product.batch.count = 0;
  product.units = w->units == UINT64_MAX ? UINT64_MAX : w->units / w->batch.count;
  return product;
}

/* Elements from the first one to the last. */
static size_t extent_of(const hx__matrix *x) { return (x->rows - 1) * x->ld + x->cols; }

size_t hx__matrices_extent(const hx__matrices *x, size_t count) {
  return count ? (count - 1) * x->stride + extent_of(&x->first) : 0;
}

static uintptr_t end_of(const hx__matrices *x) {
  return (uintptr_t)x->first.base + hx__matrices_extent(x, x->count) * sizeof(float);
}

hx__matrices hx__batch_matrices(const hx__work *w, unsigned which) {
  const hx__gemm *const g = &w->gemm;
  const hx__matrix a = w->trans_a ? (hx__matrix){g->a, g->k, g->m, g->a_cs} : (hx__matrix){g->a, g->m, g->k, g->a_rs};
  const hx__matrix b = w->trans_b ? (hx__matrix){g->b, g->n, g->k, g->b_cs} : (hx__matrix){g->b, g->k, g->n, g->b_rs};
  const hx__matrix c = {g->c, g->m, g->n, g->ldc};
  const size_t stride = which == HX__BATCH_A   ? w->batch.stride_a
                        : which == HX__BATCH_B ? w->batch.stride_b
                                               : w->batch.stride_c;
  return (hx__matrices){which == HX__BATCH_A ? a : which == HX__BATCH_B ? b : c, stride, stride ? w->batch.count : 1};
}

/* Whether the matrices are one after the other and fill half of the memory from the first to the last. */
static bool is_dense(const hx__matrices *x) {
  const size_t cells = x->first.rows * x->first.cols, extent = extent_of(&x->first);
  return extent / 2 <= cells && (x->count == 1 || (x->stride >= extent && x->stride / 2 <= cells));
}

bool hx__batch_as_one(const hx__work *w, hx__work *one) {
  for (unsigned which = HX__BATCH_A; which <= HX__BATCH_C; which++) {
    const hx__matrices x = hx__batch_matrices(w, which);
    if (!is_dense(&x)) return false;
  }
  *one = *w;
  one->by_products = true;
  one->by_columns = false;
  one->slices = w->batch.count;
  return true;
}

/* The element that many floats after x's. Arguments may name elements far outside of any array, so this is no pointer
 * arithmetic, which is defined within arrays alone. */
static const float *element_after(const float *x, size_t floats) {
  return (const float *)((uintptr_t)x + floats * sizeof *x);
}

/* Whether x shares an element with one of y, whose matrices are apart: at most two of them come near x. */
static bool shares_with_one(const hx__matrix *x, const hx__matrices *y) {
  const uintptr_t from = (uintptr_t)x->base, base = (uintptr_t)y->first.base;
  const uintptr_t end = from + extent_of(x) * sizeof(float), step = y->stride * sizeof(float);
  hx__matrix one = y->first;
  for (size_t i = y->count > 1 && from > base ? (from - base) / step : 0; i < y->count && base + i * step < end; i++) {
    one.base = element_after(y->first.base, i * y->stride);
    if (hx__matrices_share(x, &one)) return true;
  }
  return false;
}

/* Whether each matrix ends before the next one begins. */
static bool are_apart(const hx__matrices *x) { return x->count == 1 || x->stride >= extent_of(&x->first); }

bool hx__batches_share(const hx__matrices *x, const hx__matrices *y) {
  const bool apart = x->stride == y->stride && are_apart(x) && are_apart(y);
  if (end_of(x) <= (uintptr_t)y->first.base || end_of(y) <= (uintptr_t)x->first.base) return false;
  return !apart || shares_with_one(&x->first, y) || shares_with_one(&y->first, x);
}

/* The distances between an element of a matrix and one in the same row or a later one are r * ld + j with 0 <= r < rows
 * and |j| < cols: themselves a matrix, which begins at -(cols - 1). Two matrices share an element if one of these is a
 * distance between two matrices: 1, 2, ... or count - 1 times the stride, which is a matrix of one column. */
bool hx__batch_shares_within(const hx__matrices *x) {
  const hx__matrix *const one = &x->first;
  const size_t width = 2 * one->cols - 1;
  hx__matrix distances = {one->base, one->rows, width, one->ld};
  if (one->ld < width) distances = (hx__matrix){one->base, 1, (one->rows - 1) * one->ld + width, SIZE_MAX};
  const hx__matrix strides = {element_after(one->base, x->stride + one->cols - 1), x->count - 1, 1, x->stride};
  return x->stride == 0 || hx__matrices_share(&distances, &strides);
}
