/* SPDX-License-Identifier: Apache-2.0
 * One leaf of the integer sums and products modulo 2^64. Their order is free. */
#ifndef HX_CPU_REDUCE_INTEGER_H
#define HX_CPU_REDUCE_INTEGER_H

#include "cpu/vector.h"
#include "runtime/base/slot.h"

#define I_CHAINS 4u /* independent accumulators: they hide the latency of an add */
#define I_STEP (I_CHAINS * V_LANES)
#define I_LONG_STEP (32 * V_LANES)
#define I_UPPER_CHAINS (V_DOT_CHAINS > I_CHAINS ? V_DOT_CHAINS : I_CHAINS)

/* Sums without widening. Beside the sum modulo 2^32 (whole), each vector element has the sum of the upper parts of its
 * values: their upper halves, signed or not, or, with V_DOT_CHAINS, the upper bytes of unsigned ones. The sum of the
 * lower parts, modulo 2^32, is the difference. It is exact: a leaf has at most 1024 values for each vector element, and
 * at most 256 for each that two chains share. ONCE keeps compilers from adding in another order, with all vectors of an
 * iteration loaded before: they would not fit into the registers. */
typedef struct integer_sums {
  v_u32 whole[I_CHAINS], upper[I_UPPER_CHAINS];
} integer_sums;

/* Adds to the chains of vector v of an iteration. */
INLINED void integer_add(integer_sums *s, size_t v, hx_op op, hx_type type, v_u32 x) {
  v_u32 *const whole = &s->whole[v % I_CHAINS], *const upper = &s->upper[v % I_UPPER_CHAINS];
  ONCE(x);
  if (op == HX_SUM_ABS && type == HX_I32) x = v_absolute(x); /* INT32_MIN becomes 2^31, unsigned */
  *whole += x;
#if V_DOT_CHAINS
  *upper = op == HX_SUM && type == HX_I32 ? v_add_upper_halves(*upper, x) : v_add_upper_bytes(*upper, x);
#else
  *upper += op == HX_SUM && type == HX_I32 ? (v_u32)((v_i32)x >> 16) : x >> 16;
#endif
  ONCE(*whole);
  ONCE(*upper);
}

typedef struct integer_halves {
  v_u32 lower, upper;
} integer_halves;

/* The sums of the halves of the values that chains c and c + 1 have added. */
INLINED integer_halves integer_halves_of(const integer_sums *s, size_t c, hx_op op, hx_type type) {
  v_u32 whole = s->whole[c] + s->whole[c + 1], upper = s->upper[c] + s->upper[c + 1];
  for (size_t u = c + I_CHAINS; u < I_UPPER_CHAINS; u += I_CHAINS) upper += s->upper[u] + s->upper[u + 1];
  if (V_DOT_CHAINS == 0 || (op == HX_SUM && type == HX_I32)) return (integer_halves){whole - (upper << 16), upper};
  const v_u32 rest = whole - (upper << 24);
  return (integer_halves){rest & 0xffffu, (upper << 8) + (rest >> 16)};
}

/* The elements of an iteration. */
INLINED size_t integer_step(hx__locality reach) { return reach == HX__IN_L2 ? I_LONG_STEP : I_STEP; }

INLINED uint64_t integer_sum_leaf(hx_op op, hx_type type, const element *x, size_t n, hx__locality reach) {
  integer_sums s;
  UNROLLED for (size_t v = 0; v < I_CHAINS; v++) s.whole[v] = (v_u32){0};
  UNROLLED for (size_t v = 0; v < I_UPPER_CHAINS; v++) s.upper[v] = (v_u32){0};
  for (const size_t step = integer_step(reach); n >= step; n -= step, x += step) {
    UNROLLED for (size_t v = 0; v < step / V_LANES; v++) integer_add(&s, v, op, type, v_load(x + v * V_LANES));
  }
  for (; n >= I_STEP; n -= I_STEP, x += I_STEP) {
    UNROLLED for (size_t v = 0; v < I_CHAINS; v++) integer_add(&s, v, op, type, v_load(x + v * V_LANES));
  }
  UNROLLED for (size_t v = 0; v < I_CHAINS - 1; v++) { /* evenly, for the bound of two chains */
    if (n >= V_LANES) {
      integer_add(&s, v, op, type, v_load(x));
      n -= V_LANES, x += V_LANES;
    }
  }
  if (n > 0) integer_add(&s, I_CHAINS - 1, op, type, v_load_part(x, n, 0));

  const integer_halves a = integer_halves_of(&s, 0, op, type), b = integer_halves_of(&s, 2, op, type);
  v_u32 upper = a.upper + b.upper, lower = a.lower + b.lower;
#define COMBINE(a, b) ((a) + (b))
  V_FOLD(upper, COMBINE);
  V_FOLD(lower, COMBINE);
#undef COMBINE
  return (uint64_t)(int64_t)(int32_t)upper[0] * 65536u + lower[0]; /* exact: |upper| <= 4096 * 65535 */
}

/* Adds the products of the elements at x and y. */
INLINED v_u64 integer_add_products(v_u64 s, hx_op op, hx_type type, v_u32 x, v_u32 y, v_u32 odd_x, v_u32 odd_y) {
  s += v_product(x, op == HX_DOT ? y : x, type);
  s += v_product(odd_x, op == HX_DOT ? odd_y : odd_x, type);
  ONCE(s);
  return s;
}
INLINED v_u64 integer_add_dot(v_u64 s, hx_op op, hx_type type, const element *x, const element *y) {
  v_u32 a = v_load(x), b = v_load(y);
  ONCE(a);
  if (op == HX_DOT) ONCE(b);
  if (op != HX_DOT) return integer_add_products(s, op, type, a, b, v_odd(x, a), b);
  /* x's from the register, y's loaded again: loads for both would take longer than the operations, as would an
   * operation for both. */
  return integer_add_products(s, op, type, a, b, (v_u32)((v_u64)a >> 32), v_odd(y, b));
}
INLINED v_u64 integer_add_dot_part(v_u64 s, hx_op op, hx_type type, const element *x, const element *y, size_t n) {
  const v_u32 a = v_load_part(x, n, 0), b = v_load_part(y, n, 0);
  return integer_add_products(s, op, type, a, b, (v_u32)((v_u64)a >> 32), (v_u32)((v_u64)b >> 32));
}

/* Dot and sum of squares. */
INLINED uint64_t integer_dot_leaf(hx_op op, hx_type type, const element *x, const element *y, size_t n,
                                  hx__locality reach) {
  v_u64 s[I_CHAINS];
  UNROLLED for (size_t v = 0; v < I_CHAINS; v++) s[v] = (v_u64){0};
  for (const size_t step = integer_step(reach); n >= step; n -= step, x += step, y += step) {
    UNROLLED for (size_t v = 0; v < step / V_LANES; v++) s[v % I_CHAINS] =
        integer_add_dot(s[v % I_CHAINS], op, type, x + v * V_LANES, y + v * V_LANES);
  }
  for (; n >= I_STEP; n -= I_STEP, x += I_STEP, y += I_STEP) {
    UNROLLED for (size_t v = 0; v < I_CHAINS; v++) s[v] =
        integer_add_dot(s[v], op, type, x + v * V_LANES, y + v * V_LANES);
  }
  for (; n >= V_LANES; n -= V_LANES, x += V_LANES, y += V_LANES) s[0] = integer_add_dot(s[0], op, type, x, y);
  if (n > 0) s[1] = integer_add_dot_part(s[1], op, type, x, y, n);

  UNROLLED for (size_t v = 1; v < I_CHAINS; v++) s[0] += s[v];
  uint64_t sum = 0;
  UNROLLED for (size_t i = 0; i < V_LANES / 2; i++) sum += s[0][i];
  return sum;
}

/* Products. Pairs of elements are multiplied exactly, and these results modulo 2^64. Most products of many elements are
 * 0, because 64 factors of two are enough; the rest is then not read. */
#define I_BLOCK 512u
#define I_FACTORS (HX__V_REGS == 32 ? 8u : 4u) /* chains: a multiplication takes 15 cycles on Intel's cores */

INLINED bool integer_has_zero(v_u64 a, v_u64 b) {
  const v_u64 zero = (v_u64)(a == 0) | (v_u64)(b == 0);
  uint64_t any = 0;
  UNROLLED for (size_t i = 0; i < V_LANES / 2; i++) any |= zero[i];
  return any != 0;
}

INLINED uint64_t integer_product_leaf(hx_type type, const element *x, size_t n) {
  v_u64 p[I_FACTORS];
  UNROLLED for (size_t v = 0; v < I_FACTORS; v++) p[v] = 1u - (v_u64){0};
  for (size_t left = I_BLOCK; n >= I_FACTORS * V_LANES; n -= I_FACTORS * V_LANES, x += I_FACTORS * V_LANES) {
    UNROLLED for (size_t v = 0; v < I_FACTORS; v += 2) {
      v_u32 a = v_load(x + v * V_LANES), b = v_load(x + (v + 1) * V_LANES);
      ONCE(a);
      ONCE(b);
      p[v] *= v_product(a, b, type);
      p[v + 1] *= v_product((v_u32)((v_u64)a >> 32), (v_u32)((v_u64)b >> 32), type);
    }
    left -= I_FACTORS * V_LANES;
    if (left > 0) continue;
    if (integer_has_zero(p[0], p[1])) return 0;
    left = I_BLOCK;
  }
  for (const v_u32 one = v_broadcast(1); n > 0;) {
    const size_t part = n < V_LANES ? n : V_LANES;
    const v_u32 a = part < V_LANES ? v_load_part(x, n, 1) : v_load(x);
    p[0] *= v_product(a, one, type);
    p[1] *= v_product((v_u32)((v_u64)a >> 32), one, type);
    n -= part, x += part;
  }
  UNROLLED for (size_t v = 1; v < I_FACTORS; v++) p[0] *= p[v];
  uint64_t product = 1;
  UNROLLED for (size_t i = 0; i < V_LANES / 2; i++) product *= p[0][i];
  return product;
}

#endif
