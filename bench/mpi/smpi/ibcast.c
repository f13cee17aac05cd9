/* SPDX-License-Identifier: Apache-2.0
 * For simulation only: MPI_Ibcast as MPI libraries do it, because SMPI's own is linear: the root sends to every rank.
 * IBCAST names the model. "openmpi" is what Open MPI 4.1 does unless it is told otherwise: linear among at most four
 * ranks, else a binomial tree without segments. In a "chain", which no library does by default, each rank sends
 * segments to the next one. A rank passes data on in MPI_Waitall, because only there does the calling thread of hx let
 * MPI work. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/mpi/smpi/count.h"

#define LINEAR_RANKS 4
#define SEGMENT 65536 /* floats */
#define MAX_OPEN 4096

typedef struct passing { /* what a rank passes on when it has it */
  MPI_Request received;
  float *data;
  int n, root, tag;
  bool is_chain;
  MPI_Comm comm;
} passing;

static passing open[MAX_OPEN];
static int open_count, sent_count;
static MPI_Request sent[MAX_OPEN * 16];

static int place_of(const passing *p, int *rank, int *size) { /* counted from the root */
  MPI_Comm_rank(p->comm, rank);
  MPI_Comm_size(p->comm, size);
  return (*rank - p->root + *size) % *size;
}

/* To the children of this rank. */
static void pass_on(const passing *p) {
  int rank, size;
  const int place = place_of(p, &rank, &size);
  for (int step = 1; place + step < size && (step == 1 || !p->is_chain); step *= 2)
    if (place < step || p->is_chain)
      MPI_Isend(p->data, p->n, MPI_FLOAT, (rank + step) % size, p->tag, p->comm, &sent[sent_count++]);
}

static void start(passing p) {
  int rank, size, step = 1;
  const int place = place_of(&p, &rank, &size);
  if (place == 0) {
    pass_on(&p);
    return;
  }
  while (2 * step <= place && !p.is_chain) step *= 2;
  counted_irecv(p.data, p.n, MPI_FLOAT, (rank - step + size) % size, p.tag, p.comm, &p.received);
  open[open_count++] = p;
}

/* Where the data lies does not matter, because nothing is computed, and SMPI does not copy floats between shared
 * memory. */
int simulated_ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
  int rank, size, bytes;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Type_size(type, &bytes);
  const int floats = (int)((size_t)n * (size_t)bytes / sizeof(float));
  const char *const model = getenv("IBCAST");
  const bool is_chain = model && strcmp(model, "chain") == 0;
  if (size <= LINEAR_RANKS && !is_chain) {
    if (rank != root) counted_bytes += (uint64_t)floats * sizeof(float);
    return MPI_Ibcast(data, floats, MPI_FLOAT, root, comm, request);
  }
  *request = MPI_REQUEST_NULL;
  const int segment = is_chain ? SEGMENT : floats;
  for (int first = 0, tag = root; first < floats; first += segment, tag += size) {
    const int rest = floats - first;
    start(
        (passing){MPI_REQUEST_NULL, (float *)data + first, rest < segment ? rest : segment, root, tag, is_chain, comm});
  }
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
