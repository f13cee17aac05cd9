/* SPDX-License-Identifier: Apache-2.0
 * Writes all results of hx-bench: as printed tables, JSON and CSV. A table is a list of columns. Each column says where
 * its value is in a record, its name in files, and its format in the printed table. Rows are written one at a time;
 * files.c replaces the file when the document is complete. Functions for a file that was not requested do nothing. */
#ifndef HX_BENCH_EMIT_H
#define HX_BENCH_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum bench_value_kind {
  BENCH_STRING,         /* const char *; NULL: null in JSON, empty in CSV */
  BENCH_CHARS,          /* char[] */
  BENCH_LITERAL,        /* const char *, not quoted in JSON: true, false, null, or a document */
  BENCH_NAMES,          /* const char *[], NULL-terminated: an array in JSON, otherwise joined by " + " */
  BENCH_UINTS_3,        /* uint32_t[3]; a JSON array */
  BENCH_FLAG,           /* bool */
  BENCH_BIT,            /* bool; 0 or 1 in CSV */
  BENCH_UINT,           /* uint32_t */
  BENCH_SIZE,           /* uint64_t or size_t */
  BENCH_HEX,            /* uint64_t, a string of 16 digits */
  BENCH_NUMBER,         /* double; if it is not finite: null in JSON, empty in CSV, "-" in the table */
  BENCH_PERCENT,        /* a double that the table shows as 50 % */
  BENCH_PERCENT_JOINED, /* the same as 50% */
  BENCH_TIME,           /* double, in seconds; the table chooses the unit */
  BENCH_JOULES,         /* double; the table chooses the unit */
  BENCH_BYTES           /* uint64_t or size_t; the table chooses the unit */
} bench_value_kind;

/* Flags. Optional: 0 or NULL is left out of files, and is "-" in the table. Unknown: a number that is not finite is "?"
 * in the table. Cut: a text is cut to the width of the column. */
enum { BENCH_NOT_JSON = 1, BENCH_NOT_CSV = 2, BENCH_OPTIONAL = 4, BENCH_UNKNOWN = 8, BENCH_CUT = 16 };

typedef struct bench_column {
  const char *name, *head; /* name in files and head in the table; NULL: not in the files, or not in the table */
  size_t offset;           /* of the value in the record */
  bench_value_kind kind;
  unsigned flags;
  int gap;    /* spaces before the column, in addition to the one between columns */
  int width;  /* in the table; negative: left-justified, as in printf */
  int digits; /* decimals in the table */
} bench_column;

typedef struct bench_table {
  const bench_column *columns;
  size_t count;
} bench_table;

#define BENCH_COLUMN(record, member, ...) \
  { .offset = offsetof(record, member), __VA_ARGS__ }
/* A column that only files have. */
#define BENCH_FILE_COLUMN(record, value_kind, member, file_name) \
  { .name = file_name, .offset = offsetof(record, member), .kind = BENCH_##value_kind }
#define BENCH_TABLE(columns) \
  { columns, sizeof(columns) / sizeof(columns)[0] }

/* Printed tables and sentences. With --quiet these functions do nothing. A head of "" is replaced by the next of
 * `titles`. bench_print_cells does not end the line, and returns the column after the last character. */
void bench_print_head(const bench_table *table, const char *const *titles);
size_t bench_print_cells(const bench_table *table, const void *record);
void bench_print_row(const bench_table *table, const void *record);
/* Prints a sentence or a part of one, without a newline at its end. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints text from other sources, with control characters replaced, in lines of BENCH_COLUMNS. The first line begins at
 * column `at`, later lines at `indent`. Ends the line. */
void bench_say_wrapped(const char *text, size_t at, size_t indent);
/* Flushes what was printed, because measuring takes a while. Called only once something has been measured or is about
 * to be, so that a closed pipe does not end a run earlier. */
void bench_show_output(void);

/* Writes a row of the CSV file, with the head before the first row. */
void bench_csv_head(const bench_table *table);
void bench_csv_row(const bench_table *table, const void *record);

/* The JSON document. Objects and lists may be nested, and commas are written automatically. name NULL: an element of a
 * list. */
void bench_json_open(const char *name, char bracket);
void bench_json_close(char bracket);
void bench_json_value(const char *name, bench_value_kind kind, const void *value);
void bench_json_text(const char *name, const char *value);
void bench_json_count(const char *name, uint64_t value);
void bench_json_flag(const char *name, bool value);
void bench_json_members(const bench_table *table, const void *record); /* members of the innermost open object */
void bench_json_row(const bench_table *table, const void *record);     /* an object in the innermost open list */
/* The document: bench_json_begin writes its first members, and bench_json_end the last one, which says whether a signal
 * ended the run. */
void bench_json_begin(const char *command);
void bench_json_end(void);

/* bench_store_row writes a row to both files, which are then kept if the run is stopped. bench_emit_row also prints it.
 * */
void bench_store_row(const bench_table *table, const void *record);
void bench_emit_row(const bench_table *table, const void *record);

#endif
