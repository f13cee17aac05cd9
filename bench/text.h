/* SPDX-License-Identifier: Apache-2.0
 * Text for terminals and files. Names of devices and drivers may contain anything, so they are never printed unchanged.
 * */
#ifndef HX_BENCH_TEXT_H
#define HX_BENCH_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The length of the UTF-8 sequence at the start of a text of so many bytes; 0: it is incomplete, not the shortest form,
 * or a NUL. */
size_t bench_utf8_length(const char *text, size_t bytes);

/* Copies text for a terminal: bytes that are not printable or not UTF-8 become '?'. Returns out. */
char *bench_plain(const char *s, char *out, size_t bytes);

/* Reads the first line of a small file; "" if it cannot be read. */
void bench_read_line(const char *path, char *text, size_t bytes);

/* Writes a quoted JSON string; null if s is NULL. */
void bench_json_string(FILE *f, const char *s);
/* Writes a CSV field, quoted if necessary. A leading = + - @ gets an apostrophe, because spreadsheets would take the
 * field for a formula. */
void bench_csv_string(FILE *f, const char *s);

/* Characters of a UTF-8 text, each taken for one column; and the bytes of its first `columns` characters. */
size_t bench_text_width(const char *s);
size_t bench_text_cut(const char *s, size_t columns);
/* Prints text so that Markdown shows it unchanged, also in a cell of a table. */
void bench_markdown(FILE *f, const char *s);

/* Prints words in lines of at most `columns` characters. The first line begins at column `at`, later ones are indented
 * by `indent`. Ends the line. */
void bench_wrap(FILE *f, const char *s, size_t at, size_t indent, size_t columns);

#endif
