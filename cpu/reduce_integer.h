/* SPDX-License-Identifier: Apache-2.0
 * One leaf of the integer sums and products modulo 2^64. Their order is free. */
#ifndef HX_CPU_REDUCE_INTEGER_H
#define HX_CPU_REDUCE_INTEGER_H

#include "cpu/vector.h"
#include "runtime/base/slot.h"

#define I_CHAINS 4u /* independent accumulators: they hide the latency of an add */
#define I_STEP (I_CHAINS * V_LANES)
#define I_LONG_STEP (32 * V_LANES)

/* Sums without widening. Beside the sum modulo 2^32, each vector element has the sum of the upper halves (signed or
 * not) of its values. A leaf has at most 1024 values for each of them, so this sum and that of the lower halves are
 * exact. */
typedef struct integer_sums {
  v_u32 whole, upper;
} integer_sums;

INLINED void integer_add(integer_sums *s, hx_op op, hx_type type, v_u32 x) {
  ONCE(x);
  if (op == HX_SUM_ABS && type == HX_I32) x = v_absolute(x); /* INT32_MIN becomes 2^31, unsigned */
  s->whole += x;
  s->upper += op == HX_SUM && type == HX_I32 ? (v_u32)((v_i32)x >> 16) : x >> 16;
}

/* The elements of an iteration; HX__IN_DRAM prefetches equally many. */
INLINED size_t integer_step(hx__locality reach) {
  return reach == HX__IN_L2 ? I_LONG_STEP : reach == HX__IN_LLC ? I_STEP : ASK_STEP * ASK_PLACES;
}

INLINED uint64_t integer_sum_leaf(hx_op op, hx_type type, const element *x, size_t n, hx__locality reach) {
  const element *const first = x;
  integer_sums s[I_CHAINS];
  UNROLLED for (size_t v = 0; v < I_CHAINS; v++) s[v].whole = s[v].upper = (v_u32){0};
  for (const size_t step = integer_step(reach); n >= step; n -= step, x += step) {
    if (reach == HX__IN_DRAM) ask_ahead(first, (size_t)(x - first), step);
    UNROLLED for (size_t v = 0; v < step / V_LANES; v++)
        integer_add(&s[v % I_CHAINS], op, type, v_load(x + v * V_LANES));
  }
  for (; n >= I_STEP; n -= I_STEP, x += I_STEP) {
    UNROLLED for (size_t v = 0; v < I_CHAINS; v++) integer_add(&s[v], op, type, v_load(x + v * V_LANES));
  }
  for (; n >= V_LANES; n -= V_LANES, x += V_LANES) integer_add(&s[0], op, type, v_load(x));
  if (n > 0) integer_add(&s[1], op, type, v_load_part(x, n, 0));

  UNROLLED for (size_t v = 1; v < I_CHAINS; v++) s[0].whole += s[v].whole, s[0].upper += s[v].upper;
  v_u32 upper = s[0].upper, lower = s[0].whole - (upper << 16);
#define COMBINE(a, b) ((a) + (b))
  V_FOLD(upper, COMBINE);
  V_FOLD(lower, COMBINE);
#undef COMBINE
  return (uint64_t)(int64_t)(int32_t)upper[0] * 65536u + lower[0]; /* exact: |upper| <= 4096 * 65535 */
}

INLINED v_u64 integer_products(hx_op op, hx_type type, v_u32 x, v_u32 y) {
  ONCE(x);
  if (op == HX_DOT) ONCE(y);
  v_u32 a = (v_u32)((v_u64)x >> 32), b = op == HX_DOT ? (v_u32)((v_u64)y >> 32) : a;
  return v_product(x, op == HX_DOT ? y : x, type) + v_product(a, b, type);
}

/* Dot and sum of squares. */
INLINED uint64_t integer_dot_leaf(hx_op op, hx_type type, const element *x, const element *y, size_t n,
                                  hx__locality reach) {
  const element *const first = x, *const second = y;
  v_u64 s[I_CHAINS];
  UNROLLED for (size_t v = 0; v < I_CHAINS; v++) s[v] = (v_u64){0};
  for (const size_t step = integer_step(reach); n >= step; n -= step, x += step, y += step) {
    if (reach == HX__IN_DRAM) ask_ahead(first, (size_t)(x - first), step);
    if (reach == HX__IN_DRAM && op == HX_DOT) ask_ahead(second, (size_t)(y - second), step);
    UNROLLED for (size_t v = 0; v < step / V_LANES; v++) s[v % I_CHAINS] +=
        integer_products(op, type, v_load(x + v * V_LANES), v_load(y + v * V_LANES));
  }
  for (; n >= I_STEP; n -= I_STEP, x += I_STEP, y += I_STEP) {
    UNROLLED for (size_t v = 0; v < I_CHAINS; v++) s[v] +=
        integer_products(op, type, v_load(x + v * V_LANES), v_load(y + v * V_LANES));
  }
  for (; n >= V_LANES; n -= V_LANES, x += V_LANES, y += V_LANES)
    s[0] += integer_products(op, type, v_load(x), v_load(y));
  if (n > 0) s[1] += integer_products(op, type, v_load_part(x, n, 0), v_load_part(y, n, 0));

  UNROLLED for (size_t v = 1; v < I_CHAINS; v++) s[0] += s[v];
  uint64_t sum = 0;
  UNROLLED for (size_t i = 0; i < V_LANES / 2; i++) sum += s[0][i];
  return sum;
}

/* Products. Pairs of elements are multiplied exactly, and these results modulo 2^64. Most products of many elements are
 * 0, because 64 factors of two are enough; the rest is then not read. */
#define I_BLOCK 512u

INLINED uint64_t integer_widened(hx_type type, uint32_t x) {
  return type == HX_I32 ? (uint64_t)(int64_t)(int32_t)x : x;
}

INLINED bool integer_has_zero(v_u64 a, v_u64 b) {
  const v_u64 zero = (v_u64)(a == 0) | (v_u64)(b == 0);
  uint64_t any = 0;
  UNROLLED for (size_t i = 0; i < V_LANES / 2; i++) any |= zero[i];
  return any != 0;
}

INLINED uint64_t integer_product_leaf(hx_type type, const element *x, size_t n) {
  v_u64 p[I_CHAINS];
  UNROLLED for (size_t v = 0; v < I_CHAINS; v++) p[v] = 1u - (v_u64){0};
  for (size_t left = I_BLOCK; n >= I_STEP; n -= I_STEP, x += I_STEP) {
    UNROLLED for (size_t v = 0; v < I_CHAINS; v += 2) {
      v_u32 a = v_load(x + v * V_LANES), b = v_load(x + (v + 1) * V_LANES);
      ONCE(a);
      ONCE(b);
      p[v] *= v_product(a, b, type);
      p[v + 1] *= v_product((v_u32)((v_u64)a >> 32), (v_u32)((v_u64)b >> 32), type);
    }
    left -= I_STEP;
    if (left > 0) continue;
    if (integer_has_zero(p[0], p[1])) return 0;
    left = I_BLOCK;
  }
  UNROLLED for (size_t v = 1; v < I_CHAINS; v++) p[0] *= p[v];
  uint64_t product = 1;
  UNROLLED for (size_t i = 0; i < V_LANES / 2; i++) product *= p[0][i];
  for (size_t i = 0; i < n; i++) product *= integer_widened(type, x[i]);
  return product;
}

#endif
