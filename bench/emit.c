/* SPDX-License-Identifier: Apache-2.0
 * Values, rows and documents as text, CSV and JSON. */
#include "bench/emit.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/text.h"

/* The value as a number, and whether its kind has one. */
static bool numeric(bench_value_kind kind, const void *value, double *number) {
  if (kind < BENCH_NUMBER || kind == BENCH_BYTES) return false;
  memcpy(number, value, sizeof *number);
  return true;
}

static uint64_t integer(bench_value_kind kind, const void *value) {
  uint64_t wide = 0;
  uint32_t narrow = 0;
  if (kind == BENCH_FLAG) return *(const bool *)value;
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
  return !numeric(kind, value, &number) && integer(kind, value) == 0;
}

static void join_names(const char *const *names, char *text, size_t bytes) {
  size_t used = 0;
  text[0] = '\0';
  for (; *names && used < bytes; names++)
    used += (size_t)snprintf(text + used, bytes - used, "%s%.60s", used ? " + " : "", *names);
}

/* An integer, or a number as files have it; text is empty for what is not finite. */
static void number_text(bench_value_kind kind, const void *value, char *text, size_t bytes) {
  double number;
  text[0] = '\0';
  if (numeric(kind, value, &number)) {
    if (isfinite(number)) snprintf(text, bytes, "%.9g", number);
  } else if (kind == BENCH_FLAG) {
    snprintf(text, bytes, "%s", integer(kind, value) ? "true" : "false");
  } else {
    snprintf(text, bytes, kind == BENCH_HEX ? "%016" PRIx64 : "%" PRIu64, integer(kind, value));
  }
}

static void cell_text(const bench_column *column, const void *value, char *text, size_t bytes) {
  double number = NAN;
  const bool real = numeric(column->kind, value, &number);
  if (is_text(column->kind))
    snprintf(text, bytes, "%s", text_of(column->kind, value) ? text_of(column->kind, value) : "-");
  else if (column->kind == BENCH_NAMES)
    join_names(value, text, bytes);
  else if (column->kind == BENCH_TIME)
    bench_time_text(number, text, bytes);
  else if (column->kind == BENCH_JOULES)
    bench_joules_text(number, text, bytes);
  else if (column->kind == BENCH_BYTES)
    bench_bytes_text(integer(column->kind, value), text, bytes);
  else if (!real)
    number_text(column->kind, value, text, bytes);
  else if (!isfinite(number))
    snprintf(text, bytes, "%s", column->flags & BENCH_UNKNOWN ? "?" : "-");
  else if (column->kind == BENCH_PERCENT || column->kind == BENCH_PERCENT_JOINED)
    snprintf(text, bytes, column->kind == BENCH_PERCENT ? "%.*f %%" : "%.*f%%", column->digits, 100 * number);
  else
    snprintf(text, bytes, "%.*f", column->digits, number);
}

static size_t print_cell(FILE *f, const bench_column *column, bool first, const char *text) {
  return (size_t)fprintf(f, "%*s%*s", column->gap + !first, "", column->width, text);
}

void bench_print_head(FILE *f, const bench_table *table, const char *const *titles) {
  bool first = true;
  for (size_t i = 0; i < table->count; i++) {
    const bench_column *const column = &table->columns[i];
    if (!column->head) continue;
    print_cell(f, column, first, *column->head ? column->head : *titles++);
    first = false;
  }
  fputc('\n', f);
}

size_t bench_print_cells(FILE *f, const bench_table *table, const void *record) {
  size_t at = 0;
  for (size_t i = 0; i < table->count; i++) {
    const bench_column *const column = &table->columns[i];
    char text[256];
    if (!column->head) continue;
    cell_text(column, (const char *)record + column->offset, text, sizeof text);
    at += print_cell(f, column, at == 0, text);
  }
  return at;
}

void bench_print_row(FILE *f, const bench_table *table, const void *record) {
  bench_print_cells(f, table, record);
  fputc('\n', f);
}

static bool in_csv(const bench_column *column) { return column->name && !(column->flags & BENCH_NOT_CSV); }

void bench_csv_head(const bench_table *table) {
  static const bench_table *headed;
  FILE *const f = bench_csv_file();
  if (!f || headed == table) return;
  headed = table;
  const char *comma = "";
  for (size_t i = 0; i < table->count; i++) {
    if (!in_csv(&table->columns[i])) continue;
    fprintf(f, "%s%s", comma, table->columns[i].name);
    comma = ",";
  }
  fputc('\n', f);
}

static void csv_value(FILE *f, const bench_column *column, const void *value) {
  char text[HX_MAX_DEVICES * 64];
  if ((column->flags & BENCH_OPTIONAL) && is_empty(column->kind, value)) return;
  if (is_text(column->kind)) {
    if (text_of(column->kind, value)) bench_csv_string(f, text_of(column->kind, value));
  } else if (column->kind == BENCH_NAMES) {
    join_names(value, text, sizeof text);
    bench_csv_string(f, text);
  } else {
    number_text(column->kind, value, text, sizeof text);
    fputs(text, f);
  }
}

void bench_csv_row(const bench_table *table, const void *record) {
  FILE *const f = bench_csv_file();
  if (!f) return;
  bench_csv_head(table);
  const char *comma = "";
  for (size_t i = 0; i < table->count; i++) {
    const bench_column *const column = &table->columns[i];
    if (!in_csv(column)) continue;
    fputs(comma, f);
    csv_value(f, column, (const char *)record + column->offset);
    comma = ",";
  }
  fputc('\n', f);
}

static unsigned depth; /* of the JSON document: objects and lists that are open */
static bool followed;  /* there is a member or element before the next one */

/* Lists of the document begin a line, and so do their elements. */
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
  char text[32];
  if (kind == BENCH_LITERAL)
    snprintf(text, sizeof text, "%s", text_of(kind, value) ? text_of(kind, value) : "");
  else
    number_text(kind, value, text, sizeof text);
  const char *const quote = kind == BENCH_HEX ? "\"" : "";
  fprintf(f, "%s%s%s", quote, *text ? text : "null", quote);
}

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
  static const uint64_t schema = 1;
  static const char *const program = "hx-bench";
  bench_json_open(NULL, '{');
  bench_json_value("schema", BENCH_SIZE, &schema);
  bench_json_value("program", BENCH_STRING, &program);
  bench_json_value("command", BENCH_STRING, &command);
}

void bench_json_end(void) {
  FILE *const f = bench_json_file();
  const bool stopped = bench_stopped();
  bench_json_value("interrupted", BENCH_FLAG, &stopped);
  bench_json_close('}');
  if (f) fputc('\n', f);
}

void bench_emit_row(const bench_table *table, const void *record) {
  bench_json_row(table, record);
  bench_csv_row(table, record);
}
