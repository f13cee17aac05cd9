/* SPDX-License-Identifier: Apache-2.0
 * hx_mpi_matmul on every grid of the ranks: each rank makes the whole matrices, takes its blocks of them, and compares
 * its blocks of C with the product on one machine. The hash of all elements of C is the same for any grid. */
#include <signal.h>

#include "tests/mpi/ranks.h"

typedef struct blocks {
  int mb, nb, rsrc, csrc; /* sources are taken modulo the grid */
} blocks;

typedef struct product_case {
  int m, n, k;
  float alpha, beta;
  data_kind kind;
  blocks a, b, c;
} product_case;

static const product_case cases[] = {
    {37, 29, 1100, 1, 0, DATA_SIGNED, {7, 32, 0, 0}, {32, 7, 0, 0}, {7, 7, 0, 0}},
    {37, 29, 1100, 1, 0, DATA_SIGNED, {1, 1, 1, 2}, {1, 1, 3, 1}, {1, 1, 1, 1}},
    {130, 70, 513, 2.5f, 0, DATA_EXPONENTS, {32, 64, 0, 1}, {500, 32, 1, 0}, {32, 32, 0, 0}},
    {130, 70, 513, 1, 1, DATA_CANCEL, {64, 500, 0, 0}, {7, 1, 0, 0}, {32, 7, 1, 1}}, /* A and B move */
    {5, 600, 20, -0.5f, 0.25f, DATA_SIGNED, {1, 7, 0, 0}, {7, 64, 0, 0}, {1, 64, 0, 0}},
    {600, 5, 1030, 1, -3, DATA_SIGNED, {500, 7, 0, 0}, {64, 1, 0, 0}, {500, 1, 0, 0}},
    {64, 64, 512, 1, 0, DATA_ZEROS, {32, 500, 0, 0}, {500, 32, 0, 0}, {32, 32, 0, 0}},
    {64, 64, 1024, 1, 1, DATA_DENORMALS, {32, 64, 1, 0}, {64, 32, 0, 1}, {32, 32, 1, 1}},
    {33, 65, 1537, 3, 1, DATA_NAN, {7, 1, 0, 0}, {1, 64, 0, 0}, {64, 7, 0, 0}},
    {33, 65, 700, 1, 0, DATA_INF, {500, 500, 0, 0}, {500, 500, 0, 0}, {500, 500, 0, 0}},
    {1, 1, 1025, 1, 0, DATA_SIGNED, {1, 7, 0, 0}, {7, 1, 0, 0}, {1, 1, 0, 0}},
    {40, 40, 0, 1, 2, DATA_SIGNED, {7, 7, 0, 0}, {7, 7, 0, 0}, {7, 7, 0, 0}},
    {40, 40, 30, 0, 0, DATA_NAN, {7, 7, 0, 0}, {7, 7, 0, 0}, {7, 7, 0, 0}},
    {0, 40, 30, 1, 0, DATA_SIGNED, {7, 7, 0, 0}, {7, 7, 0, 0}, {7, 7, 0, 0}},
    {48, 48, 768, 1, 1, DATA_SIGNED, {2, 16, 0, 0}, {16, 2, 0, 0}, {1, 1, 0, 0}}, /* as many calls of MPI on all ranks
                                                                                   */
    {256, 192, 2048, 1, 0, DATA_SIGNED, {32, 32, 0, 0}, {32, 32, 0, 0}, {32, 32, 0, 0}}, /* traffic is counted */
};
#define COUNT(a) (sizeof(a) / sizeof *(a))
#define TRAFFIC_CASE (COUNT(cases) - 1)
#define EVEN_CASE (COUNT(cases) - 2)
#define GAP 3 /* elements between the columns of a rank's part */
#define UNTOUCHED 0x7f812345u

static int rank, ranks;
static hx_context *hx;

/* A rank's part of a matrix. The whole one lies by rows, without gaps. */
typedef struct part {
  int rows, columns, desc[9];
  float *local;
  size_t local_rows, local_columns;
  size_t *row, *column; /* the indices of its rows and columns in the whole matrix */
} part;

static void free_part(part *p) {
  free(p->local);
  free(p->row);
  free(p->column);
}

/* The indices that a process has, by going through all of them: the definition, not the code under test. */
static size_t *indices_of(int n, int block, int source, int me, int size, size_t *count) {
  size_t *const indices = malloc(((size_t)n + 1) * sizeof *indices);
  *count = 0;
  for (int i = 0; i < n; i++)
    if ((i / block + source) % size == me) indices[(*count)++] = (size_t)i;
  return indices;
}

static size_t whole_index(const part *p, size_t i, size_t j) { return p->row[i] * (size_t)p->columns + p->column[j]; }

static part take(int rows, int columns, blocks b, const int *grid, const int *at, const float *whole) {
  part p = {rows, columns, {1, -1, rows, columns, b.mb, b.nb, b.rsrc % grid[0], b.csrc % grid[1], 0}, NULL, 0, 0,
            NULL, NULL};
  p.row = indices_of(rows, b.mb, p.desc[6], at[0], grid[0], &p.local_rows);
  p.column = indices_of(columns, b.nb, p.desc[7], at[1], grid[1], &p.local_columns);
  p.desc[8] = (int)p.local_rows + GAP;
  uint32_t *const bits = malloc(((size_t)p.desc[8] * p.local_columns + 1) * sizeof *bits);
  for (size_t i = 0; i < (size_t)p.desc[8] * p.local_columns; i++) bits[i] = UNTOUCHED;
  p.local = (float *)bits;
  for (size_t j = 0; j < p.local_columns; j++)
    for (size_t i = 0; i < p.local_rows; i++) p.local[j * (size_t)p.desc[8] + i] = whole[whole_index(&p, i, j)];
  return p;
}

/* Compares a rank's part of C with the whole one, gaps included. Returns what it adds to the hash, which is a sum. */
static uint64_t compare(const part *p, const int *grid, const float *want, size_t number) {
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
  CHECK(wrong == 0, "case %zu, grid %d x %d, rank %d: %zu elements differ", number, grid[0], grid[1], rank, wrong);
  return hash;
}

/* Matrices of a case: the whole A, B and C, and the product by hx on one machine. */
typedef struct whole {
  float *a, *b, *c, *want;
} whole;

static whole make_whole(const product_case *t, size_t number) {
  const size_t m = (size_t)t->m, n = (size_t)t->n, k = (size_t)t->k;
  whole w = {malloc((m * k + 1) * 4), malloc((k * n + 1) * 4), malloc((m * n + 1) * 4), malloc((m * n + 1) * 4)};
  data_fill(HX_F32, t->kind, number, w.a, m * k);
  data_fill(HX_F32, t->kind, number + 100, w.b, k * n);
  data_fill(HX_F32, t->kind, number + 200, w.c, m * n);
  memcpy(w.want, w.c, m * n * sizeof(float));
  hx_task task = hx_matmul(m, n, k, w.a, w.b, w.want);
  task.matmul.alpha = t->alpha;
  task.matmul.beta = t->beta;
  CHECK_OK(hx_offload(hx, &task, NULL));
  return w;
}

static void free_whole(whole *w) {
  free(w->a);
  free(w->b);
  free(w->c);
  free(w->want);
}

static uint64_t multiply(MPI_Comm comm, const int *grid, const int *at, size_t number, const whole *w) {
  const product_case *const t = &cases[number];
  part a = take(t->m, t->k, t->a, grid, at, w->a), b = take(t->k, t->n, t->b, grid, at, w->b);
  part c = take(t->m, t->n, t->c, grid, at, w->c);
  CHECK_MPI(
      hx_mpi_matmul(comm, hx, t->m, t->n, t->k, t->alpha, a.local, a.desc, b.local, b.desc, t->beta, c.local, c.desc));
  const uint64_t hash = compare(&c, grid, w->want, number);
  free_part(&a);
  free_part(&b);
  free_part(&c);
  return hash;
}

/* SUMMA's bound: every rank receives the lines of A and B that it lacks, once. */
static void check_traffic(const int *grid, uint64_t before) {
  const product_case *const t = &cases[TRAFFIC_CASE];
  uint64_t received = bytes_received() - before;
  PMPI_Allreduce(MPI_IN_PLACE, &received, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  const double bound = 4.0 * t->k * ((double)t->m * (grid[1] - 1) + (double)t->n * (grid[0] - 1));
  CHECK((double)received <= 1.1 * bound && (double)received >= bound, "%llu bytes, the bound is %.0f",
        (unsigned long long)received, bound);
  if (rank == 0)
    printf("traffic %d x %d: %llu bytes, bound %.0f\n", grid[0], grid[1], (unsigned long long)received, bound);
}

/* All cases on one grid. */
static uint64_t multiply_all(MPI_Comm comm, const int *grid, const whole *wholes) {
  int at[2], mine;
  uint64_t hash = 0;
  PMPI_Comm_rank(comm, &mine);
  MPI_Cart_coords(comm, mine, 2, at);
  for (size_t i = 0; i < COUNT(cases); i++) {
    const uint64_t before = bytes_received();
    hash += multiply(comm, grid, at, i, &wholes[i]);
    if (i == TRAFFIC_CASE) check_traffic(grid, before);
  }
  PMPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_SUM, comm);
  return hash;
}

static void check_errors(MPI_Comm comm, const int *grid) {
  enum { WRONG = 14 };
  const char *const words[WRONG] = {"m is -1",
                                    "k is -1",
                                    "DTYPE of the descriptor of a is 2",
                                    "M of the descriptor of b is 9",
                                    "NB of the descriptor of c is 0",
                                    "RSRC of the descriptor of a",
                                    "CSRC of the descriptor of b is -1",
                                    "LLD of the descriptor of c",
                                    "a is NULL",
                                    "b is not aligned",
                                    "c overlaps a",
                                    "hx is NULL",
                                    "the descriptor of b is NULL",
                                    "differs from that of rank 0"};
  float *const x = calloc(3000, sizeof *x);
  char name[24];
  snprintf(name, sizeof name, "rank %d", ranks - 1);
  for (int wrong = 0; wrong < WRONG; wrong++) {
    if (wrong == WRONG - 1 && ranks == 1) continue;
    /* blocks of one, so that every rank has a part */
    int desc[3][9], m = 20, n = 20, k = 10;
    for (int i = 0; i < 3; i++)
      memcpy(desc[i], (int[9]){1, -1, i == 1 ? 10 : 20, i == 0 ? 10 : 20, 1, 1, 0, 0, 20}, sizeof desc[i]);
    const float *a = x, *b = x + 1000;
    float *c = x + 2000, alpha = 1;
    const bool is_last = rank == ranks - 1;
    if (is_last) {
      if (wrong == 0) m = -1;
      if (wrong == 1) k = -1;
      if (wrong == 2) desc[0][0] = 2;
      if (wrong == 3) desc[1][2] = 9;
      if (wrong == 4) desc[2][5] = 0;
      if (wrong == 5) desc[0][6] = grid[0];
      if (wrong == 6) desc[1][7] = -1;
      if (wrong == 7) desc[2][8] = 0;
      if (wrong == 8) a = NULL;
      if (wrong == 9) b = (const float *)((const char *)b + 1);
      if (wrong == 10) c = x;
      if (wrong == 13) alpha = 2;
    }
    CHECK_MPI_REFUSED(hx_mpi_matmul(comm, is_last && wrong == 11 ? NULL : hx, m, n, k, alpha, a, desc[0], b,
                                    is_last && wrong == 12 ? NULL : desc[1], 0, c, desc[2]),
                      HX_INVALID_ARGUMENT, words[wrong]);
    CHECK(has_words(hx_mpi_error_detail(), name), "%s", hx_mpi_error_detail());
  }
  for (int i = 0; i < 3000; i++) CHECK(x[i] == 0, "element %d was written", i);
  CHECK_MPI_REFUSED(hx_mpi_matmul(MPI_COMM_WORLD, hx, 0, 0, 0, 1, x, NULL, x, NULL, 0, x, NULL), HX_INVALID_ARGUMENT,
                    "Cartesian topology");
  const int empty[9] = {1, -1, 0, 0, 1, 1, 0, 0, 1};
  CHECK_MPI_REFUSED(rank == ranks - 1 ? hx_mpi_refuse(comm, HX_UNSUPPORTED, "there is no B")
                                      : hx_mpi_matmul(comm, hx, 0, 0, 0, 1, x, empty, x, empty, 0, x, empty),
                    HX_UNSUPPORTED, "there is no B");
  CHECK(has_words(hx_mpi_error_detail(), name), "%s", hx_mpi_error_detail());
  free(x);
}

static int handled;
static void count_errors(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  handled++;
}

/* Every call of MPI fails once, on all ranks; the handler hears of it, and a later product is right again. */
static void fail_every_call(MPI_Comm comm, const int *grid, const whole *w) {
  const size_t number = EVEN_CASE;
  const product_case *const t = &cases[number];
  int at[2], mine;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  PMPI_Comm_rank(comm, &mine);
  MPI_Cart_coords(comm, mine, 2, at);
  for (int call = 1;; call++) {
    part a = take(t->m, t->k, t->a, grid, at, w->a), b = take(t->k, t->n, t->b, grid, at, w->b);
    part c = take(t->m, t->n, t->c, grid, at, w->c);
    handled = 0;
    fail_call(call);
    const hx_status status =
        hx_mpi_matmul(comm, hx, t->m, t->n, t->k, t->alpha, a.local, a.desc, b.local, b.desc, t->beta, c.local, c.desc);
    const bool failed = calls_made() >= call;
    fail_call(0);
    CHECK(status == (failed ? HX_DEVICE_FAILED : HX_OK) && handled == failed, "call %d: %s, handled %d times: %s", call,
          hx_status_string(status), handled, hx_mpi_error_detail());
    if (!failed) compare(&c, grid, w->want, number);
    free_part(&a);
    free_part(&b);
    free_part(&c);
    if (!failed || call == 100) break;
  }
  MPI_Errhandler_free(&handler);
}

/* Every grid of the ranks: 1 x N, N x 1, and those between. */
static uint64_t all_grids(const whole *wholes, bool is_to_die) {
  uint64_t first = 0;
  bool has_checked = false;
  for (int rows = 1; rows <= ranks; rows++) {
    if (ranks % rows) continue;
    const int grid[2] = {rows, ranks / rows}, periods[2] = {0, 0};
    MPI_Comm comm;
    MPI_Cart_create(MPI_COMM_WORLD, 2, grid, periods, 0, &comm);
    const uint64_t hash = multiply_all(comm, grid, wholes);
    if (rows == 1) first = hash;
    CHECK(hash == first, "grid %d x %d: %016llx, not %016llx", grid[0], grid[1], (unsigned long long)hash,
          (unsigned long long)first);
    if (is_to_die) raise(SIGKILL);                  /* the other ranks go on with the next product */
    if (!has_checked && (rows > 1 || ranks == 1)) { /* on one grid, with several rows and columns if there is one */
      has_checked = true;
      check_errors(comm, grid);
      fail_every_call(comm, grid, &wholes[EVEN_CASE]);
    }
    MPI_Comm_free(&comm);
  }
  return first;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hx = open_on_rank(rank);
  whole wholes[COUNT(cases)];
  for (size_t i = 0; i < COUNT(cases); i++) wholes[i] = make_whole(&cases[i], i);
  const uint64_t hash = all_grids(wholes, argc > 1 && strcmp(argv[1], "die") == 0 && rank == ranks - 1);
  for (size_t i = 0; i < COUNT(cases); i++) free_whole(&wholes[i]);
  check_lost(hx, rank);
  unsigned counts[2] = {checks_done, checks_failed};
  PMPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("hash %016llx\n%u checks, %u failed\n", (unsigned long long)hash, counts[0], counts[1]);
  hx_close(hx);
  MPI_Finalize();
  return counts[1] != 0;
}
