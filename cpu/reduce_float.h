/* SPDX-License-Identifier: Apache-2.0
 * One leaf of the float32 sums and products, whose order is fixed: of 128 lanes, lane j adds x[j], x[j+128], ... in
 * order; then lanes are combined with strides 64, 32, ..., 1. The lanes are an array of accumulators that fills the
 * register file of AVX2 exactly. Memory is read strictly in address order, because blocking by columns would defeat the
 * prefetchers. */
#ifndef HX_CPU_REDUCE_FLOAT_H
#define HX_CPU_REDUCE_FLOAT_H

#include "cpu/vector.h"
#include "runtime/base/slot.h"

#define F_ROW (HX__LANES / V_LANES)     /* vectors of a row of 128 elements */
#define F_CROWDED (HX__V_REGS <= F_ROW) /* whether the lanes fill the registers */
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
/* Whether the lanes fill the registers and a term needs one more. That of a plain sum does not: it is added from
 * memory. */
INLINED bool float_is_crowded(hx_op op) { return F_CROWDED && (op == HX_DOT || op == HX_SUM_SQUARES); }
INLINED v_f32 float_combine(hx_op op, v_f32 a, v_f32 b) { return op == HX_PROD ? a * b : a + b; }

/* The element that stands for a missing one: -0 (with y = 1), or 1 for a product. Its square or absolute value is +0,
 * which changes nothing either: all other terms are +0 or more, so no sum is -0. */
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

/* DO(v) for each vector of a row. There is no loop, because compilers put an array that a loop indexes into memory. */
#define F_EACH_8(DO, v) DO(v) DO((v) + 1) DO((v) + 2) DO((v) + 3) DO((v) + 4) DO((v) + 5) DO((v) + 6) DO((v) + 7)
#if HX__V_BYTES == 64
#define F_EACH(DO) F_EACH_8(DO, 0)
#elif HX__V_BYTES == 32
#define F_EACH(DO) F_EACH_8(DO, 0) F_EACH_8(DO, 8)
#else
#define F_EACH(DO) F_EACH_8(DO, 0) F_EACH_8(DO, 8) F_EACH_8(DO, 16) F_EACH_8(DO, 24)
#endif

typedef struct float_lanes {
  v_f32 v[F_ROW];
} float_lanes;

INLINED float_lanes float_start(hx_op op) {
  float_lanes lane;
#define START(i) lane.v[i] = (v_f32)v_broadcast(float_identity(op));
  F_EACH(START)
#undef START
  return lane;
}

/* Adds a part of a row with at most the given number of vectors, from the last vector, which may be partial, to the
 * first. Each vector is loaded while the one after it is added. */
INLINED float_lanes float_add_part(hx_op op, float_lanes lane, size_t vectors, const element *x, const element *y,
                                   size_t n) {
  const size_t whole = n / V_LANES, part = n % V_LANES;
  v_f32 t = (v_f32)v_broadcast(float_identity(op));
  if (part > 0) t = float_term_part(op, x + whole * V_LANES, y + whole * V_LANES, part);
#define ADD(i)                                                                                   \
  if ((i) < vectors && whole >= vectors - 1 - (i)) {                                             \
    const size_t v = vectors - 1 - (i);                                                          \
    lane.v[v % F_ROW] = float_combine(op, lane.v[v % F_ROW], t);                                 \
    if (v > 0) t = float_term(op, v_load(x + (v - 1) * V_LANES), v_load(y + (v - 1) * V_LANES)); \
  }
  F_EACH(ADD)
#undef ADD
  return lane;
}

/* Combines lanes with strides of `vectors` / 2 vectors and less. The other vectors are not used. */
INLINED uint64_t float_tree(hx_op op, float_lanes lane, size_t vectors) {
#define JOIN(i) \
  if ((i) < h) lane.v[i] = float_combine(op, lane.v[i], lane.v[((i) + h) % F_ROW]);
#define STRIDE(apart)         \
  do {                        \
    const size_t h = (apart); \
    if (vectors > h) {        \
      F_EACH(JOIN)            \
    }                         \
  } while (0)
  STRIDE(16);
  STRIDE(8);
  STRIDE(4);
  STRIDE(2);
  STRIDE(1);
#undef STRIDE
#undef JOIN
  return float_folded(op, lane.v[0]);
}

/* The lanes after the first row: -0 + x is x. */
INLINED float_lanes float_row(hx_op op, const element *x, const element *y) {
  float_lanes lane;
#define TERM(i) lane.v[i] = float_term(op, v_load(x + (i)*V_LANES), v_load(y + (i)*V_LANES));
  F_EACH(TERM)
#undef TERM
  return lane;
}

INLINED float_lanes float_add_row(hx_op op, float_lanes lane, const element *x, const element *y) {
#define ADD(i)                                                                                                \
  lane.v[i] = float_combine(op, lane.v[i], float_term(op, v_load(x + (i)*V_LANES), v_load(y + (i)*V_LANES))); \
  if (float_is_crowded(op)) ONCE(lane.v[i]); /* one term at a time */
  F_EACH(ADD)
#undef ADD
  return lane;
}

INLINED uint64_t float_leaf(hx_op op, const element *x, const element *y, size_t n, hx__locality reach) {
  /* Rows of an iteration. If the lanes are crowded, gcc keeps one of them in memory if there is one row, and nine if
   * there are four. */
  const size_t few = 4, rows = reach == HX__IN_L2 && !float_is_crowded(op) ? 4 : 1;
  if (n < V_LANES) return float_folded(op, float_term_part(op, x, y, n)); /* the other vectors would add nothing */
  if (n < few * V_LANES) return float_tree(op, float_add_part(op, float_start(op), few, x, y, n), few);
  if (n < HX__LANES) return float_tree(op, float_add_part(op, float_start(op), F_ROW, x, y, n), F_ROW);

#define ASK()                                                            \
  do {                                                                   \
    if (reach != HX__IN_DRAM) break;                                     \
    ask_ahead(first, (size_t)(x - first), HX__LANES);                    \
    if (op == HX_DOT) ask_ahead(second, (size_t)(x - first), HX__LANES); \
  } while (0)
  const element *const first = x, *const second = y;
  ASK();
  float_lanes lane = float_row(op, x, y);
  const element *const last = x + (n - n % HX__LANES);
  x += HX__LANES, y += HX__LANES;
  for (const size_t step = rows * HX__LANES; (size_t)(last - x) >= step; x += step, y += step) {
    ASK();
    lane = float_add_row(op, lane, x, y);
    if (rows > 1) lane = float_add_row(op, lane, x + HX__LANES, y + HX__LANES);
    if (rows > 2) lane = float_add_row(op, lane, x + 2 * HX__LANES, y + 2 * HX__LANES);
    if (rows > 3) lane = float_add_row(op, lane, x + 3 * HX__LANES, y + 3 * HX__LANES);
  }
  for (; rows > 1 && x < last; x += HX__LANES, y += HX__LANES) lane = float_add_row(op, lane, x, y);
  if (n % HX__LANES) lane = float_add_part(op, lane, F_ROW, x, y, n % HX__LANES);
#undef ASK
  return float_tree(op, lane, F_ROW);
}

#endif
