/* SPDX-License-Identifier: Apache-2.0
 * The operations and element types of reductions, each a row of a list. The need bits of devices, the tables of the CPU
 * kernels, the self-test of devices, the names in messages, hx-bench and the tests are made from these lists. A new
 * operation is an enumerator of hx_op in hx.h and a row here; then the compiler names the kernels that are missing. */
#ifndef HX_BASE_OPERATIONS_H
#define HX_BASE_OPERATIONS_H

#include "runtime/hx.h"

/* X(enumerator, name), in the order of hx_op. */
#define HX__OPERATIONS(X)        \
  X(HX_SUM, sum)                 \
  X(HX_MIN, min)                 \
  X(HX_MAX, max)                 \
  X(HX_ARGMIN, argmin)           \
  X(HX_ARGMAX, argmax)           \
  X(HX_DOT, dot)                 \
  X(HX_SUM_ABS, sum_abs)         \
  X(HX_SUM_SQUARES, sum_squares) \
  X(HX_PROD, prod)

/* X(enumerator, name), in the order of hx_type. */
#define HX__ELEMENT_TYPES(X) \
  X(HX_F32, f32)             \
  X(HX_I32, i32)             \
  X(HX_U32, u32)

#define HX__COUNT_ROW(enumerator, name) +1u
#define HX__OP_COUNT (0u HX__OPERATIONS(HX__COUNT_ROW))
#define HX__TYPE_COUNT (0u HX__ELEMENT_TYPES(HX__COUNT_ROW))
#define HX__REDUCTIONS (HX__OP_COUNT * HX__TYPE_COUNT)

/* Lengths of tables that are indexed by hx_op and hx_type, whose value 0 is unused. */
#define HX__OPS (HX__OP_COUNT + 1u)
#define HX__TYPES (HX__TYPE_COUNT + 1u)

/* The initializers of a table of names: static const char *const names[HX__OPS] = {HX__OPERATIONS(HX__NAME_ROW)}. */
#define HX__NAME_ROW(enumerator, name) [enumerator] = #name,

/* A reduction as a number from 0 to HX__REDUCTIONS - 1, and back. */
static inline unsigned hx__reduction_index(hx_op op, hx_type type) {
  return ((unsigned)op - 1u) * HX__TYPE_COUNT + ((unsigned)type - 1u);
}
static inline hx_op hx__reduction_op(unsigned index) { return (hx_op)(index / HX__TYPE_COUNT + 1u); }
static inline hx_type hx__reduction_type(unsigned index) { return (hx_type)(index % HX__TYPE_COUNT + 1u); }

/* "sum" and "f32"; NULL for 0. */
extern const char *const hx__op_names[HX__OPS], *const hx__type_names[HX__TYPES];

#endif
