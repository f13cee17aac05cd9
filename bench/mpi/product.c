/* SPDX-License-Identifier: Apache-2.0
 * product hx|psgemm|speed P Q M N K MB NB [NN|NT|TN|TT]: a product op(A) op(B) over a grid of P x Q ranks, all matrices
 * in blocks of MB x NB, by hx_mpi_gemm or by ScaLAPACK's psgemm. Prints the hash of C, which does not depend on where
 * its elements are. speed: times both in turn and prints the milliseconds of hx_mpi_gemm, and those of psgemm as a
 * multiple of it, by the medians, then by the least times, each of the slowest rank. measure.sh builds and runs it. */
#include "bench/mpi/scalapack.h"
#include "mpi/hx_mpi.h"
#include "reference/data.h"
#include "reference/ref.h"
#include "tests/check.h"

static int grid[2], at[2];

typedef struct matrix {
  int desc[9];
  float *local;
} matrix;

/* The index of the first, second, ... local row (column) in the whole matrix. */
static int whole_index(int place, int block, int processes, int me) {
  return (place / block * processes + me) * block + place % block;
}

static int count(int n, int block, int processes, int me) {
  int found = 0;
  while (whole_index(found, block, processes, me) < n) found++;
  return found;
}

static matrix make(int rows, int columns, int mb, int nb, uint64_t seed) {
  const int height = count(rows, mb, grid[0], at[0]), width = count(columns, nb, grid[1], at[1]);
  matrix x = {{1, 0, rows, columns, mb, nb, 0, 0, height > 0 ? height : 1}, NULL};
  x.local = malloc(((size_t)x.desc[8] * (size_t)width + 1) * sizeof(float));
  for (int j = 0; j < width; j++)
    for (int i = 0; i < height; i++) {
      const uint64_t index = (uint64_t)whole_index(i, mb, grid[0], at[0]) * (uint64_t)columns +
                             (uint64_t)whole_index(j, nb, grid[1], at[1]);
      x.local[(size_t)j * (size_t)x.desc[8] + (size_t)i] = (float)data_u(seed, index) * 0x1p-32f - 0.5f;
    }
  return x;
}

static uint64_t hash_of(const matrix *x) {
  const int *const d = x->desc;
  const int height = count(d[2], d[4], grid[0], at[0]), width = count(d[3], d[5], grid[1], at[1]);
  uint64_t hash = 0;
  for (int j = 0; j < width; j++)
    for (int i = 0; i < height; i++) {
      const uint64_t index = (uint64_t)whole_index(i, d[4], grid[0], at[0]) * (uint64_t)d[3] +
                             (uint64_t)whole_index(j, d[5], grid[1], at[1]);
      hash += data_u64(index, ref_bits(x->local[(size_t)j * (size_t)d[8] + (size_t)i]));
    }
  PMPI_Allreduce(MPI_IN_PLACE, &hash, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return hash;
}

/* m, n, k in size. trans: the letters of A and B. */
static void multiply(bool by_hx, MPI_Comm comm, hx_context *hx, const char *trans, const int *size, matrix *a,
                     matrix *b, matrix *c) {
  const float one = 1, zero = 0;
  const int first = 1;
  if (!by_hx) {
    psgemm_(&trans[0], &trans[1], &size[0], &size[1], &size[2], &one, a->local, &first, &first, a->desc, b->local,
            &first, &first, b->desc, &zero, c->local, &first, &first, c->desc);
  } else if (hx_mpi_gemm(comm, hx, trans[0], trans[1], size[0], size[1], size[2], 1, a->local, 1, 1, a->desc, b->local,
                         1, 1, b->desc, 0, c->local, 1, 1, c->desc) != HX_OK) {
    puts(hx_mpi_error_detail());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

enum { LEAST_ROUNDS = 9, MOST_ROUNDS = 501 };
#define SECONDS 3.0

static double seconds_of(bool by_hx, MPI_Comm comm, hx_context *hx, const char *trans, const int *size, matrix *x) {
  MPI_Barrier(MPI_COMM_WORLD);
  double spent = -MPI_Wtime();
  multiply(by_hx, comm, hx, trans, size, &x[0], &x[1], &x[2]);
  spent += MPI_Wtime();
  PMPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return spent;
}

static int by_size(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* All ranks have the same times, so all take equally many rounds. */
static void compare(MPI_Comm comm, hx_context *hx, const char *trans, const int *size, matrix *x, bool prints) {
  static double times[2][MOST_ROUNDS];
  size_t rounds = 0;
  for (double spent = 0; rounds < MOST_ROUNDS && (rounds < LEAST_ROUNDS || spent < SECONDS); rounds++)
    for (int way = 0; way < 2; way++) spent += times[way][rounds] = seconds_of(way == 0, comm, hx, trans, size, x);
  for (int way = 0; way < 2; way++) qsort(times[way], rounds, sizeof(double), by_size);
  const double *const hx_times = times[0], *const psgemm = times[1];
  const size_t middle = rounds / 2;
  if (prints)
    printf("%.3f\t%.3f\t%.3f\t%.3f\n", hx_times[middle] * 1e3, psgemm[middle] / hx_times[middle], hx_times[0] * 1e3,
           psgemm[0] / hx_times[0]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc < 9) MPI_Abort(MPI_COMM_WORLD, 2);
  const char *const trans = argc > 9 ? argv[9] : "NN";
  int size[5], rank, context;
  const int periods[2] = {0, 0};
  MPI_Comm comm;
  for (int i = 0; i < 2; i++) grid[i] = atoi(argv[2 + i]);
  for (int i = 0; i < 5; i++) size[i] = atoi(argv[4 + i]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, grid, periods, 0, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Cart_coords(comm, rank, 2, at);
  Cblacs_get(-1, 0, &context);
  Cblacs_gridinit(&context, "R", grid[0], grid[1]); /* has the order of MPI_Cart_create */
  const bool by_hx = strcmp(argv[1], "hx") == 0;
  hx_context *const hx = open_or_exit(NULL);
  const bool turn_a = trans[0] == 'T', turn_b = trans[1] == 'T';
  matrix x[] = {make(size[turn_a ? 2 : 0], size[turn_a ? 0 : 2], size[3], size[4], 1),
                make(size[turn_b ? 1 : 2], size[turn_b ? 2 : 1], size[3], size[4], 2),
                make(size[0], size[1], size[3], size[4], 3)};
  x[0].desc[1] = x[1].desc[1] = x[2].desc[1] = context;
  if (strcmp(argv[1], "speed") == 0) {
    compare(comm, hx, trans, size, x, rank == 0);
  } else {
    multiply(by_hx, comm, hx, trans, size, &x[0], &x[1], &x[2]);
    const uint64_t hash = hash_of(&x[2]);
    if (rank == 0) printf("%016llx\n", (unsigned long long)hash);
  }
  for (int i = 0; i < 3; i++) free(x[i].local);
  hx_close(hx);
  MPI_Finalize();
  return 0;
}
