/* SPDX-License-Identifier: Apache-2.0
 * Reads values of records for the writers of tables and files. */
#ifndef HX_BENCH_VALUES_H
#define HX_BENCH_VALUES_H

#include "bench/emit.h"

/* Reads a value that is a double. Returns false if values of its kind are not. */
bool bench_value_real(bench_value_kind kind, const void *value, double *number);
uint64_t bench_value_integer(bench_value_kind kind, const void *value);
bool bench_value_is_text(bench_value_kind kind);
const char *bench_value_text(bench_value_kind kind, const void *value); /* may be NULL */
/* 0, no number, or no text. */
bool bench_value_is_empty(bench_value_kind kind, const void *value);
/* An integer, or a number as it is written to files. Empty if the number is not finite. */
void bench_value_print(bench_value_kind kind, const void *value, char *text, size_t bytes);

#endif
