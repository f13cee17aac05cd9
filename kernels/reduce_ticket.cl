/* SPDX-License-Identifier: Apache-2.0
 * Reductions in a single launch on NVIDIA's GPUs, by inline PTX: one leaf for each warp, four neighbouring lanes for
 * each item. The leaves of a group are joined pairwise, and the group that takes the last ticket joins the groups. A
 * launch chooses the size of its groups, at most twice HX_LOCAL0: a kernel for each size would take as long to compile
 * again. Follows reduce.cl. Items of a warp exchange values by shfl.sync. */
#if HX_SHAPE_TICKET

#define HX_MOST_ITEMS (2 * HX_LOCAL0)

/* HX_TREE_MISSING: the value of an item without lanes, which changes no result. HX_TREE_OF(slot): a slot in the form
 * that the tree uses. */
#define HX_JOINS_TO_MOST (HX_OP == HX_MAX)
#if HX_IS_ARG
#define HX_TREE_MISSING 0xffffffffffffffffUL
#define HX_TREE_OF(slot) (slot)
#elif HX_IS_KEY
#define HX_TREE_MISSING HX_MISSING
#define HX_TREE_OF(slot) HX_KEY(, (uint)(slot))
#elif HX_TYPE == HX_F32
#define HX_TREE_MISSING HX_MISSING
#define HX_TREE_OF(slot) as_float((uint)(slot))
#else
#define HX_TREE_MISSING HX_MISSING
#define HX_TREE_OF(slot) (slot)
#endif

/* HX_FROM(v, h): the value of the item whose number differs in the bit h < 32. Called by all items of a group. */
static uint hx_from(uint v, uint h) {
  uint r;
  __asm__ __volatile__("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(h));
  return r;
}
#if HX_IS_ARG || (!HX_IS_KEY && HX_TYPE != HX_F32)
#define HX_FROM(v, h) hx_from_tree((v), (h))
static ulong hx_from_tree(ulong v, uint h) {
  return (ulong)hx_from((uint)(v >> 32), h) << 32 | hx_from((uint)v, h);
}
#elif HX_IS_KEY
#define HX_FROM(v, h) hx_from((v), (h))
#else
#define HX_FROM(v, h) as_float(hx_from(as_uint(v), (h)))
#endif

/* HX_JOIN_WARP(v): joins v of the 32 items of a warp, neighbours pairwise; afterwards every item has the warp's
 * value. */
#if HX_IS_KEY
#if HX_JOINS_TO_MOST
#define HX_REDUX "redux.sync.max.u32 %0, %1, 0xffffffff;"
#else
#define HX_REDUX "redux.sync.min.u32 %0, %1, 0xffffffff;"
#endif
static uint hx_warp_join(uint v) {
  uint r;
  __asm__ __volatile__(HX_REDUX : "=r"(r) : "r"(v));
  return r;
}
#if HX_IS_ARG
static ulong hx_warp_least(ulong v) {
  const uint key = (uint)(v >> 32), least = hx_warp_join(key);
  return (ulong)least << 32 | hx_warp_join(key == least ? (uint)v : 0xffffffffu);
}
#define HX_JOIN_WARP(v) v = hx_warp_least(v);
#else
#define HX_JOIN_WARP(v) v = hx_warp_join(v);
#endif
#else
#define HX_JOIN_WARP(v)                                                             \
  _Pragma("unroll") for (uint h = 1; h < HX_ITEMS; h *= 2) v = HX_TREE_JOIN(, v, HX_FROM(v, h));
#endif

#if HX_IS_KEY
/* hx_leaf_best scans a leaf for its best element and, for an argmin or argmax, for the first row that holds it. An item
 * compares the best of its four lanes, one row at a time, because an operation for every element costs 5 % of the
 * bandwidth. The lane is found once, after the scan.
 *
 * HX_SCAN_*: the form in which the scan compares elements. PTX has instructions that order floats as hx does (NaN
 * first, -0 < +0), so floats stay floats; integers are compared as the unsigned integers of hx_ordered.
 *   HX_SCAN_T           the type
 *   HX_SCAN_MISSING     the value that is better than no element
 *   HX_SCAN_OF(N, x)    elements in this form; N is the width, empty for scalars
 *   HX_SCAN_ROW(v)      the best of a row as it is compared with other rows: zeros tie for an argmin or argmax, so -0
 *                       becomes +0
 *   HX_SCAN_BITS(v)     the bits, by which two values are told apart
 *   HX_SCAN_ORDERED(v)  the unsigned integer of hx_ordered
 *   hx_scan_join(a, b)  the better one of two */
#define HX_SCAN_FLOATS (HX_TYPE == HX_F32)
#if HX_SCAN_FLOATS
#define HX_SCAN(as_floats, as_integers) as_floats
#else
#define HX_SCAN(as_floats, as_integers) as_integers
#endif
#if HX_OP == HX_MAX || HX_OP == HX_ARGMAX
#define HX_MAX_OR_MIN(of_max, of_min) of_max
#else
#define HX_MAX_OR_MIN(of_max, of_min) of_min
#endif
#if HX_IS_ARG
#define HX_ARG_OR_VALUE(of_arg, of_value) of_arg
#else
#define HX_ARG_OR_VALUE(of_arg, of_value) of_value
#endif

/*                                 floats                                 unsigned integers */
#define HX_SCAN_T          HX_SCAN(float,                                 uint)
#define HX_SCAN_MISSING    HX_SCAN(HX_MAX_OR_MIN((-INFINITY), INFINITY),  HX_MISSING)
#define HX_SCAN_OF(N, x)   HX_SCAN((x),                                   HX_PASTE(hx_ordered, N)(x))
#define HX_SCAN_ROW(v)     HX_SCAN(HX_ARG_OR_VALUE(((v) + 0.0f), (v)),    (v))
#define HX_SCAN_BITS(v)    HX_SCAN(as_uint(v),                            (v))
#define HX_SCAN_ORDERED(v) HX_SCAN(hx_ordered(v),                         (v))

#if HX_SCAN_FLOATS
static float hx_scan_join(float a, float b) {
  float r;
  __asm__(HX_MAX_OR_MIN("max.NaN.f32 %0, %1, %2;", "min.NaN.f32 %0, %1, %2;") : "=f"(r) : "f"(a), "f"(b));
  return r;
}
#else
static uint hx_scan_join(uint a, uint b) { return HX_JOIN(, a, b); }
#endif

static void hx_scan_row(HX_SCAN_T *best, uint *row, HX_PASTE(HX_SCAN_T, 4) v, uint r) {
  const HX_SCAN_T lanes = HX_SCAN_ROW(hx_scan_join(hx_scan_join(v.x, v.y), hx_scan_join(v.z, v.w))),
                  next = hx_scan_join(*best, lanes);
#if HX_IS_ARG
  if (HX_SCAN_BITS(next) != HX_SCAN_BITS(*best)) *row = r;
#endif
  *best = next;
}

static uint hx_leaf_best(global const HX_T *x, uint count, uint item, uint *row) {
  HX_SCAN_T best = HX_SCAN_MISSING;
  x += 4 * item;
  if (count == HX_LEAF) {
#define HX_ROWS_OF_LEAF(load)                                                                     \
  for (uint r = 0; r < HX_LEAF / HX_LANES; r += HX_IN_FLIGHT) {                                   \
    uint with = HX_LEAF;                                                                          \
    HX_T4 v[HX_IN_FLIGHT];                                                                        \
    _Pragma("unroll") for (uint u = 0; u < HX_IN_FLIGHT; u++) v[u] = load(x + (r + u) * HX_LANES); \
    _Pragma("unroll") for (uint u = 0; u < HX_IN_FLIGHT; u++) hx_scan_row(&best, &with, HX_SCAN_OF(4, v[u]), u); \
    if (with != HX_LEAF) *row = r + with;                                                         \
  }
    if (((uintptr_t)x & 15) == 0) {
      HX_ROWS_OF_LEAF(HX_LOAD_ALIGNED)
    } else {
      HX_ROWS_OF_LEAF(HX_LOAD_ANY)
    }
  } else {
    for (uint i = 4 * item, r = 0; i < count; i += HX_LANES, r++, x += HX_LANES) {
      HX_PASTE(HX_SCAN_T, 4) v = (HX_PASTE(HX_SCAN_T, 4))(HX_SCAN_MISSING);
      v.x = HX_SCAN_OF(, x[0]);
      if (i + 1 < count) v.y = HX_SCAN_OF(, x[1]);
      if (i + 2 < count) v.z = HX_SCAN_OF(, x[2]);
      if (i + 3 < count) v.w = HX_SCAN_OF(, x[3]);
      hx_scan_row(&best, row, v, r);
    }
  }
  return HX_SCAN_ORDERED(best);
}

#if HX_IS_ARG
/* The index of the element with this value among an item's four lanes of a row, if it is below count; else
 * 0xffffffff. */
static uint hx_lane_with(global const HX_T *x, uint first, uint count, uint value) {
  uint found = 0xffffffffu;
#pragma unroll
  for (uint j = 4; j-- > 0;)
    if (first + j < count && hx_ordered(x[first + j]) == value) found = first + j;
  return found;
}
#endif
#endif

kernel void hx_reduce(global const HX_T *x, ulong x_first, global const HX_T *y, ulong y_first, ulong n,
                      global ulong *slots, uint join, global uint *ticket, ulong host) {
  local HX_TREE nodes[HX_MOST_ITEMS];
  local uint taken[1];
  const uint id = (uint)get_local_id(0), item = id % HX_ITEMS, warp = id / HX_ITEMS;
  const uint warps = (uint)get_local_size(0) / HX_ITEMS;
  const hx_join_target to = {slots, host, join};
  const uint group = (uint)get_group_id(0), groups = (uint)get_num_groups(0);
  const ulong leaf = (ulong)group * warps + warp, start = leaf * HX_LEAF;
  const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
  x += x_first;
  y += y_first;
#if HX_IS_KEY
  uint row = 0;
  HX_TREE v = hx_leaf_best(x + start, count, item, &row);
#if HX_IS_ARG
  v = (ulong)HX_KEY(, (uint)v) << 32 | row;
  HX_JOIN_WARP(v)
  const uint key = (uint)(v >> 32);
  v = (ulong)key << 32 | hx_lane_with(x + start, (uint)v * HX_LANES + 4 * item, count, HX_KEY(, key));
#endif
  HX_JOIN_WARP(v)
#else
  hx_lanes own;
  hx_leaf_lanes(&own, x + start, y + start, count, item);
  const HX_TREE4 lanes = hx_tree_of(&own, item, 0);
#if HX_TYPE != HX_F32 /* exact in any order */
  const HX_PASTE(HX_TREE, 2) pair = HX_TREE_JOIN(2, lanes.lo, lanes.hi);
  HX_TREE v = HX_TREE_JOIN(, pair.x, pair.y);
  HX_JOIN_WARP(v)
#else
  HX_TREE a = lanes.x, b = lanes.y, c = lanes.z, d = lanes.w;
#pragma unroll
  for (uint h = HX_ITEMS / 2; h > 0; h /= 2) { /* lanes by strides 64, 32, 16, 8, 4 */
    a = HX_TREE_JOIN(, a, HX_FROM(a, h));
    b = HX_TREE_JOIN(, b, HX_FROM(b, h));
    c = HX_TREE_JOIN(, c, HX_FROM(c, h));
    d = HX_TREE_JOIN(, d, HX_FROM(d, h));
  }
  a = HX_TREE_JOIN(, a, c);
  b = HX_TREE_JOIN(, b, d);
  HX_TREE v = HX_TREE_JOIN(, a, b);
#endif
#endif
  if (!join) {
    if (item == 0 && count) slots[leaf] = HX_TREE_BITS(v);
    return;
  }

  if (item == 0) {
    if (count) hx_store_checked(to, (uint)leaf, n, HX_TREE_BITS(v));
#if HX_IS_ARG
    v += start; /* an index counts from the first leaf of the launch if the leaves are joined */
#endif
    nodes[warp] = count ? v : HX_TREE_MISSING;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  v = item < warps ? nodes[item] : HX_TREE_MISSING;
  HX_JOIN_WARP(v)
  global ulong *const partials = slots + HX_JOINED_SLOTS;
  if (id == 0) {
    if (groups == 1) {
      hx_store_joined(to, HX_TREE_BITS(v));
      taken[0] = 0;
    } else {
      partials[group] = HX_TREE_BITS(v);
      atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
      taken[0] = atomic_inc(ticket) + 1;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (taken[0] != groups) return;

  /* This is the last group, so all partials are stored. A warp joins 128 neighbours in each iteration; all warps do
   * equally many iterations. */
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
  const uint ends = (groups + 4 * HX_ITEMS - 1) / (4 * HX_ITEMS);
  for (uint turn = 0; turn < ends; turn += warps) {
    const uint at = 4 * ((turn + warp) * HX_ITEMS + item);
    const HX_TREE p = at < groups ? HX_TREE_OF(partials[at]) : HX_TREE_MISSING;
    const HX_TREE q = at + 1 < groups ? HX_TREE_OF(partials[at + 1]) : HX_TREE_MISSING;
    const HX_TREE r = at + 2 < groups ? HX_TREE_OF(partials[at + 2]) : HX_TREE_MISSING;
    const HX_TREE s = at + 3 < groups ? HX_TREE_OF(partials[at + 3]) : HX_TREE_MISSING;
    const HX_TREE pq = HX_TREE_JOIN(, p, q), rs = HX_TREE_JOIN(, r, s);
    v = HX_TREE_JOIN(, pq, rs);
    HX_JOIN_WARP(v)
    if (item == 0 && turn + warp < ends) nodes[turn + warp] = v;
  }
  for (uint left = ends; left > 1; left = (left + HX_ITEMS - 1) / HX_ITEMS) {
    barrier(CLK_LOCAL_MEM_FENCE);
    v = id < left ? nodes[id] : HX_TREE_MISSING;
    HX_JOIN_WARP(v)
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) nodes[warp] = v;
  }
  if (id == 0) {
    hx_store_joined(to, HX_TREE_BITS(nodes[0]));
    ticket[0] = 0; /* as the next launch expects it */
  }
}

#endif
