/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

/* A block begins with its size. Its contents begin at a cache line. */
typedef struct block {
  _Alignas(64) size_t bytes;
  _Alignas(64) float contents[];
} block;

static block *_Atomic kept; /* Threads may multiply at the same time: one gets it. */

float *hx__mpi_memory_take(size_t floats) {
  if (floats > (SIZE_MAX / 2 - sizeof(block)) / sizeof(float)) return NULL;
  const size_t bytes = (sizeof(block) + floats * sizeof(float) + 63) / 64 * 64;
  block *b = atomic_exchange(&kept, NULL);
  if (b && b->bytes < bytes) {
    free(b);
    b = NULL;
  }
  if (!b) {
    b = aligned_alloc(64, bytes);
    if (!b) return NULL;
    b->bytes = bytes;
  }
  return b->contents;
}

void hx__mpi_memory_return(float *memory) {
  if (!memory) return;
  block *const b = (block *)((char *)memory - offsetof(block, contents));
  free(b->bytes <= HX__MPI_MOST_KEPT ? atomic_exchange(&kept, b) : b);
}
