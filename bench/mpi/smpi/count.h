/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_MPI_SMPI_COUNT_H
#define BENCH_MPI_SMPI_COUNT_H

#include <mpi.h>
#include <stdint.h>

/* What this rank has received so far. */
extern uint64_t counted_bytes;

int counted_recv(void *to, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status *status);
int counted_irecv(void *to, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request);
int counted_bcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm);

#endif
