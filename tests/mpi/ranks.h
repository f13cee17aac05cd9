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

static int rank, ranks;
static hx_context *hx;
static bool is_to_die; /* the last rank, if the program has the argument `die` */

/* A context with one thread; half of the work of rank 1 is for a device that fails soon, and for good. */
static inline hx_context *open_on_rank(void) {
  hx_settings settings = HX_SETTINGS_DEFAULT;
  settings.devices = "cpu";
  settings.threads = "1";
  if (rank == 1) {
    settings.devices = "cpu,sim";
    settings.sim = "rate=1e9,latency_us=10,fail=enqueue@3";
    settings.split = "0.5";
  }
  return open_or_exit(&settings);
}

static inline void start_rank(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hx = open_on_rank();
  is_to_die = argc > 1 && strcmp(argv[1], "die") == 0 && rank == ranks - 1;
}

/* Checks that the device of rank 1 has failed. */
static inline void check_lost(void) {
  hx_device_info device = {.state = HX_USABLE};
  if (rank == 1) hx_device(hx, hx_device_count(hx) - 1, &device);
  CHECK((device.state == HX_LOST) == (rank == 1), "rank %d: the device is in state %d", rank, device.state);
}

/* The n-th call of MPI from now on (0: none) of those in faults.c returns an error and does nothing, on every rank. */
void fail_call(int n);
int calls_made(void); /* since fail_call */

/* The next duplicate is made, but this rank is told an error. */
void fail_duplicate(void);

/* The n-th allocation of a library for tests fails on this rank, from now on (0: none). */
void fail_allocation(int n);
bool allocation_failed(void);

/* What this rank has received of others by broadcasts of panels and exchanges of elements. */
uint64_t bytes_received(void);
int longest_message(void); /* of these, in bytes */

/* Communicators, types and operations of MPI that this rank has made and not freed. */
int objects_alive(void);
bool broadcasts_began(void); /* or the making of their types, since fail_call */

/* Checks what a call that fail_call has had fail says. */
static inline void check_mpi_text(void) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(MPI_ERR_OTHER, text, &length);
  CHECK(strstr(hx_mpi_error_detail(), text), "'%s' is not in: %s", text, hx_mpi_error_detail());
}

#endif
