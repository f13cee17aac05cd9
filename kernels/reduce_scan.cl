/* SPDX-License-Identifier: Apache-2.0
 * Reductions: what an item, or a group of items, does with a leaf of 4096 elements. Lane j of 128 takes elements j,
 * j+128, ... of its leaf in order; lanes combine by strides 64, 32, ..., 1. Three shapes of the same order:
 *   HX_SHAPE_ITEM      one work-item computes a leaf, its lanes in eight vectors of 16 (CPU devices)
 *   HX_SHAPE_SUBGROUP  a sub-group of 16 computes a leaf, eight lanes each (Intel GPUs; reduce_subgroup.cl)
 *   otherwise          32 work-items compute a leaf, four neighbouring lanes each (GPUs)
 * HX_OP, HX_TYPE: what is reduced; HX_LOCAL0: work-group size; HX_LEAVES: leaves of a work-group.
 * -D options, beside those of common.cl:
 *   HX_OP, HX_TYPE       the operation and the element type, by the numbers of hx_op and hx_type
 *   HX_LAST_FIELD        programs of several fields only (reduce_field.cl): the number of the last one
 *   HX_LEAVES            leaves of a work-group
 *   HX_SHAPE_ITEM, HX_SHAPE_SUBGROUP, HX_SHAPE_TICKET  default 0: which kernel this is
 *   HX_IN_FLIGHT         rows of 128 lanes that an item loads before it uses the first
 *   HX_ROLLED            default 0; 1, 2: the loop over full leaves is not unrolled, by a pragma or by a count that no
 *                        compiler knows
 *   HX_CROSS_LANES       default 0; 1: items exchange values within a wavefront (exchange.cl)
 *   HX_JOINS             default 0; 1: a launch can join all leaves (reduce_last_group.cl)
 *   HX_LINES             default 0; 1: the kernel of reduce_lines.cl */
#define HX_F32 1
#define HX_I32 2
#define HX_U32 3

#define HX_SUM 1
#define HX_MIN 2
#define HX_MAX 3
#define HX_ARGMIN 4
#define HX_ARGMAX 5
#define HX_DOT 6
#define HX_SUM_ABS 7
#define HX_SUM_SQUARES 8
#define HX_PROD 9

#define HX_LEAF 4096u
#define HX_LANES 128u

#define HX_IS_ARG (HX_OP == HX_ARGMIN || HX_OP == HX_ARGMAX)
#define HX_IS_KEY (HX_OP == HX_MIN || HX_OP == HX_MAX || HX_IS_ARG)

#if HX_TYPE == HX_F32
#define HX_T float
#elif HX_TYPE == HX_I32
#define HX_T int
#else
#define HX_T uint
#endif

#if HX_FIELD <= HX_LAST_FIELD /* always, except after the last one of several fields */

/* HX_A: the type of a lane. HX_LIFT(N, x, y): an element as a lane's value. HX_JOIN(N, a, b): two lanes as one.
 * HX_MISSING: the value that changes no lane. HX_BITS(a): a lane as a slot. N: the width, empty for scalars. */
#if HX_IS_KEY
/* Lanes hold elements as unsigned integers of the same order; only the slot has the key, of which the least is the
 * result. (Keys in the lanes, min(a, ~x) for a maximum, take one more operation, and one CPU driver computes that
 * wrongly.) */
#define HX_A uint
#define HX_LIFT(N, x, y) hx_ordered##N(x)

#if HX_OP == HX_MAX || HX_OP == HX_ARGMAX
#define HX_JOIN(N, a, b) max((a), (b))
#define HX_BETTER(a, b) ((a) > (b))
#define HX_MISSING 0u
#define HX_NAN 0xffffffffu
#define HX_KEY(N, a) (~(a))
#else
#define HX_JOIN(N, a, b) min((a), (b))
#define HX_BETTER(a, b) ((a) < (b))
#define HX_MISSING 0xffffffffu
#define HX_NAN 0u
#define HX_KEY(N, a) (a)
#endif
#define HX_BITS(a) ((ulong)HX_KEY(, a))

#if HX_TYPE == HX_F32
#if HX_IS_ARG
#define HX_ONE_ZERO(N, b) select((b), (HX_PASTE(uint, N))(0u), (b) == 0x80000000u) /* zeros tie */
#else
#define HX_ONE_ZERO(N, b) (b)
#endif
#define HX_DEFINE_ORDERED(N)                                                                   \
  static uint##N hx_ordered##N(float##N x) {                                                   \
    const uint##N b = HX_ONE_ZERO(N, as_uint##N(x));                                           \
    const uint##N ordered = b ^ (as_uint##N(as_int##N(b) >> 31) | 0x80000000u);                \
    return select(ordered, (uint##N)(HX_NAN), (b & 0x7fffffffu) > 0x7f800000u);                \
  }
#elif HX_TYPE == HX_I32
#define HX_DEFINE_ORDERED(N) \
  static uint##N hx_ordered##N(int##N x) { return as_uint##N(x) ^ 0x80000000u; }
#else
#define HX_DEFINE_ORDERED(N) \
  static uint##N hx_ordered##N(uint##N x) { return x; }
#endif
HX_DEFINE_ORDERED()
#if HX_SHAPE_ITEM
HX_DEFINE_ORDERED(16)
#elif HX_SHAPE_SUBGROUP
HX_DEFINE_ORDERED(8)
#else
HX_DEFINE_ORDERED(4)
#endif

#else /* sums and products */

#if HX_TYPE == HX_F32
#define HX_A float
#define HX_WIDE(N, x) (x)
#define HX_PLUS(N, a, b) HX_ADD(N, a, b)
#define HX_TIMES(N, a, b) HX_MUL(N, a, b)
#define HX_ABS(N, x) fabs(x)
#define HX_ZERO -0.0f
#define HX_ONE 1.0f
#define HX_BITS(a) ((ulong)as_uint(HX_CANONICAL(, a)))
#else
#define HX_A ulong
#if HX_TYPE == HX_I32
#define HX_WIDE(N, x) HX_PASTE(as_ulong, N)(HX_PASTE(convert_long, N)(x))
#define HX_ABS(N, x) HX_PASTE(convert_ulong, N)(abs(x))
#else
#if HX_MAD_OVERLAPS && HX_OP == HX_PROD
#define HX_WIDE(N, x) \
  (HX_PASTE(convert_ulong, N)(x) | (HX_PASTE(ulong, N))((ulong)(uint)get_global_offset(0) << 32))
#else
#define HX_WIDE(N, x) HX_PASTE(convert_ulong, N)(x)
#endif
#define HX_ABS(N, x) HX_WIDE(N, x)
#endif
#define HX_PLUS(N, a, b) ((a) + (b))
#define HX_TIMES(N, a, b) ((a) * (b))
#define HX_ZERO 0
#define HX_ONE 1
#define HX_BITS(a) (a)
#endif

#if HX_OP == HX_PROD
#define HX_JOIN(N, a, b) HX_TIMES(N, a, b)
#define HX_MISSING HX_ONE
#else
#define HX_JOIN(N, a, b) HX_PLUS(N, a, b)
#define HX_MISSING HX_ZERO
#endif

#if HX_OP == HX_DOT
#define HX_LIFT(N, x, y) HX_TIMES(N, HX_WIDE(N, x), HX_WIDE(N, y))
#elif HX_OP == HX_SUM_SQUARES
#define HX_LIFT(N, x, y) HX_TIMES(N, HX_WIDE(N, x), HX_WIDE(N, x))
#elif HX_OP == HX_SUM_ABS
#define HX_LIFT(N, x, y) HX_ABS(N, x)
#else
#define HX_LIFT(N, x, y) HX_WIDE(N, x)
#endif

#endif

#if HX_SHAPE_ITEM

#define HX_A16 HX_PASTE(HX_A, 16)

#if HX_IS_ARG
/* The lowest index of the element with this value; there is one. By rows, then vectors, then elements. */
#define HX_HAS(i) (hx_ordered16(vload16(i, x)) == value)
static uint hx_find(global const HX_T *x, uint count, uint value) {
  global const HX_T *const first = x, *const end = x + count;
  while (x + HX_LANES <= end &&
         !any(HX_HAS(0) | HX_HAS(1) | HX_HAS(2) | HX_HAS(3) | HX_HAS(4) | HX_HAS(5) | HX_HAS(6) | HX_HAS(7)))
    x += HX_LANES;
  while (x + 16 <= end && !any(HX_HAS(0))) x += 16;
  while (hx_ordered(*x) != value) x++;
  return (uint)(x - first);
}
#endif

#define HX_ROW(v, i) v = HX_JOIN(16, v, HX_LIFT(16, vload16(i, x), vload16(i, y)))

static ulong hx_leaf(global const HX_T *x, global const HX_T *y, uint count) {
#if HX_IS_ARG
  global const HX_T *const first = x;
#endif
  HX_A16 a = (HX_A16)(HX_MISSING), b = a, c = a, d = a, e = a, f = a, g = a, h = a;
  const uint rows = count / HX_LANES, tail = count % HX_LANES;
  for (uint r = 0; r < rows; r++) {
    HX_ROW(a, 0);
    HX_ROW(b, 1);
    HX_ROW(c, 2);
    HX_ROW(d, 3);
    HX_ROW(e, 4);
    HX_ROW(f, 5);
    HX_ROW(g, 6);
    HX_ROW(h, 7);
    x += HX_LANES;
    y += HX_LANES;
  }
  if (tail) {
    HX_A lane[HX_LANES];
    vstore16(a, 0, lane);
    vstore16(b, 1, lane);
    vstore16(c, 2, lane);
    vstore16(d, 3, lane);
    vstore16(e, 4, lane);
    vstore16(f, 5, lane);
    vstore16(g, 6, lane);
    vstore16(h, 7, lane);
    for (uint j = 0; j < tail; j++) lane[j] = HX_JOIN(, lane[j], HX_LIFT(, x[j], y[j]));
    a = vload16(0, lane);
    b = vload16(1, lane);
    c = vload16(2, lane);
    d = vload16(3, lane);
    e = vload16(4, lane);
    f = vload16(5, lane);
    g = vload16(6, lane);
    h = vload16(7, lane);
  }
  a = HX_JOIN(16, a, e), b = HX_JOIN(16, b, f), c = HX_JOIN(16, c, g), d = HX_JOIN(16, d, h);
  a = HX_JOIN(16, a, c), b = HX_JOIN(16, b, d);
  a = HX_JOIN(16, a, b);
  const HX_PASTE(HX_A, 8) t8 = HX_JOIN(8, a.lo, a.hi);
  const HX_PASTE(HX_A, 4) t4 = HX_JOIN(4, t8.lo, t8.hi);
  const HX_PASTE(HX_A, 2) t2 = HX_JOIN(2, t4.lo, t4.hi);
  const HX_A leaf = HX_JOIN(, t2.x, t2.y);
#if HX_IS_ARG
  return (HX_BITS(leaf) << 32) | hx_find(first, count, leaf);
#else
  return HX_BITS(leaf);
#endif
}

#elif !HX_SHAPE_SUBGROUP /* 32 work-items for each leaf */

#define HX_ITEMS 32u
#define HX_T4 HX_PASTE(HX_T, 4)

/* What an item stores for its four lanes, and what the tree over the items joins. For argmin and argmax that includes
 * the row with the best key, and the tree takes the smallest slot. */
typedef struct hx_lanes {
  HX_PASTE(HX_A, 4) value;
#if HX_IS_ARG
  uint4 row;
#endif
} hx_lanes;

#if HX_IS_ARG
#define HX_TREE ulong
#define HX_TREE_JOIN(N, a, b) min((a), (b))
#define HX_TREE_BITS(a) (a)
#else
#define HX_TREE HX_A
#define HX_TREE_JOIN(N, a, b) HX_JOIN(N, a, b)
#define HX_TREE_BITS(a) HX_BITS(a)
#endif
#define HX_TREE4 HX_PASTE(HX_TREE, 4)

static void hx_take(hx_lanes *lanes, HX_PASTE(HX_A, 4) value, uint row) {
#if HX_IS_ARG
  const int4 better = HX_BETTER(value, lanes->value);
  lanes->value = select(lanes->value, value, better);
  lanes->row = select(lanes->row, (uint4)(row), better);
#else
  lanes->value = HX_JOIN(4, lanes->value, value);
#endif
}

/* A full leaf: HX_IN_FLIGHT rows are loaded before the first is used. */
#if HX_SHAPE_TICKET && HX_OP == HX_DOT
#define HX_ROWS (2 * HX_IN_FLIGHT)
#else
#define HX_ROWS HX_IN_FLIGHT
#endif
#if HX_ROLLED == 2 /* for a compiler that ignores the pragma: it does not know that the global offset is 0 */
#define HX_TURNS
#define HX_END (HX_LEAF / HX_LANES + (uint)get_global_offset(0))
#elif HX_ROLLED /* for a compiler that would unroll the loop, too, for which there are too few registers */
#define HX_TURNS _Pragma("unroll 1")
#define HX_END (HX_LEAF / HX_LANES)
#else
#define HX_TURNS
#define HX_END (HX_LEAF / HX_LANES)
#endif
#define HX_WHOLE_LEAF(load)                                             \
  HX_TURNS for (uint r = 0; r < HX_END; r += HX_ROWS) {                 \
    HX_PASTE(HX_A, 4) v[HX_ROWS];                                       \
    _Pragma("unroll") for (uint u = 0; u < HX_ROWS; u++, x += HX_LANES, y += HX_LANES) \
        v[u] = HX_LIFT(4, load(x), load(y));                            \
    _Pragma("unroll") for (uint u = 0; u < HX_ROWS; u++) hx_take(lanes, v[u], r + u); \
  }
#define HX_LOAD_ANY(p) vload4(0, (p))
#define HX_LOAD_ALIGNED(p) (*(global const HX_T4 *)(p))

static void hx_clear(hx_lanes *lanes) {
  lanes->value = (HX_PASTE(HX_A, 4))(HX_MISSING);
#if HX_IS_ARG
  lanes->row = (uint4)(0u);
#endif
}

/* The elements of a row from i < count on, of which the leaf may end with any. */
static void hx_take_short(hx_lanes *lanes, global const HX_T *x, global const HX_T *y, uint i, uint count, uint row) {
  HX_PASTE(HX_A, 4) v = (HX_PASTE(HX_A, 4))(HX_MISSING);
  v.x = HX_LIFT(, x[i], y[i]);
  if (i + 1 < count) v.y = HX_LIFT(, x[i + 1], y[i + 1]);
  if (i + 2 < count) v.z = HX_LIFT(, x[i + 2], y[i + 2]);
  if (i + 3 < count) v.w = HX_LIFT(, x[i + 3], y[i + 3]);
  hx_take(lanes, v, row);
}

/* An item's lanes over `count` elements of a leaf, from its first elements on. By pointer, because one driver does
 * not support functions that return a struct. */
static void hx_leaf_lanes(hx_lanes *lanes, global const HX_T *x, global const HX_T *y, uint count, uint item) {
  hx_clear(lanes);
  if (count == HX_LEAF) {
    x += 4 * item;
    y += 4 * item;
    /* vload4 promises an alignment of four bytes only, of which some compilers make four loads. */
    if ((((uintptr_t)x | (uintptr_t)y) & 15) == 0) {
      HX_WHOLE_LEAF(HX_LOAD_ALIGNED)
    } else {
      HX_WHOLE_LEAF(HX_LOAD_ANY)
    }
  } else {
    for (uint i = 4 * item, r = 0; i < count; i += HX_LANES, r++) hx_take_short(lanes, x, y, i, count, r);
  }
}

/* The lanes as they enter the tree over the items; base: the index of the leaf's first element, for argmin, argmax. */
static HX_TREE4 hx_tree_of(const hx_lanes *lanes, uint item, uint base) {
#if HX_IS_ARG
  const uint4 index = lanes->row * HX_LANES + 4 * item + base + (uint4)(0, 1, 2, 3);
  return (convert_ulong4(HX_KEY(4, lanes->value)) << 32) | convert_ulong4(index);
#else
  return lanes->value;
#endif
}

#endif

#endif
