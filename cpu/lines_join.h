/* SPDX-License-Identifier: Apache-2.0
 * Rows of states (lines_state.h) in memory, which have one state for each of several lines, and joining some of them
 * into one by the tree of docs/ARITHMETIC.md: the lower number of two lanes first. */
#ifndef HX_CPU_LINES_JOIN_H
#define HX_CPU_LINES_JOIN_H

#include "cpu/lines_state.h"

/* The state of the V_LANES lines at p; its second vector is `plane` elements after its first one. */
INLINED line_state plane_load(hx_op op, hx_type type, const element *p, size_t plane) {
  return (line_state){v_load(p), state_vectors(op, type) == 2 ? v_load(p + plane) : (v_u32){0}};
}
INLINED void plane_store(hx_op op, hx_type type, element *p, size_t plane, line_state s) {
  *(v_u32_unaligned *)p = s.a;
  if (state_vectors(op, type) == 2) *(v_u32_unaligned *)(p + plane) = s.b;
}

/* Whether an element costs so little that memory for states would take longer. */
INLINED bool is_light(hx_op op, hx_type type) { return is_float_tree(op, type) && op != HX_DOT; }

/* What is joined side by side. More vectors would be more code, which only light operations repay. */
#define MOST_VECTORS 2u
typedef struct piece {
  line_state v[MOST_VECTORS];
} piece;
INLINED size_t piece_vectors(hx_op op, hx_type type) { return is_float_tree(op, type) ? MOST_VECTORS : 1; }

INLINED piece join_pieces(hx_op op, hx_type type, piece p, piece q) {
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) p.v[i] = state_join(op, type, p.v[i], q.v[i]);
  return p;
}
INLINED piece load_piece(hx_op op, hx_type type, const element *from, size_t plane) {
  piece p;
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) p.v[i] =
      plane_load(op, type, from + i * V_LANES, plane);
  return p;
}
INLINED void store_piece(hx_op op, hx_type type, element *to, size_t plane, piece p) {
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) plane_store(op, type, to + i * V_LANES, plane, p.v[i]);
}

/* JOINED_8, 4, 2: what ROW(k), a piece, makes of lanes k, k + 1, ... in as few registers as the order allows. */
#define JOINED_2(ROW, op, type, k, half) join_pieces(op, type, ROW(k), ROW((k) + (half)))
#define JOINED_4(ROW, op, type, k, half) \
  join_pieces(op, type, JOINED_2(ROW, op, type, k, half), JOINED_2(ROW, op, type, (k) + (half) / 2, half))
#define JOINED_8(ROW, op, type) join_pieces(op, type, JOINED_4(ROW, op, type, 0, 4), JOINED_4(ROW, op, type, 1, 4))

/* Joins `count` rows (8, 4 or 2), which are `step` elements apart. The result may take the place of the first row. A
 * last piece that is not whole is read and written beyond `width`. */
INLINED void join_rows_of(hx_op op, hx_type type, size_t count, const element *from, size_t step, element *to,
                          size_t width, size_t plane) {
#define ROW(k) load_piece(op, type, from + (k)*step + c, plane)
  for (size_t c = 0; c < width; c += piece_vectors(op, type) * V_LANES) {
    const piece p = count == 8   ? JOINED_8(ROW, op, type)
                    : count == 4 ? JOINED_4(ROW, op, type, 0, 2)
                                 : JOINED_2(ROW, op, type, 0, 1);
    store_piece(op, type, to + c, plane, p);
  }
#undef ROW
}

/* One function for each way of joining, because many operations and types have the same one. */
#define JOIN_FUNCTION(name, op, type)                                                                     \
  static __attribute__((noinline)) void name(size_t count, const element *from, size_t step, element *to, \
                                             size_t width, size_t plane) {                                \
    if (count == 8) join_rows_of(op, type, 8, from, step, to, width, plane);                              \
    if (count == 4) join_rows_of(op, type, 4, from, step, to, width, plane);                              \
    if (count == 2) join_rows_of(op, type, 2, from, step, to, width, plane);                              \
  }
JOIN_FUNCTION(join_float_sums, HX_SUM, HX_F32)
JOIN_FUNCTION(join_float_products, HX_PROD, HX_F32)
JOIN_FUNCTION(join_keys, HX_MIN, HX_I32)
JOIN_FUNCTION(join_indices, HX_ARGMIN, HX_I32)
JOIN_FUNCTION(join_split_sums, HX_SUM, HX_I32)
JOIN_FUNCTION(join_wide_sums, HX_DOT, HX_I32)

INLINED void join_rows(hx_op op, hx_type type, size_t count, const element *from, size_t step, element *to,
                       size_t width, size_t plane) {
  (is_index(op)         ? join_indices
   : is_key(op)         ? join_keys
   : type == HX_F32     ? (op == HX_PROD ? join_float_products : join_float_sums)
   : !is_wide(op, type) ? join_split_sums
                        : join_wide_sums)(count, from, step, to, width, plane);
}

#endif
