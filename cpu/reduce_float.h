/* SPDX-License-Identifier: Apache-2.0
 * One leaf of the float32 sums and products whose order is fixed: 128 lanes, lane j adds x[j], x[j+128], ... in order,
 * then lanes combine by strides 64, 32, ..., 1. The lanes are an array of accumulators that fills the register file of
 * AVX2 exactly, and memory is read strictly in address order: blocking by columns defeats the prefetchers. */
#ifndef HX_CPU_REDUCE_FLOAT_H
#define HX_CPU_REDUCE_FLOAT_H

#include "cpu/vector.h"
#include "runtime/base/slot.h"

#define F_ROW (HX__LANES / V_LANES) /* vectors of a row of 128 elements */
#define F_ONE 0x3f800000u
#define F_MINUS_ZERO 0x80000000u

/* The term that x (and y) add. Rounded before it is added: never a fused multiply-add. */
INLINED v_f32 float_term(hx_op op, v_u32 x, v_u32 y) {
  switch (op) {
    case HX_DOT:
      return (v_f32)x * (v_f32)y;
    case HX_SUM_SQUARES:
      return (v_f32)x * (v_f32)x;
    case HX_SUM_ABS:
      return (v_f32)(x & 0x7fffffffu);
    default:
      return (v_f32)x;
  }
}
INLINED v_f32 float_combine(hx_op op, v_f32 a, v_f32 b) { return op == HX_PROD ? a * b : a + b; }

/* A missing element adds -0: the term of (-0, 1), or 1 to a product. A missing square or absolute value adds +0, which
 * is the same there: every present one is +0 or more, so that no sum of them is -0. */
INLINED uint32_t float_identity(hx_op op) { return op == HX_PROD ? F_ONE : F_MINUS_ZERO; }

INLINED uint64_t float_folded(hx_op op, v_f32 t) {
#define COMBINE(a, b) float_combine(op, a, b)
  V_FOLD(t, COMBINE);
#undef COMBINE
  return t[0] != t[0] ? HX__CANONICAL_NAN : ((v_u32)t)[0];
}

INLINED v_f32 float_term_part(hx_op op, const element *x, const element *y, size_t n) {
  v_u32 a = v_load_part(x, n, float_identity(op));
  return float_term(op, a, op == HX_DOT ? v_load_part(y, n, F_ONE) : a);
}

INLINED uint64_t float_leaf(hx_op op, const element *x, const element *y, size_t n) {
  if (n < V_LANES) return float_folded(op, float_term_part(op, x, y, n)); /* the other vectors would add nothing */

  v_f32 lane[F_ROW];
  UNROLLED for (size_t v = 0; v < F_ROW; v++) lane[v] = (v_f32)v_broadcast(float_identity(op));

  for (; n >= HX__LANES; n -= HX__LANES, x += HX__LANES, y += HX__LANES) {
    UNROLLED for (size_t v = 0; v < F_ROW; v++) lane[v] =
        float_combine(op, lane[v], float_term(op, v_load(x + v * V_LANES), v_load(y + v * V_LANES)));
  }
  if (n > 0) { /* by way of memory: an index that varies would keep the lanes out of registers above */
    v_f32 row[F_ROW];
    UNROLLED for (size_t v = 0; v < F_ROW; v++) row[v] = lane[v];
    v_f32 *r = row;
    for (; n >= V_LANES; n -= V_LANES, x += V_LANES, y += V_LANES, r++)
      *r = float_combine(op, *r, float_term(op, v_load(x), v_load(y)));
    if (n > 0) *r = float_combine(op, *r, float_term_part(op, x, y, n));
    UNROLLED for (size_t v = 0; v < F_ROW; v++) lane[v] = row[v];
  }

  UNROLLED for (size_t h = F_ROW / 2; h > 0; h /= 2) {
    UNROLLED for (size_t v = 0; v < h; v++) lane[v] = float_combine(op, lane[v], lane[v + h]);
  }
  return float_folded(op, lane[0]);
}

#endif
