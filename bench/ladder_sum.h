/* SPDX-License-Identifier: Apache-2.0
 * The steps of `ladder reduce`: rows of a table, each a way for every one of the three levels of a sum. */
#ifndef HX_BENCH_LADDER_SUM_H
#define HX_BENCH_LADDER_SUM_H

#include "bench/ladder.h"

#define LADDER_MOST_SUM_STEPS 48

/* Shared by all sizes: x in host and device memory, and a kernel for each step. */
typedef struct ladder_sum {
  const ladder_device *device;
  uint32_t *x;
  uint32_t *partial; /* sums of groups, for the host to add */
  size_t most, local;
  cl_mem dx, part[2], one; /* part: sums of groups, used alternately; one: the sum, and a ticket */
  ladder_kernel kernel[LADDER_MOST_SUM_STEPS];
} ladder_sum;

/* Whether there is room for `most` elements. If not, what was opened is closed by ladder_sum_close as well. */
bool ladder_sum_open(ladder_sum *f, const ladder_device *device, size_t most);
void ladder_sum_close(ladder_sum *f);
/* Adds a rung for each step. */
void ladder_sum_rungs(ladder_case *c, ladder_sum *f);

#endif
