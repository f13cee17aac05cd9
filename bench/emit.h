/* SPDX-License-Identifier: Apache-2.0
 * Writes all results of hx-bench: as printed tables (text or Markdown), JSON, JSON Lines and CSV. A table is a list of
 * columns. Each column says where its value is in a record, its name in files, and its format in the printed table.
 * Rows are written to files one at a time, and printed in groups; files.c replaces the file when the document is
 * complete. Functions for a file that was not requested do nothing. */
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
 * in the table. Cut: if the line is too long, texts are cut. Spare: the table leaves the column out while it is empty
 * (0, not finite, or no text) in all rows. Alarm: a text other than "ok" is red. */
enum {
  BENCH_NOT_JSON = 1,
  BENCH_NOT_CSV = 2,
  BENCH_OPTIONAL = 4,
  BENCH_UNKNOWN = 8,
  BENCH_CUT = 16,
  BENCH_SPARE = 32,
  BENCH_ALARM = 64
};

typedef struct bench_column {
  const char *name, *head; /* name in files and head in the table; NULL: not in the files, or not in the table */
  size_t offset;           /* of the value in the record */
  bench_value_kind kind;
  unsigned flags;
  int width;     /* at least, in the table; negative: left-justified, as in printf */
  int digits;    /* decimals in the table */
  unsigned rank; /* if the line is too long, columns are left out, those of the highest rank first; 0: never */
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

#define BENCH_MOST_COLUMNS 48

/* A table that is being printed. It is zero before the first group. */
typedef struct bench_layout {
  uint64_t shown; /* bit i: column i; 0: nothing has been printed */
  size_t width[BENCH_MOST_COLUMNS];
} bench_layout;

/* Rows that are printed together, so that all of their times, energies or bytes have the same unit. */
typedef struct bench_group {
  const bench_table *table;
  const void *records;
  size_t count, bytes;       /* bytes: of a record */
  const char *const *titles; /* each replaces the next head that is "" */
  const bool *winner;        /* for each row: it is printed in bold; NULL: none is */
} bench_group;

/* Prints a group, after the heads if it is the first one or has other columns than the last. */
void bench_print_group(bench_layout *layout, const bench_group *group);
/* The same for one record without titles. */
void bench_print_row(bench_layout *layout, const bench_table *table, const void *record);
/* Prints a sentence or a part of one, without a newline at its end. */
void bench_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints text from other sources, with control characters replaced, in lines that fit the terminal. The first line
 * begins at column `at`, later lines at `indent`. Ends the line. */
void bench_say_wrapped(const char *text, size_t at, size_t indent);
/* Prints sentences in lines that fit the terminal, from column `indent` on. */
void bench_note(size_t indent, const char *format, ...) __attribute__((format(printf, 2, 3)));
void bench_table_begins(bool heads); /* for bench_print_group alone: rows follow, after their heads or not */
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

/* A line of the JSON Lines file: an object whose first member is `record`. Until its end, all functions above add to it
 * instead of the document. bench_json_begin writes the line "run", and bench_json_end the line "end". */
void bench_json_line_begin(const char *record);
void bench_json_line_end(void);

/* Writes a row to all files, which are then kept if the run is stopped. */
void bench_store_row(const bench_table *table, const void *record);

#endif
