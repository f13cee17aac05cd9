/* SPDX-License-Identifier: Apache-2.0 */
#include "mpi/panel.h"

#include <string.h>

#define SQUARE ((size_t)16)

static size_t min(size_t a, size_t b) { return a < b ? a : b; }

/* The first `lines` elements of each of `length` columns that are `step` apart, as lines. Squares of a cache line on
 * each side are read and written whole. */
static void transpose(const float *from, size_t step, size_t lines, size_t length, float *to) {
  for (size_t l = 0, high; l < lines; l += high) {
    high = min(SQUARE, lines - l);
    for (size_t p = 0, wide; p < length; p += wide) {
      wide = min(SQUARE, length - p);
      for (size_t i = 0; i < high; i++)
        for (size_t j = 0; j < wide; j++) to[(l + i) * length + p + j] = from[(p + j) * step + l + i];
    }
  }
}

/* The lines of this rank among [first, first + count). A run of them is read across if elements
 * of different lines are neighbours, as in rows of B. */
static void pack(const hx__mpi_operand *o, size_t first, size_t count, float *buffer) {
  const size_t length = hx__mpi_count(&o->places, o->places.me);
  for (size_t i = first, run; i < first + count; i += run) {
    run = min(hx__mpi_rest(&o->lines, i), first + count - i);
    if (hx__mpi_owner(&o->lines, i) != o->lines.me) continue;
    const float *const from = o->local + hx__mpi_count_below(&o->lines, o->lines.me, i) * o->line;
    float *const to = buffer + (i - first) * length;
    if (o->step == 1)
      for (size_t l = 0; l < run; l++) memcpy(to + l * length, from + l * o->line, length * sizeof *to);
    else
      transpose(from, o->step, run, length, to);
  }
}

hx__mpi_panel hx__mpi_panel_in_place(const hx__mpi_operand *o, size_t first) {
  const float *const at = o->local + hx__mpi_count_below(&o->lines, o->lines.me, first) * o->line;
  const bool by_places = o->line == 1 && hx__mpi_count(&o->places, o->places.me) > 1; /* step may be 1, too */
  return by_places ? (hx__mpi_panel){at, o->step, false} : (hx__mpi_panel){at, o->line, true};
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

/* The lines of one rank go from its buffer to the same places of all others'. */
static bool broadcast(const hx__mpi_team *team, const hx__mpi_operand *o, int rank, size_t first, size_t count,
                      float *buffer, MPI_Request *request, bool *did_start) {
  int lengths[HX__MPI_PANEL], places[HX__MPI_PANEL];
  const int runs = runs_of(o, rank, first, count, lengths, places);
  const int length = (int)hx__mpi_count(&o->places, o->places.me);
  if (!runs || !length) return true;
  MPI_Datatype line = MPI_DATATYPE_NULL, lines = MPI_DATATYPE_NULL;
  const bool did = hx__mpi_did(team, MPI_Type_contiguous(length, MPI_FLOAT, &line), "MPI_Type_contiguous") &&
                   hx__mpi_did(team, MPI_Type_indexed(runs, lengths, places, line, &lines), "MPI_Type_indexed") &&
                   hx__mpi_did(team, MPI_Type_commit(&lines), "MPI_Type_commit") &&
                   hx__mpi_did(team, MPI_Ibcast(buffer, 1, lines, rank, o->along, request), "MPI_Ibcast");
  *did_start = did;
  if (lines != MPI_DATATYPE_NULL) MPI_Type_free(&lines);
  if (line != MPI_DATATYPE_NULL) MPI_Type_free(&line);
  return did;
}

/* Whether a rank other than this one has to get its lines. */
static bool has_to_send(const hx__mpi_cyclic *users, int rank) {
  bool sends = false;
  for (int other = 0; other < users->size && !sends; other++) sends = other != rank && hx__mpi_count(users, other);
  return sends;
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
