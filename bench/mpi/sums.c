/* SPDX-License-Identifier: Apache-2.0
 * sums N...: reductions of N elements, of which each rank has an equal part, by hx_mpi_reduce, by that of an earlier
 * commit if BEFORE is defined, and by hx_offload for the part and MPI_Allreduce for the results, in turns. Prints a row
 * for each operation and N: the number of ranks, the operation, N, and the microseconds of each, by the medians and by
 * the least times, each of the slowest rank. measure.sh builds and runs it. */
#include "mpi/hx_mpi.h"
#include "reference/data.h"
#include "tests/check.h"

#ifdef BEFORE
hx_status before_reduce(MPI_Comm comm, hx_context *hx, const hx_task *part); /* renamed by measure.sh */
#endif

enum { NOW, BEFORE_THAT, ALLREDUCE, WAYS, ROUNDS = 101 };
#define SAMPLE_SECONDS 2e-3

static hx_context *hx;
static int rank, ranks;

/* The index of a maximum would take MPI_MAXLOC, and an exchange of offsets before. */
static const struct {
  const char *name;
  hx_op op;
  hx_type type;
  MPI_Op join;
} kinds[] = {{"sum f32", HX_SUM, HX_F32, MPI_SUM},
             {"sum i32", HX_SUM, HX_I32, MPI_SUM},
             {"max f32", HX_MAX, HX_F32, MPI_MAX},
             {"argmax f32", HX_ARGMAX, HX_F32, MPI_OP_NULL}};

static void end_if(bool failed, const char *why) {
  if (!failed) return;
  puts(why);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void call(int way, size_t kind, const hx_task *part) {
  hx_value *const out = part->reduce.out;
  if (way == NOW) end_if(hx_mpi_reduce(MPI_COMM_WORLD, hx, part) != HX_OK, hx_mpi_error_detail());
#ifdef BEFORE
  if (way == BEFORE_THAT) end_if(before_reduce(MPI_COMM_WORLD, hx, part) != HX_OK, "the earlier hx_mpi_reduce failed");
#endif
  if (way != ALLREDUCE) return;
  end_if(hx_offload(hx, part, NULL) != HX_OK, hx_error_detail());
  const MPI_Datatype type = kinds[kind].type == HX_F32 ? MPI_FLOAT : MPI_INT64_T;
  MPI_Allreduce(MPI_IN_PLACE, out, 1, type, kinds[kind].join, MPI_COMM_WORLD);
}

static bool has(int way, size_t kind) {
#ifndef BEFORE
  if (way == BEFORE_THAT) return false;
#endif
  return way != ALLREDUCE || kinds[kind].join != MPI_OP_NULL;
}

static double seconds_of(int way, size_t kind, const hx_task *part, unsigned calls) {
  MPI_Barrier(MPI_COMM_WORLD);
  double spent = -MPI_Wtime();
  for (unsigned i = 0; i < calls; i++) call(way, kind, part);
  spent = (spent + MPI_Wtime()) / calls;
  MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return spent;
}

static int by_size(const void *x, const void *y) {
  const double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* All ranks have the same times, so all make equally many calls. */
static void compare(size_t kind, size_t n, const hx_task *part) {
  static double times[WAYS][ROUNDS];
  seconds_of(NOW, kind, part, 1); /* the first call duplicates the communicator */
  const double once = seconds_of(NOW, kind, part, 10);
  const unsigned calls = once < SAMPLE_SECONDS ? (unsigned)(SAMPLE_SECONDS / once) : 1;
  for (int round = 0; round < ROUNDS; round++)
    for (int way = 0; way < WAYS; way++)
      if (has(way, kind)) times[way][round] = seconds_of(way, kind, part, calls);
  if (rank == 0) printf("%d\t%s\t%zu", ranks, kinds[kind].name, n);
  for (int way = 0; way < WAYS; way++) qsort(times[way], ROUNDS, sizeof(double), by_size);
  for (int least = 0; least < 2; least++)
    for (int way = 0; way < WAYS; way++)
      if (rank == 0 && has(way, kind))
        printf("\t%.2f", times[way][least ? 0 : ROUNDS / 2] * 1e6);
      else if (rank == 0)
        printf("\t");
  if (rank == 0) puts("");
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hx = open_or_exit(NULL);
  for (int i = 1; i < argc; i++) {
    const size_t n = strtoul(argv[i], NULL, 10), all = (size_t)ranks;
    const size_t first = n * (size_t)rank / all, count = n * ((size_t)rank + 1) / all - first;
    uint32_t *const x = malloc((count + 1) * sizeof *x);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
      hx_value out;
      data_fill(kinds[kind].type, DATA_SIGNED, (uint64_t)rank, x, count);
      const hx_task part = hx_reduce(kinds[kind].op, kinds[kind].type, x, count, &out);
      compare(kind, n, &part);
    }
    free(x);
  }
  hx_close(hx);
  MPI_Finalize();
  return 0;
}
