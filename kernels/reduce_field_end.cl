/* SPDX-License-Identifier: Apache-2.0
 * The functions of a field that the kernel of reduce_fields.cl calls, with elements as words of 32 bits, whatever the
 * field's type. Follows reduce_join.cl. */
#if HX_FIELD <= HX_LAST_FIELD
#if HX_SHAPE_ITEM

static ulong hx_field_leaf(global const uint *x, global const uint *y, uint count) {
  return hx_leaf((global const HX_T *)x, (global const HX_T *)y, count);
}

#else

#define HX_OF_WORDS(words) HX_PASTE(HX_PASTE(as_, HX_T), 4)(words)

static void hx_field_row(hx_lanes *lanes, uint4 x, uint4 y, uint row) {
  hx_take(lanes, HX_LIFT(4, HX_OF_WORDS(x), HX_OF_WORDS(y)), row);
}

static void hx_field_short(hx_lanes *lanes, global const uint *x, global const uint *y, uint i, uint count, uint row) {
  hx_take_short(lanes, (global const HX_T *)x, (global const HX_T *)y, i, count, row);
}

/* The buffers have an element of the largest type for each item: fields of other types must not overlap. */
static ulong hx_field_join(HX_HOOK_PARAMETER const hx_lanes *lanes, uint id, local ulong4 *even, local ulong4 *odd) {
  return hx_join_items(HX_HOOK_ARGUMENT lanes, id, (local HX_TREE4 *)even, (local HX_TREE4 *)odd);
}

#endif
#endif
