/* SPDX-License-Identifier: Apache-2.0
 * Compares a few results of a device's chunk with the CPU. */
#include "runtime/backend/spot_check.h"

#include <string.h>

#include "kernels/kernels.h"
#include "runtime/backend/lines.h"
#include "runtime/backend/mapped.h"

bool hx__spot_check_is_possible(const hx__request *request, const hx__device *device) {
  const hx__work *const w = request->work;
  const hx__resident_output *const resident = request->resident;
  const size_t arrays = w->kernel ? w->kernel->expr.inputs : w->matmul ? HX__PRODUCT_ARRAYS : 2 * w->nfields;
  if (!request->kernels || (resident && (device->reports_cancelled || resident->old_device_only))) return false;
  for (size_t i = 0; i < arrays; i++) {
    const hx__array *const a = &request->arrays[i];
    if (a->mirror && (device->reports_cancelled || a->device_only)) return false;
  }
  return true;
}

/* All outputs of an element of a map. */
static void evaluate_one(const hx__request *request, size_t element, uint32_t results[HX__EXPR_OUTPUTS]) {
  const hx__work *const w = request->work;
  const size_t row = element / w->cols, col = element % w->cols;
  const hx__expr_rows one = {.n = 1, .rows = 1, .row = (uint32_t)row, .index = (uint32_t)col};
  void *outputs[HX__EXPR_OUTPUTS];
  for (unsigned o = 0; o < HX__EXPR_OUTPUTS; o++) outputs[o] = &results[o];
  request->kernels->evaluate(&w->kernel->code, hx__inputs_at(w, row, col).p, w->parameter, one, false, outputs);
}

/* The first and the last element of a map's chunk, as a row. */
static void expect_ends(hx__spot_check *s, const hx__request *request, hx__chunk chunk) {
  const size_t n = hx__chunk_elements(request->work, chunk), first = chunk.first * HX__LEAF;
  s->active = n != 0;
  s->rows = 1;
  s->cols = n < 2 ? 1 : 2;
  for (size_t i = 0; i < s->cols && n; i++) { /* only the result of one output stays on a device */
    uint32_t one[HX__EXPR_OUTPUTS];
    evaluate_one(request, first + i * (n - 1), one);
    memcpy(&s->corner[i], one, sizeof s->corner[i]);
  }
}

/* One element of a product of a batch. */
static void expect_element(const hx__request *request, size_t product, size_t row, size_t col, float *element) {
  const hx__cpu_kernels *const cpu = request->kernels;
  hx__gemm g = hx__batch_gemm(request->work, product);
  g.a += row * g.a_rs;
  g.b += col * g.b_cs;
  if (!request->resident) g.beta = 0.0f;
  if (g.beta != 0.0f) *element = g.c[row * g.ldc + col];
  g.m = g.n = g.ldc = 1;
  g.c = element;
  cpu->gemm(&g, cpu->gemm_blocking(0), NULL, NULL, NULL);
}

/* The first element of the first product and the last one of the last product, as a row. */
static void expect_products(hx__spot_check *s, const hx__request *request, hx__chunk chunk) {
  const hx__gemm *const g = &request->work->gemm;
  s->active = chunk.count != 0;
  s->rows = 1;
  s->cols = 2;
  if (!s->active) return;
  expect_element(request, chunk.first, 0, 0, &s->corner[0]);
  expect_element(request, chunk.first + chunk.count - 1, g->m - 1, g->n - 1, &s->corner[1]);
}

void hx__spot_check_expect(hx__spot_check *s, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  if (w->map && request->resident) {
    expect_ends(s, request, chunk);
    return;
  }
  if (w->by_products) {
    expect_products(s, request, chunk);
    return;
  }
  s->active = w->matmul && chunk.count && w->gemm.k && w->gemm.n && w->gemm.m;
  if (!s->active) return;
  const hx__cpu_kernels *const cpu = request->kernels;
  hx__gemm g = hx__chunk_gemm(w, chunk);
  const size_t m = g.m, n = g.n;
  s->rows = g.m < 2 ? 1 : 2;
  s->cols = g.n < 2 ? 1 : 2;
  g.a_rs *= g.m - 1; /* row 1 of the small product is the last row of the chunk */
  g.b_cs *= g.n - 1;
  g.m = s->rows;
  g.n = s->cols;
  g.full_extent = 0;
  if (!request->resident) g.beta = 0.0f;
  for (size_t i = 0; i < 4 && g.beta != 0.0f; i++)
    if (i / 2 < s->rows && i % 2 < s->cols) s->corner[i] = g.c[i / 2 * (m - 1) * g.ldc + i % 2 * (n - 1)];
  g.c = s->corner;
  g.ldc = 2;
  cpu->gemm(&g, cpu->gemm_blocking(0), NULL, NULL, NULL);
}

/* All NaNs are equal: the store writes one pattern for all. */
// NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): the bits are to be equal
static bool same_float(float a, float b) { return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }

bool hx__spot_check_product(const hx__spot_check *s, const hx__request *request, hx__chunk chunk, const float *t,
                            size_t ldt) {
  if (!s->active) return true;
  if (request->work->by_products) {
    const float *const last = t + (chunk.count * request->work->gemm.m - 1) * ldt + request->work->gemm.n - 1;
    return same_float(s->corner[0], *t) && same_float(s->corner[1], *last);
  }
  const hx__gemm g = hx__chunk_gemm(request->work, chunk);
  bool same = true;
  for (size_t i = 0; i < s->rows; i++)
    for (size_t j = 0; j < s->cols; j++)
      same = same && same_float(s->corner[2 * i + j], t[i * (g.m - 1) * ldt + j * (g.n - 1)]);
  return same;
}

bool hx__spot_check_ends(const hx__spot_check *s, const float ends[2]) {
  return !s->active ||
         (same_float(s->corner[0], ends[0]) && same_float(s->corner[2 * (s->rows - 1) + s->cols - 1], ends[1]));
}

static bool is_rounded(const hx_field *f) {
  return f->type == HX_F32 && f->op != HX_MIN && f->op != HX_MAX && f->op != HX_ARGMIN && f->op != HX_ARGMAX;
}

static bool same_slot(const hx_field *f, uint64_t a, uint64_t b) {
  float x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  return a == b || (is_rounded(f) && same_float(x, y));
}

static bool line_is_right(const hx__request *request, size_t leaf, uint64_t slot) {
  const hx__work *const w = request->work;
  _Alignas(64) unsigned char scratch[HX__LEAST_COLUMNS_SCRATCH];
  const hx__lines_place place = {request->kernels, w->fields->x, w->fields->y, HX__IN_L2, scratch, sizeof scratch};
  return same_slot(w->fields, hx__compute_line_leaf(&place, w, leaf), slot);
}

static __attribute__((noinline)) bool mapped_leaf_is_right(const hx__request *request, const hx_field *f, size_t leaf,
                                                           uint64_t slot) {
  _Alignas(64) uint32_t elements[HX__LEAF];
  return same_slot(f, hx__reduce_mapped_leaf(request->kernels, request->work, f, leaf, elements), slot);
}

static bool leaf_is_right(const hx__request *request, const hx_field *f, size_t leaf, uint64_t slot) {
  const hx__work *const w = request->work;
  if (w->kernel) return mapped_leaf_is_right(request, f, leaf, slot);
  if (w->by_lines) return line_is_right(request, leaf, slot);
  const size_t first = leaf * HX__LEAF, left = w->n - first, n = left < HX__LEAF ? left : HX__LEAF;
  const uint32_t *const x = f->x, *const y = f->y;
  return same_slot(f, request->kernels->one_leaf[f->op][f->type](x + first, f->op == HX_DOT ? y + first : NULL, n),
                   slot);
}

bool hx__spot_check_slots(const hx__request *request, hx__chunk chunk, const uint64_t *slots, bool joined) {
  const hx__work *const w = request->work;
  bool same = true;
  if (chunk.count == 0) return true;
  const size_t first = hx__first_slot(w, chunk.first), count = hx__chunk_slots(w, chunk);
  for (size_t f = 0; f < w->nfields && same; f++, slots += joined ? HX__JOINED_SLOTS : count) {
    const size_t at[HX__CHECKED_SLOTS] = {0, count / 2, count - 1};
    for (unsigned i = 0; i < HX__CHECKED_SLOTS && same; i++)
      if (i == 0 || at[i] != at[i - 1])
        same = leaf_is_right(request, &w->fields[f], first + at[i], slots[joined ? 1 + i : at[i]]);
  }
  return same;
}

bool hx__spot_check_map(const hx__request *request, hx__chunk part, const uint32_t *results, size_t step) {
  const hx__work *const w = request->work;
  const size_t n = hx__chunk_elements(w, part), at[3] = {0, n / 2, n - 1};
  bool same = true;
  for (unsigned i = 0; i < 3 && same; i++) {
    uint32_t one[HX__EXPR_OUTPUTS];
    evaluate_one(request, part.first * HX__LEAF + at[i], one);
    for (unsigned o = 0; o < hx__work_outputs(w) && same; o++) same = one[o] == results[o * step + at[i]];
  }
  return same;
}
