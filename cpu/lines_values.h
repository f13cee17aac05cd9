/* SPDX-License-Identifier: Apache-2.0
 * The values of lines of one leaf each from their slots (base/slot.h), in place: there may be as many lines as
 * elements. Those of sums and products are their slots. */
#ifndef HX_CPU_LINES_VALUES_H
#define HX_CPU_LINES_VALUES_H

#include "cpu/lines_state.h"

/* The bits of the elements with these keys. The upper halves of slots, which are 0, become anything. */
INLINED v_u32 bits_of_keys(hx_op op, hx_type type, v_u32 key) {
  const v_u32 ordered = op == HX_MAX ? ~key : key;
  if (type == HX_U32) return ordered;
  if (type == HX_I32) return ordered ^ KEY_SIGN;
  const v_u32 bits = ordered ^ (~(v_u32)((v_i32)ordered >> 31) | KEY_SIGN);
  return v_select((v_u32)(key == 0), v_broadcast(HX__CANONICAL_NAN), bits);
}

INLINED v_u64 value_slots(hx_op op, hx_type type, v_u64 s) {
  const v_u32 bits = is_index(op) ? (v_u32)s : bits_of_keys(op, type, (v_u32)s);
  return (v_u64)bits & (0xffffffffu - (v_u64){0});
}

INLINED void make_values(hx_op op, hx_type type, uint64_t *slots, size_t count) {
  v_u64 s = {0};
  uint64_t *const last = slots + count - count % (V_LANES / 2);
  for (; slots < last; slots += V_LANES / 2) {
    memcpy(&s, slots, sizeof s);
    s = value_slots(op, type, s);
    memcpy(slots, &s, sizeof s);
  }
  const size_t rest = count % (V_LANES / 2) * sizeof *slots;
  memcpy(&s, slots, rest);
  s = value_slots(op, type, s);
  memcpy(slots, &s, rest);
}

static void values_of_slots(hx_op op, hx_type type, uint64_t *slots, size_t count) {
#define CASE(o, t) \
  if (op == (o) && type == (t)) make_values(o, t, slots, count);
#define TYPES(o) CASE(o, HX_F32) CASE(o, HX_I32) CASE(o, HX_U32)
  TYPES(HX_MIN) TYPES(HX_MAX) if (is_index(op)) make_values(HX_ARGMIN, HX_U32, slots, count);
#undef TYPES
#undef CASE
}

#endif
