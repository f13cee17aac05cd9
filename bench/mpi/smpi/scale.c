/* SPDX-License-Identifier: Apache-2.0
 * scale hx|psgemm P Q N BLOCK: a product of N x N matrices in square blocks over a grid of P x Q ranks.
 * scale hx-sum|allreduce RANKS 1 N 0: a sum of N floats in parts.
 * Prints a row of docs/measurements/mpi-scaling.tsv: what was called, the sizes, simulated seconds of the slowest rank,
 * and bytes that ranks have received. run.sh builds and runs it in SimGrid's SMPI. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/mpi/scalapack.h"
#include "bench/mpi/smpi/count.h"
#include "mpi/cyclic.h"
#include "mpi/hx_mpi.h"

typedef struct call {
  const char *by;
  int grid[2], block;
  size_t n;
  MPI_Comm comm;
  hx_context *hx; /* the stand-in does not look at it */
} call;

static void fail(const char *what) {
  fprintf(stderr, "scale: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Pages that are read share one page of zeros, so only what is written takes memory. */
static float *part(size_t elements) {
  void *const p = mmap(NULL, (elements + 1) * sizeof(float), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) fail("no memory");
  return p;
}

static void product(const call *c) {
  int at[2], rank, context = 0;
  MPI_Comm_rank(c->comm, &rank);
  MPI_Cart_coords(c->comm, rank, 2, at);
  size_t local[2];
  for (int i = 0; i < 2; i++) {
    const hx__mpi_cyclic d = {.n = c->n, .block = (size_t)c->block, .me = at[i], .size = c->grid[i]};
    local[i] = hx__mpi_count(&d, at[i]);
  }
  const bool by_hx = strcmp(c->by, "hx") == 0;
  if (!by_hx) {
    Cblacs_get(-1, 0, &context);
    Cblacs_gridinit(&context, "R", c->grid[0], c->grid[1]);
  }
  const int n = (int)c->n, one = 1;
  const int desc[9] = {1, context, n, n, c->block, c->block, 0, 0, local[0] > 1 ? (int)local[0] : 1};
  const size_t elements = local[0] * local[1];
  float *const x = part(elements), *const y = part(elements), *const z = part(elements);
  const float alpha = 1, beta = 0;
  MPI_Barrier(c->comm);
  const double start = MPI_Wtime();
  const uint64_t before = counted_bytes;
  if (!by_hx)
    psgemm_("N", "N", &n, &n, &n, &alpha, x, &one, &one, desc, y, &one, &one, desc, &beta, z, &one, &one, desc);
  else if (hx_mpi_matmul(c->comm, c->hx, n, n, n, alpha, x, desc, y, desc, beta, z, desc) != HX_OK)
    fail(hx_mpi_error_detail());
  double seconds = MPI_Wtime() - start, slowest;
  uint64_t bytes = counted_bytes - before, sum, most;
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, c->comm);
  MPI_Reduce(&bytes, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, c->comm);
  MPI_Reduce(&bytes, &most, 1, MPI_UINT64_T, MPI_MAX, 0, c->comm);
  if (rank == 0)
    printf("%s\t%d\t%d\t%zu\t%d\t%.6f\t%llu\t%llu\n", c->by, c->grid[0], c->grid[1], c->n, c->block, slowest,
           (unsigned long long)sum, (unsigned long long)most);
}

static void sum(const call *c) {
  int rank, ranks;
  MPI_Comm_rank(c->comm, &rank);
  MPI_Comm_size(c->comm, &ranks);
  const size_t first = c->n * (size_t)rank / (size_t)ranks, end = c->n * ((size_t)rank + 1) / (size_t)ranks;
  const float *const x = part(end - first);
  hx_value value = {0};
  hx_task task = hx_reduce(HX_SUM, HX_F32, x, end - first, &value);
  double slowest = 0;
  for (int i = 0; i < 2; i++) { /* the first call duplicates the communicator */
    MPI_Barrier(c->comm);
    const double start = MPI_Wtime();
    if (strcmp(c->by, "hx-sum") == 0) {
      if (hx_mpi_reduce(c->comm, c->hx, &task) != HX_OK) fail(hx_mpi_error_detail());
    } else {
      hx_offload(c->hx, &task, NULL);
      MPI_Allreduce(MPI_IN_PLACE, &value.f32, 1, MPI_FLOAT, MPI_SUM, c->comm);
    }
    double seconds = MPI_Wtime() - start;
    MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, c->comm);
  }
  uint64_t bytes = counted_bytes / 2, most;
  MPI_Reduce(&bytes, &most, 1, MPI_UINT64_T, MPI_MAX, 0, c->comm);
  if (rank == 0) printf("%s\t%d\t%zu\t%.9f\t%llu\n", c->by, ranks, c->n, slowest, (unsigned long long)most);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc != 6) fail("arguments: hx|psgemm|hx-sum|allreduce P Q N BLOCK");
  static char stand_in;
  call c = {
      .by = argv[1], .grid = {atoi(argv[2]), atoi(argv[3])}, .block = atoi(argv[5]), .n = strtoul(argv[4], NULL, 10)};
  c.hx = (hx_context *)&stand_in;
  const int periods[2] = {0, 0};
  MPI_Cart_create(MPI_COMM_WORLD, 2, c.grid, periods, 0, &c.comm);
  if (c.block)
    product(&c);
  else
    sum(&c);
  MPI_Finalize();
  return 0;
}
