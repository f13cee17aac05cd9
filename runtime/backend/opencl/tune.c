/* SPDX-License-Identifier: Apache-2.0
 * The tuner of products: times the variants that have the same bits on this device and driver. For a set of rows these
 * are the orders of the fma in each row; for a device without a set, the rows, and tiles of rows that accept any tile.
 * Every program passes its self-test before it is timed. */
#include <string.h>

#include "runtime/backend/opencl/cl.h"

#define ORDERS 3u       /* of kernels/matmul_stage.cl */
#define LEAST_GAIN 1.01 /* a variant must be faster than the best one before it by this factor */
#define TIMES 7
#define LAUNCH_S 2e-3  /* the size is doubled until a launch takes this long */
#define SIDE_MOST 2048 /* the largest size */
#define OPTIONS_BYTES 1024

static const uint32_t none[3] = {0, 0, 0};

/* Builds the program of a tuning candidate and runs its self-test. Returns NULL, or the reason why that failed. */
static const char *build_candidate(hx__cl_device *d, const hx__cl_tuned *t) {
  hx__cl_program *const p = &d->program[HX__TUNED_PROGRAM];
  char options[OPTIONS_BYTES];
  const hx__arithmetic arithmetic = d->fma_ok ? HX__ARITHMETIC_PLAIN : HX__ARITHMETIC_SOFT_FMA;
  if (!hx__kernel_options(options, sizeof options, t->row, HX_SUM, HX_F32, t->tile, arithmetic))
    return "its options are too long";
  const size_t used = strlen(options);
  if (t->order) snprintf(options + used, sizeof options - used, " -DHX_ORDER=%u", t->order);
  const bool asked = t->tile[0] != 0;
  cl_int code;
  *p = (hx__cl_program){.row = t->row,
                        .arithmetic = arithmetic,
                        .tile_m = asked ? t->tile[0] : t->row->tile_m,
                        .tile_n = asked ? t->tile[1] : t->row->tile_n,
                        .tile_k = asked ? t->tile[2] : t->row->tile_k};
  p->program = hx__cl_program_new(d, HX__KERNEL_MATMUL, options, false, &code);
  return p->program ? hx__cl_self_test(d, HX__TUNED_PROGRAM) : "it does not build";
}

static void time_candidate(hx__cl_device *d, hx__cl_tune_result *candidate, size_t *side) {
  hx__cl_program *const p = &d->program[HX__TUNED_PROGRAM];
  candidate->why = build_candidate(d, &candidate->what);
  double seconds = 0.0;
  if (!candidate->why) {
    if (*side == 0) /* the first candidate determines the size for all */
      for (*side = 128;
           (seconds = hx__cl_time_product(d, HX__TUNED_PROGRAM, *side, TIMES)) < LAUNCH_S && *side < SIDE_MOST;)
        *side *= 2;
    else
      seconds = hx__cl_time_product(d, HX__TUNED_PROGRAM, *side, TIMES);
    if (seconds > 0.0)
      candidate->flops = 2.0 * (double)*side * (double)*side * (double)*side / seconds;
    else
      candidate->why = "it did not run";
  }
  if (p->program && !atomic_load(&d->base.lost)) clReleaseProgram(p->program);
  p->program = NULL;
}

/* Lists the tuning candidates, the default variant of each row first. With a set: the orders of fma of each row.
 * Otherwise: rows and tiles. */
static size_t list_candidates(const hx__cl_device *d, hx__cl_tune_result *candidates, size_t room) {
  static const uint32_t tiles[][3] = {{128, 64, 8}, {32, 64, 16}, {32, 32, 16}};
  const hx__kernel_row *row = hx__kernel_row_for(HX__KERNEL_MATMUL, HX_F32, d->families, none, d->max_local);
  const bool set = row && hx__kernel_of_set(row);
  size_t count = 0;
  for (; row; row = hx__kernel_row_after(row, HX__KERNEL_MATMUL, HX_F32, d->families, none, d->max_local)) {
    const bool ordered = row->shape == HX__SHAPE_TILES && row->rate[HX__LAYOUT_NN] > 0;
    if (set && !ordered) continue; /* these rows have only one order */
    for (uint32_t order = 0; order < (set ? ORDERS : 1) && count < room; order++)
      candidates[count++] = (hx__cl_tune_result){.what = {.row = row, .order = order}};
  }
  for (size_t i = 0; !set && i < sizeof tiles / sizeof tiles[0]; i++)
    for (row = NULL;
         (row = hx__kernel_row_after(row, HX__KERNEL_MATMUL, HX_F32, d->families, tiles[i], d->max_local)) != NULL;)
      if (row->any_tile && count < room)
        candidates[count++] =
            (hx__cl_tune_result){.what = {.row = row, .tile = {tiles[i][0], tiles[i][1], tiles[i][2]}}};
  return count;
}

/* The fastest of the candidates that compete with `first`: those of the same row in a set, otherwise all. A later
 * candidate must be faster by LEAST_GAIN. */
static hx__cl_tune_result *best_of(hx__cl_tune_result *candidates, size_t count, const hx__cl_tune_result *first) {
  hx__cl_tune_result *best = NULL;
  for (size_t i = 0; i < count; i++) {
    if (hx__kernel_of_set(first->what.row) && candidates[i].what.row != first->what.row) continue;
    if (candidates[i].flops > 0.0 && (!best || candidates[i].flops > best->flops * LEAST_GAIN)) best = &candidates[i];
  }
  return best;
}

size_t hx__cl_tune(hx__cl_device *d, hx__cl_tune_result *candidates, size_t room, size_t *side,
                   hx__cl_tune_next *is_stopped) {
  hx__cl_tuned tuned[HX__CL_TUNED] = {{.row = NULL}};
  size_t winners = 0;
  *side = 0;
  const size_t count = list_candidates(d, candidates, room);
  bool complete = true;
  for (size_t i = 0; i < count && complete && !atomic_load(&d->base.lost); i++) {
    complete = !is_stopped(&candidates[i].what, i, count);
    if (complete) time_candidate(d, &candidates[i], side);
  }
  for (size_t i = 0; i < count && winners < HX__CL_TUNED && complete; i++) {
    if (candidates[i].what.order != 0 || (winners && !hx__kernel_of_set(candidates[i].what.row))) continue;
    hx__cl_tune_result *const best = best_of(candidates, count, &candidates[i]);
    if (!best) continue;
    best->chosen = true;
    tuned[winners++] = best->what;
  }
  if (winners) hx__cl_tuned_store(d, tuned);
  return count;
}
