/* SPDX-License-Identifier: Apache-2.0
 * The plan of a product on a device whose rows are a set (hx__kernel_row.shape): which row, in which orientation, what
 * is copied first, and which tiles are cut into panels. All plans give the same bits. */
#ifndef HX_KERNELS_GEMM_PLAN_H
#define HX_KERNELS_GEMM_PLAN_H

#include "kernels/kernels.h"

/* op(A)(i,p) at a + i*rs + p*cs, op(B)(p,j) likewise. aligned: the first element is at a multiple of 16 bytes. */
typedef struct hx__gemm_operand {
  size_t rs, cs;
  bool aligned;
} hx__gemm_operand;

typedef struct hx__gemm_shape {
  size_t m, n, k;
  hx__gemm_operand a, b;
  size_t products; /* of this shape in one launch, their operands all aligned or not; 0 is one, too */
} hx__gemm_shape;

#define HX__JOIN_TICKETS 32768u /* the most tickets of one launch: one for each tile or panel (kernels.h) */

/* The layout of operands that are read in place: the kernels' argument `layout`, whose bits matmul_place.cl knows by
 * number. */
enum {
  HX__A_BY_K = 1, /* [k][row], else [row][k] */
  HX__B_BY_K = 2, /* [k][column], else [column][k] */
  HX__A_VEC4 = 4, /* lines, and what is read of each, begin and end at multiples of 16 bytes */
  HX__B_VEC4 = 8,
  HX__B_BACKWARDS = 16 /* HX__SHAPE_FEW_ROWS: B is read from its end to its beginning */
};

typedef struct hx__gemm_plan {
  bool transposed; /* the product of the transposes: A is op(B) transposed, m is n, and t is written transposed */
  bool copy_a,
      copy_b; /* of the launched product: to rows of pitch_a, pitch_b elements; lines_a: rows of the copy of A */
  size_t pitch_a, lines_a, pitch_b;
  uint32_t layout; /* rows in place: HX__A_BY_K and so on */
  bool joins;      /* The product's own launch adds panels: rows in place, and row->chains. */
  /* Tiles from full_tiles on are cut into panels; a group computes row->slices of them. HX__SHAPE_FEW_ROWS: tiles that
   * a group computes one after the other are full_tiles apart. */
  size_t tiles, full_tiles, panels;
  size_t groups;
  size_t partials; /* elements of partial sums that are joined later */
  double ns;       /* the estimated time, to compare plans; INFINITY: the row cannot compute it */
} hx__gemm_plan;

/* The best plan for a row's program of this layout on a device of `units` compute units. */
hx__gemm_plan hx__gemm_plan_for(const hx__kernel_row *row, hx__layout layout, const hx__gemm_shape *shape,
                                unsigned units);

#endif
