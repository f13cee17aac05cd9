/* SPDX-License-Identifier: Apache-2.0
 * Compiles the text of a user kernel. */
#ifndef HX_EXPR_COMPILE_H
#define HX_EXPR_COMPILE_H

#include "runtime/base/expr.h"
#include "runtime/hx_map.h"

/* Limits that keep the compiler's time and stack small. */
#define HX__EXPR_BYTES 16384u /* of a text */
#define HX__EXPR_DEPTH 64u    /* brackets, unary operators and conditions inside one another */
#define HX__EXPR_WAITING 128u /* operators that wait for their second operand */
#define HX__EXPR_NAMES 128u   /* inputs, parameters and local variables */

/* The thread has entered the canonical floating-point state. HX_INVALID_ARGUMENT with the place of the error. */
hx_status hx__expr_compile(const hx_kernel_source *source, hx__expr *out);

/* Computes each value that is a whole function at once, for the CPU's steps: the bits of the result are the same. */
void hx__expr_with_functions(hx__expr *e);

#endif
