/* SPDX-License-Identifier: Apache-2.0
 * The log of the OpenCL layers of the tests. */
#ifndef HX_TESTS_LAYERS_LAYER_LOG_H
#define HX_TESTS_LAYERS_LAYER_LOG_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Writes a line `layer: ...` to the file LAYER_LOG, or to stderr. */
__attribute__((format(printf, 1, 2))) static void layer_log(const char *format, ...) {
  const char *path = getenv("LAYER_LOG");
  FILE *file = path && path[0] ? fopen(path, "a") : NULL;
  FILE *out = file ? file : stderr;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  fprintf(out, "layer: %s\n", line); /* one write, so that lines of several threads do not mix */
  if (file) fclose(file);
}

#endif
