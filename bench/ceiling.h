/* SPDX-License-Identifier: Apache-2.0
 * The measured peak rates of this CPU: reading memory, and multiply-adds on registers alone. */
#ifndef HX_BENCH_CEILING_H
#define HX_BENCH_CEILING_H

#include <stddef.h>

/* How many loops this CPU can run, one for each instruction set. `loop` is the index of one. */
size_t bench_ceiling_loops(void);
const char *bench_ceiling_loop_name(size_t loop);

/* Reads all bytes of x (and y, unless NULL, in step with x: two streams) `times` times, on `threads` threads. */
void bench_ceiling_read(size_t loop, unsigned threads, const void *x, const void *y, size_t bytes, unsigned times);

/* Does about `millions` million multiply-adds on each thread. Returns the floating-point operations of all threads
 * together, in 1e9. */
double bench_ceiling_fma(size_t loop, unsigned threads, unsigned millions);

#endif
