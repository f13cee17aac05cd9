/* SPDX-License-Identifier: Apache-2.0
 * readme_test README: its environment table has the rows and columns of the library's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/config.h"

static char *read_all(const char *path) {
  FILE *const file = fopen(path, "rb");
  static char text[1 << 20];
  if (!file) return NULL;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  const char *const text = read_all(argc > 1 ? argv[1] : "README.md");
  size_t count, listed = 0, missing = 0;
  const hx__config_row *const rows = hx__config_rows(&count);
  if (!text) return printf("readme_test: %s cannot be read\n", argc > 1 ? argv[1] : "README.md"), 1;
  for (size_t i = 0; i < count; i++) {
    char row[1024];
    snprintf(row, sizeof row, "\n| `%s` | %s | %s | %s |\n", rows[i].name, rows[i].help, rows[i].values, rows[i].deflt);
    if (strstr(text, row)) continue;
    printf("not in the README:%s", row);
    missing++;
  }
  for (const char *at = text; (at = strstr(at, "\n| `HX_")) != NULL; at++) listed++;
  if (listed != count) printf("the README lists %zu variables, the library has %zu\n", listed, count);
  printf("readme_test: %zu variables, %zu missing\n", count, missing);
  return missing != 0 || listed != count;
}
