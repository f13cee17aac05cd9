/* SPDX-License-Identifier: Apache-2.0
 * Adds values to an expression; private to this folder. Values that are the same are added once, and operations of
 * constants are computed at once. */
#ifndef HX_EXPR_VALUES_H
#define HX_EXPR_VALUES_H

#include <stdbool.h>

#include "runtime/base/expr.h"

/* Each returns the value's number, or HX__EXPR_VALUES if there are too many. */
unsigned hx__expr_constant(hx__expr *e, hx_type type, uint32_t bits);
unsigned hx__expr_leaf(hx__expr *e, hx__expr_op op, hx_type type, unsigned index);
unsigned hx__expr_apply(hx__expr *e, hx__expr_op op, hx_type type, unsigned a, unsigned b, unsigned c);

/* Notes that a value is a function of others, once for each. Nothing is noted of what has become a constant or one of
 * its operands. */
void hx__expr_note_call(hx__expr *e, hx__expr_op op, const unsigned *arg, unsigned result);

/* Removes the values that the result does not need. */
void hx__expr_remove_unused(hx__expr *e);

/* The bits of an operation's result, by definition (docs/USER_KERNELS.md). */
uint32_t hx__expr_fold(hx__expr_op op, uint32_t x, uint32_t y, uint32_t z);

#endif
