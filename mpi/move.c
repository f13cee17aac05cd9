/* SPDX-License-Identifier: Apache-2.0
 * If the rows of A are not dealt out as those of C are, or the columns of B not as those of C, the elements of each
 * line change places once before the product. Both sides go through lines and indices in ascending order, so a message
 * is elements without positions. */
#include <stdlib.h>

#include "mpi/panel.h"

#define AT_ONCE ((size_t)1 << 30) /* elements of one exchange, which MPI counts in int */

typedef struct exchange {
  int *counts[2], *starts[2]; /* of what is sent (0) and received (1), for each rank */
  float *packed[2];
  float *moved;
  size_t lines, at_once; /* of this rank, and in one exchange */
  size_t length[2];      /* of a line, before and after */
} exchange;

static void free_exchange(exchange *e) {
  for (int side = 0; side < 2; side++) {
    free(e->counts[side]);
    free(e->starts[side]);
    free(e->packed[side]);
  }
}

static bool allocate(const hx__mpi_operand *o, const hx__mpi_cyclic *places, exchange *e) {
  const size_t ranks = (size_t)places->size, limit = AT_ONCE / (places->n + 1) + 1;
  *e = (exchange){.lines = hx__mpi_count(&o->lines, o->lines.me), .at_once = limit < 64 ? limit : 64};
  e->length[0] = hx__mpi_count(&o->places, o->places.me);
  e->length[1] = hx__mpi_count(places, places->me);
  bool did = true;
  for (int side = 0; side < 2; side++) {
    e->counts[side] = malloc(ranks * sizeof(int));
    e->starts[side] = malloc(ranks * sizeof(int));
    e->packed[side] = malloc((e->at_once * e->length[side] + 1) * sizeof(float));
    did = did && e->counts[side] && e->starts[side] && e->packed[side];
  }
  e->moved = malloc((e->lines * e->length[1] + 1) * sizeof(float));
  return did && e->moved;
}

/* What goes to, or comes from, each rank: an element is on rank owner(mine's index) on the other side. */
static void count(const hx__mpi_cyclic *mine, const hx__mpi_cyclic *others, size_t lines, int *counts, int *starts) {
  for (int r = 0; r < mine->size; r++) counts[r] = 0;
  const size_t length = hx__mpi_count(mine, mine->me);
  for (size_t p = 0; p < length; p++) counts[hx__mpi_owner(others, hx__mpi_global(mine, mine->me, p))]++;
  int start = 0;
  for (int r = 0; r < mine->size; r++) {
    counts[r] *= (int)lines;
    starts[r] = start;
    start += counts[r];
  }
}

/* Uses up starts. */
static void pack(const hx__mpi_operand *o, const hx__mpi_cyclic *to, size_t first, size_t lines, size_t length,
                 float *packed, int *starts) {
  for (size_t l = first; l < first + lines; l++)
    for (size_t p = 0; p < length; p++) {
      const int rank = hx__mpi_owner(to, hx__mpi_global(&o->places, o->places.me, p));
      packed[starts[rank]++] = o->local[l * o->line + p * o->step];
    }
}

static void unpack(const hx__mpi_cyclic *from, const hx__mpi_cyclic *to, size_t lines, size_t length, float *moved,
                   const float *packed, int *starts) {
  for (size_t l = 0; l < lines; l++)
    for (size_t p = 0; p < length; p++)
      moved[l * length + p] = packed[starts[hx__mpi_owner(from, hx__mpi_global(to, to->me, p))]++];
}

static bool move_lines(const hx__mpi_team *team, const hx__mpi_operand *o, const hx__mpi_cyclic *places, exchange *e,
                       size_t first) {
  const size_t lines = e->lines - first < e->at_once ? e->lines - first : e->at_once;
  count(&o->places, places, lines, e->counts[0], e->starts[0]);
  pack(o, places, first, lines, e->length[0], e->packed[0], e->starts[0]);
  count(&o->places, places, lines, e->counts[0], e->starts[0]);
  count(places, &o->places, lines, e->counts[1], e->starts[1]);
  const int code = MPI_Alltoallv(e->packed[0], e->counts[0], e->starts[0], MPI_FLOAT, e->packed[1], e->counts[1],
                                 e->starts[1], MPI_FLOAT, o->across);
  if (!hx__mpi_did(team, code, "MPI_Alltoallv")) return false;
  unpack(&o->places, places, lines, e->length[1], e->moved + first * e->length[1], e->packed[1], e->starts[1]);
  return true;
}

hx_status hx__mpi_operand_move(const hx__mpi_team *team, hx__mpi_operand *operand, const hx__mpi_cyclic *places) {
  if (hx__mpi_is_same(&operand->places, places)) return HX_OK;
  exchange e;
  hx_status status = HX_OK;
  if (!allocate(operand, places, &e)) status = hx__mpi_fail(HX_OUT_OF_MEMORY, "no memory for a part of A or B");
  status = hx__mpi_agree(team, status);
  for (size_t first = 0; status == HX_OK && first < e.lines; first += e.at_once)
    if (!move_lines(team, operand, places, &e, first)) status = HX__MPI_FAILED;
  free_exchange(&e);
  if (status != HX_OK) {
    free(e.moved);
    return status;
  }
  operand->local = operand->moved = e.moved;
  operand->line = e.length[1];
  operand->step = 1;
  operand->places = *places;
  return HX_OK;
}
