/* SPDX-License-Identifier: Apache-2.0
 * emulate ROW WHAT FILE: executes the assembly text in FILE, which clang has made of the row's program for a GPU of
 * AMD's, on the self-test's cases. WHAT: as isa_rows prints it, sum-f32 for a reduction. Prints what is wrong, and
 * nothing else. Exit status: 0, 1 (something is wrong), 2 (usage). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cases.h"

static char *read_text(const char *path) {
  FILE *const file = fopen(path, "r");
  if (!file) return NULL;
  size_t size = 0, room = 1 << 20;
  char *text = malloc(room + 1);
  while (text) {
    size += fread(text + size, 1, room - size, file);
    if (size < room) break;
    char *const more = realloc(text, 2 * room + 1);
    if (!more) free(text);
    text = more;
    room *= 2;
  }
  fclose(file);
  if (text) text[size] = '\0';
  return text;
}

static const hx__kernel_row *row_named(const char *name) {
  size_t count;
  const hx__kernel_row *const rows = hx__kernel_rows(&count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(rows[i].name, name) == 0) return &rows[i];
  return NULL;
}

/* "argmin-u32" */
static bool read_what(const char *what, hx_op *op, hx_type *type) {
  char name[64];
  for (int o = HX_SUM; o <= (int)HX__OP_COUNT; o++)
    for (int t = HX_F32; t <= (int)HX__TYPE_COUNT; t++) {
      snprintf(name, sizeof name, "%s-%s", hx__op_names[o], hx__type_names[t]);
      if (strcmp(name, what) != 0) continue;
      *op = (hx_op)o, *type = (hx_type)t;
      return true;
    }
  return false;
}

int main(int argc, char **argv) {
  hx_op op = HX_SUM;
  hx_type type = HX_F32;
  const hx__kernel_row *const row = argc == 4 ? row_named(argv[1]) : NULL;
  if (!row || (row->kind == HX__KERNEL_REDUCE && !read_what(argv[2], &op, &type))) {
    fprintf(stderr, "usage: emulate ROW WHAT FILE\n");
    return 2;
  }
  char *const text = read_text(argv[3]);
  if (!text) {
    fprintf(stderr, "emulate: cannot read %s\n", argv[3]);
    return 2;
  }
  program program;
  const char *const why = program_read(&program, text) ? row_fault(&program, row, op, type) : program.why;
  if (why) printf("%s\n", why);
  const int status = why != NULL;
  program_free(&program);
  return status;
}
