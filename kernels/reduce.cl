/* SPDX-License-Identifier: Apache-2.0
 * Reductions: a slot for every leaf, by one work-item for each leaf (CPU devices) or by 32 (GPUs), or one for all
 * leaves. Follows reduce_last_group.cl; reduce_subgroup.cl and reduce_ticket.cl have the other shapes. */
#if HX_SHAPE_ITEM

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_reduce(global const HX_T *x, ulong x_first,
                                                                             global const HX_T *y, ulong y_first,
                                                                             ulong n,
                                                                             global ulong *slots HX_JOIN_PARAMETERS) {
  HX_JOIN_LOCALS
  enum { EACH = HX_LEAVES / HX_LOCAL0 };
  const uint id = (uint)get_local_id(0);
  ulong leaf = (ulong)get_global_id(0) * EACH;
  for (uint l = 0; l < EACH; l++, leaf++) {
    const ulong start = leaf * HX_LEAF;
    const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
    ulong slot = 0;
    if (count) slot = hx_leaf(x + x_first + start, y + y_first + start, count);
    HX_PUT(id * EACH + l, leaf, count, slot);
  }
  HX_JOIN_GROUPS(id, HX_LEAVES)
}

#elif !HX_SHAPE_SUBGROUP && !HX_SHAPE_TICKET

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_reduce(global const HX_T *x, ulong x_first,
                                                                             global const HX_T *y, ulong y_first,
                                                                             ulong n,
                                                                             global ulong *slots HX_JOIN_PARAMETERS) {
  HX_HOOK
  HX_JOIN_LOCALS
#if HX_ACROSS
  local HX_TREE4 *const even = 0, *const odd = 0;
#else
  local HX_TREE4 even[HX_LOCAL0], odd[HX_LOCAL0];
#endif
  const uint id = (uint)get_local_id(0), item = id % HX_ITEMS;
  const ulong leaf = (ulong)get_group_id(0) * HX_LEAVES + id / HX_ITEMS, start = leaf * HX_LEAF;
  const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
  hx_lanes lanes;
  hx_leaf_lanes(&lanes, x + x_first + start, y + y_first + start, count, item);
  const ulong slot = hx_join_items(HX_HOOK_ARGUMENT &lanes, id, even, odd);
  if (item == 0) HX_PUT(id / HX_ITEMS, leaf, count, slot);
  HX_JOIN_GROUPS(id, HX_LEAVES)
}

#endif
