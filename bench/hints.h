/* SPDX-License-Identifier: Apache-2.0
 * What is missing on this machine for hx to use its GPUs, and the command that brings it. */
#ifndef HX_BENCH_HINTS_H
#define HX_BENCH_HINTS_H

#include "bench/bench.h"

/* Prints a sentence for each thing found (f NULL: nothing) and returns how many there are. root goes before /sys, /dev
 * and /etc: "" but where a copy of another machine's is looked at. */
size_t bench_hints(FILE *f, const bench_session *session, const char *root);

#endif
