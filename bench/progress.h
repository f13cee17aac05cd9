/* SPDX-License-Identifier: Apache-2.0
 * The progress bar: which row of how many, and the time left. It is drawn on stderr, if that is a terminal, once a
 * subcommand has run for a second; never with --quiet. Nothing is drawn while a contestant is timed. */
#ifndef HX_BENCH_PROGRESS_H
#define HX_BENCH_PROGRESS_H

#include <stddef.h>

/* A subcommand begins: the number of rows (tasks, kernels, ...) and the seconds that they are expected to take
 * together; rows 0: not known. */
void bench_progress_begin(size_t rows, double seconds);
/* The next row begins: its name, and the seconds that it is expected to take. */
void bench_progress_row(const char *name, double seconds);
/* The preparation of the row that is under way, before it is measured; NULL: it is being measured. */
void bench_progress_stage(const char *stage);
/* The part of the row that is done, from 0 to 1. */
void bench_progress_done(double part);
/* Removes the bar, because something is printed. */
void bench_progress_erase(void);

#endif
