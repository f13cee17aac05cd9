/* SPDX-License-Identifier: Apache-2.0
 * What a block of lines that lie side by side (lines_blocks.h) reads at once: eight rows, of which one piece after the
 * other is loaded, joined in registers and stored as one state of each line. Eight places at once are what a first
 * cache with eight ways can follow if rows are a power of two apart: with sixteen, Zen 3 reads at two thirds of the
 * rate, and with all rows of a column at a tenth.
 *
 * Element i of a line belongs to lane i mod 128 and round i / 128. Eight rows are a tree of eight lanes (a second round
 * is joined with the first as if it were lanes 128 and on), a chain of eight rounds of one lane, or two chains of four.
 *
 * Lanes are taken in the order in which a depth-first walk of the tree meets them, so that few states wait in memory: a
 * row of states for each level of the tree above the lanes that are joined in registers. */
#ifndef HX_CPU_LINES_TAKE_H
#define HX_CPU_LINES_TAKE_H

#include "cpu/lines_join.h"

#define MOST_AT_ONCE 8u

/* A dot product has as many rows of each array as make eight. Indices have four because more would cost code. */
INLINED size_t rows_at_once(hx_op op) { return op == HX_DOT || is_index(op) ? MOST_AT_ONCE / 2 : MOST_AT_ONCE; }

/* SINGLE: a chain of one row, for what is left of a line that has one lane. */
typedef enum unit_shape { TREE, CHAIN, CHAINS, SINGLE } unit_shape;

typedef struct line_block {
  const element *x, *y; /* y: NULL except for a dot product */
  size_t ld, y_ld;
  size_t rows, width; /* rows of `width` elements */
  size_t together;    /* rows of the array that are one row of the block */

  size_t lanes;     /* 128 / together */
  size_t units;     /* a power of two: how often rows are taken */
  size_t near, far; /* from the first row of a unit to the second one, and to the fifth one */
  size_t rounds;    /* of a lane */
  unit_shape shape;

  size_t head;    /* where the second piece of a row begins, so that it is aligned */
  size_t last;    /* where the last piece of a row begins */
  size_t between; /* from the first vector of a piece to the second one: a vector, or less if lines are few */
  size_t level;   /* elements of a row of states */

  element *states;
  element *filled; /* rows of x and of y: without an element, then the last one, unless the array has all of it */
  size_t whole;    /* rows that the array has */
  bool is_filled;  /* the first two of them */
  element missing, missing_factor;
} line_block;

typedef struct row_set {
  const element *x[MOST_AT_ONCE], *y[MOST_AT_ONCE];
  uint32_t index[MOST_AT_ONCE];
} row_set;

/* Copies `count` elements, and puts what stands for missing ones after them. */
static void fill_row(const line_block *b, element *row, const element *from, size_t count, element pad) {
  for (size_t c = 0; c < count; c++) row[c] = from[c];
  for (size_t c = count; c < b->width; c++) row[c] = pad;
}

/* Row k is row i of the block, which the array does not have, or not all of it. */
static void replace_row(line_block *b, row_set *rows, size_t k, size_t i) {
  const size_t which = i < b->rows ? 2 : 0;
  if (which == 0 && !b->is_filled) {
    fill_row(b, b->filled, NULL, 0, b->missing);
    fill_row(b, b->filled + b->width, NULL, 0, b->missing_factor);
    b->is_filled = true;
  }
  rows->x[k] = b->filled + which * b->width;
  rows->y[k] = b->filled + (which + 1) * b->width;
}

/* Rows of which some are replaced. */
static __attribute__((noinline)) void find_rows(line_block *b, row_set *rows, size_t count, size_t first) {
  for (size_t k = 0; k < count; k++) {
    const size_t i = first + k % 4 * b->near + k / 4 * b->far;
    rows->x[k] = b->x + i * b->ld;
    rows->y[k] = b->y ? b->y + i * b->y_ld : NULL;
    rows->index[k] = (uint32_t)(i * b->together);
    if (i >= b->whole) replace_row(b, rows, k, i);
  }
}

/* The `count` rows of the unit that begins with row `first`. */
INLINED row_set rows_from(hx_op op, size_t count, line_block *b, size_t first) {
  const size_t near = b->near, far = b->far, x_near = near * b->ld, x_far = far * b->ld, y_near = near * b->y_ld;
  const element *const x = b->x + first * b->ld, *const y = op == HX_DOT ? b->y + first * b->y_ld : x;
  row_set rows, found;
  const bool is_whole = first + (count > 1 ? 3 * near : 0) + (count > 4 ? far : 0) < b->whole;
  if (!is_whole) find_rows(b, &found, count, first);
  UNROLLED for (size_t k = 0; k < count; k++) {
    rows.x[k] = is_whole ? x + k % 4 * x_near + k / 4 * x_far : found.x[k];
    rows.y[k] = is_whole ? y + k * y_near : found.y[k];
    rows.index[k] = is_whole ? (uint32_t)((first + k * near) * b->together) : found.index[k];
  }
  return rows;
}

INLINED piece take_row(hx_op op, hx_type type, piece p, const row_set *rows, size_t k, size_t at, size_t between) {
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) {
    const size_t c = at + i * between;
    p.v[i] = state_take(op, type, p.v[i], v_load(rows->x[k] + c), op == HX_DOT ? v_load(rows->y[k] + c) : (v_u32){0},
                        rows->index[k]);
  }
  return p;
}

INLINED piece take_tree(hx_op op, hx_type type, const row_set *rows, size_t at, size_t between) {
#define LANE(k) take_row(op, type, start_piece(op, type), rows, k, at, between)
  if (rows_at_once(op) == 4) return JOINED_4(LANE, op, type, 0, 2);
  return JOINED_8(LANE, op, type);
#undef LANE
}

/* Takes `count` rounds, from row k on, of the lane whose state is p. */
INLINED piece take_chain(hx_op op, hx_type type, piece p, const row_set *rows, size_t k, size_t count, size_t at,
                         size_t between) {
  UNROLLED for (size_t i = k; i < k + count; i++) p = take_row(op, type, p, rows, i, at, between);
  return p;
}

/* The joined rows; p: the state that a chain has already. */
INLINED piece take_piece(hx_op op, hx_type type, unit_shape shape, piece p, const row_set *rows, size_t at,
                         size_t between) {
  const piece start = start_piece(op, type);
  if (shape == TREE) return take_tree(op, type, rows, at, between);
  if (shape == SINGLE) return take_chain(op, type, p, rows, 0, 1, at, between);
  if (shape == CHAIN) return take_chain(op, type, p, rows, 0, 8, at, between);
  const piece first = take_chain(op, type, start, rows, 0, 4, at, between);
  return join_pieces(op, type, first, take_chain(op, type, start, rows, 4, 4, at, between));
}

/* Where the states of a unit go. */
typedef struct line_target {
  element *state;  /* the row of states that is the last one so far */
  size_t joins;    /* that many rows before it are joined with it, into the first of them */
  bool goes_on;    /* the lane has a state there already */
  uint64_t *slots; /* unless it is NULL: of the joined states, instead */
} line_target;

INLINED void store_slots(hx_op op, hx_type type, piece p, uint64_t *slots, size_t between) {
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++)
      state_store_slots(op, type, p.v[i], slots + i * between);
}

/* Takes the unit that begins with row `first`. */
INLINED void take_unit(hx_op op, hx_type type, unit_shape shape, line_block *b, size_t first, const line_target *to) {
  const row_set rows = rows_from(op, shape == SINGLE ? 1 : rows_at_once(op), b, first);
  const size_t last = b->last, between = b->between, level = b->level;
  const bool goes_on = (shape == CHAIN || shape == SINGLE) && to->goes_on;
  const element *const end = to->state + level;
  size_t next = 0, after = b->head;
  for (element *state = to->state; state < end; state += piece_elements(op, type)) {
    element *joined = state;
    size_t at = next < last ? next : last;
    next = after, after += piece_lines(op, type);
    OPAQUE(at);
    piece p = goes_on ? load_piece(op, type, state) : start_piece(op, type);
    p = take_piece(op, type, shape, p, &rows, at, between);
    for (size_t j = to->joins; j > 0; j--) {
      joined -= level;
      p = join_pieces(op, type, load_piece(op, type, joined), p);
    }
    if (to->slots)
      store_slots(op, type, p, to->slots + at, between);
    else
      store_piece(op, type, joined, p);
  }
}

#endif
