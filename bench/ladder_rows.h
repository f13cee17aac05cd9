/* SPDX-License-Identifier: Apache-2.0
 * The rows that ladders leave: printed as they come, stored for the files. */
#ifndef HX_BENCH_LADDER_ROWS_H
#define HX_BENCH_LADDER_ROWS_H

#include "bench/ladder.h"

/* Prints the case's rows and stores them. False if memory ran out. */
bool ladder_rows_add(const bench_session *session, const ladder_case *c);

#endif
