/* SPDX-License-Identifier: Apache-2.0
 * What is missing on this machine for hx to use its GPUs, and the command that installs it. */
#ifndef HX_BENCH_HINTS_H
#define HX_BENCH_HINTS_H

#include "bench/bench.h"

/* Prints a sentence for each thing found and returns how many there are. */
size_t bench_hints(const bench_session *session);

#endif
