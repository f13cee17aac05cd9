/* SPDX-License-Identifier: Apache-2.0
 * The reductions of many lines of one ISA, and their table, LINES_KERNELS: a function for each operation and type. */
#ifndef HX_CPU_LINES_KERNELS_H
#define HX_CPU_LINES_KERNELS_H

#include "cpu/lines_columns.h"
#include "cpu/lines_values.h"
#include "cpu/reduce_kernels.h"

/* A line of float32 with at most `vectors` vectors, a power of two: the other lanes would add nothing. */
INLINED uint64_t float_short_leaf(hx_op op, size_t vectors, const element *x, const element *y, size_t n) {
  const size_t whole = n / V_LANES, part = n % V_LANES;
  v_f32 t[F_ROW];
  UNROLLED for (size_t i = 0; i < vectors; i++) {
    const element *const a = x + i * V_LANES, *const b = y + i * V_LANES;
    t[i] = i < whole            ? float_term(op, v_load(a), v_load(b))
           : i == whole && part ? float_term_part(op, a, b, part)
                                : (v_f32)v_broadcast(float_identity(op));
  }
  UNROLLED for (size_t h = vectors / 2; h > 0; h /= 2) {
    UNROLLED for (size_t i = 0; i < h; i++) t[i] = float_combine(op, t[i], t[i + h]);
  }
  return float_folded(op, t[0]);
}

/* Short lines without a call for each. */
INLINED void float_short_rows(hx_op op, size_t vectors, const element *x, size_t step, const element *y, size_t y_step,
                              size_t lines, size_t n, uint64_t *slots) {
  for (size_t l = 0; l < lines; l++, x += step, y += y_step) slots[l] = float_short_leaf(op, vectors, x, y, n);
}

/* False: the lines are not so short, or not of floats that are added or multiplied. */
INLINED bool short_rows(hx_op op, hx_type type, const element *x, size_t step, const element *y, size_t y_step,
                        size_t lines, size_t n, uint64_t *slots) {
  if (!is_float_tree(op, type) || n > HX__LANES) return false;
  if (n <= V_LANES)
    float_short_rows(op, 1, x, step, y, y_step, lines, n, slots);
  else if (n <= 2 * V_LANES)
    float_short_rows(op, 2, x, step, y, y_step, lines, n, slots);
  else if (n <= 4 * V_LANES)
    float_short_rows(op, 4, x, step, y, y_step, lines, n, slots);
  else if (n <= 8 * V_LANES)
    float_short_rows(op, 8, x, step, y, y_step, lines, n, slots);
  else
    float_short_rows(op, F_ROW, x, step, y, y_step, lines, n, slots);
  return true;
}

#define LINES_FUNCTIONS(name, op, type)                                                                     \
  static void name##_rows(const void *x, size_t step, const void *y, size_t y_step, size_t lines, size_t n, \
                          uint64_t *slots) {                                                                \
    const element *a = x, *b = (op) == HX_DOT ? y : x;                                                      \
    if ((op) != HX_DOT) y_step = step;                                                                      \
    if (short_rows(op, type, a, step, b, y_step, lines, n, slots)) return;                                  \
    for (size_t l = 0; l < lines; l++, a += step, b += y_step) slots[l] = name##_leaf(a, b, n);             \
  }
#define COLUMNS(name, op, type)                                                                      \
  BLOCK_FUNCTIONS(name, op, type)                                                                    \
  static __attribute__((noinline)) bool name##_rounds(const hx__columns *columns, uint64_t *slots) { \
    return reduce_by_rounds(op, type, columns, slots);                                               \
  }                                                                                                  \
  static bool name##_columns(const hx__columns *columns, uint64_t *slots) {                          \
    return (blocks_are_faster(op, type, columns) ? name##_blocks : name##_rounds)(columns, slots);   \
  }
#define LEAF_LINES(name, leaf, op, type) LINES_FUNCTIONS(name, op, type) COLUMNS(name, op, type)
#define EXTREMUM_LINES(name, op, type) LINES_FUNCTIONS(name, op, type) COLUMNS(name, op, type)
LEAF_ROWS(LEAF_LINES)
EXTREMUM_ROWS(EXTREMUM_LINES)

#define ROWS_ENTRY(op, name) \
  [op] = {[HX_F32] = name##_f32_rows, [HX_I32] = name##_i32_rows, [HX_U32] = name##_u32_rows},
#define COLUMNS_ENTRY(op, name) \
  [op] = {[HX_F32] = name##_f32_columns, [HX_I32] = name##_i32_columns, [HX_U32] = name##_u32_columns},
#define LINES_KERNELS \
  { .rows = {HX__OPERATIONS(ROWS_ENTRY)}, .columns = {HX__OPERATIONS(COLUMNS_ENTRY)}, .values = values_of_slots }

#endif
