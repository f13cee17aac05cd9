/* SPDX-License-Identifier: Apache-2.0
 * Rows and documents as CSV, JSON, and JSON Lines. */
#include "bench/emit.h"

#include <string.h>

#include "bench/bench.h"
#include "bench/text.h"
#include "bench/values.h"

static void csv_value(FILE *f, const bench_column *column, const void *value) {
  char text[HX_MAX_DEVICES * 64];
  if ((column->flags & BENCH_OPTIONAL) && bench_value_is_empty(column->kind, value)) return;
  if (bench_value_is_text(column->kind)) {
    if (bench_value_text(column->kind, value)) bench_csv_string(f, bench_value_text(column->kind, value));
  } else if (column->kind == BENCH_NAMES) {
    bench_join_names(value, text, sizeof text);
    bench_csv_string(f, text);
  } else if (column->kind == BENCH_BIT) {
    fputc('0' + *(const bool *)value, f);
  } else {
    bench_value_print(column->kind, value, text, sizeof text);
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

/* A JSON text that is being written. */
typedef struct writer {
  unsigned depth; /* open objects and lists */
  bool followed;  /* the next member or element needs a comma before it */
  bool one_line;
} writer;

static writer document, line = {.one_line = true};
static writer *now = &document; /* what the functions below write to */

static FILE *json_file(void) { return now->one_line ? bench_jsonl_file() : bench_json_file(); }

/* Each list of the document, and each of its elements, begins on a new line. */
static void json_next(FILE *f, const char *name, bool nested) {
  const bool fresh = nested && !now->one_line && (now->depth == 1 || (now->depth == 2 && !name));
  fputs(now->followed ? fresh ? "," : ", " : "", f);
  if (fresh) fprintf(f, "\n%*s", now->depth == 1 ? 2 : 4, "");
  if (name) fprintf(f, "\"%s\": ", name);
  now->followed = true;
}

void bench_json_open(const char *name, char bracket) {
  FILE *const f = json_file();
  if (!f) return;
  json_next(f, name, true);
  fputc(bracket, f);
  now->depth++;
  now->followed = false;
}

void bench_json_close(char bracket) {
  FILE *const f = json_file();
  if (!f) return;
  fputc(bracket, f);
  now->depth--;
  now->followed = true;
}

void bench_json_line_begin(const char *record) {
  now = &line;
  line.followed = false;
  bench_json_open(NULL, '{');
  bench_json_text("record", record);
}

void bench_json_line_end(void) {
  bench_json_close('}');
  if (bench_jsonl_file()) fputc('\n', bench_jsonl_file());
  now = &document;
}

void bench_json_value(const char *name, bench_value_kind kind, const void *value) {
  FILE *const f = json_file();
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
  if (bench_value_is_text(kind) && kind != BENCH_LITERAL) {
    bench_json_string(f, bench_value_text(kind, value));
    return;
  }
  if (kind == BENCH_LITERAL) {
    const char *const literal = bench_value_text(kind, value);
    fputs(literal ? literal : "null", f);
    return;
  }
  char text[32];
  bench_value_print(kind, value, text, sizeof text);
  const char *const quote = kind == BENCH_HEX ? "\"" : "";
  fprintf(f, "%s%s%s", quote, *text ? text : "null", quote);
}

void bench_json_text(const char *name, const char *value) { bench_json_value(name, BENCH_STRING, &value); }
void bench_json_count(const char *name, uint64_t value) { bench_json_value(name, BENCH_SIZE, &value); }
void bench_json_flag(const char *name, bool value) { bench_json_value(name, BENCH_FLAG, &value); }

/* The members of a record, except those with one of these flags. */
static void json_members(const bench_table *table, const void *record, unsigned without) {
  for (size_t i = 0; i < table->count; i++) {
    const bench_column *const column = &table->columns[i];
    const void *const value = (const char *)record + column->offset;
    if (!column->name || (column->flags & without)) continue;
    if ((column->flags & BENCH_OPTIONAL) && bench_value_is_empty(column->kind, value)) continue;
    bench_json_value(column->name, column->kind, value);
  }
}

void bench_json_members(const bench_table *table, const void *record) { json_members(table, record, BENCH_NOT_JSON); }

void bench_json_row(const bench_table *table, const void *record) {
  bench_json_open(NULL, '{');
  bench_json_members(table, record);
  bench_json_close('}');
}

static void head_members(const char *command) {
  bench_json_count("schema", 1);
  bench_json_text("program", "hx-bench");
  bench_json_text("command", command);
}

void bench_json_begin(const char *command) {
  bench_json_open(NULL, '{');
  head_members(command);
  bench_json_line_begin("run");
  head_members(command);
  bench_json_line_end();
}

void bench_json_end(void) {
  bench_json_flag("interrupted", bench_stopped());
  bench_json_close('}');
  if (bench_json_file()) fputc('\n', bench_json_file());
  bench_json_line_begin("end");
  bench_json_flag("interrupted", bench_stopped());
  bench_json_line_end();
}

/* A line has the members of the CSV table and of the document, because nothing around it says what it belongs to. */
void bench_store_row(const bench_table *table, const void *record) {
  bench_json_row(table, record);
  bench_csv_row(table, record);
  bench_json_line_begin("row");
  json_members(table, record, 0);
  bench_json_line_end();
  bench_measured();
}
