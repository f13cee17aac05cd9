/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bench/bench.h"

#define USUAL_COLUMNS 80

static size_t clamp(size_t columns) {
  return columns < BENCH_LEAST_COLUMNS ? BENCH_LEAST_COLUMNS : columns > BENCH_COLUMNS ? BENCH_COLUMNS : columns;
}

size_t bench_columns_of(FILE *f) {
  struct winsize size;
  const int fd = fileno(f);
  if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col) return clamp(size.ws_col);
  const char *const variable = getenv("COLUMNS");
  const unsigned long value = variable ? strtoul(variable, NULL, 10) : 0;
  return clamp(value ? value : USUAL_COLUMNS);
}

size_t bench_columns(void) { return bench_columns_of(bench_human_file() ? bench_human_file() : stdout); }

static bool shows_colours(FILE *f) {
  const char *const refused = getenv("NO_COLOR"), *const terminal = getenv("TERM");
  return !(refused && *refused) && isatty(fileno(f)) && terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

void bench_set_style(bench_style style) {
  static const char *const codes[] = {[BENCH_PLAIN] = "\033[0m", [BENCH_BOLD] = "\033[1m", [BENCH_RED] = "\033[1;31m"};
  FILE *const f = bench_human_file();
  if (f && shows_colours(f)) fputs(codes[style], f);
}
