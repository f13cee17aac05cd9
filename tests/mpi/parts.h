/* SPDX-License-Identifier: Apache-2.0
 * What the programs of tests of products share: a rank's part of a matrix, and all grids of the ranks. */
#ifndef HX_TESTS_MPI_PARTS_H
#define HX_TESTS_MPI_PARTS_H

#include <limits.h>

#include "tests/mpi/ranks.h"

#define GAP 3 /* elements between the columns of a rank's part */
#define UNTOUCHED 0x7f812345u

/* The ranks of a call. */
typedef struct grid_of_ranks {
  MPI_Comm comm;
  int size[2], at[2];
} grid_of_ranks;

typedef struct blocks {
  int mb, nb, rsrc, csrc; /* sources are taken modulo the grid */
} blocks;

/* A rank's part of a matrix. The whole one lies by rows, without gaps. */
typedef struct part {
  int rows, columns, desc[9];
  float *local;
  size_t local_rows, local_columns;
  size_t *row, *column; /* the indices of its rows and columns in the whole matrix */
} part;

static inline void free_part(part *p) {
  free(p->local);
  free(p->row);
  free(p->column);
}

/* The indices that a process has, by going through all of them: the definition, not the code under test. */
static inline size_t *indices_of(int n, int block, int source, int me, int size, size_t *count) {
  size_t *const indices = malloc(((size_t)n + 1) * sizeof *indices);
  *count = 0;
  for (int i = 0; i < n; i++)
    if ((i / block + source) % size == me) indices[(*count)++] = (size_t)i;
  return indices;
}

static inline size_t whole_index(const part *p, size_t i, size_t j) {
  return p->row[i] * (size_t)p->columns + p->column[j];
}

static inline part take(int rows, int columns, blocks b, const grid_of_ranks *g, const float *whole) {
  part p = {rows, columns, {1, -1, rows, columns, b.mb, b.nb, b.rsrc % g->size[0], b.csrc % g->size[1], 0}, NULL, 0, 0,
            NULL, NULL};
  p.row = indices_of(rows, b.mb, p.desc[6], g->at[0], g->size[0], &p.local_rows);
  p.column = indices_of(columns, b.nb, p.desc[7], g->at[1], g->size[1], &p.local_columns);
  p.desc[8] = (int)p.local_rows + GAP;
  uint32_t *const bits = malloc(((size_t)p.desc[8] * p.local_columns + 1) * sizeof *bits);
  for (size_t i = 0; i < (size_t)p.desc[8] * p.local_columns; i++) bits[i] = UNTOUCHED;
  p.local = (float *)bits;
  for (size_t j = 0; j < p.local_columns; j++)
    for (size_t i = 0; i < p.local_rows; i++) p.local[j * (size_t)p.desc[8] + i] = whole[whole_index(&p, i, j)];
  return p;
}

/* Compares a rank's part of C with the whole one, gaps included. Returns what it adds to the hash, which is a sum. */
static inline uint64_t compare(const part *p, const grid_of_ranks *g, const float *want, size_t number) {
  uint64_t hash = 0;
  size_t wrong = 0;
  for (size_t j = 0; j < p->local_columns; j++)
    for (size_t i = 0; i < (size_t)p->desc[8]; i++) {
      const uint32_t got = ref_bits(p->local[j * (size_t)p->desc[8] + i]);
      if (i >= p->local_rows) {
        wrong += got != UNTOUCHED;
        continue;
      }
      const size_t index = whole_index(p, i, j);
      wrong += got != ref_bits(want[index]);
      hash += hash_add(hash_add(number, index), got);
    }
  CHECK(wrong == 0, "case %zu, grid %d x %d, rank at %d, %d: %zu elements differ", number, g->size[0], g->size[1],
        g->at[0], g->at[1], wrong);
  return hash;
}

/* Calls `test` on every grid of the ranks: 1 x N, N x 1, and those between. Returns the sum of the hashes that ranks
 * return, which has to be the same for all grids. */
static inline uint64_t on_all_grids(uint64_t (*test)(const grid_of_ranks *)) {
  uint64_t first = 0;
  for (int rows = 1; rows <= ranks; rows++) {
    if (ranks % rows) continue;
    grid_of_ranks g = {.size = {rows, ranks / rows}};
    const int periods[2] = {0, 0};
    int number;
    MPI_Cart_create(MPI_COMM_WORLD, 2, g.size, periods, 0, &g.comm);
    PMPI_Comm_rank(g.comm, &number);
    MPI_Cart_coords(g.comm, number, 2, g.at);
    uint64_t hash = test(&g);
    PMPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_SUM, g.comm);
    if (rows == 1) first = hash;
    CHECK(hash == first, "grid %d x %d: %016llx, not %016llx", g.size[0], g.size[1], (unsigned long long)hash,
          (unsigned long long)first);
    MPI_Comm_free(&g.comm);
  }
  return first;
}

/* SUMMA's bound: every rank receives the lines of A and B that it lacks, once. What is moved before, comes in
 * addition: each of these elements at most once. `before`: bytes_received() before the product. */
static inline void check_traffic(const grid_of_ranks *g, uint64_t before, int m, int n, int k, double moved) {
  uint64_t received = bytes_received() - before;
  PMPI_Allreduce(MPI_IN_PLACE, &received, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const double bound = 4.0 * k * ((double)m * (g->size[1] - 1) + (double)n * (g->size[0] - 1));
  CHECK((double)received <= 1.1 * bound + 4 * moved && (double)received >= bound,
        "%llu bytes, the bound is %.0f + %.0f", (unsigned long long)received, bound, 4 * moved);
  if (g->at[0] == 0 && g->at[1] == 0)
    printf("traffic %d x %d: %llu bytes, bound %.0f + %.0f\n", g->size[0], g->size[1], (unsigned long long)received,
           bound, 4 * moved);
}

static int handled_errors;
static inline void count_errors(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  handled_errors++;
}

typedef hx_status multiply_fn(const grid_of_ranks *g, size_t number, uint64_t *hash);

/* A call of MPI that a product makes fails on all ranks; the handler hears of it. Whether there is such a call. */
static inline bool fail_one_call(const grid_of_ranks *g, multiply_fn *multiply, size_t number, int call) {
  uint64_t hash = 0;
  handled_errors = 0;
  fail_call(call);
  const hx_status status = multiply(g, number, &hash);
  const bool failed = calls_made() >= call;
  fail_call(0);
  CHECK(status == (failed ? HX_DEVICE_FAILED : HX_OK) && handled_errors == failed, "call %d: %s, handled %d times: %s",
        call, hx_status_string(status), handled_errors, hx_mpi_error_detail());
  if (failed) check_mpi_text();
  return failed;
}

/* The same ranks, without what the library keeps. */
static inline grid_of_ranks new_grid(const grid_of_ranks *g, MPI_Errhandler handler) {
  grid_of_ranks fresh = *g;
  MPI_Comm_dup(g->comm, &fresh.comm);
  MPI_Comm_set_errhandler(fresh.comm, handler);
  return fresh;
}

/* Every call fails once with a new grid, and once when it has its rows and columns. A later product is right again. No
 * object is left but a row and a column, along which broadcasts were on their way. */
static inline void fail_every_call(const grid_of_ranks *g, multiply_fn *multiply, size_t number) {
  MPI_Errhandler handler;
  bool failed = true;
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* it hears of types */
  for (int call = 1; failed; call++) {
    grid_of_ranks fresh = new_grid(g, handler);
    const int before = objects_alive() - 1;
    failed = fail_one_call(&fresh, multiply, number, call);
    const bool may_fly = failed && broadcasts_began();
    MPI_Comm_free(&fresh.comm);
    const int left = objects_alive() - before;
    CHECK(left == 0 || (left == 2 && may_fly), "call %d: %d objects of MPI are left", call, left);
  }
  grid_of_ranks kept = new_grid(g, handler);
  fail_one_call(&kept, multiply, number, INT_MAX); /* none fails */
  for (int call = 1; fail_one_call(&kept, multiply, number, call); call++) {
  }
  MPI_Comm_free(&kept.comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

/* Every allocation fails once, on the last rank. All ranks get its status, and the next product is right. */
static inline void fail_every_allocation(const grid_of_ranks *g, multiply_fn *multiply, size_t number) {
  char words[32];
  snprintf(words, sizeof words, "rank %d: no memory", ranks - 1);
  uint64_t hash = 0;
  for (int n = 1, failed = 1; failed; n++) {
    grid_of_ranks fresh = new_grid(g, MPI_ERRORS_ARE_FATAL);
    fail_allocation(rank == ranks - 1 ? n : 0);
    const hx_status status = multiply(&fresh, number, &hash);
    failed = rank == ranks - 1 && allocation_failed();
    fail_allocation(0);
    PMPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(status == (failed ? HX_OUT_OF_MEMORY : HX_OK) && (!failed || has_words(hx_mpi_error_detail(), words)),
          "allocation %d: %s: %s", n, hx_status_string(status), hx_mpi_error_detail());
    CHECK_MPI(multiply(&fresh, number, &hash));
    MPI_Comm_free(&fresh.comm);
  }
}

/* Checks errors on one grid, with several rows if there is one. */
static inline void check_errors_once(const grid_of_ranks *g, void (*check_errors)(const grid_of_ranks *),
                                     multiply_fn *multiply, size_t number) {
  static bool has_checked;
  if (has_checked || (g->size[0] == 1 && ranks > 1)) return;
  has_checked = true;
  check_errors(g);
#ifdef MOST_BYTES /* of thousands of short messages each would fail once */
  fail_every_allocation(g, multiply, number);
#else
  fail_every_call(g, multiply, number);
#endif
}

/* Prints the hash and the number of checks on rank 0. Returns the exit status. */
static inline int finish(uint64_t hash) {
  check_lost();
  unsigned counts[2] = {checks_done, checks_failed};
  PMPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("hash %016llx\n%u checks, %u failed\n", (unsigned long long)hash, counts[0], counts[1]);
  hx_close(hx);
  MPI_Finalize();
  return counts[1] != 0;
}

#endif
