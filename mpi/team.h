/* SPDX-License-Identifier: Apache-2.0
 * The ranks of a call: a private communicator, and one status for all of them. */
#ifndef HX_MPI_TEAM_H
#define HX_MPI_TEAM_H

#include <mpi.h>

#include "runtime/hx.h"

/* What a rank tells all others when a call begins. All zeros, but for the status, in calls that reduce nothing. */
typedef struct hx__mpi_told {
  uint32_t status;     /* hx_status */
  uint32_t task;       /* operation and type, which have to be the same on all ranks */
  uint64_t n;          /* elements of this rank */
  uint64_t value, key; /* its result, if the order of elements does not matter (order.h) */
} hx__mpi_told;

/* What is made at the first call with a communicator and kept with it, as an attribute. */
typedef struct hx__mpi_kept {
  MPI_Comm comm;        /* its duplicate, on which errors are returned */
  MPI_Comm row, column; /* of a grid, from the first product on: the ranks in the row and in the column of this one */
  hx__mpi_told told[];  /* by each rank, in the call that has begun last */
} hx__mpi_kept;

typedef struct hx__mpi_team {
  MPI_Comm user; /* the communicator of the call, whose error handler hears of errors */
  MPI_Comm comm; /* kept->comm */
  hx__mpi_kept *kept;
  int rank, size;
} hx__mpi_team;

/* Fills in *team. HX_INVALID_ARGUMENT: comm, which the caller calls `name`, is no communicator for this. */
hx_status hx__mpi_join(MPI_Comm comm, const char *name, hx__mpi_team *team);

/* Sets the sentence of this thread, and returns status. */
__attribute__((format(printf, 2, 3))) hx_status hx__mpi_fail(hx_status status, const char *format, ...);

/* Sets the sentence of this thread to that of hx, and returns status. */
hx_status hx__mpi_fail_by_hx(hx_status status);

/* Whether a call of MPI with a communicator of hx has succeeded. If it has not, the user's error handler is called and
 * the sentence set. */
bool hx__mpi_did(const hx__mpi_team *team, int code, const char *function);
/* The same of a call after whose error MPI has called the error handler of `told` itself; that is not called twice. Of
 * a call without a communicator, which makes a type or an operation, it is MPI_COMM_WORLD. */
bool hx__mpi_did_on(const hx__mpi_team *team, MPI_Comm told, int code, const char *function);

/* Waits for all requests. False after an error of MPI. */
bool hx__mpi_wait_all(const hx__mpi_team *team, int count, MPI_Request *requests);
/* Lets MPI pass on what it can of these requests, without waiting for them. */
bool hx__mpi_move_on(const hx__mpi_team *team, int count, MPI_Request *requests);

/* The first exchange of every call, so that a rank may call hx_mpi_refuse instead: fills in kept->told, and agrees on
 * the status of each, `mine`, as hx__mpi_agree does. *told: what this rank tells besides. */
hx_status hx__mpi_begin(const hx__mpi_team *team, hx_status mine, const hx__mpi_told *told);

/* For all ranks: the status and the sentence of the lowest rank whose status is not HX_OK. */
hx_status hx__mpi_agree(const hx__mpi_team *team, hx_status mine);
/* The same if all ranks know that rank: `first`, or team->size if there is none. */
hx_status hx__mpi_agree_with(const hx__mpi_team *team, int first, hx_status mine);

/* What functions return after an error of MPI, whose sentence hx__mpi_did has set. */
#define HX__MPI_FAILED HX_DEVICE_FAILED

#endif
