/* SPDX-License-Identifier: Apache-2.0
 * Reductions of vectors. hx reads arrays without gaps, so calls with other increments are forwarded. */
#include <math.h>

#include "blas/blas.h"
#include "blas/call.h"
#include "blas/covered.h"

/* The number of elements as a number of units. */
static inline uint64_t units_of(int n) { return n > 0 ? (uint64_t)n : 0; }

static __attribute__((noinline)) float dot(const int *n, const float *x, const int *incx, const float *y,
                                           const int *incy) {
  hx__blas_call call;
  hx_value sum = {.f32 = 0};
  hx__blas_call_begin(&call, HX__BLAS_SDOT, units_of(*n));
  if (call.by_hx) { /* Both backwards: the same pairs. */
    const hx_task task = hx_dot(HX_F32, x, y, (size_t)units_of(*n), &sum);
    call.by_hx = *incx == *incy && (*incx == 1 || *incx == -1) && hx__blas_offload(&call, &task);
  }
  if (!call.by_hx) sum.f32 = hx__covered_sdot_(n, x, incx, y, incy);
  if (call.logs) hx__blas_call_log(&call, "sdot_", "sdot(%d,%d,%d)", *n, *incx, *incy);
  return sum.f32;
}

float sdot_(const int *n, const float *x, const int *incx, const float *y, const int *incy) {
  if (hx__blas_forwards(HX__BLAS_SDOT, units_of(*n))) return hx__covered_sdot_(n, x, incx, y, incy);
  return dot(n, x, incx, y, incy);
}

float cblas_sdot(int n, const float *x, int incx, const float *y, int incy) {
  if (hx__blas_forwards(HX__BLAS_SDOT, units_of(n))) return hx__covered_cblas_sdot(n, x, incx, y, incy);
  return dot(&n, x, &incx, y, &incy);
}

static __attribute__((noinline)) float sum_abs(const int *n, const float *x, const int *incx) {
  hx__blas_call call;
  hx_value sum = {.f32 = 0};
  hx__blas_call_begin(&call, HX__BLAS_SASUM, units_of(*n));
  if (call.by_hx) {
    const hx_task task = hx_reduce(HX_SUM_ABS, HX_F32, x, (size_t)units_of(*n), &sum);
    call.by_hx = *incx == 1 && hx__blas_offload(&call, &task);
  }
  if (!call.by_hx) sum.f32 = hx__covered_sasum_(n, x, incx);
  if (call.logs) hx__blas_call_log(&call, "sasum_", "sasum(%d,%d)", *n, *incx);
  return sum.f32;
}

float sasum_(const int *n, const float *x, const int *incx) {
  if (hx__blas_forwards(HX__BLAS_SASUM, units_of(*n))) return hx__covered_sasum_(n, x, incx);
  return sum_abs(n, x, incx);
}

float cblas_sasum(int n, const float *x, int incx) {
  if (hx__blas_forwards(HX__BLAS_SASUM, units_of(n))) return hx__covered_cblas_sasum(n, x, incx);
  return sum_abs(&n, x, &incx);
}

/* As netlib computes it: a NaN in the first place wins, because nothing is greater; others are passed over. */
static size_t largest_with_nan(const float *x, size_t n) {
  size_t best = 0;
  for (size_t i = 1; i < n; i++)
    if (fabsf(x[i]) > fabsf(x[best])) best = i;
  return best;
}

/* The place, from 0, of the first largest |x[i]|, which is the greatest or the smallest x[i]. */
static bool largest(hx__blas_call *call, const float *x, size_t n, size_t *place) {
  hx_value ends[2];
  const hx_field fields[2] = {{HX_ARGMAX, HX_F32, x, NULL}, {HX_ARGMIN, HX_F32, x, NULL}};
  const hx_task task = hx_reduce_soa(fields, 2, n, ends);
  if (!hx__blas_offload(call, &task)) return false;
  const uint64_t greatest = ends[0].u64, smallest = ends[1].u64;
  const float above = fabsf(x[greatest]), below = fabsf(x[smallest]);
  if (isnan(x[greatest]))
    *place = largest_with_nan(x, n);
  else if (above == below)
    *place = greatest < smallest ? greatest : smallest;
  else
    *place = above > below ? greatest : smallest;
  return true;
}

static __attribute__((noinline)) int find_largest(const int *n, const float *x, const int *incx) {
  hx__blas_call call;
  size_t place = 0;
  hx__blas_call_begin(&call, HX__BLAS_ISAMAX, units_of(*n));
  if (call.by_hx) call.by_hx = *n > 0 && *incx == 1 && largest(&call, x, (size_t)*n, &place);
  const int result = call.by_hx ? (int)place + 1 : hx__covered_isamax_(n, x, incx);
  if (call.logs) hx__blas_call_log(&call, "isamax_", "isamax(%d,%d)", *n, *incx);
  return result;
}

int isamax_(const int *n, const float *x, const int *incx) {
  if (hx__blas_forwards(HX__BLAS_ISAMAX, units_of(*n))) return hx__covered_isamax_(n, x, incx);
  return find_largest(n, x, incx);
}

size_t cblas_isamax(int n, const float *x, int incx) {
  if (hx__blas_forwards(HX__BLAS_ISAMAX, units_of(n))) return hx__covered_cblas_isamax(n, x, incx);
  const int place = find_largest(&n, x, &incx);
  return place ? (size_t)place - 1 : 0;
}
