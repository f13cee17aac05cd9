/* SPDX-License-Identifier: Apache-2.0
 * One leaf of each of many lines that lie side by side: element i of line c is x[i*ld + c], as in the columns of a
 * row-major matrix. A vector holds one element of V_LANES lines, so that loads are contiguous, and every line keeps its
 * own 128 lanes of docs/ARITHMETIC.md. There are two ways, which have the same bits. */
#ifndef HX_CPU_LINES_COLUMNS_H
#define HX_CPU_LINES_COLUMNS_H

#include "cpu/lines_groups.h"
#include "cpu/lines_rounds.h"

#define FEWEST_LINES 64u      /* of fewer lines a row costs more than its elements */
#define FEWEST_ELEMENTS 8192u /* of fewer the missing rows of a group cost more than states in memory */
#define FEW_ROUNDS 4u
#define WIDE_LINES 256u /* lines of more rounds gain only if there are that many */

/* Whether groups are faster: measured for f32 and i32, with one thread. */
INLINED bool groups_are_faster(hx_op op, hx_type type, const hx__columns *c) {
  if (type != HX_F32 && op == HX_PROD) return false; /* multiplications take longer than states in memory */
  if (c->lines < FEWEST_LINES || c->lines * c->n < FEWEST_ELEMENTS) return false;
  return c->n <= HX__LANES || (is_light(op, type) && (c->n <= FEW_ROUNDS * HX__LANES || c->lines >= WIDE_LINES));
}

#endif
