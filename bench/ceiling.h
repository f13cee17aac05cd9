/* SPDX-License-Identifier: Apache-2.0
 * What this CPU can do at most, measured: reading bytes and nothing else, and multiply-adds on registers alone. */
#ifndef HX_BENCH_CEILING_H
#define HX_BENCH_CEILING_H

#include <stddef.h>

/* The ways to do it (instruction sets) and how many of them this CPU has are in ceiling.c; `way` counts the latter. */
size_t bench_ceiling_ways(void);

const char *bench_ceiling_way_name(size_t way);

/* Reads all bytes of x (and y, unless NULL, in step with x: two streams) `times` times, on `threads` threads. */
void bench_ceiling_read(size_t way, unsigned threads, const void *x, const void *y, size_t bytes, unsigned times);

/* Does about `millions` million multiply-adds a thread. Returns how many floating-point operations all of them did
 * together, in 1e9. */
double bench_ceiling_fma(size_t way, unsigned threads, unsigned millions);

#endif
