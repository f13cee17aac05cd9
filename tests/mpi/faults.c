/* SPDX-License-Identifier: Apache-2.0
 * Calls of MPI that fail on order, and counts of what ranks receive and of what they have made of MPI's objects, by
 * MPI's profiling interface; and allocations that fail on order, of a library that is built to call these. */
#include <stdlib.h>

#include "tests/mpi/ranks.h"

static int failing, made, longest, objects;
static bool began;
static uint64_t received;

uint64_t bytes_received(void) { return received; }
int longest_message(void) { return longest; }
int objects_alive(void) { return objects; }
bool broadcasts_began(void) { return began; }

void fail_call(int n) {
  failing = n;
  made = 0;
  began = began && !n;
}
int calls_made(void) { return made; }
static bool fails(void) { return ++made == failing; }

/* MPI calls the error handler of the communicator before it returns. */
static bool fails_on(MPI_Comm comm) {
  if (!fails()) return false;
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return true;
}

static bool fails_duplicate;
void fail_duplicate(void) { fails_duplicate = true; }

static int allocation;
void fail_allocation(int n) { allocation = n; }
bool allocation_failed(void) { return !allocation; }

void *malloc_or_fail(size_t bytes);
void *malloc_or_fail(size_t bytes) { return allocation && !--allocation ? NULL : malloc(bytes); }

void *aligned_alloc_or_fail(size_t alignment, size_t bytes);
void *aligned_alloc_or_fail(size_t alignment, size_t bytes) {
  return allocation && !--allocation ? NULL : aligned_alloc(alignment, bytes);
}

/* What a call returns that makes (1), frees (-1) or leaves (0) objects. */
static int counted(int code, int change) {
  if (code == MPI_SUCCESS) objects += change;
  return code;
}

int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return fails_on(comm) ? MPI_ERR_OTHER : PMPI_Allreduce(from, to, count, type, op, comm);
}

int MPI_Allgather(const void *from, int count, MPI_Datatype type, void *to, int to_count, MPI_Datatype to_type,
                  MPI_Comm comm) {
  return fails_on(comm) ? MPI_ERR_OTHER : PMPI_Allgather(from, count, type, to, to_count, to_type, comm);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *out) {
  if (fails_on(comm)) return MPI_ERR_OTHER;
  const int code = counted(PMPI_Comm_dup(comm, out), 1);
  if (!fails_duplicate) return code;
  fails_duplicate = false;
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

int MPI_Comm_free(MPI_Comm *comm) { return counted(PMPI_Comm_free(comm), -1); }

int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  return fails_on(comm) ? MPI_ERR_OTHER : PMPI_Comm_set_errhandler(comm, handler);
}

int MPI_Comm_set_attr(MPI_Comm comm, int key, void *value) {
  return fails_on(comm) ? MPI_ERR_OTHER : PMPI_Comm_set_attr(comm, key, value);
}

/* As if the last of the requests had failed. */
int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses) {
  if (!fails()) return PMPI_Waitall(count, requests, statuses);
  began = true; /* for all that the caller knows */
  if (!count) return MPI_ERR_OTHER;
  for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE; i++)
    statuses[i].MPI_ERROR = i < count - 1 ? MPI_ERR_PENDING : MPI_ERR_OTHER;
  return MPI_ERR_IN_STATUS;
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype *out) {
  began = true;
  return fails_on(MPI_COMM_WORLD) ? MPI_ERR_OTHER : counted(PMPI_Type_contiguous(count, type, out), 1);
}

int MPI_Type_indexed(int count, const int *lengths, const int *places, MPI_Datatype type, MPI_Datatype *out) {
  began = true;
  return fails_on(MPI_COMM_WORLD) ? MPI_ERR_OTHER : counted(PMPI_Type_indexed(count, lengths, places, type, out), 1);
}

int MPI_Type_create_resized(MPI_Datatype type, MPI_Aint from, MPI_Aint extent, MPI_Datatype *out) {
  return fails_on(MPI_COMM_WORLD) ? MPI_ERR_OTHER : counted(PMPI_Type_create_resized(type, from, extent, out), 1);
}

int MPI_Type_commit(MPI_Datatype *type) { return fails_on(MPI_COMM_WORLD) ? MPI_ERR_OTHER : PMPI_Type_commit(type); }

int MPI_Type_free(MPI_Datatype *type) { return counted(PMPI_Type_free(type), -1); }

int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op) {
  return fails_on(MPI_COMM_WORLD) ? MPI_ERR_OTHER : counted(PMPI_Op_create(function, commutes, op), 1);
}

int MPI_Op_free(MPI_Op *op) { return counted(PMPI_Op_free(op), -1); }

int MPI_Cartdim_get(MPI_Comm comm, int *dimensions) {
  return fails_on(comm) ? MPI_ERR_OTHER : PMPI_Cartdim_get(comm, dimensions);
}

int MPI_Cart_sub(MPI_Comm comm, const int *remain, MPI_Comm *out) {
  return fails_on(comm) ? MPI_ERR_OTHER : counted(PMPI_Cart_sub(comm, remain, out), 1);
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return fails_on(comm) ? MPI_ERR_OTHER : PMPI_Bcast(buffer, count, type, root, comm);
}

/* A rank that does not send receives all of it. */
int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
  int rank, size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Type_size(type, &size);
  if (size > longest) longest = size;
  if (rank != root) received += (uint64_t)size * (uint64_t)count;
  began = true;
  return fails_on(comm) ? MPI_ERR_OTHER : PMPI_Ibcast(buffer, count, type, root, comm, request);
}

int MPI_Alltoallv(const void *from, const int *counts, const int *starts, MPI_Datatype type, void *to,
                  const int *to_counts, const int *to_starts, MPI_Datatype to_type, MPI_Comm comm) {
  int rank, ranks, size;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  PMPI_Type_size(to_type, &size);
  for (int r = 0; r < ranks; r++) {
    if (r != rank) received += (uint64_t)size * (uint64_t)to_counts[r];
    if (size * to_counts[r] > longest) longest = size * to_counts[r];
  }
  if (fails_on(comm)) return MPI_ERR_OTHER;
  return PMPI_Alltoallv(from, counts, starts, type, to, to_counts, to_starts, to_type, comm);
}
