/* SPDX-License-Identifier: Apache-2.0
 * What counts as small: the sizes up to which, or from which, a call of the CPU takes another path, or devices are left
 * out. docs/measurements/threshold-neighbours.tsv has the time of tasks on both sides of most of them, with the value
 * as it is and with another; bench/fit/thresholds.py makes that table. "No figure": it is not among them, so measure it
 * before you change it. Units are multiply-adds of a product, elements those of a reduction. None of these values
 * changes the bits of a result. */
#ifndef HX_BASE_THRESHOLDS_H
#define HX_BASE_THRESHOLDS_H

#include <stddef.h>

/* ---- One product on one thread (cpu/gemm_kernels.h, cpu/gemm_thin.h) */

/* m*n*k, and each of m, n, k, up to which scalar code is used: vectors would need masks. */
#define HX__TINY_UNITS ((size_t)8)
/* With two to four rows of C, and contiguous rows of B: tiles compute up to this many columns for each row of C. */
#define HX__FEW_ROWS_COLUMNS ((size_t)16)
/* Tiles compute other products of few rows or columns up to this m*n*k. */
#define HX__FEW_UNITS ((size_t)2048)
/* The same for products whose B has to be packed for the tiles. */
#define HX__FEW_PACKED_UNITS ((size_t)512)
/* The same for products with one column. */
#define HX__ONE_COLUMN_UNITS ((size_t)256)
/* Tiles compute tall products of two to four columns up to this k for each column after the first:
 * docs/measurements/cpu-tall-short.tsv. */
#define HX__TALL_K ((size_t)7)
/* m*n*k up to which reading B in place is faster than packing it. */
#define HX__IN_PLACE_UNITS ((size_t)160 * 160 * 160)
/* Elements of the large operand from which a thin product is computed by gemm_thin, which packs the small operand,
 * although it has at most HX__IN_PLACE_UNITS: docs/measurements/cpu-thin-direct.tsv. */
#define HX__THIN_FLOATS ((size_t)3 << 17) /* C is wide */
/* C is wide, and the rows of B share sets of L1; or A is transposed, and the columns of a tall C fill vectors. */
#define HX__THIN_SETS_FLOATS ((size_t)1 << 18)
/* A is transposed: its columns are far apart, or the columns of a tall C leave vectors partly empty. */
#define HX__THIN_TURNED_FLOATS ((size_t)1 << 16)
/* C is tall, and the rows of A share sets of L1. */
#define HX__THIN_TALL_FLOATS ((size_t)1 << 14)
/* If the rows of B are not contiguous, B is packed on the stack, a strip at a time, up to this m*n*k. */
#define HX__STRIP_UNITS ((size_t)1 << 19)
/* It is also packed so, for any m*n*k, if k is at most HX__STRIP_K and C is narrow: a wide C of at most HX__STRIP_ROWS
 * rows, or a tall one of at most HX__THIN_COLUMNS columns. */
#define HX__STRIP_K ((size_t)24)
#define HX__STRIP_ROWS ((size_t)48)
/* Columns of C up to which rows of A are read in place, because packing A costs more. */
#define HX__UNPACKED_A_COLUMNS ((size_t)768)
/* Rows, or columns, of C up to which a product is thin: its large operand is read in place. With more columns, blocks
 * read rows of A in place faster. */
#define HX__THIN_ROWS ((size_t)64)
#define HX__THIN_COLUMNS ((size_t)32)
/* The k up to which a product is not thin if C would be turned: this and twice the rows of a wide C, or twice the
 * columns of a tall one:
 * docs/measurements/cpu-thin-turned.tsv. */
#define HX__TURNED_K ((size_t)64)
/* Rows of C up to which, and k from which, a product with more than HX__UNPACKED_A_COLUMNS columns is computed strip by
 * strip of B (cpu/gemm_wide.h), and columns up to which A is then read in place: docs/measurements/cpu-wide.tsv. */
#define HX__WIDE_ROWS ((size_t)224)
#define HX__WIDE_K ((size_t)96)
#define HX__WIDE_UNPACKED_COLUMNS ((size_t)2560)
/* Elements of B, 2 MiB, up to which tiles pack its strips while they multiply: the second cache of Intel's cores. A
 * larger one comes from a later cache and is packed before. With 512 KiB of L2 the best value is between 2^18 and 2^19:
 * docs/measurements/cpu-thin.tsv. */
#define HX__NEAR_FLOATS ((size_t)1 << 19)

/* Multiply-adds of a product of a batch above which the operands of the next product are prefetched, if those of all
 * are not in the second cache: docs/measurements/cpu-batches-ahead.tsv. */
#define HX__AHEAD_UNITS ((size_t)1 << 15)

/* ---- A small C with a long k (cpu/gemm_thin.h, plan/threads.c) */

/* Both sides of C up to which, and k from which, such a product is thin, and its panels are computed by several
 * threads: each then reads a part of both operands, not all of one (docs/measurements/cpu-panels.tsv). thresholds.tsv
 * there has one more such product. */
#define HX__SMALL_SIDE ((size_t)128)
#define HX__LONG_K ((size_t)4096)

/* ---- Threads (api/offload.c, plan/threads.c) */

/* The work of one thread that pays for waking it, and for using it if the pool is awake.
 * docs/measurements/thresholds.tsv has figures for HX__AWAKE_UNITS, and none for the others. */
#define HX__ASLEEP_ELEMENTS (1u << 19)
#define HX__ASLEEP_UNITS (1u << 20)
#define HX__AWAKE_ELEMENTS (1u << 16)
#define HX__AWAKE_UNITS (1u << 16)
/* The work of a task that pays for starting a pool, on a thread of the program that may end soon: about two
 * milliseconds of one core. docs/measurements/cpu-threads-started.tsv has such products, and none of the reductions. */
#define HX__MISSING_ELEMENTS (1u << 23)
#define HX__MISSING_UNITS (1u << 27)
/* The work from which a team of more than two threads pays, because it takes longer to begin and to end:
 * docs/measurements/cpu-teams-least.tsv. */
#define HX__TEAM_ELEMENTS (1u << 18)
#define HX__TEAM_UNITS (1u << 19)
/* Tasks up to this size run on the calling thread without a lock, an allocation, a clock or a look at the thread pool.
 * Two threads need at least 2 * HX__AWAKE_UNITS. docs/measurements/small-calls.tsv has the cost of such calls
 * on one thread, and thresholds.tsv that of two products on two threads. */
#define HX__ONE_THREAD_ELEMENTS 32768u
#define HX__ONE_THREAD_UNITS (2u * HX__AWAKE_UNITS - 1u)
/* Slots of a reduction up to which they are on the stack of the calling thread: 2 KiB. */
#define HX__STACK_SLOTS 256u
/* A product of one thread, up to which it runs on the calling thread, too, if it is too small for a device
 * (HX__QUICK_UNITS) or no device is wanted. */
#define HX__SERIAL_UNITS (1u << 22)
/* A task of a list, or a product of a batch, up to which one thread computes it whole: half a millisecond of one core,
 * so that no other thread waits for long at the end. No figure. With fewer than four tasks for each thread that wait
 * would be a large part of the whole, and the limits are lower in proportion. */
#define HX__PIECES_PER_THREAD 4u
#define HX__PIECE_UNITS ((size_t)1 << 24)
#define HX__PIECE_ELEMENTS ((size_t)HX__STACK_SLOTS << 12)
/* The work that one thread finishes in about 10 ms, before another program would give a core back. If other programs
 * use the cores, it is not shared among threads. docs/measurements/thresholds.tsv has one such product. */
#define HX__CROWDED_ELEMENTS (1u << 26)
#define HX__CROWDED_UNITS (1u << 28)

/* ---- The CPU's part of a run (run/cpu_side.c) */

/* A task up to this size is cut once into equal parts: about half a millisecond of one core, so that it is over before
 * a thread that lost its core would get it back. */
#define HX__SHORT_ELEMENTS (1u << 22)
#define HX__SHORT_UNITS (1u << 25)
/* The same for larger products with this many slices for each thread, which make up for packing B in every thread. With
 * HX__GRID_THREADS or more threads the product has at most HX__LONGER_UNITS in all; with fewer, at most
 * HX__LONGER_EACH_UNITS for each thread, because a B that threads pack together moves from core to core:
 * docs/measurements/cpu-equal-parts.tsv. */
#define HX__LONGER_UNITS (1u << 27)
#define HX__LONGER_EACH_UNITS (1u << 28)
#define HX__LONGER_SLICES 96u
/* When all of a product is cut in two dimensions, into about 4 to 8 blocks for each thread: the multiply-adds for each
 * thread, the slices for each thread (but any number of columns if C has few rows), the threads and k. Larger products,
 * and those with more rows for each thread, are faster if all threads share a packed operand; smaller ones if each gets
 * one part: docs/measurements/cpu-grids.tsv. */
#define HX__GRID_LEAST_UNITS (1u << 22)
#define HX__GRID_MOST_UNITS (1u << 26)
#define HX__GRID_BLOCK_UNITS (1u << 22)
#define HX__GRID_SLICES ((size_t)112)
#define HX__GRID_THREADS 6u
#define HX__GRID_K ((size_t)256)
/* Multiply-adds from which a product is cut so if threads have lately taken different times, and a quarter of that for
 * each thread, up to HX__LONGER_EACH_UNITS: docs/measurements/cpu-uneven.tsv. */
#define HX__GRID_UNEVEN_UNITS (1u << 23)
/* Slices of a chunk from which packing the shared operand, or reading it from beyond the second cache, pays. 96
 * slices are 24 multiply-adds for each byte of it. */
#define HX__PACKING_SLICES 96u

/* ---- Devices (api/, plan/, sched/) */

/* A task that the CPU finishes sooner is never given to a device. Once devices are usable, the time of an empty task on
 * the fastest of them counts if it is less (hx__break_even_ns): docs/measurements/resident-calls.tsv has the calls that
 * gained by that. */
#define HX__BREAK_EVEN_NS 250e3
/* A product of a batch, up to which a device computes several at once: one of 512 x 512 x 512 has too few work-groups
 * to fill a card. No figure. */
#define HX__LARGEST_OF_BATCH ((size_t)1 << 27)
/* The elements of its largest matrix, 64 MiB: a buffer of any device holds it. */
#define HX__LARGEST_MATRIX ((size_t)1 << 24)
/* After a task found too little of a device's memory, hx uses less of it for so long: a program that took the rest may
 * have ended by then, and a task that finds too little again goes to the CPU once in that time. No figure. */
#define HX__SHORTAGE_NS 10000000000u
/* To wake a device's worker and to wait for it. An estimate: never_slower_test and objective_test pass at 0, too. */
#define HX__JOIN_NS 12e3
/* Tasks that any CPU finishes in that time, at 4 GB/s or 8 multiply-adds per nanosecond: no rate is looked up for them.
 * Computed from HX__BREAK_EVEN_NS. */
#define HX__QUICK_ELEMENTS (1u << 18)
#define HX__QUICK_UNITS (1u << 21)

#endif
