/* SPDX-License-Identifier: Apache-2.0
 * Random expressions as trees, which are written as text for hx_compile and computed by C's own operators, one element
 * at a time. Written from docs/USER_KERNELS.md alone; shares no code with the library. */
#ifndef HX_TESTS_EXPR_TREE_H
#define HX_TESTS_EXPR_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/hx.h"

#define TREE_INPUTS 8
#define TREE_PARAMETERS 8
#define TREE_NODES 800

/* A kernel: inputs x0, x1, ..., parameters p0, p1, ... */
typedef struct tree tree;

/* Numbers are drawn from the seed. depth: operations inside one another. */
tree *tree_new(uint64_t seed, unsigned depth);
tree *tree_beside(const tree *t, uint64_t seed, unsigned depth); /* of the same inputs and parameters */
void tree_free(tree *t);

const char *tree_text(const tree *t);
const char *tree_inputs(const tree *t);     /* "float x0, row int x1" */
const char *tree_parameters(const tree *t); /* the same of p0, p1 */
unsigned tree_input_count(const tree *t);
unsigned tree_parameter_count(const tree *t);
hx_type tree_input_type(const tree *t, unsigned i);
bool tree_input_is_per_row(const tree *t, unsigned i);
hx_type tree_type(const tree *t);

/* The bits of the result for element i of one row; NaN as 0x7fc00000. */
uint32_t tree_value(const tree *t, const uint32_t *const inputs[], const hx_value *parameters, size_t i);

#endif
