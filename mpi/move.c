/* SPDX-License-Identifier: Apache-2.0
 * If the rows of op(A) are not dealt out as those of C are, or the columns of op(B) not as those of C, the elements
 * of each line change places once before the product. Those of a transposed matrix always do, because its lines are
 * dealt out across and its places along. Both sides go through lines and places in ascending order, so a message is
 * elements without positions. */
#include <stdlib.h>

#include "mpi/panel.h"

/* Where elements are before or after the exchange: the rank with a line and a place of it has the number
 * owner(line) * line_step + owner(place) * place_step. */
typedef struct side {
  hx__mpi_cyclic lines, places;
  int line_step, place_step;
  size_t length;        /* of a line on this rank */
  int *place_rank;      /* of each place of this rank: what its owner on the other side adds to the number */
  int *counts, *starts; /* of what goes to, or comes from, each rank */
  float *packed;
} side;

typedef struct exchange {
  MPI_Comm comm;
  int ranks;
  side before, after;
  size_t at_once; /* lines of all ranks in one exchange, of which a rank sends HX__MPI_MOST_FLOATS elements at most */
  float *moved;
} exchange;

/* Lines and places. */
typedef struct box {
  size_t line, line_end, place, place_end;
} box;

static void free_side(side *s) {
  free(s->place_rank);
  free(s->counts);
  free(s->starts);
  free(s->packed);
}

/* The lines of a transposed operand were dealt out across the grid. This deals them out along it, so that every rank
 * has some of each panel. They keep their blocks if a panel has at least one for each rank. If the grid is square and
 * all matrices have these blocks, each rank then exchanges elements with one other, and those on the diagonal with
 * none. */
static hx__mpi_cyclic lines_along(const hx__mpi_operand *o, const hx__mpi_cyclic *places) {
  const hx__mpi_cyclic *const along = &o->places;
  hx__mpi_cyclic lines = o->lines;
  lines.me = along->me;
  lines.size = along->size;
  if (lines.block * (size_t)lines.size <= HX__MPI_PANEL) {
    lines.first = (lines.first - places->first + along->first + places->size) % lines.size;
  } else {
    lines.block = (HX__MPI_PANEL + (size_t)lines.size - 1) / (size_t)lines.size;
    lines.skip = 0;
    lines.first = 0;
  }
  return lines;
}

static exchange describe(const hx__mpi_team *team, const hx__mpi_operand *o, const hx__mpi_cyclic *places) {
  exchange e = {.comm = o->across, .ranks = places->size};
  e.before = (side){.lines = o->lines, .places = o->places, .line_step = 0, .place_step = 1};
  e.after = (side){.lines = o->lines, .places = *places, .line_step = 0, .place_step = 1};
  e.at_once = HX__MPI_PANEL;
  if (o->is_transposed) {
    e.comm = team->comm;
    e.ranks = team->size;
    e.before.line_step = e.after.place_step = o->across_step;
    e.before.place_step = e.after.line_step = o->along_step;
    e.after.lines = lines_along(o, places);
    const size_t round = o->lines.block * (size_t)o->lines.size; /* so that all ranks have something to send */
    if (e.at_once < round) e.at_once = round;
  }
  const size_t limit = places->n < HX__MPI_MOST_FLOATS ? HX__MPI_MOST_FLOATS / places->n : 1;
  if (e.at_once > limit) e.at_once = limit;
  if (e.at_once > o->lines.n) e.at_once = o->lines.n;
  e.before.length = hx__mpi_count(&e.before.places, e.before.places.me);
  e.after.length = hx__mpi_count(&e.after.places, e.after.places.me);
  return e;
}

static size_t end_of(const exchange *e, size_t first) {
  const size_t n = e->before.lines.n;
  return n - first < e->at_once ? n : first + e->at_once;
}

/* The lines of this rank below one of all ranks, as places. */
static size_t lines_below(const side *s, size_t line) { return hx__mpi_count_below(&s->lines, s->lines.me, line); }

/* The most lines that this rank has in one exchange. */
static size_t most_lines(const exchange *e, const side *s) {
  size_t most = 0;
  for (size_t first = 0; first < s->lines.n; first += e->at_once) {
    const size_t count = lines_below(s, end_of(e, first)) - lines_below(s, first);
    if (most < count) most = count;
  }
  return most;
}

static bool allocate_side(const exchange *e, side *s, const side *other) {
  s->place_rank = malloc((s->length + 1) * sizeof(int));
  s->counts = malloc((size_t)e->ranks * sizeof(int));
  s->starts = malloc((size_t)e->ranks * sizeof(int));
  s->packed = malloc((most_lines(e, s) * s->length + 1) * sizeof(float));
  if (!s->place_rank || !s->counts || !s->starts || !s->packed) return false;
  for (size_t p = 0; p < s->length; p++)
    s->place_rank[p] = other->place_step * hx__mpi_owner(&other->places, hx__mpi_global(&s->places, s->places.me, p));
  return true;
}

static bool allocate(exchange *e) {
  const size_t lines = lines_below(&e->after, e->after.lines.n);
  e->moved = malloc((lines * e->after.length + 1) * sizeof(float));
  return allocate_side(e, &e->before, &e->after) && allocate_side(e, &e->after, &e->before) && e->moved;
}

/* What the owner of a line on the other side adds to the number of a rank. */
static int line_rank(const side *s, const side *other, size_t line) {
  return other->line_step * hx__mpi_owner(&other->lines, hx__mpi_global(&s->lines, s->lines.me, line));
}

/* What of all ranks' lines and places this rank has. */
static box part_of(const side *s, const box *all) {
  return (box){lines_below(s, all->line), lines_below(s, all->line_end),
               hx__mpi_count_below(&s->places, s->places.me, all->place),
               hx__mpi_count_below(&s->places, s->places.me, all->place_end)};
}

/* What goes to, or comes from, each rank of the part of this one. */
static void count(side *s, const side *other, int ranks, const box *part) {
  for (int r = 0; r < ranks; r++) s->counts[r] = 0;
  for (size_t l = part->line; l < part->line_end; l++) {
    int *const counts = s->counts + line_rank(s, other, l);
    for (size_t p = part->place; p < part->place_end; p++) counts[s->place_rank[p]]++;
  }
  int start = 0;
  for (int r = 0; r < ranks; r++) {
    s->starts[r] = start;
    start += s->counts[r];
  }
}

static void pack(const hx__mpi_operand *o, side *s, const side *other, int ranks, const box *part) {
  for (size_t l = part->line; l < part->line_end; l++) {
    int *const next = s->starts + line_rank(s, other, l);
    for (size_t p = part->place; p < part->place_end; p++)
      s->packed[next[s->place_rank[p]]++] = o->local[l * o->line + p * o->step];
  }
  for (int r = 0; r < ranks; r++) s->starts[r] -= s->counts[r];
}

/* Uses up the starts. */
static void unpack(side *s, const side *other, const box *part, float *moved) {
  for (size_t l = part->line; l < part->line_end; l++) {
    int *const next = s->starts + line_rank(s, other, l);
    for (size_t p = part->place; p < part->place_end; p++)
      moved[l * s->length + p] = s->packed[next[s->place_rank[p]]++];
  }
}

static bool move_box(const hx__mpi_team *team, const hx__mpi_operand *o, exchange *e, const box *all) {
  side *const from = &e->before, *const to = &e->after;
  const box sent = part_of(from, all), received = part_of(to, all);
  count(from, to, e->ranks, &sent);
  count(to, from, e->ranks, &received);
  pack(o, from, to, e->ranks, &sent);
  const int code = MPI_Alltoallv(from->packed, from->counts, from->starts, MPI_FLOAT, to->packed, to->counts,
                                 to->starts, MPI_FLOAT, e->comm);
  if (!hx__mpi_did(team, code, "MPI_Alltoallv")) return false;
  unpack(to, from, &received, e->moved);
  return true;
}

/* The lines [first, end) of all ranks. */
static bool move_lines(const hx__mpi_team *team, const hx__mpi_operand *o, exchange *e, size_t first, size_t end) {
  const size_t n = e->before.places.n;
  bool did = true;
  for (size_t place = 0, next; did && place < n; place = next) {
    next = n - place < HX__MPI_MOST_FLOATS ? n : place + HX__MPI_MOST_FLOATS;
    did = move_box(team, o, e, &(box){first, end, place, next});
  }
  return did;
}

hx_status hx__mpi_operand_move(const hx__mpi_team *team, hx__mpi_operand *operand, const hx__mpi_cyclic *places) {
  if (operand->is_transposed ? team->size == 1 : hx__mpi_is_same(&operand->places, places)) return HX_OK;
  exchange e = describe(team, operand, places);
  const bool did = allocate(&e);
  hx_status status = did ? HX_OK : hx__mpi_fail(HX_OUT_OF_MEMORY, "no memory for a part of A or B");
  status = hx__mpi_agree(team, status);
  for (size_t first = 0; did && status == HX_OK && first < e.before.lines.n; first = end_of(&e, first))
    if (!move_lines(team, operand, &e, first, end_of(&e, first))) status = HX__MPI_FAILED;
  free_side(&e.before);
  free_side(&e.after);
  if (status != HX_OK) {
    free(e.moved);
    return status;
  }
  operand->local = operand->moved = e.moved;
  operand->line = e.after.length;
  operand->step = 1;
  operand->by_lines = true;
  operand->lines = e.after.lines;
  operand->places = e.after.places;
  return HX_OK;
}
