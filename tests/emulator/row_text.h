/* SPDX-License-Identifier: Apache-2.0
 * The arguments of a command line: a row of the kernel table, an operation and a type, and the text compiled from them.
 * */
#ifndef HX_TESTS_EMULATOR_ROW_TEXT_H
#define HX_TESTS_EMULATOR_ROW_TEXT_H

#include "kernels/kernels.h"

typedef struct row_text {
  const hx__kernel_row *row;
  hx_op op; /* op and type: of a reduction */
  hx_type type;
  hx__kernel_fields fields; /* of a program of several fields */
  char *text;               /* freed by the caller */
} row_text;

/* what: for a reduction for example "argmin-u32", for several fields "argmin-u32-shared", with the first field and a
 * name of hx__fields_case_names. Returns false if there is no such row or file. */
bool row_text_read(row_text *to, const char *row, const char *what, const char *path);

#endif
