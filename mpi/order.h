/* SPDX-License-Identifier: Apache-2.0
 * Reductions whose order does not matter: integers, and extremes of floats. */
#ifndef HX_MPI_ORDER_H
#define HX_MPI_ORDER_H

#include "mpi/team.h"

/* Whether op is a minimum or maximum, or says where one is. */
static inline bool hx__mpi_is_extremum(hx_op op) { return op >= HX_MIN && op <= HX_ARGMAX; }

/* What this rank tells all others of its result. a: its part, which may have no element; mine: not read if op is an
 * extremum and there is no element. */
void hx__mpi_tell_any_order(const struct hx_reduce_args *a, hx_value mine, hx__mpi_told *told);

/* The result of all ranks from what each has told; at least one has an element if op is an extremum. */
hx_value hx__mpi_join_any_order(const hx__mpi_team *team, const struct hx_reduce_args *a);

#endif
