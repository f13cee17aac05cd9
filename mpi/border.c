/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/border.h"

#include <string.h>

size_t hx__mpi_border_bytes(int size) {
  const size_t others = size < HX__MPI_LEAF ? (size_t)size : HX__MPI_LEAF;
  return sizeof(hx__mpi_border) + 2 * (others + 1) * sizeof(MPI_Request);
}

static uint64_t min(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Two arrays are two messages. */
static bool send(const hx__mpi_team *t, hx__mpi_border *b, const float *from, int count, int owner, int tag) {
  MPI_Request *const request = &b->request[b->requests++];
  return hx__mpi_did(t, MPI_Isend(from, count, MPI_FLOAT, owner, tag, t->comm, request), "MPI_Isend");
}

static bool receive(const hx__mpi_team *t, hx__mpi_border *b, float *to, int count, int rank, int tag) {
  MPI_Request *const request = &b->request[b->requests++];
  return hx__mpi_did(t, MPI_Irecv(to, count, MPI_FLOAT, rank, tag, t->comm, request), "MPI_Irecv");
}

/* The first elements of this rank, if the leaf in which they are begins before them. */
static bool send_head(const hx__mpi_team *t, const uint64_t *start, const float *x, const float *y, hx__mpi_border *b) {
  const uint64_t mine = start[t->rank], leaf = mine - mine % HX__MPI_LEAF;
  if (leaf == mine) return true;
  b->head = min(start[t->rank + 1], leaf + HX__MPI_LEAF) - mine;
  int owner = t->rank - 1;
  while (start[owner] > leaf) owner--;
  return !b->head || (send(t, b, x, (int)b->head, owner, 0) && (!y || send(t, b, y, (int)b->head, owner, 1)));
}

/* The rest of the last leaf of this rank. */
static bool receive_tail(const hx__mpi_team *t, const uint64_t *start, const float *x, const float *y,
                         hx__mpi_border *b) {
  const uint64_t mine = start[t->rank], end = start[t->rank + 1];
  const uint64_t leaf = end - end % HX__MPI_LEAF, leaf_end = min(leaf + HX__MPI_LEAF, start[t->size]);
  if (leaf == end || leaf < mine || end == leaf_end) return true;
  b->tail = end - leaf;
  b->count = leaf_end - leaf;
  memcpy(b->x, x + (leaf - mine), b->tail * sizeof *x);
  if (y) memcpy(b->y, y + (leaf - mine), b->tail * sizeof *y);
  for (int r = t->rank + 1; r < t->size && start[r] < leaf_end; r++) {
    const int count = (int)(min(start[r + 1], leaf_end) - start[r]);
    const uint64_t at = start[r] - leaf;
    if (count && !(receive(t, b, b->x + at, count, r, 0) && (!y || receive(t, b, b->y + at, count, r, 1))))
      return false;
  }
  return true;
}

hx_status hx__mpi_border_start(const hx__mpi_team *team, const uint64_t *start, const float *x, const float *y,
                               hx__mpi_border *border) {
  border->head = border->tail = border->count = 0;
  border->requests = 0;
  if (start[team->rank] == start[team->rank + 1]) return HX_OK;
  const bool did = receive_tail(team, start, x, y, border) && send_head(team, start, x, y, border);
  return did ? HX_OK : HX__MPI_FAILED;
}

hx_status hx__mpi_border_wait(const hx__mpi_team *team, hx__mpi_border *border) {
  return hx__mpi_wait_all(team, border->requests, border->request) ? HX_OK : HX__MPI_FAILED;
}
