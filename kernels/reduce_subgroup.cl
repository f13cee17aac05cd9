/* SPDX-License-Identifier: Apache-2.0
 * Reductions with a sub-group of 16 for each leaf (Intel GPUs): a block read brings a row of 128 lanes, of which item i
 * holds i, i + 16, ..., i + 112, so that the tree's strides 64, 32 and 16 stay within an item and 8 to 1 are shuffles:
 * no local memory, no barrier, until the leaves of a group are joined. Follows reduce.cl. */
#if HX_SHAPE_SUBGROUP

#pragma OPENCL EXTENSION cl_intel_subgroups : enable

#define HX_ITEMS 16u
#define HX_A8 HX_PASTE(HX_A, 8)
#define HX_T8 HX_PASTE(HX_T, 8)
#define HX_WORDS(w, h) intel_sub_group_shuffle_xor((w), (h))

#if HX_IS_ARG
#define HX_TREE ulong
#define HX_TREE_JOIN(N, a, b) min((a), (b))
#define HX_TREE_BITS(a) (a)
#else
#define HX_TREE HX_A
#define HX_TREE_JOIN(N, a, b) HX_JOIN(N, a, b)
#define HX_TREE_BITS(a) HX_BITS(a)
#endif
#if HX_IS_ARG || (!HX_IS_KEY && HX_TYPE != HX_F32) /* ulong */
#define HX_AT_ONCE 1 /* 64-bit lanes fill the registers */
#define HX_OTHER(v, h) ((ulong)HX_WORDS((uint)((v) >> 32), h) << 32 | HX_WORDS((uint)(v), h))
#elif HX_IS_KEY
#define HX_OTHER(v, h) HX_WORDS(v, h)
#else
#define HX_OTHER(v, h) as_float(HX_WORDS(as_uint(v), h))
#endif
#define HX_LEVEL(h) v = HX_TREE_JOIN(, v, HX_OTHER(v, h));

/* For argmin and argmax, with the row of the best value. */
#if HX_IS_ARG
#define HX_TAKE(v, r)                                 \
  {                                                   \
    const HX_A8 taken = (v);                          \
    const int8 better = HX_BETTER(taken, value);      \
    value = select(value, taken, better);             \
    row = select(row, (ushort8)(r), convert_short8(better));            \
  }
/* Whether the second key and index win over the first. Slots of 64 bits for all lanes would fill the registers. */
#define HX_LATER(key, index, key2, index2) \
  (((key2) < (key)) | (((key2) == (key)) & ((index2) < (index))))
#else
#define HX_TAKE(v, r) value = HX_JOIN(8, value, (v));
#endif

#ifndef HX_AT_ONCE
#define HX_AT_ONCE HX_IN_FLIGHT
#endif

/* Products of 32 bits by 32 without multiplying 64-bit numbers. */
#if HX_TYPE != HX_F32 && (HX_OP == HX_DOT || HX_OP == HX_SUM_SQUARES)
#undef HX_LIFT
#define HX_PRODUCT(N, x, y) \
  HX_PASTE(as_ulong, N)(upsample(mul_hi((x), (y)), HX_PASTE(as_uint, N)(x) * HX_PASTE(as_uint, N)(y)))
#if HX_OP == HX_DOT
#define HX_LIFT(N, x, y) HX_PRODUCT(N, x, y)
#else
#define HX_LIFT(N, x, y) HX_PRODUCT(N, x, x)
#endif
#endif

/* Offsets are incremented and pointers are not, so that buffers stay in binding-table entries. */
#define HX_READ8(p, at) HX_PASTE(HX_PASTE(as_, HX_T), 8)(intel_sub_group_block_read8((global const uint *)((p) + (at))))
#define HX_ROW_AT(u) HX_LIFT(8, HX_READ8(x, x_at + (u) * HX_LANES), HX_READ8(y, y_at + (u) * HX_LANES))

/* Takes HX_AT_ONCE rows. Products of 64 bits are made of half a row at a time, because all would fill the registers. */
#if HX_TYPE != HX_F32 && (HX_OP == HX_DOT || HX_OP == HX_PROD)
#define HX_TAKE_ROWS                                                          \
  {                                                                           \
    const HX_T8 xs = HX_READ8(x, x_at), ys = HX_READ8(y, y_at);               \
    value.lo = HX_JOIN(4, value.lo, HX_LIFT(4, xs.lo, ys.lo));                \
    value.hi = HX_JOIN(4, value.hi, HX_LIFT(4, xs.hi, ys.hi));                \
  }
#else
#define HX_TAKE_ROWS                                                            \
  {                                                                             \
    HX_A8 v[HX_AT_ONCE];                                                        \
    _Pragma("unroll") for (uint u = 0; u < HX_AT_ONCE; u++) v[u] = HX_ROW_AT(u); \
    _Pragma("unroll") for (uint u = 0; u < HX_AT_ONCE; u++) HX_TAKE(v[u], r + u) \
  }
#endif

/* Lane i of the item in the last row. */
#define HX_LANE(i)                                                       \
  if (HX_ITEMS * i + item < count % HX_LANES)                            \
    v.s##i = HX_LIFT(, x[x_at + HX_ITEMS * i + item], y[y_at + HX_ITEMS * i + item]);

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) __attribute__((intel_reqd_sub_group_size(16))) void
hx_reduce(global const HX_T *x, ulong x_first, global const HX_T *y, ulong y_first, ulong n,
          global ulong *slots HX_JOIN_PARAMETERS) {
  HX_HOOK
  HX_JOIN_LOCALS
  const uint id = (uint)get_local_id(0), item = id % HX_ITEMS;
  const ulong leaf = (ulong)get_group_id(0) * HX_LEAVES + id / HX_ITEMS, start = leaf * HX_LEAF;
  const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0, rows = count / HX_LANES;
  ulong x_at = x_first + start, y_at = y_first + start;
  HX_A8 value = (HX_A8)(HX_MISSING);
#if HX_IS_ARG
  ushort8 row = (ushort8)(0); /* rows of 32 bits would take twice the registers */
#endif
  uint r = 0;
#pragma unroll 1
  for (; r + HX_AT_ONCE <= rows; r += HX_AT_ONCE) {
    HX_TAKE_ROWS
    x_at += HX_AT_ONCE * HX_LANES;
    y_at += HX_AT_ONCE * HX_LANES;
  }
#if HX_AT_ONCE > 1
#pragma unroll 1
  for (; r < rows; r++, x_at += HX_LANES, y_at += HX_LANES) HX_TAKE(HX_ROW_AT(0), r)
#endif
  if (count % HX_LANES) {
    HX_A8 v = (HX_A8)(HX_MISSING);
    HX_LANE(0) HX_LANE(1) HX_LANE(2) HX_LANE(3) HX_LANE(4) HX_LANE(5) HX_LANE(6) HX_LANE(7)
    HX_TAKE(v, r)
  }

#if HX_IS_ARG
  const uint8 key = HX_KEY(8, value), index = convert_uint8(row) * HX_LANES + item + (uint8)(0, 16, 32, 48, 64, 80, 96, 112);
  const int4 hi4 = HX_LATER(key.lo, index.lo, key.hi, index.hi);
  const uint4 key4 = select(key.lo, key.hi, hi4), index4 = select(index.lo, index.hi, hi4);
  const int2 hi2 = HX_LATER(key4.lo, index4.lo, key4.hi, index4.hi);
  const uint2 key2 = select(key4.lo, key4.hi, hi2), index2 = select(index4.lo, index4.hi, hi2);
  HX_TREE v = min((ulong)key2.x << 32 | index2.x, (ulong)key2.y << 32 | index2.y);
#else
  const HX_PASTE(HX_TREE, 4) v4 = HX_TREE_JOIN(4, value.lo, value.hi);
  const HX_PASTE(HX_TREE, 2) v2 = HX_TREE_JOIN(2, v4.lo, v4.hi);
  HX_TREE v = HX_TREE_JOIN(, v2.x, v2.y);
#endif
  HX_LEVEL(8) HX_LEVEL(4) HX_LEVEL(2) HX_LEVEL(1)
  if (item == 0) HX_PUT(id / HX_ITEMS, leaf, count, HX_TREE_BITS(v));
  HX_JOIN_GROUPS(id, HX_LEAVES)
}

#endif
