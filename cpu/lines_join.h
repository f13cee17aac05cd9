/* SPDX-License-Identifier: Apache-2.0
 * Pieces: the states (lines_state.h) of one or two vectors of lines that lie side by side, in registers or in memory,
 * and how they are joined by the tree of docs/ARITHMETIC.md: the lower number of two lanes first. */
#ifndef HX_CPU_LINES_JOIN_H
#define HX_CPU_LINES_JOIN_H

#include "cpu/lines_state.h"

/* Whether an element costs so little that memory for states would take longer. */
INLINED bool is_light(hx_op op, hx_type type) { return is_float_tree(op, type) && op != HX_DOT; }

/* Whether the order of the elements does not matter. */
INLINED bool is_one_lane(hx_op op) { return op == HX_MIN || op == HX_MAX; }

#define MOST_VECTORS 2u
typedef struct piece {
  line_state v[MOST_VECTORS];
} piece;

/* Two vectors share the work for a piece. They would be more code, which heavy operations do not repay. */
INLINED size_t piece_vectors(hx_op op, hx_type type) {
  return is_float_tree(op, type) || !(is_index(op) || is_wide(op, type)) ? MOST_VECTORS : 1;
}
INLINED size_t piece_lines(hx_op op, hx_type type) { return piece_vectors(op, type) * V_LANES; }

/* Elements of a piece in memory: the first vectors of all states, then the second ones. */
INLINED size_t piece_elements(hx_op op, hx_type type) { return piece_lines(op, type) * state_vectors(op, type); }

INLINED piece start_piece(hx_op op, hx_type type) {
  piece p;
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) p.v[i] = state_start(op, type);
  return p;
}
INLINED piece load_piece(hx_op op, hx_type type, const element *from) {
  piece p;
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) {
    const element *const a = from + i * V_LANES, *const b = a + piece_lines(op, type);
    p.v[i] = (line_state){v_load(a), state_vectors(op, type) == 2 ? v_load(b) : (v_u32){0}};
  }
  return p;
}
INLINED void store_piece(hx_op op, hx_type type, element *to, piece p) {
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) {
    element *const a = to + i * V_LANES, *const b = a + piece_lines(op, type);
    *(v_u32_unaligned *)a = p.v[i].a;
    if (state_vectors(op, type) == 2) *(v_u32_unaligned *)b = p.v[i].b;
  }
}
INLINED piece join_pieces(hx_op op, hx_type type, piece p, piece q) {
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) p.v[i] = state_join(op, type, p.v[i], q.v[i]);
  return p;
}

/* JOINED_8, 4: what ROW(k), a piece, makes of lanes k, k + 1, ... in as few registers as the order allows. */
#define JOINED_2(ROW, op, type, k, half) join_pieces(op, type, ROW(k), ROW((k) + (half)))
#define JOINED_4(ROW, op, type, k, half) \
  join_pieces(op, type, JOINED_2(ROW, op, type, k, half), JOINED_2(ROW, op, type, (k) + (half) / 2, half))
#define JOINED_8(ROW, op, type) join_pieces(op, type, JOINED_4(ROW, op, type, 0, 4), JOINED_4(ROW, op, type, 1, 4))

#endif
