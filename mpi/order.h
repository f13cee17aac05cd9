/* SPDX-License-Identifier: Apache-2.0
 * Reductions whose order does not matter: integers, and extremes of floats. */
#ifndef HX_MPI_ORDER_H
#define HX_MPI_ORDER_H

#include "mpi/team.h"

/* Whether op is a minimum or maximum, or says where one is. */
static inline bool hx__mpi_is_extremum(hx_op op) { return op >= HX_MIN && op <= HX_ARGMAX; }

/* The result of all ranks from that of each. a: this rank's part, which may have no element; first: the index of its
 * first element; mine: its result, not read if op is an extremum and there is no element. */
hx_status hx__mpi_join_any_order(const hx__mpi_team *team, const struct hx_reduce_args *a, uint64_t first,
                                 hx_value mine, hx_value *out);

#endif
