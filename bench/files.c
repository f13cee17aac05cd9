/* SPDX-License-Identifier: Apache-2.0
 * Where results go: --json, --csv, and the tables for people. */
#include <errno.h>
#include <string.h>

#include "bench/bench.h"

static FILE *json, *csv;

FILE *bench_json_file(void) { return json; }
FILE *bench_csv_file(void) { return csv; }

static bool is_output(const char *path) { return path && strcmp(path, "-") == 0; }

/* Tables make way for a file on the standard output. */
FILE *bench_human_file(const bench_options *options) {
  if (options->quiet) return NULL;
  return is_output(options->json) || is_output(options->csv) ? stderr : stdout;
}

static bool open_one(const char *path, FILE **f) {
  *f = NULL;
  if (!path) return true;
  *f = is_output(path) ? stdout : fopen(path, "w");
  if (!*f) fprintf(stderr, "hx-bench: cannot write '%s': %s\n", path, strerror(errno));
  return *f != NULL;
}

bool bench_files_open(const bench_options *options) {
  if (open_one(options->json, &json) && open_one(options->csv, &csv)) return true;
  bench_files_close();
  return false;
}

static bool close_one(FILE **f, const char *what) {
  if (!*f) return true;
  bool fine = !ferror(*f);
  fine &= (*f == stdout ? fflush(*f) : fclose(*f)) == 0;
  *f = NULL;
  if (!fine) fprintf(stderr, "hx-bench: the %s could not be written in full\n", what);
  return fine;
}

bool bench_files_close(void) {
  bool fine = close_one(&json, "JSON document");
  return close_one(&csv, "CSV table") && fine;
}
