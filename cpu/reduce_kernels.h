/* SPDX-License-Identifier: Apache-2.0
 * The reductions of one ISA: a function for each operation and type, all with the same loop over leaves, and their
 * table, REDUCE_KERNELS. */
#ifndef HX_CPU_REDUCE_KERNELS_H
#define HX_CPU_REDUCE_KERNELS_H

#include "cpu/reduce_extremum.h"
#include "cpu/reduce_float.h"
#include "cpu/reduce_integer.h"

#define FLOAT_LEAF(op, type, x, y, n, reach) float_leaf(op, x, y, n, reach)
#define SUM_LEAF(op, type, x, y, n, reach) integer_sum_leaf(op, type, x, n, reach)
#define DOT_LEAF(op, type, x, y, n, reach) integer_dot_leaf(op, type, x, y, n, reach)
#define PRODUCT_LEAF(op, type, x, y, n, reach) integer_product_leaf(type, x, n)

/* XX(function, leaf, op, type). The sum of absolute values of u32 is their sum. */
#define LEAF_ROWS(XX)                                     \
  XX(sum_f32, FLOAT_LEAF, HX_SUM, HX_F32)                 \
  XX(dot_f32, FLOAT_LEAF, HX_DOT, HX_F32)                 \
  XX(sum_abs_f32, FLOAT_LEAF, HX_SUM_ABS, HX_F32)         \
  XX(sum_squares_f32, FLOAT_LEAF, HX_SUM_SQUARES, HX_F32) \
  XX(prod_f32, FLOAT_LEAF, HX_PROD, HX_F32)               \
  XX(sum_i32, SUM_LEAF, HX_SUM, HX_I32)                   \
  XX(sum_u32, SUM_LEAF, HX_SUM, HX_U32)                   \
  XX(sum_abs_i32, SUM_LEAF, HX_SUM_ABS, HX_I32)           \
  XX(sum_abs_u32, SUM_LEAF, HX_SUM_ABS, HX_U32)           \
  XX(dot_i32, DOT_LEAF, HX_DOT, HX_I32)                   \
  XX(dot_u32, DOT_LEAF, HX_DOT, HX_U32)                   \
  XX(sum_squares_i32, DOT_LEAF, HX_SUM_SQUARES, HX_I32)   \
  XX(sum_squares_u32, DOT_LEAF, HX_SUM_SQUARES, HX_U32)   \
  XX(prod_i32, PRODUCT_LEAF, HX_PROD, HX_I32)             \
  XX(prod_u32, PRODUCT_LEAF, HX_PROD, HX_U32)

/* XX(function, op, type). */
#define EXTREMUM_ROWS(XX)           \
  XX(min_f32, HX_MIN, HX_F32)       \
  XX(min_i32, HX_MIN, HX_I32)       \
  XX(min_u32, HX_MIN, HX_U32)       \
  XX(max_f32, HX_MAX, HX_F32)       \
  XX(max_i32, HX_MAX, HX_I32)       \
  XX(max_u32, HX_MAX, HX_U32)       \
  XX(argmin_f32, HX_ARGMIN, HX_F32) \
  XX(argmin_i32, HX_ARGMIN, HX_I32) \
  XX(argmin_u32, HX_ARGMIN, HX_U32) \
  XX(argmax_f32, HX_ARGMAX, HX_F32) \
  XX(argmax_i32, HX_ARGMAX, HX_I32) \
  XX(argmax_u32, HX_ARGMAX, HX_U32)

/* A leaf is a separate function, so that the loop over leaves does not use registers in it. */
#define REDUCE_WHOLE_LEAF(name, leaf, op, type, reach)                                           \
  static __attribute__((noinline)) uint64_t name##_##reach(const element *x, const element *y) { \
    (void)y;                                                                                     \
    return leaf(op, type, x, y, HX__LEAF, reach);                                                \
  }
#define REDUCE_FUNCTION(name, leaf, op, type)                                                                 \
  static __attribute__((noinline)) uint64_t name##_leaf(const void *x, const void *y, size_t n) {             \
    (void)y; /* y is NULL except for a dot product, and a compiler may load a value that is not used */       \
    return leaf(op, type, x, (op) == HX_DOT ? y : x, n, HX__IN_L2);                                           \
  }                                                                                                           \
  REDUCE_WHOLE_LEAF(name, leaf, op, type, HX__IN_LLC)                                                         \
  REDUCE_WHOLE_LEAF(name, leaf, op, type, HX__IN_DRAM)                                                        \
  static void name(const void *x, const void *y, size_t n, hx__locality reach, uint64_t *slots) {             \
    const element *a = x, *b = (op) == HX_DOT ? y : x;                                                        \
    if (reach == HX__IN_DRAM && (type) == HX_F32) /* the others do not prefetch */                            \
      for (; n >= HX__LEAF; n -= HX__LEAF, a += HX__LEAF, b += HX__LEAF) *slots++ = name##_HX__IN_DRAM(a, b); \
    else if (reach != HX__IN_L2)                                                                              \
      for (; n >= HX__LEAF; n -= HX__LEAF, a += HX__LEAF, b += HX__LEAF) *slots++ = name##_HX__IN_LLC(a, b);  \
    for (; n > HX__LEAF; n -= HX__LEAF, a += HX__LEAF, b += HX__LEAF) *slots++ = name##_leaf(a, b, HX__LEAF); \
    if (n) *slots = name##_leaf(a, b, n);                                                                     \
  }
LEAF_ROWS(REDUCE_FUNCTION)

#define EXTREMUM_FUNCTION(name, op, type)                                                                           \
  static __attribute__((noinline)) uint32_t name##_key(const element *x, size_t n, extremum_marks *marks) {         \
    return extremum_key(op, type, x, n, false, marks);                                                              \
  }                                                                                                                 \
  static __attribute__((noinline)) uint32_t name##_distant_key(const element *x, size_t n, extremum_marks *marks) { \
    return extremum_key(op, type, x, n, true, marks);                                                               \
  }                                                                                                                 \
  static void name(const void *x, const void *y, size_t n, hx__locality reach, uint64_t *slots) {                   \
    (void)y;                                                                                                        \
    extremum_slots(op, type, name##_key, reach == HX__IN_DRAM ? name##_distant_key : name##_key, x, n, slots);      \
  }                                                                                                                 \
  static __attribute__((unused)) uint64_t name##_leaf(const void *x, const void *y, size_t n) {                     \
    extremum_marks marks;                                                                                           \
    const uint32_t key = name##_key(x, n, &marks);                                                                  \
    (void)y;                                                                                                        \
    if (!extremum_is_index(op)) return key;                                                                         \
    return (uint64_t)key << 32 | index_of_key(op, type, key, x, n, &marks);                                         \
  }
EXTREMUM_ROWS(EXTREMUM_FUNCTION)

/* The tables by operation and type. The compiler names the function that a new operation lacks. */
#define ENTRY(op, name) [op] = {[HX_F32] = name##_f32, [HX_I32] = name##_i32, [HX_U32] = name##_u32},
#define ONE_LEAF_ENTRY(op, name) \
  [op] = {[HX_F32] = name##_f32_leaf, [HX_I32] = name##_i32_leaf, [HX_U32] = name##_u32_leaf},
_Static_assert(HX__TYPE_COUNT == 3, "each entry has a function for each type");
#define REDUCE_KERNELS \
  { HX__OPERATIONS(ENTRY) }
#define REDUCE_ONE_LEAF \
  { HX__OPERATIONS(ONE_LEAF_ENTRY) }

#endif
