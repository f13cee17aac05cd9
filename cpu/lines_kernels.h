/* SPDX-License-Identifier: Apache-2.0
 * The reductions of many lines of one ISA, and their table, LINES_KERNELS: a function for each operation and type. */
#ifndef HX_CPU_LINES_KERNELS_H
#define HX_CPU_LINES_KERNELS_H

#include "cpu/lines_columns.h"
#include "cpu/reduce_kernels.h"

#define LINES_FUNCTIONS(name, op, type)                                                                     \
  static void name##_rows(const void *x, size_t step, const void *y, size_t y_step, size_t lines, size_t n, \
                          uint64_t *slots) {                                                                \
    const element *a = x, *b = (op) == HX_DOT ? y : x;                                                      \
    if ((op) != HX_DOT) y_step = step;                                                                      \
    for (size_t l = 0; l < lines; l++, a += step, b += y_step) slots[l] = name##_leaf(a, b, n);             \
  }                                                                                                         \
  static bool name##_columns(const hx__columns *columns, uint64_t *slots) {                                 \
    return reduce_columns(op, type, columns, slots);                                                        \
  }
#define LEAF_LINES(name, leaf, op, type) LINES_FUNCTIONS(name, op, type)
LEAF_ROWS(LEAF_LINES)
EXTREMUM_ROWS(LINES_FUNCTIONS)

#define ROWS_ENTRY(op, name) \
  [op] = {[HX_F32] = name##_f32_rows, [HX_I32] = name##_i32_rows, [HX_U32] = name##_u32_rows},
#define COLUMNS_ENTRY(op, name) \
  [op] = {[HX_F32] = name##_f32_columns, [HX_I32] = name##_i32_columns, [HX_U32] = name##_u32_columns},
#define LINES_KERNELS                                                                  \
  {                                                                                    \
    .rows = {HX__OPERATIONS(ROWS_ENTRY)}, .columns = { HX__OPERATIONS(COLUMNS_ENTRY) } \
  }

#endif
