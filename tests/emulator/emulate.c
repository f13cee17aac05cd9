/* SPDX-License-Identifier: Apache-2.0
 * emulate ROW WHAT FILE: executes the assembly text in FILE, which clang has made of the row's program for a GPU of
 * AMD's, on the self-test's cases. WHAT: as isa_rows prints it, sum-f32 for a reduction. Prints what is wrong, and
 * nothing else. Exit status: 0, 1 (something is wrong), 2 (usage). */
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
      program_read(&program, row.text) ? row_fault(&program, row.row, row.op, row.type) : program.why;
  if (why) printf("%s\n", why);
  const int status = why != NULL;
  program_free(&program);
  return status;
}
