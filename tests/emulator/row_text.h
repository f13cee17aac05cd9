/* SPDX-License-Identifier: Apache-2.0
 * What a command line names: a row of the kernels' table, an operation and a type, and the text made of them. */
#ifndef HX_TESTS_EMULATOR_ROW_TEXT_H
#define HX_TESTS_EMULATOR_ROW_TEXT_H

#include "kernels/kernels.h"

typedef struct row_text {
  const hx__kernel_row *row;
  hx_op op; /* and type: of a reduction */
  hx_type type;
  char *text; /* to be freed */
} row_text;

/* what: "argmin-u32" for a reduction. False: there is no such row or file. */
bool row_text_read(row_text *to, const char *row, const char *what, const char *path);

#endif
