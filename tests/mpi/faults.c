/* SPDX-License-Identifier: Apache-2.0
 * Calls of MPI that fail on order, by MPI's profiling interface. */
#include "tests/mpi/ranks.h"

static int failing, made;

void fail_call(int n) {
  failing = n;
  made = 0;
}
int calls_made(void) { return made; }
static bool fails(void) { return ++made == failing; }

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return fails() ? MPI_ERR_OTHER : PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm) {
  return fails() ? MPI_ERR_OTHER : PMPI_Allgather(from, count, type, to, to_count, to_type, comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out) { return fails() ? MPI_ERR_OTHER : PMPI_Comm_dup(comm, out); }

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  return fails() ? MPI_ERR_OTHER : PMPI_Waitall(count, requests, statuses);
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype *out) {
  return fails() ? MPI_ERR_OTHER : PMPI_Type_contiguous(count, type, out);
}

int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op) {
  return fails() ? MPI_ERR_OTHER : PMPI_Op_create(function, commutes, op);
}
