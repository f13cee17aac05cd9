/* SPDX-License-Identifier: Apache-2.0
 * What the files that plan products share; private to this folder. Constants of times are those of one card, but only
 * their ratios matter. */
#ifndef HX_KERNELS_PLAN_H
#define HX_KERNELS_PLAN_H

#include "kernels/tiles.h"

#define HX__PLAN_LAUNCH_NS 3660.0
#define HX__PLAN_JOIN_NS 2490.0
#define HX__PLAN_JOIN_PANEL_NS 15.0
#define HX__PLAN_PART 0.95 /* the speed of groups of one panel, which begin and end more often */
#define HX__PLAN_MOST_PARTIALS ((size_t)256 << 20)

static inline size_t hx__plan_ceiling(size_t n, size_t of) { return n / of + (n % of != 0); }
static inline size_t hx__plan_greater(size_t a, size_t b) { return a > b ? a : b; }
static inline size_t hx__plan_lesser(size_t a, size_t b) { return a < b ? a : b; }

/* How a row with operands in place finds A; B is asked for as its transpose, and has twice the bits. */
static inline uint32_t hx__plan_lies(size_t rs, size_t cs, bool even, size_t lines) {
  if (rs != 1 || cs == 1) return 0;
  return HX__LIES_A_BY_K | (even && cs % 4 == 0 && lines % 4 == 0 ? HX__LIES_A_IN_FOURS : 0);
}

/* hx__tiles_plan_for of a row that lets the launch choose its tiles (hx__kernel_row.blocks), */
hx__tiles_plan hx__cells_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *shape,
                                  unsigned units);
/* and of one for few rows of C; other: the product of the transposes. */
hx__tiles_plan hx__few_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *shape,
                                const hx__tiles_shape *other, unsigned units);

#endif
