/* SPDX-License-Identifier: Apache-2.0
 * One dimension of a block-cyclic distribution: blocks of indices are dealt out to processes in turn. Those of a
 * submatrix may begin within a block. */
#ifndef HX_MPI_CYCLIC_H
#define HX_MPI_CYCLIC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hx__mpi_cyclic {
  size_t n, block;     /* indices, and how many a block has */
  size_t skip;         /* how many of the first block come before index 0 */
  int first, me, size; /* the process with the first block, this one, and their number */
} hx__mpi_cyclic;

static inline int hx__mpi_owner(const hx__mpi_cyclic *d, size_t i) {
  return (int)(((i + d->skip) / d->block + (size_t)d->first) % (size_t)d->size);
}

/* How many indices there are from i to the end of its block. */
static inline size_t hx__mpi_rest(const hx__mpi_cyclic *d, size_t i) { return d->block - (i + d->skip) % d->block; }

/* Blocks of other processes that come before the first one of a process. */
static inline size_t hx__mpi_blocks_before(const hx__mpi_cyclic *d, int process) {
  return (size_t)((process - d->first + d->size) % d->size);
}

/* How many of its first block a process does not have. */
static inline size_t hx__mpi_lacks(const hx__mpi_cyclic *d, int process) { return process == d->first ? d->skip : 0; }

/* The index that a process has in a place. */
static inline size_t hx__mpi_global(const hx__mpi_cyclic *d, int process, size_t place) {
  place += hx__mpi_lacks(d, process);
  const size_t block = place / d->block * (size_t)d->size + hx__mpi_blocks_before(d, process);
  return block * d->block + place % d->block - d->skip;
}

/* How many of the indices below i a process has: the place of i, if i is its own. */
static inline size_t hx__mpi_count_below(const hx__mpi_cyclic *d, int process, size_t i) {
  const size_t end = i + d->skip, whole = end / d->block, last = whole % (size_t)d->size;
  const size_t before = hx__mpi_blocks_before(d, process), rounds = whole / (size_t)d->size + (before < last);
  return rounds * d->block + (before == last ? end % d->block : 0) - hx__mpi_lacks(d, process);
}

/* How many indices a process has: ScaLAPACK's NUMROC. */
static inline size_t hx__mpi_count(const hx__mpi_cyclic *d, int process) {
  return hx__mpi_count_below(d, process, d->n);
}

/* Whether each process has the same indices in both, which have the same n and size. */
static inline bool hx__mpi_is_same(const hx__mpi_cyclic *a, const hx__mpi_cyclic *b) {
  return a->size == 1 || (a->block == b->block && a->skip == b->skip && a->first == b->first);
}

#endif
