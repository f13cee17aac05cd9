/* SPDX-License-Identifier: Apache-2.0
 * Results as numbers of type double, and what can be computed from them. */
#include <math.h>

#include "runtime/base/fpenv.h"
#include "runtime/base/operations.h"

/* The compiler may move arithmetic across a change of the floating-point state, but not across this if it depends on
 * the variable. */
#define ORDERED(variable) __asm__ volatile("" : "+m"(variable))

/* Which member of hx_value a result is in. */
typedef enum member { NONE, OF_F32, OF_I32, OF_U32, OF_I64, OF_U64 } member;

static member member_of(hx_op op, hx_type type) {
  static const member element[HX__TYPES] = {[HX_F32] = OF_F32, [HX_I32] = OF_I32, [HX_U32] = OF_U32};
  static const member sum[HX__TYPES] = {[HX_F32] = OF_F32, [HX_I32] = OF_I64, [HX_U32] = OF_U64};
  if ((unsigned)op - HX_SUM >= HX__OP_COUNT || (unsigned)type - HX_F32 >= HX__TYPE_COUNT) return NONE;
  if (op == HX_ARGMIN || op == HX_ARGMAX) return OF_U64;
  return (op == HX_MIN || op == HX_MAX ? element : sum)[type];
}

static double as_double(hx_op op, hx_type type, hx_value v) {
  switch (member_of(op, type)) {
    case OF_F32:
      return (double)v.f32;
    case OF_I32:
      return (double)v.i32;
    case OF_U32:
      return (double)v.u32;
    case OF_I64:
      return (double)v.i64;
    case OF_U64:
      return (double)v.u64;
    case NONE:
      break;
  }
  return NAN;
}

static double mean_of(hx_type type, hx_value sum, size_t n) {
  return n ? as_double(HX_SUM, type, sum) / (double)n : NAN;
}

static double variance_of(hx_type type, hx_value sum, hx_value sum_squares, size_t n) {
  const double mean = mean_of(type, sum, n), mean_square = mean_of(type, sum_squares, n);
  if (isnan(mean) || isnan(mean_square)) return NAN;
  if (type == HX_F32) return fmax(mean_square - mean * mean, 0.0);
  /* n sum_squares - sum^2 is exact in 128 bits. */
  const unsigned __int128 size = type == HX_I32 && sum.i64 < 0 ? 0 - sum.u64 : sum.u64;
  const unsigned __int128 squares = (unsigned __int128)n * sum_squares.u64, square = size * size;
  return squares > square ? (double)(squares - square) / (double)n / (double)n : 0.0;
}

double hx_value_as_double(hx_op op, hx_type type, hx_value v) {
  const hx__fpenv state = hx__fpenv_enter();
  ORDERED(v);
  double result = as_double(op, type, v);
  ORDERED(result);
  hx__fpenv_leave(state);
  return result;
}

double hx_mean(hx_type type, hx_value sum, size_t n) {
  const hx__fpenv state = hx__fpenv_enter();
  ORDERED(sum);
  ORDERED(n);
  double result = mean_of(type, sum, n);
  ORDERED(result);
  hx__fpenv_leave(state);
  return result;
}

double hx_variance(hx_type type, hx_value sum, hx_value sum_squares, size_t n) {
  const hx__fpenv state = hx__fpenv_enter();
  ORDERED(sum);
  ORDERED(sum_squares);
  ORDERED(n);
  double result = variance_of(type, sum, sum_squares, n);
  ORDERED(result);
  hx__fpenv_leave(state);
  return result;
}

double hx_norm(hx_type type, hx_value sum_squares) {
  const hx__fpenv state = hx__fpenv_enter();
  ORDERED(sum_squares);
  double result = sqrt(as_double(HX_SUM_SQUARES, type, sum_squares));
  ORDERED(result);
  hx__fpenv_leave(state);
  return result;
}
