/* SPDX-License-Identifier: Apache-2.0
 * Reductions of the elements that a user kernel makes, without an array of them: the slot of every leaf, by one work-item
 * for each leaf (CPU devices), by 32, or by a whole group, or one slot for all. The order is that of reduce.cl. Follows
 * reduce_last_group.cl, map.cl and the text of the expression (backend/opencl/map_text.c), which defines
 *   HX_PARAMETERS      the kernel's first parameters: arrays, their offsets, values; HX_ARGUMENTS passes them on
 *   HX_ELEMENT(i)      element i of the launch
 *   HX_FOUR(load, i)   elements i to i + 3; load(type, pointer) reads four neighbours of an array
 *   HX_ALIGNED(i)      whether element i of every array is at a multiple of 16 bytes
 * HX_MAP_ROWS: rows of 128 lanes that an item loads before it uses the first; 0: a whole group makes the elements of a
 * leaf. Compilers would take minutes for many copies of a long expression, and an item that made a 32nd of a leaf would
 * take so long that short arrays kept few of a GPU's units busy (docs/measurements/user-kernels-long.tsv). */
#if HX_SHAPE_ITEM

/* The loop over the lanes becomes vectors, because a lane does not depend on its neighbours. */
static ulong hx_mapped_leaf(HX_PARAMETERS ulong start, uint count) {
  HX_A lane[HX_LANES];
  for (uint j = 0; j < HX_LANES; j++) lane[j] = HX_MISSING;
  for (uint i = 0; i < count; i += HX_LANES) {
    const uint lanes = min(count - i, HX_LANES);
    for (uint j = 0; j < lanes; j++) {
      const HX_T x = HX_ELEMENT(start + i + j);
      lane[j] = HX_JOIN(, lane[j], HX_LIFT(, x, x));
    }
  }
  for (uint h = HX_LANES / 2; h > 0; h /= 2)
    for (uint j = 0; j < h; j++) lane[j] = HX_JOIN(, lane[j], lane[j + h]);
#if HX_IS_ARG
  uint first = 0; /* the lowest index of the best element; there is one */
  for (;; first++) {
    const HX_T x = HX_ELEMENT(start + first);
    if (hx_ordered(x) == lane[0]) break;
  }
  return HX_BITS(lane[0]) << 32 | first;
#else
  return HX_BITS(lane[0]);
#endif
}

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_map_reduce(HX_PARAMETERS ulong n,
                                                                                 global ulong *slots
                                                                                     HX_JOIN_PARAMETERS) {
  HX_JOIN_LOCALS
  enum { EACH = HX_LEAVES / HX_LOCAL0 };
  const uint id = (uint)get_local_id(0);
  ulong leaf = (ulong)get_global_id(0) * EACH;
  for (uint l = 0; l < EACH; l++, leaf++) {
    const ulong start = leaf * HX_LEAF;
    const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
    ulong slot = 0;
    if (count) slot = hx_mapped_leaf(HX_ARGUMENTS start, count);
    HX_PUT(id * EACH + l, leaf, count, slot);
  }
  HX_JOIN_GROUPS(id, HX_LEAVES)
}

#else

/* Puts what is missing in the place of elements past `last`, and takes the rest. */
static void hx_take_first(hx_lanes *lanes, HX_T4 x, uint last, uint r) {
  HX_PASTE(HX_A, 4) v = HX_LIFT(4, x, x);
  if (last < 1) v.y = HX_MISSING;
  if (last < 2) v.z = HX_MISSING;
  if (last < 3) v.w = HX_MISSING;
  hx_take(lanes, v, r);
}

/* Loads for HX_FOUR. The elements past `last`, an index from here, are that one again. */
#define HX_FOUR_ALIGNED(T, p) (*(global const HX_PASTE(T, 4) *)(p))
#define HX_FOUR_ANY(T, p) vload4(0, (p))
#define HX_FOUR_SHORT(T, p) \
  ((HX_PASTE(T, 4))((p)[0], (p)[min(1u, last)], (p)[min(2u, last)], (p)[min(3u, last)]))

#if HX_MAP_ROWS

#define HX_MAP_LEAF(load)                                                                           \
  _Pragma("unroll 1") for (uint r = 0; r < HX_LEAF / HX_LANES; r += HX_MAP_ROWS) {                  \
    HX_T4 v[HX_MAP_ROWS];                                                                           \
    _Pragma("unroll") for (uint u = 0; u < HX_MAP_ROWS; u++, at += HX_LANES) v[u] = HX_FOUR(load, at); \
    _Pragma("unroll") for (uint u = 0; u < HX_MAP_ROWS; u++) hx_take(lanes, HX_LIFT(4, v[u], v[u]), r + u); \
  }

/* An item's lanes of `count` elements from `start` on. */
static void hx_mapped_lanes(HX_PARAMETERS hx_lanes *lanes, ulong start, uint count, uint item) {
  ulong at = start + 4 * item;
  hx_clear(lanes);
  if (count == HX_LEAF) {
    if (HX_ALIGNED(at)) {
      HX_MAP_LEAF(HX_FOUR_ALIGNED)
    } else {
      HX_MAP_LEAF(HX_FOUR_ANY)
    }
    return;
  }
  for (uint i = 4 * item, r = 0; i < count; i += HX_LANES, r++, at += HX_LANES) {
    const uint last = count - i - 1;
    hx_take_first(lanes, HX_FOUR(HX_FOUR_SHORT, at), last, r);
  }
}

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_map_reduce(HX_PARAMETERS ulong n,
                                                                                 global ulong *slots
                                                                                     HX_JOIN_PARAMETERS) {
  HX_JOIN_LOCALS
  local HX_TREE4 even[HX_LOCAL0], odd[HX_LOCAL0];
  const uint id = (uint)get_local_id(0), item = id % HX_ITEMS;
  const ulong leaf = (ulong)get_group_id(0) * HX_LEAVES + id / HX_ITEMS, start = leaf * HX_LEAF;
  const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
  hx_lanes lanes;
  hx_mapped_lanes(HX_ARGUMENTS &lanes, start, count, item);
  const ulong slot = hx_join_items(&lanes, id, even, odd);
  if (item == 0) HX_PUT(id / HX_ITEMS, leaf, count, slot);
  HX_JOIN_GROUPS(id, HX_LEAVES)
}

#else

#if HX_LOCAL0 > 256
#error "made is too small for the buffers of hx_join_items"
#endif

/* Chooses among these loads. */
#define HX_FOUR_HERE(T, p) (last < 3 ? HX_FOUR_SHORT(T, p) : aligned ? HX_FOUR_ALIGNED(T, p) : HX_FOUR_ANY(T, p))

/* Makes an item's part of the elements of a leaf. */
static void hx_make(HX_PARAMETERS local HX_T4 *made, ulong start, uint count, uint id) {
  const bool aligned = HX_ALIGNED(start);
  _Pragma("unroll 1") for (uint i = 4 * id; i < count; i += 4 * HX_LOCAL0) {
    const uint last = count - i - 1;
    made[i / 4] = HX_FOUR(HX_FOUR_HERE, start + i);
  }
}

/* A group has HX_LEAVES leaves, or one if the launch has as many groups as leaves. All its items make the elements of a
 * leaf, and 32 of them take these in the order of the lanes. */
kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_map_reduce(HX_PARAMETERS ulong n,
                                                                                 global ulong *slots
                                                                                     HX_JOIN_PARAMETERS) {
  HX_JOIN_LOCALS
  /* Room for a leaf, and then for the two buffers of hx_join_items, which are vectors of up to 32 bytes. */
  local HX_T4 made[HX_LEAF / 4] __attribute__((aligned(32)));
  local HX_TREE4 *const even = (local HX_TREE4 *)made, *const odd = even + HX_LOCAL0;
  const uint id = (uint)get_local_id(0);
  const uint leaves = (ulong)get_num_groups(0) * HX_LEAF < n ? HX_LEAVES : 1;
  _Pragma("unroll 1") for (uint l = 0; l < leaves; l++) {
    const ulong leaf = (ulong)get_group_id(0) * leaves + l, start = leaf * HX_LEAF;
    const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
    hx_lanes lanes;
    hx_make(HX_ARGUMENTS made, start, count, id);
    barrier(CLK_LOCAL_MEM_FENCE);
    hx_clear(&lanes);
    if (id < HX_ITEMS)
      for (uint i = 4 * id, r = 0; i < count; i += HX_LANES, r++)
        hx_take_first(&lanes, made[i / 4], count - i - 1, r);
    barrier(CLK_LOCAL_MEM_FENCE);
    const ulong slot = hx_join_items(&lanes, id, even, odd);
    if (id == 0) HX_PUT(l, leaf, count, slot);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  HX_JOIN_GROUPS(id, leaves)
}
#endif
#endif
