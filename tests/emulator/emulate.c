/* SPDX-License-Identifier: Apache-2.0
 * emulate ROW WHAT FILE: executes the assembly text in FILE on the self-test's cases. clang has compiled it from the
 * row's program for an AMD GPU. WHAT is as isa_rows prints it, for example sum-f32 for a reduction. Prints only what is
 * wrong. Exit status: 0; 1: something is wrong; 2: usage. */
#include <stdio.h>

#include "tests/emulator/cases.h"
#include "tests/emulator/row_text.h"

int main(int argc, char **argv) {
  row_text row;
  if (argc != 4 || !row_text_read(&row, argv[1], argv[2], argv[3])) {
    fprintf(stderr, "usage: emulate ROW WHAT FILE\n");
    return 2;
  }
  program program;
  const char *const why =
      program_read(&program, row.text) ? row_fault(&program, row.row, row.op, row.type, row.fields) : program.why;
  if (why) printf("%s\n", why);
  const int status = why != NULL;
  program_free(&program);
  return status;
}
