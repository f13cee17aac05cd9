/* SPDX-License-Identifier: Apache-2.0
 * Text for people and for files. Names of devices and drivers come from outside: nothing prints them as they are. */
#ifndef HX_BENCH_TEXT_H
#define HX_BENCH_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A copy for a terminal: what is not printable, and what is not UTF-8, becomes '?'. Returns out. */
char *bench_plain(const char *s, char *out, size_t bytes);

/* The first line of a small file, or "". */
void bench_read_line(const char *path, char *text, size_t bytes);

/* A JSON string, quoted. NULL: null. */
void bench_json_string(FILE *f, const char *s);
/* A CSV field, quoted where needed; a leading = + - @ gets an apostrophe, for spreadsheets take it for a formula. */
void bench_csv_string(FILE *f, const char *s);

/* Prints words in lines of at most `columns`, the first at column `at`, later ones indented by `indent`. Ends the line.
 */
void bench_wrap(FILE *f, const char *s, size_t at, size_t indent, size_t columns);

#endif
