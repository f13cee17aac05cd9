/* SPDX-License-Identifier: Apache-2.0
 * The operations of expressions on one element: docs/USER_KERNELS.md in C. */
#include <math.h>
#include <string.h>

#include "runtime/expr/values.h"

static float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static uint32_t as_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* The smaller (larger) of two floats; the other one if one is a NaN; -0 is smaller than +0. */
static uint32_t least(uint32_t x, uint32_t y) {
  const float a = as_float(x), b = as_float(y);
  if (a < b || b != b) return x;
  if (b < a || a != a) return y;
  return x | y;
}
static uint32_t most(uint32_t x, uint32_t y) {
  const float a = as_float(x), b = as_float(y);
  if (a > b || b != b) return x;
  if (b > a || a != a) return y;
  return x & y;
}

static uint32_t to_i32(float x) {
  if (x != x) return 0;
  if (x >= 2147483648.0f) return INT32_MAX;
  if (x < -2147483648.0f) return 0x80000000u;
  return (uint32_t)(int32_t)x;
}
static uint32_t to_u32(float x) {
  if (!(x > 0.0f)) return 0;
  return x >= 4294967296.0f ? UINT32_MAX : (uint32_t)x;
}

static uint32_t quotient(int32_t a, int32_t b) { return b == 0 ? 0u : b == -1 ? 0u - (uint32_t)a : (uint32_t)(a / b); }
static uint32_t remainder_of(int32_t a, int32_t b) { return b == 0 ? (uint32_t)a : b == -1 ? 0u : (uint32_t)(a % b); }
static uint32_t shifted(int32_t a, uint32_t by) { return (uint32_t)(a >> (by & 31u)); }

uint32_t hx__expr_fold(hx__expr_op op, uint32_t x, uint32_t y, uint32_t z) {
  const float a = as_float(x), b = as_float(y), c = as_float(z);
  const int32_t i = (int32_t)x, j = (int32_t)y;
#define CASE(name, result) \
  case HX__EXPR_##name:    \
    return (uint32_t)(result)
  switch (op) {
    CASE(NEGATE_F, x ^ 0x80000000u);
    CASE(ABS_F, x & 0x7fffffffu);
    CASE(SQRT_F, as_bits(sqrtf(a)));
    CASE(FLOOR_F, as_bits(floorf(a)));
    CASE(CEIL_F, as_bits(ceilf(a)));
    CASE(TRUNC_F, as_bits(truncf(a)));
    CASE(RINT_F, as_bits(rintf(a)));
    CASE(ADD_F, as_bits(a + b));
    CASE(SUB_F, as_bits(a - b));
    CASE(MUL_F, as_bits(a * b));
    CASE(DIV_F, as_bits(a / b));
    CASE(MIN_F, least(x, y));
    CASE(MAX_F, most(x, y));
    CASE(LESS_F, a < b);
    CASE(AT_MOST_F, a <= b);
    CASE(EQUAL_F, a == b);
    CASE(DIFFER_F, a != b);
    CASE(FMA_F, as_bits(fmaf(a, b, c)));
    CASE(TO_I32, to_i32(a));
    CASE(TO_U32, to_u32(a));
    CASE(FROM_I32, as_bits((float)i));
    CASE(FROM_U32, as_bits((float)x));
    CASE(AS_I32, x);
    CASE(AS_F32, x);
    CASE(NEGATE_I, 0u - x);
    CASE(NOT_I, ~x);
    CASE(ABS_I, i < 0 ? 0u - x : x);
    CASE(ADD_I, x + y);
    CASE(SUB_I, x - y);
    CASE(MUL_I, x * y);
    CASE(AND_I, x & y);
    CASE(OR_I, x | y);
    CASE(XOR_I, x ^ y);
    CASE(SHIFT_LEFT, x << (y & 31u));
    CASE(SHIFT_RIGHT_I, shifted(i, y));
    CASE(SHIFT_RIGHT_U, x >> (y & 31u));
    CASE(DIV_I, quotient(i, j));
    CASE(DIV_U, y ? x / y : 0u);
    CASE(MOD_I, remainder_of(i, j));
    CASE(MOD_U, y ? x % y : x);
    CASE(MIN_I, i < j ? x : y);
    CASE(MIN_U, x < y ? x : y);
    CASE(MAX_I, i < j ? y : x);
    CASE(MAX_U, x < y ? y : x);
    CASE(LESS_I, i < j);
    CASE(LESS_U, x < y);
    CASE(AT_MOST_I, i <= j);
    CASE(AT_MOST_U, x <= y);
    CASE(EQUAL_I, x == y);
    CASE(DIFFER_I, x != y);
    CASE(SELECT, x ? y : z);
    case HX__EXPR_POW_F: /* the compiler does not make these four */
    case HX__EXPR_SIN_F:
    case HX__EXPR_COS_F:
    case HX__EXPR_TAN_F:
    case HX__EXPR_CONSTANT:
    case HX__EXPR_INPUT:
    case HX__EXPR_ROW:
    case HX__EXPR_PARAMETER:
    case HX__EXPR_ROW_NUMBER:
    case HX__EXPR_INDEX:
    case HX__EXPR_OP_COUNT:
      break;
  }
#undef CASE
  return 0;
}
