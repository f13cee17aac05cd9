/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/panel.h"

#include <string.h>

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* The lines of this rank among [first, first + count). */
static void pack(const hx__mpi_operand *o, size_t first, size_t count, float *buffer) {
  const size_t length = hx__mpi_count(&o->places, o->places.me);
  for (size_t i = first, run; i < first + count; i += run) {
    run = min(hx__mpi_rest(&o->lines, i), first + count - i);
    if (hx__mpi_owner(&o->lines, i) != o->lines.me) continue;
    const float *const from = o->local + hx__mpi_count_below(&o->lines, o->lines.me, i) * o->line;
    if (o->by_lines)
      for (size_t l = 0; l < run; l++)
        memcpy(buffer + (i - first + l) * length, from + l * o->line, length * sizeof *from);
    else
      for (size_t p = 0; p < length; p++)
        memcpy(buffer + p * count + i - first, from + p * o->step, run * sizeof *from);
  }
}

hx__mpi_panel hx__mpi_panel_in_place(const hx__mpi_operand *o, size_t first) {
  const float *const at = o->local + hx__mpi_count_below(&o->lines, o->lines.me, first) * o->line;
  return (hx__mpi_panel){at, o->by_lines ? o->line : o->step, o->by_lines};
}

/* The lines of one rank among [first, first + count), as places in the buffer: at most one run a block. */
static int runs_of(const hx__mpi_operand *o, int rank, size_t first, size_t count, int *lengths, int *places) {
  int runs = 0;
  for (size_t i = first, run; i < first + count; i += run) {
    run = min(hx__mpi_rest(&o->lines, i), first + count - i);
    if (hx__mpi_owner(&o->lines, i) != rank) continue;
    lengths[runs] = (int)run;
    places[runs++] = (int)(i - first);
  }
  return runs;
}

/* The lines of one rank in a panel of `count` lines. Without gaps, if it has all of them. */
static bool type_of(const hx__mpi_team *team, const hx__mpi_operand *o, int rank, size_t first, size_t count,
                    MPI_Datatype *type) {
  int lengths[HX__MPI_PANEL], places[HX__MPI_PANEL];
  const int runs = runs_of(o, rank, first, count, lengths, places);
  const int length = (int)hx__mpi_count(&o->places, o->places.me);
  const bool is_whole = runs == 1 && (size_t)lengths[0] == count;
  MPI_Datatype one = MPI_DATATYPE_NULL, run = MPI_DATATYPE_NULL;
  if (!runs || !length) return true;
  bool did;
  if (o->by_lines || is_whole) {
    did = hx__mpi_did(team, MPI_Type_contiguous(length, MPI_FLOAT, &one), "MPI_Type_contiguous") &&
          hx__mpi_did(team, MPI_Type_indexed(runs, lengths, places, one, type), "MPI_Type_indexed");
  } else {
    const MPI_Aint step = (MPI_Aint)(count * sizeof(float));
    did = hx__mpi_did(team, MPI_Type_indexed(runs, lengths, places, MPI_FLOAT, &run), "MPI_Type_indexed") &&
          hx__mpi_did(team, MPI_Type_create_resized(run, 0, step, &one), "MPI_Type_create_resized") &&
          hx__mpi_did(team, MPI_Type_contiguous(length, one, type), "MPI_Type_contiguous");
  }
  if (one != MPI_DATATYPE_NULL) MPI_Type_free(&one);
  if (run != MPI_DATATYPE_NULL) MPI_Type_free(&run);
  return did && hx__mpi_did(team, MPI_Type_commit(type), "MPI_Type_commit");
}

/* The lines of one rank go from its buffer to the same places of all others'. */
static bool broadcast(const hx__mpi_team *team, const hx__mpi_operand *o, int rank, size_t first, size_t count,
                      float *buffer, MPI_Request *request, bool *did_start) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool did = type_of(team, o, rank, first, count, &type);
  *did_start = false;
  if (did && type != MPI_DATATYPE_NULL)
    *did_start = did = hx__mpi_did(team, MPI_Ibcast(buffer, 1, type, rank, o->along, request), "MPI_Ibcast");
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return did;
}

/* Whether a rank other than this one has to get its lines. */
static bool has_to_send(const hx__mpi_cyclic *users, int rank) {
  bool sends = false;
  for (int other = 0; other < users->size && !sends; other++) sends = other != rank && hx__mpi_count(users, other);
  return sends;
}

bool hx__mpi_stays(const hx__mpi_operand *o, const hx__mpi_cyclic *users) {
  bool stays = true;
  for (int rank = 0; rank < o->lines.size && stays; rank++)
    stays = !hx__mpi_count(&o->lines, rank) || !has_to_send(users, rank);
  return stays;
}

bool hx__mpi_panel_start(const hx__mpi_team *team, const hx__mpi_operand *operand, const hx__mpi_cyclic *users,
                         size_t first, size_t count, float *buffer, MPI_Request *requests, int *requested) {
  pack(operand, first, count, buffer);
  for (int rank = 0; rank < operand->lines.size; rank++) {
    bool did_start = false;
    if (!has_to_send(users, rank)) continue;
    if (!broadcast(team, operand, rank, first, count, buffer, &requests[*requested], &did_start)) return false;
    *requested += did_start;
  }
  return true;
}
