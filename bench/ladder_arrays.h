/* SPDX-License-Identifier: Apache-2.0
 * The arrays of the reductions of `ladder offload`: the same u32 from 1 to 7 in each way that a rung reads them. */
#ifndef HX_BENCH_LADDER_ARRAYS_H
#define HX_BENCH_LADDER_ARRAYS_H

#include "bench/ladder_offload.h"

#define LADDER_SUM_BASE "serial C" /* the rung to which speed-ups refer */

/* The ways. All begin at a multiple of a page, except the second one, which begins 4 bytes behind one. */
typedef enum ladder_copy {
  LADDER_PLAIN,   /* array after array */
  LADDER_OFF,     /* sum only */
  LADDER_2_BYTES, /* sum only: elements of 2 bytes */
  LADDER_1_BYTE,  /* sum only */
  LADDER_STRUCTS, /* structure only: an array of structures */
  LADDER_COPIES
} ladder_copy;

/* What is computed. A bit for each in tables of rungs. */
typedef enum ladder_sum_kind { LADDER_SUM = 1, LADDER_DOT = 2, LADDER_SOA = 4 } ladder_sum_kind;
#define LADDER_ANY_SUM (LADDER_SUM | LADDER_DOT | LADDER_SOA)

typedef struct ladder_arrays {
  const ladder_device *device; /* NULL: there is none */
  ladder_sum_kind kind;
  size_t n, count, pitch;    /* `count` arrays of n elements, one every `pitch` elements */
  size_t bytes;              /* of all arrays, whole pages */
  void *copy[LADDER_COPIES]; /* NULL: the kind has none */
  uint64_t expected[LADDER_MOST_SUMS];
  size_t sums;
} ladder_arrays;

/* Gathers read the elements of each whole block of so many in steps, so that the next one is not a neighbour. The step
 * is odd and the block a power of two, so each element is read once. */
#define LADDER_GATHER_BLOCK 1024u
#define LADDER_GATHER_STEP 389u

/* Bytes of an element of a copy. */
size_t ladder_copy_width(ladder_copy copy);

/* Loops in C over these arrays. */
void ladder_sum_loop_rungs(ladder_case *c, const ladder_arrays *arrays, unsigned threads);

/* What the kernels of a case share: their buffers. They live until the case has run. */
typedef struct ladder_sum_kernels {
  const ladder_arrays *arrays;
  cl_mem data, part; /* data: copies in the device's memory; part: the sums of groups */
  cl_uint *partial;
  size_t local, most_groups;
} ladder_sum_kernels;
void ladder_sum_gpu_rungs(ladder_case *c, const ladder_arrays *arrays, ladder_sum_kernels *kernels);
void ladder_sum_kernels_close(ladder_sum_kernels *kernels);

#endif
