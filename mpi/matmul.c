/* SPDX-License-Identifier: Apache-2.0
 * SUMMA: for each panel of k, the columns of op(A) go along the rows of the grid and the rows of op(B) along its
 * columns, and each rank adds their product to its part of C. The panels are those of hx's arithmetic, so the chain
 * of roundings of an element is that of one machine. While a panel is multiplied the next ones are on their way: with
 * as many as a tree of ranks has levels, from as many roots, each rank has something to send all the time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/hx_mpi.h"
#include "mpi/memory.h"
#include "mpi/product.h"
#include "runtime/base/fpenv.h"

#define LINE ((size_t)16) /* floats of a cache line, at which buffers begin */

enum { MOST_SLOTS = 32 }; /* more than a tree of INT_MAX ranks has levels */

/* A slot has the buffers of one panel, and the requests while it is on its way. Panel i has slot i modulo their number.
 * Operands in place have no buffers. */
typedef struct panels {
  size_t count, lines; /* lines: of each but the last */
  size_t slots, started;
  float *a, *b, *sums;       /* sums: in the shape of C without gaps; NULL: C itself */
  size_t a_floats, b_floats; /* of each slot */
  float *memory;             /* of all of these */
  MPI_Request *requests;
  size_t most_requests; /* of each slot */
  int requested[MOST_SLOTS];
} panels;

static void free_panels(panels *p) {
  hx__mpi_memory_return(p->memory);
  free(p->requests);
}

static size_t height(const hx__mpi_product *p) { return hx__mpi_count(&p->m, p->m.me); }
static size_t width(const hx__mpi_product *p) { return hx__mpi_count(&p->n, p->n.me); }

/* One panel if no line is sent: hx has the same panels. */
static size_t most_lines(const hx__mpi_product *p) {
  return p->k < HX__MPI_PANEL || (p->a.is_in_place && p->b.is_in_place) ? p->k : HX__MPI_PANEL;
}
static size_t panel_lines(const hx__mpi_product *p, const panels *w, size_t first) {
  return p->k - first < w->lines ? p->k - first : w->lines;
}

static size_t buffer_floats(const hx__mpi_operand *o, const panels *w, size_t length) {
  return o->is_in_place ? 0 : (w->lines * length + LINE - 1) / LINE * LINE;
}

/* One for the panel that is multiplied, and one for each level of the larger tree, if the memory is kept for so many.
 */
static size_t count_slots(const hx__mpi_product *p, const panels *w) {
  const int ranks = p->rows > p->columns ? p->rows : p->columns;
  const size_t floats = w->a_floats + w->b_floats;
  size_t slots = 2;
  while ((size_t)1 << (slots - 1) < (size_t)ranks && (slots + 1) * floats <= HX__MPI_MOST_KEPT / sizeof(float)) slots++;
  return slots < w->count ? slots : w->count;
}

static hx_status allocate(const hx__mpi_product *p, panels *w) {
  *w = (panels){.lines = most_lines(p)};
  w->most_requests = hx__mpi_panel_requests(&p->a, w->lines) + hx__mpi_panel_requests(&p->b, w->lines);
  w->count = (p->k + w->lines - 1) / w->lines;
  w->a_floats = buffer_floats(&p->a, w, height(p));
  w->b_floats = buffer_floats(&p->b, w, width(p));
  w->slots = count_slots(p, w);
  const bool keeps_c = p->beta != 0 && w->count > 1; /* the old C is needed to the end */
  const size_t sums = keeps_c ? height(p) * width(p) : 0;
  w->requests = malloc(w->slots * w->most_requests * sizeof *w->requests);
  w->memory = hx__mpi_memory_take(w->slots * (w->a_floats + w->b_floats) + sums);
  if (!w->requests || !w->memory) return hx__mpi_fail(HX_OUT_OF_MEMORY, "no memory for panels of A and B");
  w->a = w->memory;
  w->b = w->a + w->slots * w->a_floats;
  w->sums = keeps_c ? w->b + w->slots * w->b_floats : NULL;
  return HX_OK;
}

static float *a_of(const panels *w, size_t panel) { return w->a + panel % w->slots * w->a_floats; }
static float *b_of(const panels *w, size_t panel) { return w->b + panel % w->slots * w->b_floats; }
static MPI_Request *requests_of(const panels *w, size_t panel) {
  return w->requests + panel % w->slots * w->most_requests;
}

static bool start_one(const hx__mpi_product *p, panels *w, const hx__mpi_operand *o, const hx__mpi_cyclic *users,
                      size_t panel, float *buffer) {
  const size_t first = panel * w->lines;
  return o->is_in_place || hx__mpi_panel_start(&p->team, o, users, first, panel_lines(p, w, first), buffer,
                                               requests_of(w, panel), &w->requested[panel % w->slots]);
}

/* Starts the panels before `end` that have not been started. */
static bool start(const hx__mpi_product *p, panels *w, size_t end) {
  for (; w->started < w->count && w->started < end; w->started++) {
    const size_t panel = w->started;
    w->requested[panel % w->slots] = 0;
    if (!start_one(p, w, &p->a, &p->n, panel, a_of(w, panel)) || !start_one(p, w, &p->b, &p->m, panel, b_of(w, panel)))
      return false;
  }
  return true;
}

/* A tree passes on the panels that follow only while MPI is called, which may not be necessary for this one. */
static bool wait_for(const hx__mpi_product *p, const panels *w, size_t panel) {
  if (panel >= w->count) return true;
  bool did = hx__mpi_wait_all(&p->team, w->requested[panel % w->slots], requests_of(w, panel));
  for (size_t next = panel + 1; did && next < w->started; next++)
    did = hx__mpi_move_on(&p->team, w->requested[next % w->slots], requests_of(w, next));
  return did;
}

static hx__mpi_panel panel_of(const hx__mpi_operand *o, const float *buffer, size_t length, size_t first,
                              size_t lines) {
  return o->is_in_place ? hx__mpi_panel_in_place(o, first)
                        : (hx__mpi_panel){buffer, o->by_lines ? length : lines, o->by_lines};
}

/* The product of a panel. C lies by columns, which is its transpose by rows: C' = B' A'. *event: NULL for the last
 * panel, during which nothing is on its way. */
static hx_status multiply(hx_context *hx, const hx__mpi_product *p, const panels *w, size_t panel, hx_event **event) {
  const size_t first = panel * w->lines, lines = panel_lines(p, w, first);
  const hx__mpi_panel a = panel_of(&p->a, a_of(w, panel), height(p), first, lines);
  const hx__mpi_panel b = panel_of(&p->b, b_of(w, panel), width(p), first, lines);
  float *const c = w->sums ? w->sums : p->c;
  hx_task task = hx_matmul(width(p), height(p), lines, b.at, a.at, c);
  task.matmul.trans_a = b.by_lines;
  task.matmul.trans_b = !a.by_lines;
  task.matmul.lda = b.ld;
  task.matmul.ldb = a.ld;
  task.matmul.ldc = w->sums ? height(p) : p->ldc;
  task.matmul.alpha = w->count == 1 ? p->alpha : 1.0f;
  task.matmul.beta = w->count == 1 ? p->beta : panel ? 1.0f : 0.0f;
  *event = NULL;
  return panel + 1 < w->count ? hx_offload_async(hx, &task, event) : hx_offload(hx, &task, NULL);
}

/* *all_arrived: false after an error of MPI. A failure of hx does not keep this rank from the broadcasts of the panels
 * that follow: the other ranks need them. */
static hx_status add_panels(hx_context *hx, const hx__mpi_product *p, panels *w, bool *all_arrived) {
  const size_t count = w->count;
  const bool is_empty = !height(p) || !width(p);
  bool did = start(p, w, w->slots > 1 ? w->slots - 1 : 1) && wait_for(p, w, 0);
  hx_status status = HX_OK;
  for (size_t panel = 0; did && panel < count; panel++) {
    hx_event *event = NULL;
    did = start(p, w, panel + w->slots);
    hx_status multiplied = HX_OK;
    if (status == HX_OK && !is_empty) multiplied = multiply(hx, p, w, panel, &event);
    if (did) did = wait_for(p, w, panel + 1);
    if (event) multiplied = hx_wait(event, NULL);
    if (did && multiplied != HX_OK) status = hx__mpi_fail_by_hx(multiplied);
  }
  *all_arrived = did;
  return did ? status : HX__MPI_FAILED;
}

/* C = alpha S + beta C, as docs/ARITHMETIC.md has it; a NaN is the one that hx stores. */
static void scale(const hx__mpi_product *p, const float *sums) {
  const hx__fpenv was = hx__fpenv_enter();
  const uint32_t nan_bits = 0x7fc00000u;
  float nan;
  memcpy(&nan, &nan_bits, sizeof nan);
  const size_t m = height(p), n = width(p);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < m; i++) {
      float *const c = &p->c[j * p->ldc + i];
      const float sum = sums ? sums[j * m + i] : *c, t = p->alpha == 1 ? sum : p->alpha * sum;
      const float r = p->beta == 0 ? t : fmaf(p->beta, *c, t);
      *c = r != r ? nan : r;
    }
  hx__fpenv_leave(was);
}

/* The host reads and writes C, which a device may have kept (HX_RESIDENT). Memory that hx does not know is refused. */
static hx_status scale_on_host(hx_context *hx, const hx__mpi_product *p, const float *sums) {
  const size_t m = height(p), n = width(p);
  if (!m || !n) return HX_OK;
  const size_t bytes = ((n - 1) * p->ldc + m) * sizeof(float);
  const hx_status status = hx_sync(hx, p->c, bytes);
  if (status != HX_OK && status != HX_INVALID_ARGUMENT) return hx__mpi_fail_by_hx(status);
  scale(p, sums);
  if (status == HX_OK) hx_modified(hx, p->c, bytes);
  return HX_OK;
}

/* alpha == 0 or k == 0, or C has no element: neither A nor B is read. */
static hx_status scale_only(hx_context *hx, const hx__mpi_product *p) {
  hx_task task = hx_matmul(width(p), height(p), 0, NULL, NULL, p->c);
  task.matmul.ldc = p->ldc;
  task.matmul.beta = p->beta;
  const hx_status status = height(p) && width(p) ? hx_offload(hx, &task, NULL) : HX_OK;
  return status == HX_OK ? status : hx__mpi_fail_by_hx(status);
}

static hx_status multiply_all(hx_context *hx, hx__mpi_product *p) {
  const hx__mpi_team *const team = &p->team;
  const bool reads = p->alpha != 0 && p->k && p->m.n && p->n.n;
  if (!reads) return hx__mpi_agree(team, scale_only(hx, p));
  hx_status status = hx__mpi_operand_move(team, &p->a, &p->m);
  if (status == HX_OK) status = hx__mpi_operand_move(team, &p->b, &p->n);
  if (status != HX_OK) return status;
  p->a.is_in_place = hx__mpi_stays(&p->a, &p->n);
  p->b.is_in_place = hx__mpi_stays(&p->b, &p->m);
  panels w;
  status = hx__mpi_agree(team, allocate(p, &w));
  if (status == HX_OK) {
    bool all_arrived;
    status = add_panels(hx, p, &w, &all_arrived);
    if (status == HX_OK && w.count > 1 && (p->alpha != 1 || p->beta != 0)) status = scale_on_host(hx, p, w.sums);
    /* After an error of MPI broadcasts may still be on their way. So their buffers are not freed, nor are the row and
     * the column with the grid: Open MPI 4.1 then crashes in whatever is called next. */
    if (!all_arrived) {
      team->kept->row = team->kept->column = MPI_COMM_NULL;
      return hx__mpi_agree(team, status);
    }
    status = hx__mpi_agree(team, status);
  }
  free_panels(&w);
  return status;
}

/* The place of this rank in the grid. */
static hx_status place(hx__mpi_product *p) {
  const hx__mpi_team *const team = &p->team;
  int topology = MPI_UNDEFINED, dimensions = 0, size[2], periods[2], at[2];
  if (!hx__mpi_did(team, MPI_Topo_test(team->comm, &topology), "MPI_Topo_test")) return HX__MPI_FAILED;
  if (topology == MPI_CART && !hx__mpi_did(team, MPI_Cartdim_get(team->comm, &dimensions), "MPI_Cartdim_get"))
    return HX__MPI_FAILED;
  if (dimensions != 2)
    return hx__mpi_fail(HX_INVALID_ARGUMENT, "grid has no Cartesian topology of two dimensions (MPI_Cart_create)");
  if (!hx__mpi_did(team, MPI_Cart_get(team->comm, 2, size, periods, at), "MPI_Cart_get")) return HX__MPI_FAILED;
  p->rows = size[0];
  p->columns = size[1];
  p->at_row = at[0];
  p->at_column = at[1];
  return HX_OK;
}

/* One dimension of the grid. Nothing is left of it if MPI fails. */
static bool cut(const hx__mpi_team *team, const int remain[2], MPI_Comm *out) {
  MPI_Comm made = MPI_COMM_NULL;
  if (!hx__mpi_did(team, MPI_Cart_sub(team->comm, remain, &made), "MPI_Cart_sub")) return false;
  if (!hx__mpi_did(team, MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler")) {
    MPI_Comm_free(&made);
    return false;
  }
  *out = made;
  return true;
}

/* The ranks of its row and column, in the order of their places there. They are kept, because to make them takes longer
 * than a small product. */
static hx_status cut_grid(hx__mpi_product *p) {
  const hx__mpi_team *const team = &p->team;
  hx__mpi_kept *const kept = team->kept;
  const int along_row[2] = {0, 1}, along_column[2] = {1, 0};
  if (kept->row == MPI_COMM_NULL) {
    MPI_Comm row, column;
    if (!cut(team, along_row, &row)) return HX__MPI_FAILED;
    if (!cut(team, along_column, &column)) {
      MPI_Comm_free(&row);
      return HX__MPI_FAILED;
    }
    kept->row = row;
    kept->column = column;
  }
  p->row = kept->row;
  p->column = kept->column;
  return HX_OK;
}

/* The place of this rank, and its row and column. The first time, all ranks agree on whether there is a grid. Whether
 * or not they do, they next agree on a status, as a rank does that calls hx_mpi_refuse instead. */
static hx_status enter_grid(hx__mpi_product *p) {
  const bool is_first = p->team.kept->row == MPI_COMM_NULL;
  hx_status status = place(p);
  if (is_first) status = hx__mpi_begin(&p->team, status, &(hx__mpi_told){0});
  return status == HX_OK ? cut_grid(p) : status;
}

hx_status hx_mpi_gemm(MPI_Comm grid, hx_context *hx, char transa, char transb, int m, int n, int k, float alpha,
                      const float *a, int ia, int ja, const int *desca, const float *b, int ib, int jb,
                      const int *descb, float beta, float *c, int ic, int jc, const int *descc) {
  const hx__mpi_gemm_args args = {transa, transb, m,  n,     k,    alpha, a,  ia, ja,   desca,
                                  b,      ib,     jb, descb, beta, c,     ic, jc, descc};
  hx__mpi_product p = {.row = MPI_COMM_NULL, .column = MPI_COMM_NULL};
  hx_status status = hx__mpi_join(grid, "grid", &p.team);
  if (status == HX_OK) status = enter_grid(&p);
  if (status != HX_OK) return status;
  status = hx__mpi_begin(&p.team, hx__mpi_product_describe(hx, &args, &p), &(hx__mpi_told){0});
  if (status == HX_OK) status = hx__mpi_product_compare(&p, &args);
  if (status == HX_OK) status = multiply_all(hx, &p);
  free(p.a.moved);
  free(p.b.moved);
  return status;
}

hx_status hx_mpi_matmul(MPI_Comm grid, hx_context *hx, int m, int n, int k, float alpha, const float *a,
                        const int *desca, const float *b, const int *descb, float beta, float *c, const int *descc) {
  return hx_mpi_gemm(grid, hx, 'N', 'N', m, n, k, alpha, a, 1, 1, desca, b, 1, 1, descb, beta, c, 1, 1, descc);
}
