/* SPDX-License-Identifier: Apache-2.0
 * Reductions: a slot for every leaf, by one work-item for each leaf (CPU devices) or by 32 (GPUs). Follows
 * reduce_scan.cl and reduce_join.cl; reduce_subgroup.cl and reduce_ticket.cl have the other shapes. */
#if HX_SHAPE_ITEM

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_reduce(global const HX_T *x, ulong x_first,
                                                                             global const HX_T *y, ulong y_first,
                                                                             ulong n, global ulong *slots) {
  ulong leaf = (ulong)get_global_id(0) * (HX_LEAVES / HX_LOCAL0);
  for (uint l = 0; l < HX_LEAVES / HX_LOCAL0; l++, leaf++) {
    const ulong start = leaf * HX_LEAF;
    if (start >= n) break;
    slots[leaf] = hx_leaf(x + x_first + start, y + y_first + start, (uint)min(n - start, (ulong)HX_LEAF));
  }
}

#elif !HX_SHAPE_SUBGROUP && !HX_SHAPE_TICKET

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_reduce(global const HX_T *x, ulong x_first,
                                                                             global const HX_T *y, ulong y_first,
                                                                             ulong n, global ulong *slots) {
  HX_HOOK
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
  if (item == 0 && count) slots[leaf] = slot;
}

#endif
