/* SPDX-License-Identifier: Apache-2.0
 * Reductions of lines: element i of line l is x[x_first + l * x_line + i * x_stride]. A slot for every leaf of every
 * line. Follows reduce.cl, whose shapes compute leaves of adjacent elements; any other leaf is computed by one item,
 * which is fast on GPUs if neighbouring lines are adjacent.
 *
 * Slots are counted line by line (`lines` 0), or leaf by leaf: then `lines` is the number of lines. The launch computes
 * `count` slots from number `first` on, and stores them at slots[to] and on. */
#if HX_LINES

/* A leaf whose elements are a stride apart. */
#if HX_IS_KEY
static ulong hx_strided_leaf(global const HX_T *x, ulong x_stride, global const HX_T *y, ulong y_stride, uint count) {
  HX_A best = HX_MISSING;
  uint at = 0;
  for (uint i = 0; i < count; i++) {
    const HX_A value = HX_LIFT(, x[i * x_stride], y[i * y_stride]);
    if (HX_BETTER(value, best)) {
      best = value;
      at = i;
    }
  }
#if HX_IS_ARG
  return (HX_BITS(best) << 32) | at;
#else
  return HX_BITS(best);
#endif
}
#elif HX_TYPE == HX_F32
/* Lanes are taken in the order in which the tree joins them, that of their reversed bits, so that few values wait to be
 * joined: node[l] is one of 2^l lanes. */
static ulong hx_strided_leaf(global const HX_T *x, ulong x_stride, global const HX_T *y, ulong y_stride, uint count) {
  HX_A node[8];
  uint lanes = HX_LANES;
  while (lanes / 2 >= count) lanes /= 2;
  for (uint j = 0; j < lanes; j++) {
    HX_A value = HX_MISSING;
    uint lane = 0, level = 0;
    for (uint bit = 1; bit < lanes; bit *= 2) lane = lane * 2 + ((j & bit) != 0);
    for (uint i = lane; i < count; i += HX_LANES) value = HX_JOIN(, value, HX_LIFT(, x[i * x_stride], y[i * y_stride]));
    for (uint rest = j; rest & 1; rest /= 2) value = HX_JOIN(, node[level++], value);
    node[level] = value;
  }
  uint top = 0;
  while (1u << top < lanes) top++;
  return HX_BITS(node[top]);
}
#else
static ulong hx_strided_leaf(global const HX_T *x, ulong x_stride, global const HX_T *y, ulong y_stride, uint count) {
  HX_A value = HX_MISSING;
  for (uint i = 0; i < count; i++) value = HX_JOIN(, value, HX_LIFT(, x[i * x_stride], y[i * y_stride]));
  return HX_BITS(value);
}
#endif

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_reduce_lines(
    global const HX_T *x, ulong x_first, ulong x_line, ulong x_stride, global const HX_T *y, ulong y_first, ulong y_line,
    ulong y_stride, ulong n, ulong leaves, ulong lines, ulong first, ulong count, global ulong *slots, ulong to) {
#define HX_LEAF_OF(at)                                                                                    \
  const ulong slot = first + (at), line = lines ? slot % lines : slot / leaves,                           \
              start = (lines ? slot / lines : slot % leaves) * HX_LEAF;                                   \
  const uint elements = (at) < count ? (uint)min(n - start, (ulong)HX_LEAF) : 0;                          \
  global const HX_T *const a = x + (x_first + line * x_line + start * x_stride);                          \
  global const HX_T *const b = y + (y_first + line * y_line + start * y_stride)
#if HX_SHAPE_ITEM
  for (uint l = 0; l < HX_LEAVES / HX_LOCAL0; l++) {
    const ulong at = (ulong)get_global_id(0) * (HX_LEAVES / HX_LOCAL0) + l;
    if (at >= count) break;
    HX_LEAF_OF(at);
    slots[to + at] = x_stride == 1 && y_stride == 1 ? hx_leaf(a, b, elements)
                                                    : hx_strided_leaf(a, x_stride, b, y_stride, elements);
  }
#else
  local HX_TREE4 exchange[2][HX_LOCAL0];
  const uint id = (uint)get_local_id(0), item = id % HX_ITEMS;
  if (x_stride != 1 || y_stride != 1) {
    const ulong at = (ulong)get_global_id(0);
    if (at >= count) return;
    HX_LEAF_OF(at);
    slots[to + at] = hx_strided_leaf(a, x_stride, b, y_stride, elements);
    return;
  }
  const ulong at = (ulong)get_group_id(0) * HX_LEAVES + id / HX_ITEMS;
  HX_LEAF_OF(at);
  hx_lanes own;
  hx_leaf_lanes(&own, a, b, elements, item);
  HX_TREE4 v = hx_tree_of(&own, item, 0);
  uint side = 0;
  for (uint h = HX_ITEMS / 2; h > 0; h /= 2, side ^= 1) {
    exchange[side][id] = v;
    barrier(CLK_LOCAL_MEM_FENCE);
    v = HX_TREE_JOIN(4, v, exchange[side][id ^ h]);
  }
  const HX_PASTE(HX_TREE, 2) pair = HX_TREE_JOIN(2, v.lo, v.hi);
  if (item == 0 && elements) slots[to + at] = HX_TREE_BITS(HX_TREE_JOIN(, pair.x, pair.y));
#endif
}

#endif
