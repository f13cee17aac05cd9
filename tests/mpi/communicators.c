/* SPDX-License-Identifier: Apache-2.0
 * The duplicate of a communicator, which the first call makes, if MPI fails to make it. */
#include <signal.h>

#include "tests/mpi/ranks.h"

static int handled;
static void count_errors(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  handled++;
}

static int fail_to_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  return MPI_ERR_OTHER;
}

/* A call on a new communicator is refused, and the handler of this rank hears of it so many times. */
static void check_refused(MPI_Comm comm, int times) {
  const float x[10] = {1};
  hx_value out = {.u64 = 7};
  const hx_task part = hx_reduce(HX_SUM, HX_F32, x, 10, &out);
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(count_errors, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  handled = 0;
  CHECK_MPI_REFUSED(hx_mpi_reduce(comm, hx, &part), HX_DEVICE_FAILED, "MPI_Comm_dup");
  CHECK(handled == times, "handled %d times", handled);
  CHECK(out.u64 == 7, "%llu", (unsigned long long)out.u64);
  MPI_Errhandler_free(&handler);
}

/* On every rank, because a function of the program that copies an attribute fails. */
static void fail_on_all(void) {
  MPI_Comm comm;
  int key;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_keyval(fail_to_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(comm, key, NULL);
  check_refused(comm, 1);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free(&comm);
}

/* On the last rank alone, for which the others then must not wait. */
static void fail_on_one(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == ranks - 1) fail_duplicate();
  check_refused(comm, rank == ranks - 1);
  char name[24];
  snprintf(name, sizeof name, "rank %d", ranks - 1);
  CHECK(rank == ranks - 1 || has_words(hx_mpi_error_detail(), name), "%s", hx_mpi_error_detail());
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  start_rank(argc, argv);
  fail_on_all();
  if (is_to_die) raise(SIGKILL);
  fail_on_one();
  unsigned counts[2] = {checks_done, checks_failed};
  PMPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("hash 0\n%u checks, %u failed\n", counts[0], counts[1]);
  hx_close(hx);
  MPI_Finalize();
  return counts[1] != 0;
}
