/* SPDX-License-Identifier: Apache-2.0
 * The terminal, if the printed tables go to one: its width, and whether it shows colours. */
#ifndef HX_BENCH_TERMINAL_H
#define HX_BENCH_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Characters per line: of the terminal, if the stream is one; otherwise the variable COLUMNS; otherwise 80, which fits
 * into e-mails and issues. At least BENCH_LEAST_COLUMNS and at most BENCH_COLUMNS, because longer lines of prose are
 * hard to read. */
size_t bench_columns_of(FILE *f);
size_t bench_columns(void); /* of the printed tables */

typedef enum bench_style { BENCH_PLAIN, BENCH_BOLD, BENCH_RED } bench_style;
/* Begins a style, or ends it (BENCH_PLAIN), in the printed tables. Nothing if they do not go to a terminal that shows
 * colours, or if NO_COLOR is set (no-color.org). */
void bench_set_style(bench_style style);

#endif
