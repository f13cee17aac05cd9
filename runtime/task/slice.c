/* SPDX-License-Identifier: Apache-2.0
 * Cutting a task into slices: pure functions. */
#include "runtime/task/task.h"

size_t hx__share_slices(const hx__work *w, double share) {
  const double exact = share * (double)w->slices + 0.5;
  if (!(exact >= 1.0)) return 0;
  return exact >= (double)w->slices ? w->slices : (size_t)exact;
}

size_t hx__chunk_elements(const hx__work *w, hx__chunk c) {
  const size_t first = c.first * HX__LEAF;
  const size_t whole = c.count * (size_t)HX__LEAF; /* n fits size_t in bytes, so leaves * 4096 fits in elements */
  return w->n - first < whole ? w->n - first : whole;
}

uint64_t hx__chunk_units(const hx__work *w, hx__chunk c) {
  if (c.count == 0) return 0;
  if (c.count == w->slices) return w->units;
  if (!w->matmul) return (uint64_t)hx__chunk_elements(w, c) * w->nfields;
  const uint64_t across = w->by_columns ? w->gemm.m : w->gemm.n;
  uint64_t units;
  if (__builtin_mul_overflow((uint64_t)c.count, across, &units) ||
      __builtin_mul_overflow(units, (uint64_t)w->gemm.k, &units))
    return UINT64_MAX;
  return units;
}

hx__gemm hx__chunk_gemm(const hx__work *w, hx__chunk c) {
  hx__gemm g = w->gemm;
  if (w->by_columns) {
    g.n = c.count;
    if (g.b) g.b += c.first * g.b_cs;
    g.c += c.first;
  } else {
    g.m = c.count;
    if (g.a) g.a += c.first * g.a_rs;
    g.c += c.first * g.ldc;
  }
  return g;
}
