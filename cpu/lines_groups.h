/* SPDX-License-Identifier: Apache-2.0
 * Lines that lie side by side (lines_columns.h), of one round, or of any length if `is_light`. What costs time is
 * memory for the states of lanes, so eight rows are taken at once, and lanes are joined as early as their order allows.
 *
 * Element i of a line belongs to lane i mod 128 and round i / 128. The tree joins lanes that are 16 apart first: eight
 * of them make a group. Eight rows are one round of a group, which is joined in registers, or two rounds of four lanes,
 * or four rounds of two. Lines of more rounds have four rows of one lane at once, and states in memory until the group
 * is joined. What is left of each group, one state for each line, is joined last. More than eight rows at once would
 * compete for the ways of a cache if ld is a power of two.
 *
 * If ld is small, several rows are taken as one long row (`together`): the gaps between them are computed as if they
 * were lines. Otherwise the last piece of a row begins early enough to end with the row, and its first elements are
 * computed twice. */
#ifndef HX_CPU_LINES_GROUPS_H
#define HX_CPU_LINES_GROUPS_H

#include "cpu/lines_join.h"

#define MOST_AT_ONCE 8u /* rows; lines of one round are slower with 4 and with 16 */
#define FILLED_ROWS 6u  /* see line_block.filled */
#define WIDEST_GAP 32u  /* elements between rows that are taken as one: CPUs read 128 bytes at once anyway */

typedef struct line_block {
  const element *x, *y;
  size_t ld, y_ld;
  size_t lines, n; /* n <= HX__LEAF elements of each line */

  size_t apart;    /* from a lane of a group to the next one: 16, or less if the lines have fewer elements */
  size_t together; /* rows that are taken as one */
  size_t width;    /* elements of a row of states: whole pieces */
  size_t last;     /* where the last piece of a row of x begins */
  size_t between;  /* from the first vector of a piece to the second one: a vector, or less if lines are few */
  size_t plane;    /* elements from the first vector of a state to the second one */
  element *states; /* rows for the lanes of a group */
  element *groups; /* a row for what is left of each group */
  element *filled; /* rows of x and of y: without an element, then two that are not whole */
  element missing, missing_factor;
  bool is_filled; /* the first two of them */
} line_block;

/* From a row of what is left of a group to the next one. */
INLINED size_t row_of(const line_block *b) { return b->together > 1 ? b->ld : b->width; }

/* A dot product has as many rows of each array as make eight. Indices have four because more would cost code. */
INLINED size_t rows_at_once(hx_op op) { return op == HX_DOT || is_index(op) ? MOST_AT_ONCE / 2 : MOST_AT_ONCE; }

typedef struct row_set {
  const element *x[MOST_AT_ONCE], *y[MOST_AT_ONCE];
  uint32_t index[MOST_AT_ONCE];
} row_set;

/* Copies `count` elements, and puts what stands for missing ones after them. */
static void fill(const line_block *b, size_t which, const element *from, size_t count, element pad) {
  element *const row = b->filled + which * b->width;
  for (size_t c = 0; c < count; c++) row[c] = from[c];
  for (size_t c = count; c < b->width; c++) row[c] = pad;
}

/* Replaces row k, which is row i of x and y, if a part of it is not there. */
static void fill_row(line_block *b, row_set *rows, size_t k, size_t i) {
  const bool is_there = i < b->n;
  const size_t left = !is_there ? 0 : b->together > 1 ? (b->n - 1 - i) * b->ld + b->lines : SIZE_MAX;
  if (left >= b->width) return;
  const size_t which = is_there ? (i / b->together % 2 ? 4 : 2) : 0;
  if (is_there || !b->is_filled) {
    fill(b, which, rows->x[k], left, b->missing);
    fill(b, which + 1, rows->y[k], left, b->missing_factor);
  }
  b->is_filled |= !is_there;
  rows->x[k] = b->filled + which * b->width;
  rows->y[k] = b->filled + (which + 1) * b->width;
}

/* `rounds` rounds, from round `from` on, of 8 / rounds lanes, from `lane` on. */
static __attribute__((noinline)) row_set rows_of(line_block *b, size_t count, size_t rounds, size_t step, size_t from,
                                                 size_t lane) {
  row_set rows;
  size_t i = 0;
  for (size_t k = 0; k < count; k++) {
    const size_t round = k & (rounds - 1);
    i = (from + round) * HX__LANES + lane + (k - round) / rounds * step;
    rows.x[k] = b->x + i * b->ld;
    rows.y[k] = b->y + i * b->y_ld;
    rows.index[k] = (uint32_t)i;
  }
  for (size_t k = 0; i + 2 * b->together >= b->n && k < count; k++) fill_row(b, &rows, k, rows.index[k]);
  return rows;
}

/* Takes `rounds` rows of a lane, from row k on. */
INLINED piece take_rows(hx_op op, hx_type type, piece p, const row_set *rows, size_t k, size_t rounds, size_t at,
                        size_t between) {
  UNROLLED for (size_t r = k; r < k + rounds; r++) {
    UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) {
      const size_t c = at + i * between;
      p.v[i] = state_take(op, type, p.v[i], v_load(rows->x[r] + c), op == HX_DOT ? v_load(rows->y[r] + c) : (v_u32){0},
                          rows->index[r]);
    }
  }
  return p;
}

/* Takes `rounds` rounds, from round `from` on, of 8 / rounds lanes, from `lane` on, and joins the lanes. */
INLINED void take_set(hx_op op, hx_type type, line_block *b, size_t lanes, size_t rounds, size_t from, size_t lane,
                      element *to) {
  const size_t at_once = lanes * rounds;
  const row_set rows = rows_of(b, at_once, rounds, rows_at_once(op) / lanes * b->apart, from, lane);
  const size_t width = b->width, last = b->last, between = b->between, plane = b->plane;
  piece start;
  UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) start.v[i] = state_start(op, type);
#define LANE(k) take_rows(op, type, start, &rows, (k)*rounds, rounds, at, between)
  for (size_t c = 0; c < width; c += piece_vectors(op, type) * V_LANES) {
    const size_t at = c < last ? c : last;
    if (lanes == 1 && rounds == 4 && from) start = load_piece(op, type, to + c, plane);
    const piece p = lanes == 8   ? JOINED_8(LANE, op, type)
                    : lanes == 4 ? JOINED_4(LANE, op, type, 0, 2)
                    : lanes == 2 ? JOINED_2(LANE, op, type, 0, 1)
                                 : LANE(0);
    store_piece(op, type, to + c, plane, p);
  }
#undef LANE
}

/* For argmin and argmax of rows that were taken together: the index of `count` states is that of the first row so far.
 * The number of a row is a quotient: (at + 1/2) / ld is at least 1 / (2 ld) from every integer, more than the rounding
 * errors, because at < 2^15. */
INLINED void number_rows(hx_op op, hx_type type, const line_block *b, element *states, size_t count) {
  v_i32 i;
  UNROLLED for (size_t j = 0; j < V_LANES; j++) i[j] = (int32_t)j;
  for (size_t c = 0; c < count; c += V_LANES) {
    line_state s = plane_load(op, type, states + c, b->plane);
    const v_f32 at = __builtin_convertvector(i + (int32_t)c, v_f32);
    const v_i32 quotient = __builtin_convertvector((at + 0.5f) * (1.0f / (float)b->ld), v_i32);
    s.b += (v_u32)(quotient & (int32_t)(b->together - 1));
    plane_store(op, type, states + c, b->plane, s);
  }
}

/* Joins what is left of the groups, four rows at once, into the first of them, or into `rows` of them. */
INLINED void join_groups(hx_op op, hx_type type, const line_block *b, size_t rows, size_t width) {
  for (size_t count = b->apart, few; count > rows; count /= few) {
    few = count >= 4 * rows ? 4 : 2;
    join_rows(op, type, few, b->groups, count / few * width, b->groups, count / few * width, b->plane);
  }
}

INLINED void store_slots(hx_op op, hx_type type, const line_block *b, uint64_t *slots) {
  for (size_t c = 0; c < b->lines; c += piece_vectors(op, type) * V_LANES) {
    const size_t at = c < b->last ? c : b->last;
    UNROLLED for (size_t i = 0; i < piece_vectors(op, type); i++) {
      const line_state s = plane_load(op, type, b->groups + c + i * V_LANES, b->plane);
      const size_t first = at + i * b->between;
      if (first + V_LANES <= b->lines) {
        state_store_slots(op, type, s, slots + first);
      } else if (first < b->lines) {
        uint64_t some[V_LANES];
        state_store_slots(op, type, s, some);
        memcpy(slots + first, some, (b->lines - first) * sizeof *slots);
      }
    }
  }
}

/* The slots of rows that were taken together, with 64-bit values, which vectors cannot join at an odd distance: from
 * the last two rows, or the only one. */
static void store_wide_slots(const line_block *b, size_t rows, uint64_t *slots) {
  for (size_t c = 0; c < b->lines; c++)
    for (size_t row = 0; row < rows; row++) {
      const size_t at = row * b->ld + c;
      const element *const word = b->groups + (at & ~(size_t)1) + (at % 2 ? b->plane : 0);
      const uint64_t value = (uint64_t)word[1] << 32 | word[0];
      slots[c] = row == 0 ? value : slots[c] + value;
    }
}

/* Lines of few rounds: `lanes` lanes of `rounds` rounds at once, until the group is joined in registers. */
INLINED void take_short(hx_op op, hx_type type, line_block *b, size_t lanes, size_t rounds, size_t group) {
  const size_t sets = rows_at_once(op) / lanes;
  element *const left = b->groups + group * row_of(b), *const states = sets == 1 ? left : b->states;
  for (size_t k = 0; k < sets; k++)
    take_set(op, type, b, lanes, rounds, 0, group + k * b->apart, states + k * b->width);
  if (sets > 1) join_rows(op, type, sets, states, b->width, left, b->width, b->plane);
}

/* Lines of more rounds: four at once, with the states of a group in memory. */
INLINED void take_long(hx_op op, hx_type type, line_block *b, size_t group) {
  const size_t lanes = rows_at_once(op);
  for (size_t from = 0; from * HX__LANES < b->n; from += 4)
    for (size_t k = 0; k < lanes; k++)
      take_set(op, type, b, 1, 4, from, group + k * b->apart, b->states + k * b->width);
  join_rows(op, type, lanes, b->states, b->width, b->groups + group * row_of(b), b->width, b->plane);
}

INLINED void take_all(hx_op op, hx_type type, line_block *b) {
  const size_t rounds = (b->n + HX__LANES - 1) / HX__LANES, lanes = rows_at_once(op);
  for (size_t group = 0; group < b->apart; group += b->together)
    if (rounds == 1 || !is_light(op, type))
      take_short(op, type, b, lanes, 1, group);
    else if (rounds == 2)
      take_short(op, type, b, lanes / 2, 2, group);
    else if (rounds <= 4)
      take_short(op, type, b, lanes / 4, 4, group);
    else
      take_long(op, type, b, group);
  if (is_index(op) && b->together > 1) number_rows(op, type, b, b->groups, b->apart * b->ld);
}

/* The slots of the lines of b. */
INLINED void reduce_block(hx_op op, hx_type type, line_block *b, uint64_t *slots) {
  const bool separately = is_wide(op, type) && b->together > 1;
  const size_t rows = separately && b->apart > 1 ? 2 : 1;
  take_all(op, type, b);
  join_groups(op, type, b, rows, row_of(b));
  if (separately)
    store_wide_slots(b, rows, slots);
  else
    store_slots(op, type, b, slots);
}

INLINED size_t whole(size_t elements, size_t step) { return (elements + step - 1) / step * step; }

/* From a lane of a group of lines of n elements to the next one. */
INLINED size_t apart_of(hx_op op, size_t n, size_t least) {
  size_t apart = HX__LANES / rows_at_once(op);
  while (apart > least && apart / 2 * rows_at_once(op) >= n) apart /= 2;
  return apart;
}

INLINED bool are_near(const line_block *b) {
  return b->ld == b->y_ld && b->ld - b->lines <= WIDEST_GAP && 2 * b->lines >= b->ld;
}

/* Rows that are taken together: at most `rows`, and at most `elements`. */
INLINED size_t rows_together(const line_block *b, size_t rows, size_t elements) {
  while (rows > 1 && rows * b->ld > elements) rows /= 2;
  return rows;
}

/* Cuts the scratch memory of `elements` elements into rows. */
INLINED void set_places(line_block *b, element *scratch, size_t groups, size_t states) {
  b->filled = scratch;
  b->groups = b->filled + FILLED_ROWS * b->width;
  b->states = b->groups + groups;
  b->plane = groups + states;
}

INLINED size_t even_width(size_t lines, size_t most, size_t step) {
  const size_t blocks = (lines + most - 1) / most;
  return whole((lines + blocks - 1) / blocks, step);
}

/* Blocks of equal width whose states fit in the scratch memory. */
INLINED void set_block(hx_op op, hx_type type, line_block *b, const hx__columns *c, size_t step) {
  const size_t elements = c->scratch_bytes / sizeof(element), rows = b->apart + rows_at_once(op),
               most = elements / (rows * state_vectors(op, type) + FILLED_ROWS) / step * step;
  b->together = are_near(b) ? rows_together(b, b->apart, most - step) : 1;
  if (b->together * b->ld < step) b->together = 1;
  b->width = b->together > 1 ? whole(b->together * b->ld, step) : even_width(c->lines, most, step);
  set_places(b, c->scratch, b->apart * b->width, rows_at_once(op) * b->width);
}

/* The lines of the block that begins with line `at`, or earlier if only few are left. Returns its first line. */
INLINED size_t set_lines(hx_op op, line_block *b, const hx__columns *c, size_t at, size_t step) {
  const size_t left = c->lines - at, first = left >= V_LANES ? at : c->lines - V_LANES;
  b->x = (const element *)c->x + first;
  b->y = op == HX_DOT ? (const element *)c->y + first : b->x;
  b->lines = c->lines - first < b->width ? c->lines - first : b->width;
  b->last = b->lines < step ? 0 : b->lines - step;
  b->between = b->lines < step ? b->lines - V_LANES : V_LANES;
  return first;
}

/* Of V_LANES lines or more. */
INLINED bool reduce_by_groups(hx_op op, hx_type type, const hx__columns *c, uint64_t *slots) {
  const size_t step = piece_vectors(op, type) * V_LANES;
  line_block b = {.x = c->x,
                  .y = op == HX_DOT ? c->y : c->x,
                  .ld = c->ld,
                  .y_ld = op == HX_DOT ? c->y_ld : c->ld,
                  .lines = c->lines,
                  .n = c->n,
                  .last = SIZE_MAX,
                  .between = V_LANES,
                  .missing = missing_element(op, type),
                  .missing_factor = missing_factor(type)};
  const size_t least = whole(step, b.ld) / b.ld; /* so that rows of fewer lines are as long as a piece */
  b.apart = apart_of(op, b.n, least);
  set_block(op, type, &b, c, step);
  const bool is_one_block = b.together > 1;
  for (size_t at = 0; at < c->lines; at += is_one_block ? c->lines : b.width)
    reduce_block(op, type, &b, slots + (is_one_block ? 0 : set_lines(op, &b, c, at, step)));
  return true;
}

#endif
