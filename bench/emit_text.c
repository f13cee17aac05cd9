/* SPDX-License-Identifier: Apache-2.0
 * Sentences around printed tables. */
#include <stdarg.h>

#include "bench/bench.h"
#include "bench/emit.h"
#include "bench/progress.h"
#include "bench/terminal.h"
#include "bench/text.h"

static bool in_table; /* of Markdown, which an empty line ends */

void bench_table_begins(bool heads) {
  if (bench_is_markdown() && heads) fputc('\n', bench_human_file());
  in_table = true;
}

/* Where sentences are printed; NULL: nowhere. */
static FILE *open_text(void) {
  FILE *const f = bench_human_file();
  if (!f) return NULL;
  bench_progress_erase();
  if (in_table && bench_is_markdown()) fputc('\n', f);
  in_table = false;
  return f;
}

void bench_say(const char *format, ...) {
  FILE *const f = open_text();
  va_list list;
  if (!f) return;
  va_start(list, format);
  vfprintf(f, format, list);
  va_end(list);
}

void bench_show_output(void) {
  if (bench_human_file()) fflush(bench_human_file());
}

void bench_say_wrapped(const char *text, size_t at, size_t indent) {
  FILE *const f = open_text();
  char plain[4096];
  if (!f) return;
  bench_plain(text, plain, sizeof plain);
  if (bench_is_markdown()) {
    bench_markdown(f, plain);
    fputs("  \n", f); /* two blanks: the next sentence begins on a line of its own */
  } else {
    bench_wrap(f, plain, at, indent, bench_columns());
  }
}

void bench_note(size_t indent, const char *format, ...) {
  char text[4096];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (!bench_is_markdown()) bench_say("%*s", (int)indent, "");
  bench_say_wrapped(text, indent, indent);
}
