/* SPDX-License-Identifier: Apache-2.0
 * Values, rows and documents as text, CSV and JSON. */
#include "bench/emit.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/text.h"

/* Reads a value that is a double. Returns false if values of its kind are not. */
static bool real_of(bench_value_kind kind, const void *value, double *number) {
  if (kind < BENCH_NUMBER || kind == BENCH_BYTES) return false;
  memcpy(number, value, sizeof *number);
  return true;
}

static uint64_t integer_of(bench_value_kind kind, const void *value) {
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (kind == BENCH_FLAG || kind == BENCH_BIT) return *(const bool *)value;
  if (kind != BENCH_UINT) return memcpy(&wide, value, sizeof wide), wide;
  return memcpy(&narrow, value, sizeof narrow), narrow;
}

static bool is_text(bench_value_kind kind) { return kind <= BENCH_LITERAL; }

static const char *text_of(bench_value_kind kind, const void *value) {
  return kind == BENCH_CHARS ? value : *(const char *const *)value;
}

static bool is_empty(bench_value_kind kind, const void *value) {
  double number;
  if (is_text(kind)) return text_of(kind, value) == NULL;
  return !real_of(kind, value, &number) && integer_of(kind, value) == 0;
}

/* Formats an integer, or a number as it is written to files. The text is empty if the number is not finite. */
static void number_text(bench_value_kind kind, const void *value, char *text, size_t bytes) {
  double number;
  text[0] = '\0';
  if (real_of(kind, value, &number)) {
    if (isfinite(number)) snprintf(text, bytes, "%.9g", number);
  } else if (kind == BENCH_FLAG || kind == BENCH_BIT) {
    snprintf(text, bytes, "%s", integer_of(kind, value) ? "true" : "false");
  } else {
    snprintf(text, bytes, kind == BENCH_HEX ? "%016" PRIx64 : "%" PRIu64, integer_of(kind, value));
  }
}

static void cell_text(const bench_column *column, const void *value, char *text, size_t bytes) {
  double number = NAN;
  const bool real = real_of(column->kind, value, &number);
  if ((column->flags & BENCH_OPTIONAL) && is_empty(column->kind, value))
    snprintf(text, bytes, "-");
  else if (is_text(column->kind))
    bench_plain(text_of(column->kind, value), text, bytes);
  else if (column->kind == BENCH_TIME)
    bench_time_text(number, text, bytes);
  else if (column->kind == BENCH_JOULES)
    bench_joules_text(number, text, bytes);
  else if (column->kind == BENCH_BYTES)
    bench_bytes_text(integer_of(column->kind, value), text, bytes);
  else if (!real)
    number_text(column->kind, value, text, bytes);
  else if (!isfinite(number))
    snprintf(text, bytes, "%s", column->flags & BENCH_UNKNOWN ? "?" : "-");
  else if (column->kind == BENCH_PERCENT || column->kind == BENCH_PERCENT_JOINED)
    snprintf(text, bytes, column->kind == BENCH_PERCENT ? "%.*f %%" : "%.*f%%", column->digits, 100 * number);
  else
    snprintf(text, bytes, "%.*f", column->digits, number);
}

/* Prints a line of the table: the cells of a record, or the heads. Returns the column after the last character. */
static size_t print_line(FILE *f, const bench_table *table, const char *const *titles, const void *record) {
  size_t at = 0;
  for (size_t i = 0; i < table->count; i++) {
    const bench_column *const c = &table->columns[i];
    char text[256];
    if (!c->head) continue;
    if (record)
      cell_text(c, (const char *)record + c->offset, text, sizeof text);
    else
      snprintf(text, sizeof text, "%s", *c->head || !titles ? c->head : *titles++);
    const int most = record && c->flags & BENCH_CUT ? abs(c->width) : (int)sizeof text;
    at += (size_t)fprintf(f, "%*s%*.*s", c->gap + (at != 0), "", c->width, most, text);
  }
  return at;
}

size_t bench_print_cells(const bench_table *table, const void *record) {
  FILE *const f = bench_human_file();
  return f ? print_line(f, table, NULL, record) : 0;
}

void bench_print_head(const bench_table *table, const char *const *titles) {
  FILE *const f = bench_human_file();
  if (f) print_line(f, table, titles, NULL);
  bench_say("\n");
}

void bench_print_row(const bench_table *table, const void *record) {
  bench_print_cells(table, record);
  bench_say("\n");
}

void bench_say(const char *format, ...) {
  FILE *const f = bench_human_file();
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
  FILE *const f = bench_human_file();
  char plain[4096];
  if (f) bench_wrap(f, bench_plain(text, plain, sizeof plain), at, indent, BENCH_COLUMNS);
}

static void csv_value(FILE *f, const bench_column *column, const void *value) {
  char text[HX_MAX_DEVICES * 64];
  if ((column->flags & BENCH_OPTIONAL) && is_empty(column->kind, value)) return;
  if (is_text(column->kind)) {
    if (text_of(column->kind, value)) bench_csv_string(f, text_of(column->kind, value));
  } else if (column->kind == BENCH_NAMES) {
    bench_join_names(value, text, sizeof text);
    bench_csv_string(f, text);
  } else if (column->kind == BENCH_BIT) {
    fputc('0' + *(const bool *)value, f);
  } else {
    number_text(column->kind, value, text, sizeof text);
    fputs(text, f);
  }
}

/* Writes the values of a record, or the names of the columns. */
static void csv_line(FILE *f, const bench_table *table, const void *record) {
  const char *comma = "";
  for (size_t i = 0; i < table->count; i++) {
    const bench_column *const column = &table->columns[i];
    if (!column->name || (column->flags & BENCH_NOT_CSV)) continue;
    fputs(comma, f);
    if (record)
      csv_value(f, column, (const char *)record + column->offset);
    else
      fputs(column->name, f);
    comma = ",";
  }
  fputc('\n', f);
}

void bench_csv_head(const bench_table *table) {
  static const bench_table *headed;
  FILE *const f = bench_csv_file();
  if (f && headed != table) csv_line(f, table, NULL);
  headed = table;
}

void bench_csv_row(const bench_table *table, const void *record) {
  bench_csv_head(table);
  if (bench_csv_file()) csv_line(bench_csv_file(), table, record);
}

static unsigned depth; /* open objects and lists of the JSON document */
static bool followed;  /* the next member or element needs a comma before it */

/* Each list of the document, and each of its elements, begins on a new line. */
static void json_next(FILE *f, const char *name, bool nested) {
  const bool line = nested && (depth == 1 || (depth == 2 && !name));
  fputs(followed ? line ? "," : ", " : "", f);
  if (line) fprintf(f, "\n%*s", depth == 1 ? 2 : 4, "");
  if (name) fprintf(f, "\"%s\": ", name);
  followed = true;
}

void bench_json_open(const char *name, char bracket) {
  FILE *const f = bench_json_file();
  if (!f) return;
  json_next(f, name, true);
  fputc(bracket, f);
  depth++;
  followed = false;
}

void bench_json_close(char bracket) {
  FILE *const f = bench_json_file();
  if (!f) return;
  fputc(bracket, f);
  depth--;
  followed = true;
}

void bench_json_value(const char *name, bench_value_kind kind, const void *value) {
  FILE *const f = bench_json_file();
  if (!f) return;
  if (kind == BENCH_NAMES) {
    bench_json_open(name, '[');
    for (const char *const *names = value; *names; names++) bench_json_value(NULL, BENCH_STRING, names);
    bench_json_close(']');
    return;
  }
  if (kind == BENCH_UINTS_3) {
    bench_json_open(name, '[');
    for (int i = 0; i < 3; i++) bench_json_value(NULL, BENCH_UINT, (const uint32_t *)value + i);
    bench_json_close(']');
    return;
  }
  json_next(f, name, false);
  if (is_text(kind) && kind != BENCH_LITERAL) {
    bench_json_string(f, text_of(kind, value));
    return;
  }
  if (kind == BENCH_LITERAL) {
    const char *const literal = text_of(kind, value);
    fputs(literal ? literal : "null", f);
    return;
  }
  char text[32];
  number_text(kind, value, text, sizeof text);
  const char *const quote = kind == BENCH_HEX ? "\"" : "";
  fprintf(f, "%s%s%s", quote, *text ? text : "null", quote);
}

void bench_json_text(const char *name, const char *value) { bench_json_value(name, BENCH_STRING, &value); }
void bench_json_count(const char *name, uint64_t value) { bench_json_value(name, BENCH_SIZE, &value); }
void bench_json_flag(const char *name, bool value) { bench_json_value(name, BENCH_FLAG, &value); }

void bench_json_members(const bench_table *table, const void *record) {
  for (size_t i = 0; i < table->count; i++) {
    const bench_column *const column = &table->columns[i];
    const void *const value = (const char *)record + column->offset;
    if (!column->name || (column->flags & BENCH_NOT_JSON)) continue;
    if ((column->flags & BENCH_OPTIONAL) && is_empty(column->kind, value)) continue;
    bench_json_value(column->name, column->kind, value);
  }
}

void bench_json_row(const bench_table *table, const void *record) {
  bench_json_open(NULL, '{');
  bench_json_members(table, record);
  bench_json_close('}');
}

void bench_json_begin(const char *command) {
  bench_json_open(NULL, '{');
  bench_json_count("schema", 1);
  bench_json_text("program", "hx-bench");
  bench_json_text("command", command);
}

void bench_json_end(void) {
  bench_json_flag("interrupted", bench_stopped());
  bench_json_close('}');
  if (bench_json_file()) fputc('\n', bench_json_file());
}

void bench_store_row(const bench_table *table, const void *record) {
  bench_json_row(table, record);
  bench_csv_row(table, record);
  bench_measured();
}

void bench_emit_row(const bench_table *table, const void *record) {
  bench_print_row(table, record);
  bench_show_output();
  bench_store_row(table, record);
}
