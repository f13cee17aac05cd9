/* SPDX-License-Identifier: Apache-2.0
 * For simulation only: MPI_Ibcast as Open MPI 4.1 does it unless it is told otherwise. SMPI's own is linear: the root
 * sends to every rank. In Open MPI it is so among at most four ranks, and otherwise a binomial tree without segments. A
 * rank passes the data on in MPI_Waitall, because only there does the calling thread of hx make progress. */
#include <stdlib.h>
#include <string.h>

#include "bench/mpi/smpi/count.h"

#define LINEAR_RANKS 4
#define MAX_OPEN 4096

typedef struct passing { /* what a rank passes on when it has it */
  MPI_Request received;
  void *data;
  int n, root;
  MPI_Datatype type;
  MPI_Comm comm;
} passing;

static passing open[MAX_OPEN];
static int open_count, sent_count;
static MPI_Request sent[MAX_OPEN * 16];

/* To the children of this rank in the tree, in which ranks count from the root. */
static void pass_on(const passing *p) {
  int rank, size;
  MPI_Comm_rank(p->comm, &rank);
  MPI_Comm_size(p->comm, &size);
  const int place = (rank - p->root + size) % size;
  for (int step = 1; place + step < size; step *= 2)
    if (place < step) MPI_Isend(p->data, p->n, p->type, (rank + step) % size, p->root, p->comm, &sent[sent_count++]);
}

int simulated_ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const char *const model = getenv("IBCAST");
  if (size <= LINEAR_RANKS || (model && strcmp(model, "linear") == 0)) {
    int bytes;
    MPI_Type_size(type, &bytes);
    if (rank != root) counted_bytes += (uint64_t)n * (uint64_t)bytes;
    return MPI_Ibcast(data, n, type, root, comm, request);
  }
  passing p = {MPI_REQUEST_NULL, data, n, root, type, comm};
  *request = MPI_REQUEST_NULL;
  const int place = (rank - root + size) % size;
  if (place == 0) {
    pass_on(&p);
    return MPI_SUCCESS;
  }
  int step = 1;
  while (2 * step <= place) step *= 2;
  counted_irecv(data, n, type, (rank - step + size) % size, root, comm, &p.received);
  open[open_count++] = p;
  return MPI_SUCCESS;
}

int simulated_waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
  MPI_Request received[MAX_OPEN];
  for (int i = 0; i < open_count; i++) received[i] = open[i].received;
  for (int done = 0; done < open_count; done++) {
    int which;
    MPI_Waitany(open_count, received, &which, MPI_STATUS_IGNORE);
    pass_on(&open[which]);
  }
  open_count = 0;
  MPI_Waitall(sent_count, sent, MPI_STATUSES_IGNORE);
  sent_count = 0;
  return MPI_Waitall(n, requests, statuses);
}

/* SMPI has none. */
int simulated_topo_test(MPI_Comm comm, int *topology) {
  (void)comm;
  *topology = MPI_CART;
  return MPI_SUCCESS;
}

/* The caller may free a type before the data has been passed on, and duplicates of types are wrong in SMPI 3.32. */
int simulated_type_free(MPI_Datatype *type) {
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

/* The places do not matter, because nothing is computed; SMPI does not copy contiguous data in its shared memory. */
int simulated_type_indexed(int n, const int *lengths, const int *places, MPI_Datatype type, MPI_Datatype *out) {
  (void)places;
  int length = 0;
  for (int i = 0; i < n; i++) length += lengths[i];
  return MPI_Type_contiguous(length, type, out);
}
