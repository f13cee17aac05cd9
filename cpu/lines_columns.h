/* SPDX-License-Identifier: Apache-2.0
 * One leaf of each of many lines that lie side by side: element i of line c is x[i*ld + c], as in the columns of a
 * row-major matrix. A vector holds one element of V_LANES lines, so that loads are contiguous, and every line keeps its
 * own 128 lanes of docs/ARITHMETIC.md, or one if the order of its elements does not matter. There are two ways, which
 * have the same bits. */
#ifndef HX_CPU_LINES_COLUMNS_H
#define HX_CPU_LINES_COLUMNS_H

#include "cpu/lines_blocks.h"
#include "cpu/lines_rounds.h"

#define FEW_ROUNDS 4u
#define WIDE_LINES 256u /* lines of more rounds gain only if there are that many */

/* Whether blocks are faster: measured for f32 and i32, with one thread. */
INLINED bool blocks_are_faster(hx_op op, hx_type type, const hx__columns *c) {
  if (is_one_lane(op)) return true;
  const size_t in_tree = rows_at_once(op) == MOST_AT_ONCE ? 2 * HX__LANES : HX__LANES;
  return c->n <= in_tree || (is_light(op, type) && (c->n <= FEW_ROUNDS * HX__LANES || c->lines >= WIDE_LINES));
}

#endif
