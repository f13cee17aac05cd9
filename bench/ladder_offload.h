/* SPDX-License-Identifier: Apache-2.0
 * The rungs of `ladder offload` that are not hx's splits. */
#ifndef HX_BENCH_LADDER_OFFLOAD_H
#define HX_BENCH_LADDER_OFFLOAD_H

#include "bench/ladder.h"

/* Seconds. A rung whose call would take longer is left out, because a call is repeated at least five times. */
#define LADDER_LONGEST_CALL 10.0

/* The instruction sets that loops in C are compiled for. x86-64 always has SSE2, and AArch64 NEON. */
typedef enum ladder_set { LADDER_ALWAYS, LADDER_AVX, LADDER_AVX2, LADDER_AVX512, LADDER_SETS } ladder_set;
bool ladder_has_set(ladder_set set);
#ifdef __x86_64__
#define LADDER_TARGET(names) __attribute__((target(names)))
#else
#define LADDER_TARGET(names) /* ladder_has_set is false */
#endif

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

/* Says how much faster the fastest rung is than the first one. */
void ladder_print_gain(const ladder_case *c);

/* One rung for each split in steps of the session's --step, and one in which hx decides. */
void ladder_split_rungs(const bench_session *session, ladder_case *c, const hx_task *task);

/* The tasks of a length: the sum of an array, the dot product of two, and the sum of each field of a structure. device
 * NULL: there is none. Returns false if something could not be created. */
bool ladder_offload_sums(bench_session *session, const ladder_device *device, size_t n);

/* Kernels on the device of the product, if it has one. */
#define LADDER_GPU_STEPS 3 /* and tiles */
#define LADDER_GPU_TILE "GPU, tile per item"
typedef struct ladder_gpu_step {
  char name[32];
  unsigned item_m, item_n; /* the elements of C of a work-item; item_n 0: a row */
  bench_tile tile;         /* the sides are multiples of it */
  const size_t *local;     /* NULL: as the driver likes, or of a tile a few items */
  const char *against;
  ladder_kernel kernel;
  char held[48]; /* printed behind the note */
} ladder_gpu_step;
typedef struct ladder_gpu_kernels {
  ladder_gpu_step step[LADDER_GPU_STEPS + BENCH_MAX_TILES];
  size_t count;
} ladder_gpu_kernels;
/* device NULL: there is none, and no rung will run. */
void ladder_gpu_kernels_build(const ladder_device *device, const bench_options *options, ladder_gpu_kernels *kernels);
void ladder_gpu_kernels_release(ladder_gpu_kernels *kernels);
void ladder_gpu_rungs(ladder_case *c, const ladder_gpu_kernels *kernels);

#endif
