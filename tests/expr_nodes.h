/* SPDX-License-Identifier: Apache-2.0
 * The nodes of a random expression; private to expr_tree.c, which draws and writes it, and expr_value.c, which computes
 * it. */
#ifndef HX_TESTS_EXPR_NODES_H
#define HX_TESTS_EXPR_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/expr_tree.h"

/* Operators with C's precedences: 15 is a primary expression. */
typedef struct row {
  const char *text;
  int precedence, operands;
  bool integers; /* no float operands */
} row;
typedef enum kind { INPUT, PARAMETER, POSITION, LITERAL, UNARY, BINARY, CONDITION, CAST, CALL } kind;

typedef struct node {
  kind kind;
  hx_type type;
  unsigned which;       /* of an input or parameter; 1: the row's number, 0: the index */
  const struct row *op; /* of an operator or function */
  uint32_t bits;        /* of a literal; of an input: 0 if it has one value per row, else 1 */
  struct node *kid[3];
} node;

struct tree {
  uint64_t seed, drawn;
  unsigned inputs, parameters, nodes;
  hx_type input_type[TREE_INPUTS], parameter_type[TREE_PARAMETERS];
  bool per_row[TREE_INPUTS];
  node node[TREE_NODES], *root;
  char text[16384], input_text[256], parameter_text[256];
  size_t length;
};

static inline bool is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static inline hx_type common(const node *a, const node *b) {
  if (!a || !b) abort();
  if (a->type == HX_F32 || b->type == HX_F32) return HX_F32;
  return a->type == HX_U32 || b->type == HX_U32 ? HX_U32 : HX_I32;
}

#endif
