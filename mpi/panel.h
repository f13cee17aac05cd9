/* SPDX-License-Identifier: Apache-2.0
 * The operands of a product, in panels of lines: a line is a column of op(A) or a row of op(B), so that its number is
 * the k of the product. Each rank needs the part of every line that meets its part of C; for this the rank that has
 * it broadcasts it along a row (A) or a column (B) of the grid. */
#ifndef HX_MPI_PANEL_H
#define HX_MPI_PANEL_H

#include "mpi/cyclic.h"
#include "mpi/team.h"

#define HX__MPI_PANEL 512 /* the panels of docs/ARITHMETIC.md, section 7 */

/* Of a message, and of what a rank sends in an exchange. MPI counts elements in int; and MPI_Ibcast of MPICH 4.0 fails
 * from 2 GiB on. */
#ifndef HX__MPI_MOST_BYTES
#define HX__MPI_MOST_BYTES ((size_t)1 << 30)
#endif
#define HX__MPI_MOST_FLOATS (HX__MPI_MOST_BYTES / sizeof(float))

typedef struct hx__mpi_operand {
  const float *local; /* element p of line l of this rank: local[l * line + p * step] */
  size_t line, step;
  hx__mpi_cyclic lines;        /* which lines are on which rank of `along` */
  hx__mpi_cyclic places;       /* which elements of a line are on which rank of `across` */
  MPI_Comm along, across;      /* ranks with other lines, with other elements of the same lines */
  int along_step, across_step; /* what the next rank of each adds to the rank in the team */
  bool by_lines;               /* so its panels are, too: elements of a line are neighbours, not those of a place */
  bool is_in_place;            /* no line has to be sent or copied */
  bool is_transposed;          /* lines are dealt out across and places along, until they have been moved */
  float *moved;                /* NULL, or what hx__mpi_operand_move allocated */
} hx__mpi_operand;

/* Gives each rank the elements that `places` names of the lines that are dealt out along, if it has others.
 * Collective over the team, which agrees on the status. */
hx_status hx__mpi_operand_move(const hx__mpi_team *team, hx__mpi_operand *operand, const hx__mpi_cyclic *places);

/* A panel: element p of its line l is at[l * ld + p] if by_lines, else at[p * ld + l]. The layout is that of the
 * operand, so that to copy it is to copy runs; ranks have the same one, but for operands in place. */
typedef struct hx__mpi_panel {
  const float *at;
  size_t ld;
  bool by_lines;
} hx__mpi_panel;

/* Whether no line has to be sent, because each rank that multiplies anything with the lines has them all. users: what
 * each rank along multiplies them with, which may be nothing. The same on all ranks. */
bool hx__mpi_stays(const hx__mpi_operand *operand, const hx__mpi_cyclic *users);

/* The panel from line `first` on of an operand in place. */
hx__mpi_panel hx__mpi_panel_in_place(const hx__mpi_operand *operand, size_t first);

/* The most requests that hx__mpi_panel_start adds for this many lines: one for each rank along, and more if its lines,
 * or one of them, are more than a message may have. */
size_t hx__mpi_panel_requests(const hx__mpi_operand *operand, size_t count);

/* Starts to fill buffer with the lines [first, first + count), each with the elements of this rank, without gaps. */
bool hx__mpi_panel_start(const hx__mpi_team *team, const hx__mpi_operand *operand, const hx__mpi_cyclic *users,
                         size_t first, size_t count, float *buffer, MPI_Request *requests, int *requested);

#endif
