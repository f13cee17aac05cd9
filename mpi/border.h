/* SPDX-License-Identifier: Apache-2.0
 * Leaves that a cut between ranks divides. The rank with the first element of such a leaf owns it, and gets the others
 * from their ranks, of which there may be thousands. */
#ifndef HX_MPI_BORDER_H
#define HX_MPI_BORDER_H

#include "mpi/tree.h"

typedef struct hx__mpi_border {
  size_t head;  /* elements of this rank that belong to a leaf of an earlier rank: its first ones */
  size_t tail;  /* elements of this rank in a leaf that later ranks continue: its last ones; 0: none */
  size_t count; /* elements of that leaf */
  int requests;
  float x[HX__MPI_LEAF], y[HX__MPI_LEAF]; /* that leaf */
  MPI_Request request[];
} hx__mpi_border;

/* The bytes of a border among `size` ranks. */
size_t hx__mpi_border_bytes(int size);

/* Starts the exchange. start[r]: the index of the first element of rank r; start[size]: that of none. y: NULL, if there
 * is one array only. */
hx_status hx__mpi_border_start(const hx__mpi_team *team, const uint64_t *start, const float *x, const float *y,
                               hx__mpi_border *border);

/* Waits for it: the leaf is then complete. */
hx_status hx__mpi_border_wait(const hx__mpi_team *team, hx__mpi_border *border);

#endif
