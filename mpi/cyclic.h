/* SPDX-License-Identifier: Apache-2.0
 * One dimension of a block-cyclic distribution: blocks of indices are dealt out to processes in turn. */
#ifndef HX_MPI_CYCLIC_H
#define HX_MPI_CYCLIC_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hx__mpi_cyclic {
  size_t n, block;     /* indices, and how many a block has */
  int first, me, size; /* the process with block 0, this one, and their number */
} hx__mpi_cyclic;

static inline int hx__mpi_owner(const hx__mpi_cyclic *d, size_t i) {
  return (int)((i / d->block + (size_t)d->first) % (size_t)d->size);
}

/* Where its owner has an index. */
static inline size_t hx__mpi_local(const hx__mpi_cyclic *d, size_t i) {
  return i / d->block / (size_t)d->size * d->block + i % d->block;
}

/* Blocks of other processes that come before the first one of a process. */
static inline size_t hx__mpi_blocks_before(const hx__mpi_cyclic *d, int process) {
  return (size_t)((process - d->first + d->size) % d->size);
}

/* The index that a process has in a place. */
static inline size_t hx__mpi_global(const hx__mpi_cyclic *d, int process, size_t place) {
  return (place / d->block * (size_t)d->size + hx__mpi_blocks_before(d, process)) * d->block + place % d->block;
}

/* How many indices a process has: ScaLAPACK's NUMROC. */
static inline size_t hx__mpi_count(const hx__mpi_cyclic *d, int process) {
  const size_t whole = d->n / d->block, before = hx__mpi_blocks_before(d, process), last = whole % (size_t)d->size;
  const size_t rounds = whole / (size_t)d->size + (before < last);
  return rounds * d->block + (before == last ? d->n % d->block : 0);
}

/* Whether each process has the same indices in both, which have the same n and size. */
static inline bool hx__mpi_is_same(const hx__mpi_cyclic *a, const hx__mpi_cyclic *b) {
  return a->block == b->block && a->first == b->first;
}

#endif
