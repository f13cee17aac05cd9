/* SPDX-License-Identifier: Apache-2.0
 * Storing finished sums in C: alpha, beta, NaN. */
#ifndef HX_CPU_GEMM_STORE_H
#define HX_CPU_GEMM_STORE_H

#include "cpu/gemm_simd.h"

/* C = beta == 0 ? alpha*S : fma(beta, C, alpha*S). s may be c itself. 1*S is S. */
static void store_scaled(const float *s, size_t lds, size_t m, size_t n, float *c, size_t ldc, float alpha,
                         float beta) {
  const vf valpha = vf_set1(alpha), vbeta = vf_set1(beta);
  const size_t whole = n / GEMM_VL * GEMM_VL;
  const vf_mask mask = vf_mask_of(n - whole);
  for (size_t i = 0; i < m; i++, s += lds, c += ldc) {
    for (size_t j = 0; j < whole; j += GEMM_VL) {
      const vf t = valpha * vf_load(s + j);
      vf_store(c + j, vf_canonical(beta == 0 ? t : vf_fma(vbeta, vf_load(c + j), t)));
    }
    if (whole == n) continue;
    const vf t = valpha * vf_load_mask(s + whole, mask);
    const vf x = beta == 0 ? t : vf_fma(vbeta, vf_load_mask(c + whole, mask), t);
    vf_store_mask(c + whole, vf_canonical(x), mask);
  }
}

/* Stores without reading the lines of C first. */
static void store_distant(const float *t, size_t ldt, size_t m, size_t n, float *c, size_t ldc) {
  for (size_t i = 0; i < m; i++, t += ldt, c += ldc) {
    const size_t off = (uintptr_t)c / sizeof *c % GEMM_VL, to_line = off ? GEMM_VL - off : 0;
    const size_t head = to_line < n ? to_line : n, end = head + (n - head) / GEMM_VL * GEMM_VL;
    if (head) {
      const vf_mask mask = vf_mask_of(head);
      vf_store_mask(c, vf_canonical(vf_load_mask(t, mask)), mask);
    }
    for (size_t j = head; j < end; j += GEMM_VL) vf_stream(c + j, vf_canonical(vf_load(t + j)));
    if (end == n) continue;
    const vf_mask mask = vf_mask_of(n - end);
    vf_store_mask(c + end, vf_canonical(vf_load_mask(t + end, mask)), mask);
  }
  vf_streamed();
}

static void store(const float *t, size_t ldt, size_t m, size_t n, float *c, size_t ldc, float beta, bool distant) {
  if (distant && beta == 0)
    store_distant(t, ldt, m, n, c, ldc);
  else
    store_scaled(t, ldt, m, n, c, ldc, 1.0f, beta);
}

/* There is no product (alpha == 0 or k == 0): C = beta == 0 ? +0 : beta*C. */
static void store_no_product(size_t m, size_t n, float *c, size_t ldc, float beta) {
  const vf vbeta = vf_set1(beta);
  const size_t whole = n / GEMM_VL * GEMM_VL;
  const vf_mask mask = vf_mask_of(n - whole);
  for (size_t i = 0; i < m; i++, c += ldc) {
    for (size_t j = 0; j < whole; j += GEMM_VL) {
      vf_store(c + j, beta == 0 ? (vf){0} : vf_canonical(vbeta * vf_load(c + j)));
    }
    if (whole == n) continue;
    vf_store_mask(c + whole, beta == 0 ? (vf){0} : vf_canonical(vbeta * vf_load_mask(c + whole, mask)), mask);
  }
}

#endif
