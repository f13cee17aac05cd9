/* SPDX-License-Identifier: Apache-2.0
 * Lines that lie side by side (lines_columns.h), of any length, but not their minima and maxima: the 128 lanes of every
 * line are in scratch memory, because they are too many for registers.
 *
 * Element i of a line belongs to lane i mod 128 and round i / 128. Rows are read in their order, at PASS_ROUNDS places
 * at once: a pass takes that many rounds of a lane while its state is in a register. Then the lanes of all lines are
 * joined by the tree.
 *
 * If ld is small, all rows of a round are taken as one (`flat`): the gaps between them are computed as if they were
 * lines, and no vector is cut short at the end of a row. Otherwise the last vector of a row begins early enough to end
 * with the row, and its first elements are computed twice. */
#ifndef HX_CPU_LINES_ROUNDS_H
#define HX_CPU_LINES_ROUNDS_H

#include "cpu/lines_state.h"

#define PASS_ROUNDS 4u
#define FLAT_STRIDE 48u /* ld up to which the rows of a round are taken as one */

typedef struct round_block {
  const element *x, *y;
  size_t ld, y_ld;
  size_t lines, n; /* n <= HX__LEAF elements of each line */
  bool flat;
  v_u32 *states;

  size_t lanes;   /* a power of two: 128, or fewer if the lines have fewer elements */
  size_t vectors; /* states of all lanes */
  size_t row;     /* vectors of a row */
  size_t last;    /* where the last vector of a row begins */
} round_block;

#define LOAD_STATE(i) state_load(op, type, b->states, (i))
#define STORE_STATE(i, s) state_store(op, type, b->states, (i), (s))

/* Takes `rounds` rounds from `from` on: the states before `end`. */
INLINED void take_rounds(hx_op op, hx_type type, const round_block *b, size_t from, size_t rounds, size_t end) {
  const size_t step = HX__LANES * b->ld, y_step = HX__LANES * b->y_ld;
  const element *x = b->x + from * step, *y = b->y + from * y_step;
  for (size_t first = 0; first < end; first += b->row, x += b->ld, y += b->y_ld)
    for (size_t v = 0; v < b->row && first + v < end; v++) {
      const size_t at = v * V_LANES < b->last ? v * V_LANES : b->last;
      line_state s = from ? LOAD_STATE(first + v) : state_start(op, type);
      UNROLLED for (size_t r = 0; r < rounds; r++) {
        s = state_take(op, type, s, v_load(x + at + r * step), op == HX_DOT ? v_load(y + at + r * y_step) : (v_u32){0},
                       (uint32_t)(from + r));
      }
      STORE_STATE(first + v, s);
    }
}

/* Takes the last elements of flat lines, which do not fill a vector: `count` of them, from `at` in round `from` on. */
INLINED void take_last_round(hx_op op, hx_type type, const round_block *b, size_t from, size_t at, size_t count) {
  const size_t first = from * HX__LANES * b->ld + at;
  const v_u32 x = v_load_part(b->x + first, count, missing_element(op, type)),
              y = op == HX_DOT ? v_load_part(b->y + first, count, type == HX_F32 ? F_ONE : 0) : x;
  const line_state s = from ? LOAD_STATE(at / V_LANES) : state_start(op, type);
  STORE_STATE(at / V_LANES, state_take(op, type, s, x, y, (uint32_t)from));
}

/* Takes all elements. The last round of flat lines ends with their last element, not with the gap after it. */
INLINED void take_all_rounds(hx_op op, hx_type type, const round_block *b) {
  const size_t full = (b->n - b->flat) / HX__LANES, rest = b->n - full * HX__LANES;
  const size_t left = b->flat ? (rest - 1) * b->ld + b->lines : rest * b->row * V_LANES; /* elements of the rest */
  size_t from = 0, done = left / V_LANES;
  for (; full - from >= PASS_ROUNDS; from += PASS_ROUNDS) take_rounds(op, type, b, from, PASS_ROUNDS, b->vectors);
  for (; from <= full; from++) take_rounds(op, type, b, from, 1, from < full ? b->vectors : done);
  if (left % V_LANES) take_last_round(op, type, b, full, done++ * V_LANES, left % V_LANES);
  for (; full == 0 && done < b->vectors; done++) STORE_STATE(done, state_start(op, type));
}

/* For argmin and argmax: makes indices in the leaf of the rounds. In flat lines the number of a lane is a quotient:
 * (at + 1/2) / ld is at least 1 / (2 ld) from every integer, more than the rounding errors, because at < 2^13. */
INLINED void number_lanes(hx_op op, hx_type type, const round_block *b) {
  v_i32 i;
  UNROLLED for (size_t j = 0; j < V_LANES; j++) i[j] = (int32_t)j;
  for (size_t v = 0; v < b->vectors; v++) {
    line_state s = LOAD_STATE(v);
    const v_f32 at = __builtin_convertvector(i + (int32_t)(v * V_LANES), v_f32);
    const v_i32 quotient = __builtin_convertvector((at + 0.5f) * (1.0f / (float)b->ld), v_i32);
    s.b = s.b * HX__LANES + (b->flat ? (v_u32)quotient : v_broadcast((uint32_t)(v / b->row)));
    STORE_STATE(v, s);
  }
}

/* Joins the lanes, two levels of the tree at a time. Returns how many are left, because lanes of flat lines that are
 * less than a vector apart cannot be joined by vectors. */
INLINED size_t join_lanes(hx_op op, hx_type type, const round_block *b) {
  const size_t least = b->flat ? V_LANES : 1;
  size_t lanes = b->lanes, apart = b->vectors / 2;
  for (; lanes >= 4 * least; lanes /= 4, apart /= 4)
    for (size_t i = 0; i < apart / 2; i++) {
      const line_state s = state_join(op, type, LOAD_STATE(i), LOAD_STATE(i + apart));
      const line_state t = state_join(op, type, LOAD_STATE(i + apart / 2), LOAD_STATE(i + apart / 2 + apart));
      STORE_STATE(i, state_join(op, type, s, t));
    }
  for (; lanes >= 2 * least; lanes /= 2, apart /= 2)
    for (size_t i = 0; i < apart; i++) STORE_STATE(i, state_join(op, type, LOAD_STATE(i), LOAD_STATE(i + apart)));
  return lanes;
}

/* The slots of flat lines, whose last lanes are joined one by one. */
INLINED void store_flat(hx_op op, hx_type type, const round_block *b, size_t lanes, uint64_t *slots) {
  for (size_t c = 0; c < b->lines; c++) {
    uint64_t lane[V_LANES];
    for (size_t j = 0; j < lanes; j++) lane[j] = state_slot(op, type, b->states, j * b->ld + c);
    for (size_t h = lanes / 2; h > 0; h /= 2)
      for (size_t j = 0; j < h; j++) lane[j] = join_slots(op, type, lane[j], lane[j + h]);
    slots[c] = finished_slot(op, type, lane[0]);
  }
}

INLINED void reduce_rounds(hx_op op, hx_type type, round_block *b, uint64_t *slots) {
  b->row = (b->lines + V_LANES - 1) / V_LANES;
  b->last = b->lines - V_LANES;
  b->vectors = b->lanes * b->row;
  if (b->flat) b->row = b->vectors = b->lanes * b->ld / V_LANES, b->last = SIZE_MAX;
  take_all_rounds(op, type, b);
  if (is_index(op)) number_lanes(op, type, b);
  const size_t lanes = join_lanes(op, type, b);
  if (b->flat)
    store_flat(op, type, b, lanes, slots);
  else
    for (size_t v = 0; v < b->row; v++)
      state_store_slots(op, type, LOAD_STATE(v), slots + (v + 1 < b->row ? v * V_LANES : b->last));
}

/* The lanes that lines of n elements have, as a power of two. Flat lines are joined by vectors. */
INLINED size_t lanes_of(size_t n, bool flat) {
  const size_t least = flat ? V_LANES : 1;
  size_t lanes = HX__LANES;
  while (lanes / 2 >= n && lanes / 2 >= least) lanes /= 2;
  return lanes;
}

/* The most lines of a block whose states fit in the scratch memory, in whole vectors. */
INLINED size_t lines_of_block(hx_op op, hx_type type, size_t bytes, size_t lanes) {
  return bytes / (lanes * sizeof(element) * state_vectors(op, type)) / V_LANES * V_LANES;
}

/* Lines that do not fit in the scratch memory are cut into blocks of equal width. */
INLINED bool reduce_by_rounds(hx_op op, hx_type type, const hx__columns *c, uint64_t *slots) {
  const size_t y_ld = op == HX_DOT ? c->y_ld : c->ld;
  const bool flat = c->ld == y_ld && c->ld <= FLAT_STRIDE && rows_may_join(c) &&
                    c->ld <= lines_of_block(op, type, c->scratch_bytes, HX__LANES);
  if (!flat && c->lines < V_LANES) return false;
  const size_t lanes = lanes_of(c->n, flat), most = lines_of_block(op, type, c->scratch_bytes, lanes);
  const size_t blocks = flat ? 1 : (c->lines + most - 1) / most, even = (c->lines + blocks - 1) / blocks;
  const size_t width = flat ? c->lines : (even + V_LANES - 1) / V_LANES * V_LANES;
  for (size_t at = 0; at < c->lines; at += width) {
    const size_t left = c->lines - at, first = flat || left >= V_LANES ? at : c->lines - V_LANES;
    round_block b = {.x = (const element *)c->x + first,
                     .y = (const element *)(op == HX_DOT ? c->y : c->x) + first,
                     .ld = c->ld,
                     .y_ld = y_ld,
                     .lines = c->lines - first < width ? c->lines - first : width,
                     .n = c->n,
                     .flat = flat,
                     .lanes = lanes,
                     .states = c->scratch};
    reduce_rounds(op, type, &b, slots + first);
  }
  return true;
}

#undef LOAD_STATE
#undef STORE_STATE

#endif
