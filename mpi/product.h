/* SPDX-License-Identifier: Apache-2.0
 * A checked product C = alpha op(A) op(B) + beta C over a grid of ranks. */
#ifndef HX_MPI_PRODUCT_H
#define HX_MPI_PRODUCT_H

#include "mpi/panel.h"

typedef struct hx__mpi_product {
  hx__mpi_team team;
  MPI_Comm row, column; /* the ranks in the row and in the column of this one */
  int rows, columns;    /* of the grid */
  int at_row, at_column;
  hx__mpi_cyclic m, n; /* of C */
  size_t k, ldc;
  hx__mpi_operand a, b;
  float alpha, beta;
  float *c;
} hx__mpi_product;

/* The arguments of hx_mpi_gemm, under its names. */
typedef struct hx__mpi_gemm_args {
  char transa, transb;
  int m, n, k;
  float alpha;
  const float *a;
  int ia, ja;
  const int *desca;
  const float *b;
  int ib, jb;
  const int *descb;
  float beta;
  float *c;
  int ic, jc;
  const int *descc;
} hx__mpi_gemm_args;

/* Checks the arguments of this rank against its place in the grid, and fills in what they say. Not collective. */
hx_status hx__mpi_product_describe(const hx_context *hx, const hx__mpi_gemm_args *args, hx__mpi_product *product);

/* Whether this rank was given the same product as rank 0. Collective. */
hx_status hx__mpi_product_compare(const hx__mpi_product *product, const hx__mpi_gemm_args *args);

#endif
