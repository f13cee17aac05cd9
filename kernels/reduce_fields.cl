/* SPDX-License-Identifier: Apache-2.0
 * Several reductions of arrays of the same length in one launch. On CPU devices a group computes the leaves of one array
 * for all neighbouring fields that share it, one field after the other: a leaf comes from memory once, and then from the
 * cache nearest to the core. Arrays follow one another in the order of the groups, so that memory is read as by one launch
 * after the other. On GPUs a group computes its leaves for all fields, row by row, and loads a row once for neighbouring
 * fields that share it; with groups for each array, barriers would be in branches, which one driver computes wrongly. */

/* HX_EACH(X): X(f, p) for each field f, where p is the field before it. */
#define HX_UP_TO_0(X) X(0, 0)
#define HX_UP_TO_1(X) HX_UP_TO_0(X) X(1, 0)
#define HX_UP_TO_2(X) HX_UP_TO_1(X) X(2, 1)
#define HX_UP_TO_3(X) HX_UP_TO_2(X) X(3, 2)
#define HX_EACH HX_PASTE(HX_UP_TO_, HX_LAST_FIELD)

#define HX_PARAMETERS(f, p) global const uint *x##f, ulong x_first##f, global const uint *y##f, ulong y_first##f,
#define HX_SLOT(f) slots[(first + f) * apart + leaf]

#if HX_SHAPE_ITEM

/* HX_ARRAY_3(X): the same for field 3 and the fields after it that share its array. */
#define HX_ARRAY_3(X) X(3, 2)
#if HX_SAME_3
#define HX_ARRAY_2(X) X(2, 1) HX_ARRAY_3(X)
#else
#define HX_ARRAY_2(X) X(2, 1)
#endif
#if HX_SAME_2
#define HX_ARRAY_1(X) X(1, 0) HX_ARRAY_2(X)
#else
#define HX_ARRAY_1(X) X(1, 0)
#endif
#if HX_SAME_1
#define HX_ARRAY_0(X) X(0, 0) HX_ARRAY_1(X)
#else
#define HX_ARRAY_0(X) X(0, 0)
#endif

/* If field f is the first one of the group's own array: HX_ARRAY_BODY(HX_ARRAY_f). */
#define HX_IF_ARRAY(f, p) HX_PASTE(HX_IF_ARRAY_, HX_SAME_##f)(f)
#define HX_IF_ARRAY_1(f)
#define HX_IF_ARRAY_0(f) \
  if (array-- == 0) { HX_ARRAY_BODY(HX_ARRAY_##f) }

#define HX_FIELD_OF_LEAF(f, p) \
  HX_SLOT(f) = hx_field_leaf_##f(x##f + x_first##f + start, y##f + y_first##f + start, count);
#define HX_ARRAY_BODY(FIELDS)                                           \
  for (uint l = 0; l < HX_LEAVES / HX_LOCAL0; l++) {               \
    const ulong leaf = leaf_of_item + l, start = leaf * HX_LEAF;   \
    if (start >= n) break;                                         \
    const uint count = (uint)min(n - start, (ulong)HX_LEAF);       \
    FIELDS(HX_FIELD_OF_LEAF)                                          \
  }

#else

/* How many rows an item loads before it uses the first: about as many registers as for HX_IN_FLIGHT rows of one array. */
#define HX_COUNT_LOADS(f, p) +(1 - HX_SAME_##f) + (HX_OP_##f == HX_DOT)
#define HX_LOADS (0 HX_EACH(HX_COUNT_LOADS))
#if HX_LOADS == 1 || HX_IN_FLIGHT == 1
#define HX_AT_ONCE HX_IN_FLIGHT
#elif HX_LOADS == 2
#define HX_AT_ONCE (HX_IN_FLIGHT / 2)
#else
#define HX_AT_ONCE 1
#endif

#define HX_FIELD_BEGIN(f, p)  \
  hx_lanes_##f lanes##f;      \
  hx_clear_##f(&lanes##f);    \
  x##f += x_first##f + start; \
  y##f += y_first##f + start; \
  addresses |= (uint)(uintptr_t)x##f | (uint)(uintptr_t)y##f;
#define HX_FIELD_ROWS(f, p) uint4 a##f[HX_AT_ONCE], b##f[HX_AT_ONCE];
#define HX_X_1(f, p, load) a##p[u]
#define HX_X_0(f, p, load) load(x##f + at)
#define HX_FIELD_LOAD(f, p, load)                            \
  a##f[u] = HX_PASTE(HX_X_, HX_SAME_##f)(f, p, load);        \
  b##f[u] = HX_OP_##f == HX_DOT ? load(y##f + at) : a##f[u];
#define HX_WORDS_ALIGNED(p) (*(global const uint4 *)(p))
#define HX_WORDS_ANY(p) vload4(0, (p))
#define HX_FIELD_ALIGNED(f, p) HX_FIELD_LOAD(f, p, HX_WORDS_ALIGNED)
#define HX_FIELD_ANY(f, p) HX_FIELD_LOAD(f, p, HX_WORDS_ANY)
#define HX_FIELD_TAKE(f, p) hx_field_row_##f(&lanes##f, a##f[u], b##f[u], r + u);
#define HX_FIELD_SHORT(f, p) hx_field_short_##f(&lanes##f, x##f, y##f, i, count, r);
/* The tree over the items has an odd number of levels, so a field begins with the buffer that the field before it did
 * not use last. */
#define HX_FIELD_END(f, p)                                                                             \
  {                                                                                                    \
    const ulong slot = hx_field_join_##f(HX_HOOK_ARGUMENT &lanes##f, id, f % 2 ? odd : even, f % 2 ? even : odd);        \
    if (item == 0 && count) HX_SLOT(f) = slot;                                                         \
  }

#define HX_WHOLE_LEAF_OF(LOAD)                                                         \
  HX_TURNS for (uint r = 0; r < HX_END; r += HX_AT_ONCE) {                             \
    HX_EACH(HX_FIELD_ROWS)                                                             \
    _Pragma("unroll") for (uint u = 0; u < HX_AT_ONCE; u++) {                          \
      const uint at = 4 * item + (r + u) * HX_LANES;                                   \
      HX_EACH(LOAD)                                                                    \
    }                                                                                  \
    _Pragma("unroll") for (uint u = 0; u < HX_AT_ONCE; u++) { HX_EACH(HX_FIELD_TAKE) } \
  }

#endif

#if HX_SUB_GROUP
#define HX_LANES_OF_ITEMS __attribute__((intel_reqd_sub_group_size(HX_SUB_GROUP)))
#else
#define HX_LANES_OF_ITEMS
#endif

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) HX_LANES_OF_ITEMS void hx_reduce_fields(
    HX_EACH(HX_PARAMETERS) ulong n, global ulong *slots, ulong first, ulong apart) {
#if HX_SHAPE_ITEM
  const ulong leaves = (n + (HX_LEAF - 1)) / HX_LEAF, groups = (leaves + (HX_LEAVES - 1)) / HX_LEAVES;
  const ulong group = (ulong)get_group_id(0);
  const ulong leaf_of_item = (group % groups * HX_LOCAL0 + get_local_id(0)) * (HX_LEAVES / HX_LOCAL0);
  uint array = (uint)(group / groups);
  HX_EACH(HX_IF_ARRAY)
#else
  HX_HOOK
#if HX_ACROSS
  local ulong4 *const even = 0, *const odd = 0;
#else
  local ulong4 even[HX_LOCAL0], odd[HX_LOCAL0];
#endif
  const uint id = (uint)get_local_id(0), item = id % HX_ITEMS;
  const ulong leaf = (ulong)get_group_id(0) * HX_LEAVES + id / HX_ITEMS, start = leaf * HX_LEAF;
  const uint count = start < n ? (uint)min(n - start, (ulong)HX_LEAF) : 0;
  uint addresses = 0;
  HX_EACH(HX_FIELD_BEGIN)
  if (count < HX_LEAF) {
    for (uint i = 4 * item, r = 0; i < count; i += HX_LANES, r++) {
      HX_EACH(HX_FIELD_SHORT)
    }
  } else if ((addresses & 15) == 0) { /* vload4 promises an alignment of four bytes only, of which some compilers make
                                       * four loads */
    HX_WHOLE_LEAF_OF(HX_FIELD_ALIGNED)
  } else {
    HX_WHOLE_LEAF_OF(HX_FIELD_ANY)
  }
  HX_EACH(HX_FIELD_END)
#endif
}
