/* SPDX-License-Identifier: Apache-2.0
 * What the programs of tests of libhx_mpi share: a hash of results, and errors of MPI on order. */
#ifndef HX_TESTS_MPI_RANKS_H
#define HX_TESTS_MPI_RANKS_H

#include <mpi.h>

#include "mpi/hx_mpi.h"
#include "reference/data.h"
#include "reference/ref.h"
#include "tests/check.h"

/* Checks that a call of libhx_mpi succeeds. */
#define CHECK_MPI(call)                                                                        \
  do {                                                                                         \
    hx_status mpi_status = (call);                                                             \
    CHECK(mpi_status == HX_OK, "%s: %s", hx_status_string(mpi_status), hx_mpi_error_detail()); \
  } while (0)

/* Checks that a call of libhx_mpi is refused, with a detail that contains these words. */
#define CHECK_MPI_REFUSED(call, status, words)                                                      \
  do {                                                                                              \
    hx_status mpi_status = (call);                                                                  \
    CHECK(mpi_status == (status) && has_words(hx_mpi_error_detail(), words), "%s: '%s' not in: %s", \
          hx_status_string(mpi_status), words, hx_mpi_error_detail());                              \
  } while (0)

static inline uint64_t hash_add(uint64_t hash, uint64_t value) {
  return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
}

/* The n-th call of MPI from now on (0: none) of those in faults.c returns an error and does nothing, on every rank. */
void fail_call(int n);
int calls_made(void); /* since fail_call */

/* What this rank has received of others by broadcasts of panels and exchanges of elements. */
uint64_t bytes_received(void);

#endif
