/* SPDX-License-Identifier: Apache-2.0
 * Reductions by 32 work-items for each leaf: the tree over the items. Follows reduce_scan.cl. */
#if HX_FIELD <= HX_LAST_FIELD && !HX_SHAPE_ITEM && !HX_SHAPE_SUBGROUP && !HX_SHAPE_TICKET

#if HX_ACROSS
/* The tree over the items as shuffles of words; h counts down from 16. Where the order does not matter, an item's four
 * lanes are joined first. */
#if HX_IS_ARG || (!HX_IS_KEY && HX_TYPE != HX_F32) /* ulong */
#define HX_OTHER(v, h) ((ulong)HX_ACROSS_##h((uint)((v) >> 32)) << 32 | HX_ACROSS_##h((uint)(v)))
#elif HX_IS_KEY
#define HX_OTHER(v, h) HX_ACROSS_##h(v)
#else
#define HX_OTHER(v, h) as_float(HX_ACROSS_##h(as_uint(v)))
#endif
#if HX_TYPE == HX_F32 && !HX_IS_KEY
#define HX_LANES_FIRST 0
#define HX_LEVEL(h)                                                                                         \
  v = HX_TREE_JOIN(4, v, (HX_TREE4)(HX_OTHER(v.s0, h), HX_OTHER(v.s1, h), HX_OTHER(v.s2, h), HX_OTHER(v.s3, h)));
#else
#define HX_LANES_FIRST 1
#define HX_LEVEL(h) one = HX_TREE_JOIN(, one, HX_OTHER(one, h));
#endif
#endif

/* The slot of a leaf, from the lanes of its items; item 0 of the leaf has it. id: the item in its group. even, odd: an
 * element for each item of the group, not used if items exchange values within a wavefront. All items may write `odd`
 * when this returns, but not yet `even`. */
static ulong hx_join_items(HX_HOOK_PARAMETER const hx_lanes *lanes, uint id, local HX_TREE4 *even,
                           local HX_TREE4 *odd) {
  HX_TREE4 v = hx_tree_of(lanes, id % HX_ITEMS, 0);
#if HX_ACROSS && HX_LANES_FIRST
  v.lo = HX_TREE_JOIN(2, v.lo, v.hi);
  HX_TREE one = HX_TREE_JOIN(, v.x, v.y);
  HX_LEVEL(16) HX_LEVEL(8) HX_LEVEL(4) HX_LEVEL(2) HX_LEVEL(1)
  return HX_TREE_BITS(one);
#else
#if HX_ACROSS
  HX_LEVEL(16) HX_LEVEL(8) HX_LEVEL(4) HX_LEVEL(2) HX_LEVEL(1)
#else
  /* Every item joins at every level, so none diverges and neighbours touch neighbouring words; item 0 of each leaf ends
   * with lanes by strides 64, 32, 16, 8, 4. There are two buffers, so one barrier for each level is enough. */
  for (uint h = HX_ITEMS / 2; h > 0; h /= 2) {
    local HX_TREE4 *const next = odd;
    even[id] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    v = HX_TREE_JOIN(4, v, even[id ^ h]);
    odd = even;
    even = next;
  }
#endif
  const HX_PASTE(HX_TREE, 2) pair = HX_TREE_JOIN(2, v.lo, v.hi);
  return HX_TREE_BITS(HX_TREE_JOIN(, pair.x, pair.y));
#endif
}

#endif
