/* SPDX-License-Identifier: Apache-2.0
 * Lines that lie side by side (lines_columns.h), of at most 256 elements, or of any length if `is_light` or
 * `is_one_lane`: cut into blocks of lines whose rows of states stay in the first cache. What is read at once is in
 * lines_take.h.
 *
 * If ld is small, several rows are taken as one long row (`together`): the gaps between them are computed as if they
 * were lines, and the lanes in a row are joined last. */
#ifndef HX_CPU_LINES_BLOCKS_H
#define HX_CPU_LINES_BLOCKS_H

#include "cpu/lines_take.h"

#define LEVELS 7u        /* of the tree of 128 lanes */
#define FILLED_ROWS 4u   /* see line_block.filled */
#define WIDEST 512u      /* elements of a row of a block whose data are in a cache */
#define LONG_ENOUGH 256u /* elements of rows that are taken as one */
#define WIDEST_GAP 32u   /* elements between rows that are taken as one: CPUs read 128 bytes at once anyway */
#define ALIGNMENT 64u    /* bytes of a line of the cache */

/* The functions of an operation and type, and what they need. */
typedef void take_fn(line_block *b, size_t first, const line_target *to);
typedef void join_fn(uint64_t *row, size_t count, const uint64_t *second);
typedef struct line_takes {
  take_fn *tree, *chain, *chains, *single; /* NULL: never taken so */
} line_takes;
typedef struct line_kernel {
  line_takes take;
  join_fn *join;
  size_t at_once;         /* rows */
  size_t step;            /* elements of a piece */
  size_t vectors;         /* of a state */
  size_t widest, longest; /* elements of a row of a block, if there is little scratch memory or much */
  bool is_dot, is_index, is_float;
  bool one_lane; /* the order of the elements does not matter, so that a line needs no more than one state */
  element missing, missing_factor;
} line_kernel;

/* The most elements of a row of a block, so that seven levels of states and the lane itself, rows that are filled, and
 * the slots of a row fit in the scratch memory. */
INLINED size_t elements_that_fit(hx_op op, hx_type type, size_t scratch_bytes) {
  const size_t rows = (LEVELS + 1) * state_vectors(op, type) + FILLED_ROWS + 2;
  return scratch_bytes / sizeof(element) / rows - 2 * piece_lines(op, type);
}

/* The next number in the order of a depth-first walk: adds one to the number whose bits are reversed. */
INLINED size_t next_lane(size_t lane, size_t units) {
  size_t bit = units / 2;
  for (; lane & bit; bit /= 2) lane ^= bit;
  return lane | bit;
}

/* Takes all rounds of a lane, eight at once. What is left is taken one by one if there is one lane: otherwise states
 * would be read as often as elements. */
INLINED void take_rounds_of(const line_kernel *k, line_block *b, size_t lane, line_target *to) {
  const line_target last = *to;
  to->joins = 0;
  to->slots = NULL;
  for (size_t from = 0, count; from < b->rounds; from += count) {
    count = k->one_lane && b->rounds - from < MOST_AT_ONCE ? 1 : MOST_AT_ONCE;
    to->goes_on = from > 0;
    if (from + count >= b->rounds) to->joins = last.joins, to->slots = last.slots;
    (count == 1 ? k->take.single : k->take.chain)(b, lane + from * b->lanes, to);
  }
}

/* The slots of the elements of a row. */
static void reduce_block(const line_kernel *k, line_block *b, uint64_t *slots) {
  take_fn *const take = b->shape == TREE ? k->take.tree : k->take.chains;
  line_target to = {.state = b->states};
  for (size_t unit = 1, lane = 0; unit <= b->units; unit++, lane = next_lane(lane, b->units)) {
    const size_t joins = (size_t)__builtin_ctzl(unit);
    to.joins = joins;
    to.slots = unit == b->units ? slots : NULL;
    if (b->shape == CHAIN)
      take_rounds_of(k, b, lane, &to);
    else
      take(b, lane, &to);
    to.state = to.state - joins * b->level + b->level;
  }
}

/* Joins the slots of the lanes in a row, whose lines are `ld` apart, and stores those of the lines. */
static void join_row(const line_kernel *k, uint64_t *row, size_t together, size_t ld, size_t lines, uint64_t *slots) {
  for (size_t r = 0; k->is_index && r < together; r++)
    for (size_t c = 0; c < lines; c++) row[r * ld + c] += r;
  for (size_t half = together / 2; half > 0; half /= 2) k->join(row, half * ld, row + half * ld);
  for (size_t c = 0; c < lines; c++) slots[c] = k->is_float ? finished_slot(HX_SUM, HX_F32, row[c]) : row[c];
}

INLINED size_t whole(size_t elements, size_t step) { return (elements + step - 1) & ~(step - 1); }

/* Rows that are taken as one, as the logarithm of their number: so many that they are long, and there are still enough
 * of them, unless they are shorter than a piece. */
static unsigned log_together(const line_kernel *k, const hx__columns *c, size_t most) {
  if ((k->is_dot && c->ld != c->y_ld) || c->ld - c->lines > WIDEST_GAP || !rows_may_join(c)) return 0;
  unsigned log = 0;
  while ((HX__LANES >> log) > 1 && c->ld << (log + 1) <= most &&
         (k->at_once << (log + 1) <= c->n || c->ld << log < k->step))
    log++;
  return log;
}

/* How rows are taken: a tree of up to 256 lanes, chains of up to four rounds of two lanes, or longer chains. */
static void set_units(line_block *b, size_t at_once, bool one_lane) {
  b->rounds = (b->rows + b->lanes - 1) >> __builtin_ctzl(b->lanes);
  b->shape = !one_lane && b->rounds <= at_once / 4 ? TREE : b->rounds <= 4 && b->lanes > 1 ? CHAINS : CHAIN;
  b->near = b->units = b->lanes;
  if (b->shape == TREE)
    for (b->near = b->units = 1; b->units * at_once < b->rows;) b->near = b->units *= 2;
  b->far = 4 * b->near;
  if (b->shape == CHAINS) b->far = b->units = b->lanes / 2;
}

static void set_rows(const line_kernel *k, line_block *b, const hx__columns *c, unsigned log) {
  const size_t together = (size_t)1 << log;
  b->ld = c->ld << log;
  b->y_ld = c->y_ld << log;
  b->rows = (c->n + together - 1) >> log;
  b->whole = c->n >> log;
  b->together = together;
  b->lanes = k->one_lane ? 1 : HX__LANES >> log;
  b->is_filled = false;
  b->missing = k->missing;
  b->missing_factor = k->missing_factor;
  set_units(b, k->at_once, k->one_lane);
}

/* The columns of the block: `width` of them, from `first` on. The scratch memory from `scratch` on. */
static void set_columns(const line_kernel *k, line_block *b, const hx__columns *c, size_t first, size_t width,
                        element *scratch) {
  const size_t line = ALIGNMENT / sizeof(element);
  b->x = (const element *)c->x + first;
  b->y = k->is_dot ? (const element *)c->y + first : NULL;
  b->width = width;
  b->last = width < k->step ? 0 : width - k->step;
  b->between = width < k->step ? width - V_LANES : V_LANES;
  const size_t skew = width <= k->step || b->ld % line ? 0 : (uintptr_t)b->x / sizeof(element) % line % k->step;
  b->head = k->step - skew;
  b->level = whole(width + skew, k->step) * k->vectors;
  b->filled = scratch;
  b->states = scratch + FILLED_ROWS * width;
}

/* The last row, if the array does not have all of it. */
static void fill_last(const line_kernel *k, line_block *b, const hx__columns *c) {
  if (b->whole == b->rows) return;
  const size_t count = ((c->n & (b->together - 1)) - 1) * c->ld + c->lines;
  fill_row(b, b->filled + 2 * b->width, b->x + b->whole * b->ld, count, b->missing);
  if (k->is_dot) fill_row(b, b->filled + 3 * b->width, b->y + b->whole * b->y_ld, count, b->missing_factor);
}

static bool reduce_together(const line_kernel *k, const hx__columns *c, unsigned log, uint64_t *slots) {
  const size_t width = (((size_t)1 << log) - 1) * c->ld + c->lines;
  if (width < V_LANES) return false;
  uint64_t *const row = c->scratch;
  line_block b;
  set_rows(k, &b, c, log);
  set_columns(k, &b, c, 0, width, (element *)c->scratch + 2 * (width + V_LANES));
  fill_last(k, &b, c);
  reduce_block(k, &b, row);
  join_row(k, row, b.together, c->ld, c->lines, slots);
  return true;
}

static bool reduce_by_blocks(const line_kernel *k, const hx__columns *c, uint64_t *slots) {
  const size_t most = c->distant && c->scratch_bytes >= HX__COLUMNS_SCRATCH ? k->longest : k->widest;
  const unsigned log = log_together(k, c, c->distant || most < LONG_ENOUGH ? most : LONG_ENOUGH);
  if (log > 0) return reduce_together(k, c, log, slots);
  if (c->lines < V_LANES) return false;
  line_block b;
  set_rows(k, &b, c, 0);
  const bool has_states = b.units > 1 || b.shape != TREE || b.rows < k->at_once;
  const size_t widest = has_states ? most : HX__LEAST_COLUMNS_SCRATCH / sizeof(element) / k->vectors - 2 * k->step,
               blocks = c->lines <= widest ? 1 : (c->lines + widest - 1) / widest,
               even = blocks == 1 ? c->lines : whole((c->lines + blocks - 1) / blocks, k->step),
               width = even < c->lines ? even : c->lines;
  for (size_t at = 0; at < c->lines; at += width) {
    const size_t first = at + width <= c->lines ? at : c->lines - width;
    set_columns(k, &b, c, first, width, c->scratch);
    if (!has_states) b.states = c->scratch; /* what would be stored there is a slot at once */
    reduce_block(k, &b, slots + first);
  }
  return true;
}

INLINED line_kernel kernel_of(hx_op op, hx_type type, line_takes take, join_fn *join) {
  const size_t little = elements_that_fit(op, type, HX__LEAST_COLUMNS_SCRATCH),
               much = elements_that_fit(op, type, HX__COLUMNS_SCRATCH);
  return (line_kernel){.take = take,
                       .join = join,
                       .at_once = rows_at_once(op),
                       .step = piece_lines(op, type),
                       .vectors = state_vectors(op, type),
                       .widest = little < WIDEST ? little : WIDEST,
                       .longest = much,
                       .is_dot = op == HX_DOT,
                       .is_index = is_index(op),
                       .is_float = is_float_tree(op, type),
                       .one_lane = is_one_lane(op),
                       .missing = missing_element(op, type),
                       .missing_factor = missing_factor(type)};
}

/* The functions of an operation and type. */
#define TAKE_FUNCTION(name, op, type, shape)                                                       \
  static __attribute__((noinline)) void name(line_block *b, size_t first, const line_target *to) { \
    take_unit(op, type, shape, b, first, to);                                                      \
  }
#define BLOCK_FUNCTIONS(name, op, type)                                                              \
  TAKE_FUNCTION(name##_tree, op, type, TREE)                                                         \
  TAKE_FUNCTION(name##_chain, op, type, CHAIN)                                                       \
  TAKE_FUNCTION(name##_chains, op, type, CHAINS)                                                     \
  TAKE_FUNCTION(name##_single, op, type, SINGLE)                                                     \
  static void name##_join(uint64_t *row, size_t count, const uint64_t *second) {                     \
    join_slot_rows(op, type, row, count, second);                                                    \
  }                                                                                                  \
  static __attribute__((noinline)) bool name##_blocks(const hx__columns *columns, uint64_t *slots) { \
    const bool light = is_light(op, type), one_lane = is_one_lane(op);                               \
    const line_takes takes = {.tree = one_lane ? NULL : name##_tree,                                 \
                              .chain = light || one_lane ? name##_chain : NULL,                      \
                              .chains = light ? name##_chains : NULL,                                \
                              .single = one_lane ? name##_single : NULL};                            \
    const line_kernel kernel = kernel_of(op, type, takes, name##_join);                              \
    return reduce_by_blocks(&kernel, columns, slots);                                                \
  }

#endif
