/* SPDX-License-Identifier: Apache-2.0
 * For simulation only: MPI_Ibcast as Open MPI 4.1 does it unless it is told otherwise: linear among at most four ranks,
 * as SMPI's own always is, else a binomial tree without segments. A rank passes data on in MPI_Waitall and MPI_Testall,
 * because only there does the calling thread of hx let MPI work. */
#include <stdbool.h>

#include "bench/mpi/smpi/count.h"

#define LINEAR_RANKS 4
#define MAX_OPEN 4096

typedef struct broadcast { /* of one rank */
  int left;                /* messages that it has not yet received or sent */
  bool is_used;
} broadcast;

typedef struct message {
  bool is_received; /* and then passed on; false: it is sent */
  float *data;
  int n, root;
  MPI_Comm comm;
  broadcast *of;
} message;

static broadcast broadcasts[MAX_OPEN];
static MPI_Request request_of[MAX_OPEN];
static message messages[MAX_OPEN]; /* on their way */
static int on_way;

static int place_of(const message *m, int *rank, int *size) { /* counted from the root */
  MPI_Comm_rank(m->comm, rank);
  MPI_Comm_size(m->comm, size);
  return (*rank - m->root + *size) % *size;
}

/* To the children of this rank. */
static void pass_on(message m) {
  int rank, size;
  const int place = place_of(&m, &rank, &size);
  m.is_received = false;
  for (int step = 1; place + step < size; step *= 2)
    if (place < step) {
      m.of->left++;
      MPI_Isend(m.data, m.n, MPI_FLOAT, (rank + step) % size, m.root, m.comm, &request_of[on_way]);
      messages[on_way++] = m;
    }
}

static void start(message m) {
  int rank, size, step = 1;
  const int place = place_of(&m, &rank, &size);
  if (place == 0) {
    pass_on(m);
    return;
  }
  while (2 * step <= place) step *= 2;
  m.is_received = true;
  m.of->left++;
  counted_irecv(m.data, m.n, MPI_FLOAT, (rank - step + size) % size, m.root, m.comm, &request_of[on_way]);
  messages[on_way++] = m;
}

static broadcast *unused(void) {
  broadcast *b = broadcasts;
  while (b->is_used) b++;
  *b = (broadcast){.is_used = true};
  return b;
}

/* Where the data lies does not matter, because nothing is computed, and SMPI does not copy floats between shared
 * memory. *request is a broadcast, not a request of SMPI, except in a linear one. */
int simulated_ibcast(void *data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request *request) {
  int rank, size, bytes;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Type_size(type, &bytes);
  const int floats = (int)((size_t)n * (size_t)bytes / sizeof(float));
  if (size <= LINEAR_RANKS) {
    if (rank != root) counted_bytes += (uint64_t)floats * sizeof(float);
    return MPI_Ibcast(data, floats, MPI_FLOAT, root, comm, request);
  }
  broadcast *const b = unused();
  *request = (MPI_Request)(void *)b;
  start((message){.data = data, .n = floats, .root = root, .comm = comm, .of = b});
  return MPI_SUCCESS;
}

static void end_message(int which) {
  const message m = messages[which];
  on_way--;
  request_of[which] = request_of[on_way];
  messages[which] = messages[on_way];
  m.of->left--;
  if (m.is_received) pass_on(m);
}

static void pass_on_what_has_arrived(void) {
  int which = 0, is_one = 1;
  while (on_way && is_one) {
    MPI_Testany(on_way, request_of, &which, &is_one, MPI_STATUS_IGNORE);
    if (is_one) end_message(which);
  }
}

/* While a rank waits, it also passes on what arrives of other broadcasts. */
int simulated_waitall(int n, MPI_Request *requests, MPI_Status *statuses) {
  (void)statuses;
  for (int i = 0; i < n; i++) {
    broadcast *const b = (broadcast *)(void *)requests[i];
    if (b >= broadcasts && b < broadcasts + MAX_OPEN) {
      while (b->left) {
        int which;
        MPI_Waitany(on_way, request_of, &which, MPI_STATUS_IGNORE);
        end_message(which);
      }
      b->is_used = false;
      requests[i] = MPI_REQUEST_NULL;
    } else {
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
  }
  return MPI_SUCCESS;
}

int simulated_testall(int n, MPI_Request *requests, int *are_done, MPI_Status *statuses) {
  (void)n, (void)requests, (void)statuses;
  pass_on_what_has_arrived();
  *are_done = 0;
  return MPI_SUCCESS;
}

/* SMPI has none. */
int simulated_topo_test(MPI_Comm comm, int *topology) {
  (void)comm;
  *topology = MPI_CART;
  return MPI_SUCCESS;
}
