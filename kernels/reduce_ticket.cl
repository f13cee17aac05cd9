/* SPDX-License-Identifier: Apache-2.0
 * Reductions in a single launch (NVIDIA GPUs): a leaf a warp, four neighbouring lanes an item, the leaves of a group
 * joined pairwise, and the group that takes the last ticket joins the groups. Follows reduce.cl.
 * HX_PTX: items of a warp exchange values by shfl.sync; otherwise through local memory. */
#if HX_SHAPE_TICKET

#define HX_LARGE (2 * HX_LOCAL0) /* the work-group for many leaves */

/* What an item's lanes combine to that have none: joins to nothing. HX_TREE_OF: a slot as the tree holds it. */
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
#if HX_PTX
#define HX_EXCHANGE_ITEMS 1
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
#else
#define HX_EXCHANGE_ITEMS HX_LARGE
#define HX_FROM(v, h) hx_from_tree((v), (h), exchange)
static HX_TREE hx_from_tree(HX_TREE v, uint h, local HX_TREE *exchange) {
  const uint id = (uint)get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  exchange[id] = v;
  barrier(CLK_LOCAL_MEM_FENCE);
  return exchange[id ^ h];
}
#endif

/* Neighbours pairwise over the 32 items of a warp: every item ends with the warp's value. */
#define HX_JOIN_WARP(v)                                                             \
  _Pragma("unroll") for (uint h = 1; h < HX_ITEMS; h *= 2) v = HX_TREE_JOIN(, v, HX_FROM(v, h));

static inline void hx_reduce_with(const uint items, global const HX_T *x, global const HX_T *y, ulong n,
                                  global ulong *slots, uint join, global uint *ticket, local HX_TREE *nodes,
                                  local uint *taken, local HX_TREE *exchange) {
  const uint id = (uint)get_local_id(0), item = id % HX_ITEMS, warp = id / HX_ITEMS, warps = items / HX_ITEMS;
  const uint group = (uint)get_group_id(0), groups = (uint)get_num_groups(0);
  const ulong leaf = (ulong)group * warps + warp, start = leaf * HX_LEAF;
  const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
  /* An index counts from the leaf, or from the first leaf of the launch where the leaves are joined. */
  hx_lanes own;
  hx_leaf_lanes(&own, x + start, y + start, count, item);
  const HX_TREE4 lanes = hx_tree_of(&own, item, join ? (uint)start : 0u);
#if HX_IS_KEY || HX_TYPE != HX_F32 /* exact in any order */
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
  if (!join) {
    if (item == 0 && count) slots[leaf] = HX_TREE_BITS(v);
    return;
  }

  if (item == 0) nodes[warp] = count ? v : HX_TREE_MISSING;
  barrier(CLK_LOCAL_MEM_FENCE);
  v = item < warps ? nodes[item] : HX_TREE_MISSING;
  HX_JOIN_WARP(v)
  global ulong *const partials = slots + 1;
  if (id == 0) {
    if (groups == 1) {
      slots[0] = HX_TREE_BITS(v);
      taken[0] = 0;
    } else {
      partials[group] = HX_TREE_BITS(v);
      atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
      taken[0] = atomic_inc(ticket) + 1;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (taken[0] != groups) return;

  /* The last group: all partials are there. A warp joins 128 neighbours a turn; as many turns for every warp. */
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
    slots[0] = HX_TREE_BITS(nodes[0]);
    ticket[0] = 0; /* for the next launch */
  }
}

#define HX_KERNEL(name, items)                                                                                   \
  kernel __attribute__((reqd_work_group_size(items, 1, 1))) void name(                                           \
      global const HX_T *x, ulong x_first, global const HX_T *y, ulong y_first, ulong n, global ulong *slots,    \
      uint join, global uint *ticket) {                                                                          \
    local HX_TREE nodes[items], exchange[HX_EXCHANGE_ITEMS];                                                  \
    local uint taken[1];                                                                                         \
    hx_reduce_with((items), x + x_first, y + y_first, n, slots, join, ticket, nodes, taken, exchange);           \
  }
HX_KERNEL(hx_reduce, HX_LOCAL0)
HX_KERNEL(hx_reduce_large, HX_LARGE)

#endif
