/* SPDX-License-Identifier: Apache-2.0
 * Extremes are minima of keys: numbers from 0 to 2^32 - 1 that are in the order of the elements (of a maximum: in the
 * reverse order), with that of NaN first. */
#include "mpi/order.h"

#define NAN_BITS 0x7fc00000u
#define SIGN 0x80000000u
#define NO_ELEMENT INT64_MAX /* greater than every key and index */

static bool is_maximum(hx_op op) { return op == HX_MAX || op == HX_ARGMAX; }
static bool is_index(hx_op op) { return op == HX_ARGMIN || op == HX_ARGMAX; }
static bool is_nan(uint32_t bits) { return (bits & ~SIGN) > 0x7f800000u; }

/* Of floats: -0.0f comes before +0.0f, except that for indices they are equal. */
static uint64_t key_of(const struct hx_reduce_args *a, uint32_t bits) {
  if (a->type == HX_F32) {
    if (is_nan(bits)) return 0;
    if (is_index(a->op) && bits == SIGN) bits = 0;
    bits = bits & SIGN ? ~bits : bits | SIGN;
  } else if (a->type == HX_I32) {
    bits ^= SIGN;
  }
  return is_maximum(a->op) ? (uint32_t)~bits : bits;
}

/* The bits of the element with a key. No float that is not NaN has the key 0. */
static uint32_t bits_of(const struct hx_reduce_args *a, uint64_t key) {
  uint32_t bits = is_maximum(a->op) ? ~(uint32_t)key : (uint32_t)key;
  if (a->type == HX_F32) return key == 0 ? NAN_BITS : bits & SIGN ? bits ^ SIGN : ~bits;
  return a->type == HX_I32 ? bits ^ SIGN : bits;
}

/* Minima are taken of signed numbers, because MPICH 4.0 compares those of MPI_UINT64_T as if they were signed. */
static hx_status reduce_by(const hx__mpi_team *team, MPI_Op op, uint64_t *value) {
  const MPI_Datatype type = op == MPI_MIN ? MPI_INT64_T : MPI_UINT64_T;
  const int code = MPI_Allreduce(MPI_IN_PLACE, value, 1, type, op, team->comm);
  return hx__mpi_did(team, code, "MPI_Allreduce") ? HX_OK : HX__MPI_FAILED;
}

hx_status hx__mpi_join_any_order(const hx__mpi_team *team, const struct hx_reduce_args *a, uint64_t first,
                                 hx_value mine, hx_value *out) {
  *out = mine;
  if (!hx__mpi_is_extremum(a->op)) return reduce_by(team, a->op == HX_PROD ? MPI_PROD : MPI_SUM, &out->u64);
  uint64_t key = NO_ELEMENT;
  if (a->n) key = key_of(a, is_index(a->op) ? ((const uint32_t *)a->x)[mine.u64] : mine.u32);
  uint64_t least = key;
  hx_status status = reduce_by(team, MPI_MIN, &least);
  if (status != HX_OK) return status;
  if (is_index(a->op)) {
    out->u64 = a->n && key == least ? first + mine.u64 : NO_ELEMENT;
    return reduce_by(team, MPI_MIN, &out->u64);
  }
  *out = (hx_value){.u64 = 0};
  out->u32 = bits_of(a, least);
  return HX_OK;
}
