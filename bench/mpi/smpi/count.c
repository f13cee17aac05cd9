/* SPDX-License-Identifier: Apache-2.0
 * For simulation only: the receiving functions of MPI, which count the bytes of the messages. run.sh renames the calls
 * of libhx_mpi and of ScaLAPACK (-DMPI_Irecv=counted_irecv). */
#include "bench/mpi/smpi/count.h"

uint64_t counted_bytes;

static void count(int n, MPI_Datatype type) {
  int size;
  MPI_Type_size(type, &size);
  counted_bytes += (uint64_t)n * (uint64_t)size;
}

/* The message may be shorter than the buffer. */
int counted_recv(void *to, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status *status) {
  MPI_Status told;
  int bytes;
  const int code = MPI_Recv(to, n, type, rank, tag, comm, &told);
  MPI_Get_count(&told, MPI_BYTE, &bytes);
  counted_bytes += (uint64_t)bytes;
  if (status != MPI_STATUS_IGNORE) *status = told;
  return code;
}

int counted_irecv(void *to, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request) {
  count(n, type);
  return MPI_Irecv(to, n, type, rank, tag, comm, request);
}

/* Every algorithm of SMPI gives each rank the data once. */
int counted_bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (rank != root) count(n, type);
  return MPI_Bcast(data, n, type, root, comm);
}
