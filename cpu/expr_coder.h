/* SPDX-License-Identifier: Apache-2.0
 * What the two files that make steps of a list of values share: expr_order.c and expr_code.c. */
#ifndef HX_CPU_EXPR_CODER_H
#define HX_CPU_EXPR_CODER_H

#include "runtime/base/expr_code.h"

#define NONE UINT16_MAX

typedef struct coder {
  const hx__expr *e;
  hx__expr_code *code;
  unsigned accumulator;            /* the value in it */
  uint16_t order[HX__EXPR_VALUES]; /* the operations as they are computed */
  uint16_t place[HX__EXPR_VALUES]; /* of an operation in that order */
  unsigned operations;
  uint16_t uses[HX__EXPR_VALUES];     /* that are left */
  bool is_mask[HX__EXPR_VALUES];      /* all ones or 0, where the value is 1 or 0 */
  bool joined[HX__EXPR_VALUES];       /* a product or comparison that is computed by the operation that uses it */
  uint8_t temporary[HX__EXPR_VALUES]; /* where a value has been saved */
  bool copied[HX__EXPR_VALUES];       /* an input that is an output, too, and has been saved */
  bool taken[HX__EXPR_GROUPS];
  const char *exceeded; /* the first limit that was; NULL: none */
} coder;

static inline bool hx__expr_is_leaf(const coder *c, unsigned v) { return c->e->value[v].op < HX__EXPR_INDEX; }

/* Fills c->order, c->place and c->operations: depth first from the results, or in the order of the list. */
void hx__expr_set_order(coder *c, bool in_list_order);

#endif
