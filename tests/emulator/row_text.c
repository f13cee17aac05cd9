/* SPDX-License-Identifier: Apache-2.0
 * Reads the arguments of a command line. */
#include "tests/emulator/row_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cases.h"

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

static bool read_fields(const char *what, unsigned count, hx__kernel_fields *fields) {
  const char *const form = strrchr(what, '-');
  char first[64];
  hx_op op;
  hx_type type;
  if (!form) return false;
  snprintf(first, sizeof first, "%.*s", (int)(form - what), what);
  for (unsigned i = 0; i < HX__FIELDS_CASES && read_what(first, &op, &type); i++) {
    if (strcmp(form + 1, hx__fields_case_names[i]) != 0) continue;
    *fields = hx__case_fields((hx__fields_case)i, hx__reduction_index(op, type), count);
    return true;
  }
  return false;
}

bool row_text_read(row_text *to, const char *row, const char *what, const char *path) {
  *to = (row_text){.row = row_named(row), .op = HX_SUM, .type = HX_F32};
  if (!to->row || (to->row->kind == HX__KERNEL_REDUCE && !read_what(what, &to->op, &to->type))) return false;
  if (to->row->kind == HX__KERNEL_FIELDS && !read_fields(what, to->row->fields, &to->fields)) return false;
  to->text = read_text(path);
  return to->text;
}
