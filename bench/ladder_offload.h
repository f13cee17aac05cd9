/* SPDX-License-Identifier: Apache-2.0
 * The rungs of `ladder offload` that are not hx's splits. */
#ifndef HX_BENCH_LADDER_OFFLOAD_H
#define HX_BENCH_LADDER_OFFLOAD_H

#include "bench/ladder.h"

/* Seconds. A rung whose call would take longer is left out, because a call is repeated at least five times. */
#define LADDER_LONGEST_CALL 10.0

/* Loops in C, on one thread and on all. The first one is the rung to which speed-ups refer. */
#define LADDER_OFFLOAD_BASE "tiled C"
void ladder_loop_rungs(ladder_case *c, unsigned threads);

/* hx on the CPU alone with each of its instruction sets. The contexts are closed after the run. */
typedef struct ladder_forms {
  hx_context *context[8];
  size_t count;
} ladder_forms;
void ladder_form_rungs(ladder_case *c, const hx_task *task, ladder_forms *forms);
void ladder_forms_close(ladder_forms *forms);

/* Two kernels on the device of the product, if it has one. */
typedef struct ladder_gpu_kernels {
  ladder_kernel naive, tile;
} ladder_gpu_kernels;
void ladder_gpu_kernels_build(const ladder_device *device, ladder_gpu_kernels *kernels);
void ladder_gpu_kernels_release(ladder_gpu_kernels *kernels);
void ladder_gpu_rungs(ladder_case *c, const ladder_gpu_kernels *kernels);

#endif
