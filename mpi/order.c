/* SPDX-License-Identifier: Apache-2.0
 * Extremes are minima of keys: numbers from 0 to 2^32 - 1 that are in the order of the elements (of a maximum: in the
 * reverse order), with that of NaN first. */
#include "mpi/order.h"

#define NAN_BITS 0x7fc00000u
#define SIGN 0x80000000u

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

void hx__mpi_tell_any_order(const struct hx_reduce_args *a, hx_value mine, hx__mpi_told *told) {
  told->value = mine.u64;
  if (a->n && hx__mpi_is_extremum(a->op))
    told->key = key_of(a, is_index(a->op) ? ((const uint32_t *)a->x)[mine.u64] : mine.u32);
}

/* Of equal keys the first one counts, which has the lowest index. */
static hx_value extremum(const hx__mpi_team *team, const struct hx_reduce_args *a) {
  const hx__mpi_told *const all = team->kept->told, *least = NULL;
  uint64_t start = 0, index = 0;
  for (int r = 0; r < team->size; start += all[r++].n) {
    if (!all[r].n || (least && least->key <= all[r].key)) continue;
    least = &all[r];
    index = start + least->value;
  }
  hx_value out = {.u64 = index};
  if (is_index(a->op)) return out;
  out.u64 = 0;
  out.u32 = bits_of(a, least ? least->key : 0);
  return out;
}

hx_value hx__mpi_join_any_order(const hx__mpi_team *team, const struct hx_reduce_args *a) {
  const hx__mpi_told *const all = team->kept->told;
  hx_value out = {.u64 = a->op == HX_PROD};
  if (hx__mpi_is_extremum(a->op)) return extremum(team, a);
  for (int r = 0; r < team->size; r++) out.u64 = a->op == HX_PROD ? out.u64 * all[r].value : out.u64 + all[r].value;
  return out;
}
