/* SPDX-License-Identifier: Apache-2.0
 * The one way in which results leave hx-bench. A table is a list of columns, each of which says where in a record its
 * value is, what it is called in files, and how it looks in the table that people read. Rows are written one by one;
 * files.c makes a file of them when the document is complete. Nothing is written to a file that was not asked for. */
#ifndef HX_BENCH_EMIT_H
#define HX_BENCH_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum bench_value_kind {
  BENCH_STRING,         /* const char *; NULL: null in JSON, empty in CSV */
  BENCH_CHARS,          /* char[] */
  BENCH_LITERAL,        /* const char *, not quoted in JSON: true, false, null */
  BENCH_NAMES,          /* const char *[], NULL ends: a JSON array; else joined by " + " */
  BENCH_UINTS_3,        /* uint32_t[3]; a JSON array */
  BENCH_FLAG,           /* bool */
  BENCH_BIT,            /* bool; 0 or 1 in CSV */
  BENCH_UINT,           /* uint32_t */
  BENCH_SIZE,           /* uint64_t or size_t */
  BENCH_HEX,            /* uint64_t, a string of 16 digits */
  BENCH_NUMBER,         /* double; not finite: null in JSON, empty in CSV, "-" in the table */
  BENCH_PERCENT,        /* a double that the table shows as 50 % */
  BENCH_PERCENT_JOINED, /* or as 50% */
  BENCH_TIME,           /* seconds, a double; the table chooses the unit */
  BENCH_JOULES,         /* likewise */
  BENCH_BYTES           /* uint64_t or size_t; likewise */
} bench_value_kind;

/* Flags. Optional: 0 or NULL is left out of files, and "-" in the table. Unknown: what is not finite is "?" there. Cut:
 * a text is cut to its width. */
enum { BENCH_NOT_JSON = 1, BENCH_NOT_CSV = 2, BENCH_OPTIONAL = 4, BENCH_UNKNOWN = 8, BENCH_CUT = 16 };

typedef struct bench_column {
  const char *name, *head; /* in files, and over the table; NULL: not there */
  size_t offset;           /* in the record */
  bench_value_kind kind;
  unsigned flags;
  int gap;    /* spaces before it in the table, beyond the one between columns */
  int width;  /* in the table; negative: to the left, as printf has it */
  int digits; /* behind the point, in the table */
} bench_column;

typedef struct bench_table {
  const bench_column *columns;
  size_t count;
} bench_table;

#define BENCH_COLUMN(record, member, ...) \
  { .offset = offsetof(record, member), __VA_ARGS__ }
/* A column of files alone. */
#define BENCH_FILE_COLUMN(record, value_kind, member, file_name) \
  { .name = file_name, .offset = offsetof(record, member), .kind = BENCH_##value_kind }
#define BENCH_TABLE(columns) \
  { columns, sizeof(columns) / sizeof(columns)[0] }

/* What people read: tables and sentences. With --quiet each of these does nothing. A head of "" is taken from titles,
 * in order. bench_print_cells ends no line and returns the column that it has reached. */
void bench_print_head(const bench_table *table, const char *const *titles);
size_t bench_print_cells(const bench_table *table, const void *record);
void bench_print_row(const bench_table *table, const void *record);
/* A sentence, or a part of one; ends no line by itself. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Words from outside, made harmless for a terminal, in lines of BENCH_COLUMNS: the first one begins at column `at`,
 * later ones at `indent`. Ends the line. */
void bench_say_wrapped(const char *text, size_t at, size_t indent);
/* What was printed is seen from now on: measuring takes a while. Called when something has been measured or is about to
 * be, so that a closed pipe ends a run no earlier. */
void bench_show_output(void);

/* A row of the CSV table, after its head if it is the first. */
void bench_csv_head(const bench_table *table);
void bench_csv_row(const bench_table *table, const void *record);

/* The JSON document: objects and lists nest, and commas come by themselves. A name of NULL: an element of a list. */
void bench_json_open(const char *name, char bracket);
void bench_json_close(char bracket);
void bench_json_value(const char *name, bench_value_kind kind, const void *value);
void bench_json_text(const char *name, const char *value);
void bench_json_count(const char *name, uint64_t value);
void bench_json_flag(const char *name, bool value);
void bench_json_members(const bench_table *table, const void *record); /* of the object that is open */
void bench_json_row(const bench_table *table, const void *record);     /* an object of the list that is open */
/* The document itself: its first members, and the last one, which says whether a signal ended the run. */
void bench_json_begin(const char *command);
void bench_json_end(void);

/* A row of both files, which is worth keeping if the run is stopped after it; and a row of them and of the table. */
void bench_store_row(const bench_table *table, const void *record);
void bench_emit_row(const bench_table *table, const void *record);

#endif
