/* SPDX-License-Identifier: Apache-2.0
 * The order in which leaves of a floating-point reduction are joined (docs/ARITHMETIC.md, section 2), for a tree of
 * which each rank has some adjacent leaves. A block of 2^k leaves that begins at a multiple of 2^k has a value of its
 * own. Any adjacent leaves are such blocks in one way only, if two blocks that are the halves of one are always joined;
 * so to put the blocks of one rank after those of another is associative, and MPI may do it in any tree of its own. */
#ifndef HX_MPI_TREE_H
#define HX_MPI_TREE_H

#include "mpi/team.h"

#define HX__MPI_LEAF 4096  /* elements */
#define HX__MPI_BLOCKS 106 /* there are fewer than 2^51 leaves: at most 51 blocks that grow, then 51 that shrink */

/* How many leaves each block has follows from which leaves they are. */
typedef struct hx__mpi_blocks {
  uint64_t first, leaves; /* the leaves that the blocks cover */
  int32_t failed;         /* in a message: the lowest rank that failed, of which there are then no blocks */
  uint16_t is_product, count;
  float value[HX__MPI_BLOCKS];
} hx__mpi_blocks;

/* Adds a block of 2^level leaves after the others, and joins what are now halves of one block. */
void hx__mpi_blocks_add(hx__mpi_blocks *blocks, unsigned level, float value);

/* The value of the whole tree, of which *blocks are all leaves. */
float hx__mpi_blocks_value(const hx__mpi_blocks *blocks);

/* Replaces *blocks, of each rank, by all blocks of all ranks, which are `leaves` leaves; and agrees on the status of
 * each, as hx__mpi_agree does. */
hx_status hx__mpi_blocks_of_all(const hx__mpi_team *team, uint64_t leaves, hx_status mine, hx__mpi_blocks *blocks);

#endif
