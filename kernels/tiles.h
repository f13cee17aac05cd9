/* SPDX-License-Identifier: Apache-2.0
 * How a product goes over the compute units of a device whose rows are a set (hx__kernel_row.rate): which row, which
 * way round, what is copied first, and how many tiles a group does whole. Any of these gives the same bits. */
#ifndef HX_KERNELS_TILES_H
#define HX_KERNELS_TILES_H

#include "kernels/kernels.h"

/* op(A)(i,p) at a + i*a_rs + p*a_cs, op(B)(p,j) likewise. even: the first element is at a multiple of 16 bytes. */
typedef struct hx__tiles_operand {
  size_t rs, cs;
  bool even;
} hx__tiles_operand;

typedef struct hx__tiles_shape {
  size_t m, n, k;
  hx__tiles_operand a, b;
} hx__tiles_shape;

#define HX__JOIN_TICKETS 32768u /* that one launch takes, at most: a tile's or a panel's (kernels.h) */

/* How panels are added: matmul_copy.cl knows these by number. */
enum { HX__JOIN_FOURS = 1, HX__JOIN_CELLS = 2 };

/* [k][row] and [k][column]; and by four neighbours at multiples of 16 bytes. matmul_place.cl knows these by number. */
enum {
  HX__LIES_A_BY_K = 1,
  HX__LIES_B_BY_K = 2,
  HX__LIES_A_IN_FOURS = 4,
  HX__LIES_B_IN_FOURS = 8, /* of a row for few rows or tens of them also [column][k]: every column begins at one */
  HX__LIES_BACK = 16       /* matmul_few.cl: from the end to the beginning */
};

typedef struct hx__tiles_plan {
  bool across;         /* the product of the transposes: A is op(B) transposed, m is n, and t is written transposed */
  bool copy_a, copy_b; /* of the product as launched: to rows of pitch_a, pitch_b elements, lines_a of them */
  size_t pitch_a, lines_a, pitch_b;
  uint32_t lies;               /* how the operands of a row with both in place are found: HX__LIES_... */
  bool joins;                  /* panels are added by the product's own launch: rows in place, and row->chains */
  size_t tiles, whole, panels; /* tiles from `whole` on are cut into panels, row->slices of them a group; few rows:
                                  tiles that a group does one after the other are `whole` apart */
  size_t groups;
  uint32_t tile_m, tile_n; /* the row's own, or those chosen for it */
  size_t partials;         /* elements of sums that wait to be joined */
  double ns;               /* about what it takes, to compare plans by; INFINITY: the row cannot */
} hx__tiles_plan;

/* The best plan for a row's program of this layout on a device of `units` compute units. */
hx__tiles_plan hx__tiles_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__tiles_shape *shape,
                                  unsigned units);

#endif
