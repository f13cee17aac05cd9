/* SPDX-License-Identifier: Apache-2.0
 * Reads files of shapes, with one product per line: `m n k` or `m n k ta tb` (1: transposed). # begins a comment. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

#define MOST_SIDE ((size_t)1 << 24)

/* Reads the numbers of a line, up to a #. Returns how many there are; SIZE_MAX: there is something else, or there are
 * more than `room`. */
static size_t read_line(const char *p, size_t *numbers, size_t room) {
  size_t count = 0;
  for (;;) {
    p += strspn(p, " \t\r\n");
    if (*p == '\0' || *p == '#') return count;
    if (*p < '0' || *p > '9' || count == room) return SIZE_MAX;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(p, &end, 10);
    if (errno || value > MOST_SIDE) return SIZE_MAX;
    numbers[count++] = (size_t)value;
    p = end;
  }
}

static bool read_shape(const char *line, bench_size *size, bool *empty) {
  size_t v[5] = {0}, count = read_line(line, v, 5);
  *empty = count == 0;
  *size = (bench_size){.m = v[0], .n = v[1], .k = v[2], .trans_a = v[3] == 1, .trans_b = v[4] == 1};
  return *empty || ((count == 3 || count == 5) && v[0] && v[1] && v[2] && v[3] <= 1 && v[4] <= 1);
}

static bool read_file(const char *path, bench_options *options) {
  FILE *f = fopen(path, "r");
  if (!f) {
    fprintf(stderr, "hx-bench: cannot read '%s': %s\n", path, strerror(errno));
    return false;
  }
  char line[256];
  bool fine = true, empty;
  size_t before = options->size_count;
  for (size_t number = 1; fine && fgets(line, sizeof line, f); number++) {
    bench_size size;
    fine = read_shape(line, &size, &empty);
    if (!fine) fprintf(stderr, "hx-bench: %s:%zu is not `m n k` or `m n k ta tb`\n", path, number);
    if (!fine || empty) continue;
    size.file = (unsigned)options->file_count;
    fine = options->size_count < BENCH_MAX_SIZES;
    if (!fine) fprintf(stderr, "hx-bench: more than %d shapes in all\n", BENCH_MAX_SIZES);
    if (fine) options->sizes[options->size_count++] = size;
  }
  if (fine && ferror(f)) {
    fprintf(stderr, "hx-bench: cannot read '%s': %s\n", path, strerror(errno));
    fine = false;
  }
  fclose(f);
  if (fine && options->size_count == before) {
    fprintf(stderr, "hx-bench: there is no shape in '%s'\n", path);
    return false;
  }
  return fine;
}

bool bench_shapes_read(const char *list, bench_options *options) {
  for (const char *p = list;;) {
    size_t length = strcspn(p, ",");
    if (length == 0 || options->file_count == BENCH_MAX_FILES) {
      fprintf(stderr, "hx-bench: --shapes takes one to %d files\n", BENCH_MAX_FILES);
      return false;
    }
    char *path = strndup(p, length);
    if (!path) return false;
    options->shapes[options->file_count++] = path; /* never freed */
    if (!read_file(path, options)) return false;
    p += length;
    if (*p++ == '\0') return true;
  }
}
