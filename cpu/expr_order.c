/* SPDX-License-Identifier: Apache-2.0
 * The order in which the operations of an expression are computed. */
#include <string.h>

#include "cpu/expr_coder.h"

static void append(coder *c, unsigned v) {
  c->place[v] = (uint16_t)c->operations;
  c->order[c->operations++] = (uint16_t)v;
}

/* Whether operand i of v is computed before those that v takes from the accumulator: what is chosen from before the
 * condition, and a summand before a product. */
static bool comes_first(const coder *c, unsigned v, unsigned i) {
  const hx__expr_value *const value = &c->e->value[v];
  if (value->op == HX__EXPR_SELECT) return i > 0;
  if (value->op == HX__EXPR_FMA_F) return i == 2;
  return value->op == HX__EXPR_ADD_F &&
         !(c->e->value[value->arg[i]].op == HX__EXPR_MUL_F && c->uses[value->arg[i]] == 1);
}

/* Of two operands, the one with the greater rank is computed first: the one that needs more temporaries, or is used
 * again, so that it has to be saved anyway. */
static unsigned rank_of(const coder *c, const uint16_t *needs, unsigned v, unsigned i) {
  const unsigned operand = c->e->value[v].arg[i];
  return (comes_first(c, v, i) ? 2u * HX__EXPR_VALUES : 0) + 2u * needs[operand] + (c->uses[operand] > 1);
}

/* The operands of v that are operations, in the order in which they are computed; returns how many. */
static unsigned order_operands(const coder *c, const uint16_t *needs, unsigned v, unsigned ordered[3]) {
  const hx__expr_value *const value = &c->e->value[v];
  unsigned count = 0, rank[3];
  for (unsigned i = 0; i < hx__expr_operands((hx__expr_op)value->op); i++) {
    if (hx__expr_is_leaf(c, value->arg[i])) continue;
    const unsigned own = rank_of(c, needs, v, i);
    unsigned at = count++;
    for (; at && rank[at - 1] < own; at--) rank[at] = rank[at - 1], ordered[at] = ordered[at - 1];
    rank[at] = own;
    ordered[at] = value->arg[i];
  }
  return count;
}

/* How many values are in the accumulator and in temporaries while an operation and all that it needs are computed, if
 * nothing of it is used elsewhere. */
static void count_needs(const coder *c, uint16_t *needs) {
  for (unsigned v = 0; v < c->e->count; v++) {
    unsigned ordered[3];
    const unsigned count = hx__expr_is_leaf(c, v) ? 0 : order_operands(c, needs, v, ordered);
    needs[v] = hx__expr_is_leaf(c, v) ? 0 : 1;
    for (unsigned i = 0; i < count; i++)
      if (needs[v] < needs[ordered[i]] + i) needs[v] = (uint16_t)(needs[ordered[i]] + i);
  }
}

/* Depth first from a result. Not recursive, because calls of hx need little stack. */
static void order_result(coder *c, const uint16_t *needs, unsigned result) {
  uint16_t open[HX__EXPR_VALUES];
  unsigned depth = 0;
  if (!hx__expr_is_leaf(c, result) && c->place[result] == NONE) open[depth++] = (uint16_t)result;
  while (depth) {
    const unsigned v = open[depth - 1];
    unsigned ordered[3], i = 0;
    const unsigned count = order_operands(c, needs, v, ordered);
    while (i < count && c->place[ordered[i]] != NONE) i++;
    if (i < count) {
      open[depth++] = (uint16_t)ordered[i];
    } else {
      append(c, v);
      depth--;
    }
  }
}

static void set_order(coder *c) {
  uint16_t needs[HX__EXPR_VALUES];
  count_needs(c, needs);
  memset(c->place, 0xff, sizeof c->place);
  for (unsigned o = 0; o < c->e->outputs; o++) order_result(c, needs, c->e->result[o]);
}

/* The order of the list. Depth first, a value that is used in two distant places may wait in a temporary while all that
 * is between them is computed, so that a text may need too many. */
static void set_list_order(coder *c) {
  for (unsigned v = 0; v < c->e->count; v++)
    if (!hx__expr_is_leaf(c, v)) append(c, v);
}

void hx__expr_set_order(coder *c, bool in_list_order) { (in_list_order ? set_list_order : set_order)(c); }
