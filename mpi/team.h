/* SPDX-License-Identifier: Apache-2.0
 * The ranks of a call: a private communicator, and one status for all of them. */
#ifndef HX_MPI_TEAM_H
#define HX_MPI_TEAM_H

#include <mpi.h>

#include "runtime/hx.h"

/* What is made at the first call with a communicator and kept with it, as an attribute. */
typedef struct hx__mpi_kept {
  MPI_Comm comm;        /* its duplicate, on which errors are returned */
  MPI_Comm row, column; /* of a grid, from the first product on: the ranks in the row and in the column of this one */
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

/* Whether a call of MPI has succeeded. If it has not, the user's error handler is called and the sentence set. */
bool hx__mpi_did(const hx__mpi_team *team, int code, const char *function);

/* Waits for all requests. False after an error of MPI. */
bool hx__mpi_wait_all(const hx__mpi_team *team, int count, MPI_Request *requests);
/* Lets MPI pass on what it can of these requests, without waiting for them. */
bool hx__mpi_move_on(const hx__mpi_team *team, int count, MPI_Request *requests);

/* For all ranks: the status and the sentence of the lowest rank whose status is not HX_OK. */
hx_status hx__mpi_agree(const hx__mpi_team *team, hx_status mine);

/* What functions return after an error of MPI, whose sentence hx__mpi_did has set. */
#define HX__MPI_FAILED HX_DEVICE_FAILED

#endif
