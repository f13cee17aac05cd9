/* SPDX-License-Identifier: Apache-2.0
 * Rungs of one kernel whose whole output is compared after every launch. */
#ifndef HX_BENCH_LADDER_CHECKED_H
#define HX_BENCH_LADDER_CHECKED_H

#include "bench/ladder.h"

/* The first member of such a rung's `self`. */
typedef struct ladder_checked {
  const ladder_device *device;
  cl_int (*spoil)(const void *self); /* makes sure that the results of the last launch are gone */
  cl_int (*launch)(const void *self, cl_command_queue queue, cl_event *event); /* ends after the kernel */
  cl_int (*count_right)(const void *self, uint64_t *right);                    /* how many results are right */
} ladder_checked;

/* A ladder_call: one launch by the device's clock and one by the host's. The result of the rung is the number of right
 * results of the worse one. */
double ladder_call_checked(ladder_rung *rung, double *event);

#endif
