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

/* Lines of one rank in a panel: those numbered [begin, end) of what it has of the lines [first, first + count). If a
 * message may not have a whole line, it has the elements [from, from + length) of one. */
typedef struct message {
  int rank;
  size_t first, count, begin, end, from, length;
} message;

/* As places in the buffer: at most one run a block. */
static int runs_of(const hx__mpi_operand *o, const message *m, int *lengths, int *places) {
  int runs = 0;
  size_t number = 0;
  for (size_t i = m->first, run; i < m->first + m->count && number < m->end; i += run) {
    run = min(hx__mpi_rest(&o->lines, i), m->first + m->count - i);
    if (hx__mpi_owner(&o->lines, i) != m->rank) continue;
    const size_t skipped = m->begin > number ? min(m->begin - number, run) : 0, taken = min(run, m->end - number);
    number += run;
    if (skipped >= taken) continue;
    lengths[runs] = (int)(taken - skipped);
    places[runs++] = (int)(i + skipped - m->first);
  }
  return runs;
}

static bool resize(const hx__mpi_team *team, MPI_Datatype type, size_t floats, MPI_Datatype *out) {
  const MPI_Aint bytes = (MPI_Aint)(floats * sizeof(float));
  return hx__mpi_did(team, MPI_Type_create_resized(type, 0, bytes, out), "MPI_Type_create_resized");
}

/* What follows m->from in each place of the buffer. Without gaps, if they are all lines of the panel. */
static bool type_of(const hx__mpi_team *team, const hx__mpi_operand *o, const message *m, MPI_Datatype *type) {
  int lengths[HX__MPI_PANEL], places[HX__MPI_PANEL];
  const int runs = runs_of(o, m, lengths, places), length = (int)m->length;
  const bool is_whole = runs == 1 && (size_t)lengths[0] == m->count;
  const size_t line = hx__mpi_count(&o->places, o->places.me);
  MPI_Datatype one = MPI_DATATYPE_NULL, run = MPI_DATATYPE_NULL;
  bool did;
  if (o->by_lines && m->length < line) {
    did = hx__mpi_did(team, MPI_Type_contiguous(length, MPI_FLOAT, &run), "MPI_Type_contiguous") &&
          resize(team, run, line, &one) &&
          hx__mpi_did(team, MPI_Type_indexed(runs, lengths, places, one, type), "MPI_Type_indexed");
  } else if (o->by_lines || is_whole) {
    did = hx__mpi_did(team, MPI_Type_contiguous(length, MPI_FLOAT, &one), "MPI_Type_contiguous") &&
          hx__mpi_did(team, MPI_Type_indexed(runs, lengths, places, one, type), "MPI_Type_indexed");
  } else {
    did = hx__mpi_did(team, MPI_Type_indexed(runs, lengths, places, MPI_FLOAT, &run), "MPI_Type_indexed") &&
          resize(team, run, m->count, &one) &&
          hx__mpi_did(team, MPI_Type_contiguous(length, one, type), "MPI_Type_contiguous");
  }
  if (one != MPI_DATATYPE_NULL) MPI_Type_free(&one);
  if (run != MPI_DATATYPE_NULL) MPI_Type_free(&run);
  return did && hx__mpi_did(team, MPI_Type_commit(type), "MPI_Type_commit");
}

/* Lines of one rank go from its buffer to the same places of all others'. */
static bool broadcast(const hx__mpi_team *team, const hx__mpi_operand *o, const message *m, float *buffer,
                      MPI_Request *request) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  float *const from = buffer + m->from * (o->by_lines ? 1 : m->count);
  const bool did = type_of(team, o, m, &type) &&
                   hx__mpi_did(team, MPI_Ibcast(from, 1, type, m->rank, o->along, request), "MPI_Ibcast");
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return did;
}

/* How many lines a message may have: at least one, of which it then has HX__MPI_MOST_FLOATS elements at most. */
static size_t most_lines(const hx__mpi_operand *o) {
  const size_t length = hx__mpi_count(&o->places, o->places.me);
  return length < HX__MPI_MOST_FLOATS ? HX__MPI_MOST_FLOATS / (length ? length : 1) : 1;
}

size_t hx__mpi_panel_requests(const hx__mpi_operand *operand, size_t count) {
  const size_t length = hx__mpi_count(&operand->places, operand->places.me);
  const size_t parts = length / HX__MPI_MOST_FLOATS + 1; /* of a line */
  return (size_t)operand->lines.size * parts + count / most_lines(operand) * parts;
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

/* All lines of a rank in a panel. */
static bool broadcast_all(const hx__mpi_team *team, const hx__mpi_operand *o, message m, float *buffer,
                          MPI_Request *requests, int *requested) {
  const size_t most = most_lines(o), length = hx__mpi_count(&o->places, o->places.me);
  const size_t all =
      hx__mpi_count_below(&o->lines, m.rank, m.first + m.count) - hx__mpi_count_below(&o->lines, m.rank, m.first);
  for (m.begin = 0; m.begin < all; m.begin = m.end) {
    m.end = min(all, m.begin + most);
    for (m.from = 0; m.from < length; m.from += m.length) {
      m.length = min(length - m.from, HX__MPI_MOST_FLOATS);
      if (!broadcast(team, o, &m, buffer, &requests[*requested])) return false;
      ++*requested;
    }
  }
  return true;
}

bool hx__mpi_panel_start(const hx__mpi_team *team, const hx__mpi_operand *operand, const hx__mpi_cyclic *users,
                         size_t first, size_t count, float *buffer, MPI_Request *requests, int *requested) {
  pack(operand, first, count, buffer);
  for (int rank = 0; rank < operand->lines.size; rank++) {
    const message all = {.rank = rank, .first = first, .count = count};
    if (has_to_send(users, rank) && !broadcast_all(team, operand, all, buffer, requests, requested)) return false;
  }
  return true;
}
