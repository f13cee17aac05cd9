/* SPDX-License-Identifier: Apache-2.0
 * The time of a plan by a model of the device: every compute unit has a share of the tiles and panels, and most units
 * are idle while the last ones are computed. Private to this folder. */
#ifndef HX_KERNELS_GEMM_MODEL_H
#define HX_KERNELS_GEMM_MODEL_H

#include "kernels/gemm_plan.h"

typedef struct hx__gemm_device {
#define DEVICE(name, value) double name;
#include "kernels/device_constants.inc"
#undef DEVICE
} hx__gemm_device;

extern const hx__gemm_device hx__gemm_nvidia;

#define HX__GEMM_JOIN_PANELS 24u /* the most panels that a row of HX__SHAPE_SMALL adds in its own launch */

static inline size_t hx__gemm_ceiling(size_t n, size_t of) { return n / of + (n % of != 0); }
static inline size_t hx__gemm_greater(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t hx__gemm_lesser(size_t a, size_t b) { return a < b ? a : b; }

/* Nanoseconds of a plan of a row of HX__SHAPE_TILES or HX__SHAPE_SMALL, without copies of operands. */
double hx__gemm_tiles_ns(const hx__kernel_row *row, hx__layout layout, const hx__gemm_plan *plan,
                         const hx__gemm_shape *shape, unsigned units);
/* The same for a row of HX__SHAPE_FEW_ROWS. turns: tiles and panels that a group computes one after the other. */
double hx__gemm_few_rows_ns(const hx__kernel_row *row, const hx__gemm_plan *plan, const hx__gemm_shape *shape,
                            size_t turns, unsigned units);
/* The same for a row of HX__SHAPE_BATCH. */
double hx__gemm_batch_ns(const hx__kernel_row *row, hx__layout layout, const hx__gemm_plan *plan,
                         const hx__gemm_shape *shape, unsigned units);
/* What the tiles of a batch by another row take longer than those of one product, which read more of k. */
double hx__gemm_batch_turns_ns(const hx__kernel_row *row, size_t tiles, size_t k, unsigned units);
/* The time to copy the operands that the plan copies. */
double hx__gemm_copies_ns(const hx__gemm_plan *plan, const hx__gemm_shape *shape);
/* The time in which a join moves the panels of a plan. */
double hx__gemm_join_bytes_ns(const hx__kernel_row *row, const hx__gemm_plan *plan);

#endif
