/* SPDX-License-Identifier: Apache-2.0
 * Reductions in a single launch, on any device (HX_JOINS): a group joins the slots of its leaves, publishes what it got
 * and takes a ticket; the group that takes the last ticket joins what all groups published. Follows reduce_join.cl;
 * reduce_ticket.cl has a faster form for NVIDIA's GPUs.
 *
 * OpenCL C 1.2 has no fence for a whole device, so nothing depends on one. What groups publish is written and read by
 * atomic operations only, which devices execute in memory that all groups share, and the addend of the ticket is
 * computed from what the writes return, so that they are complete before the ticket is taken. The specification does
 * not promise this, and therefore the self-test joins several groups, again and again: if a result is wrong, the device
 * uses the next row, whose leaves are joined on the host. (A mem_fence alone is not enough on AMD's GPUs, where it orders accesses
 * only for the work-group and does not wait for them.)
 *
 * A kernel has HX_JOIN_PARAMETERS behind its others and begins with HX_JOIN_LOCALS. For each leaf l of its group one
 * item calls HX_PUT(l, leaf, count, slot); all items end with HX_JOIN_GROUPS(id, leaves), with the leaves of a group. */
#if HX_JOINS || HX_SHAPE_TICKET

/* Beside the slot of all leaves, a launch stores what shows the host that it did its work: the slots of its first,
 * middle and last leaf, whose indices count from the leaf, and from the last group the number of the launch. Without
 * that number a slot of all leaves that an earlier launch left could not be told from a new one. */
#define HX_JOINED_SLOTS 5u

/* Where a launch stores slot 0 to 4: in slots, and at `host` if that is not 0, an address of the host. There each word
 * is beside the number of the launch, by one store of 64 bits: a word that the host sees with that number is the new
 * one, so it needs no command that reads the slots, and no other sign that the launch has ended. */
typedef struct hx_join_target {
  global ulong *slots;
  ulong host;
  uint launch;
} hx_join_target;

static void hx_store_slot(const hx_join_target to, uint at, ulong slot) {
  to.slots[at] = slot;
  if (to.host) {
    volatile global ulong *const words = (volatile global ulong *)to.host + 2 * at;
    /* Not by shifts: compilers turn two of them into an operation that Oclgrind lacks. */
    words[0] = as_ulong((uint2)((uint)slot, to.launch));
    words[1] = as_ulong((uint2)((uint)(slot >> 32), to.launch));
  }
}

static void hx_store_joined(const hx_join_target to, ulong slot) {
  hx_store_slot(to, 0, slot);
  hx_store_slot(to, 4, to.launch);
}

static void hx_store_checked(const hx_join_target to, uint leaf, ulong n, ulong slot) {
  const uint leaves = (uint)((n + HX_LEAF - 1) / HX_LEAF);
  if (leaf == 0) hx_store_slot(to, 1, slot);
  if (leaf == leaves / 2) hx_store_slot(to, 2, slot);
  if (leaf == leaves - 1) hx_store_slot(to, 3, slot);
}

#endif
#if HX_JOINS

#define HX_NODES 256u
#define HX_ENDS 32u /* a launch has at most 4 * HX_NODES * HX_ENDS groups */

#if HX_LOCAL0 == 1
#define HX_GROUP_BARRIER
#else
#define HX_GROUP_BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#endif

/* HX_SLOT_JOIN(a, b): the slot of what slots a and b stand for. HX_NO_SLOT changes no slot that it is joined with.
 * HX_SLOT_WORDS: the words of a slot that can differ from zero. */
#if HX_IS_ARG
#define HX_SLOT_JOIN(a, b) min((a), (b))
#define HX_NO_SLOT 0xffffffffffffffffUL
#define HX_SLOT_WORDS 2
#elif HX_IS_KEY
#define HX_SLOT_JOIN(a, b) min((a), (b))
#define HX_NO_SLOT 0xffffffffUL
#define HX_SLOT_WORDS 1
#elif HX_TYPE == HX_F32
#define HX_SLOT_JOIN(a, b) hx_float_slot(HX_JOIN(, as_float((uint)(a)), as_float((uint)(b))))
#define HX_NO_SLOT ((ulong)as_uint(HX_MISSING))
#define HX_SLOT_WORDS 1
static ulong hx_float_slot(float v) { return HX_BITS(v); }
#else
#define HX_SLOT_JOIN(a, b) HX_JOIN(, (a), (b))
#define HX_NO_SLOT ((ulong)HX_MISSING)
#define HX_SLOT_WORDS 2
#endif

#define HX_JOIN_PARAMETERS , uint join, global uint *ticket, ulong host
#define HX_JOIN_LOCALS local ulong nodes[HX_NODES], ends[HX_ENDS]; local uint taken[1];
#define HX_PUT(l, leaf, count, slot) hx_put(nodes + (l), (hx_join_target){slots, host, join}, (leaf), n, (count), (slot))
#define HX_JOIN_GROUPS(id, leaves) \
  if (join) hx_join_groups(nodes, ends, taken, (id), (leaves), n, (hx_join_target){slots, host, join}, ticket);

/* An index counts from the leaf, or from the first leaf of the launch if the leaves are joined. */
static void hx_put(local ulong *node, const hx_join_target to, ulong leaf, ulong n, uint count, ulong slot) {
  if (!to.launch) {
    if (count) to.slots[leaf] = slot;
    return;
  }
  if (count) hx_store_checked(to, (uint)leaf, n, slot);
#if HX_IS_ARG
  slot += (uint)leaf * HX_LEAF;
#endif
  *node = count ? slot : HX_NO_SLOT;
}

/* Joins a power of two of nodes, neighbours pairwise. Item 0 has the result, in nodes[0]. */
static void hx_join_nodes(local ulong *nodes, uint count, uint id) {
#pragma unroll 1
  for (uint h = 1; h < count; h *= 2) {
    HX_GROUP_BARRIER
#pragma unroll 1
    for (uint at = 2 * h * id; at < count; at += 2 * h * HX_LOCAL0)
      nodes[at] = HX_SLOT_JOIN(nodes[at], nodes[at + h]);
  }
}

/* Returns a zero that is known only after the slot was written: no compiler knows that the global offset is 0. */
static uint hx_publish(global ulong *to, ulong slot) {
  volatile global uint *const words = (volatile global uint *)to;
  uint old = atomic_xchg(words, (uint)slot);
#if HX_SLOT_WORDS == 2
  old |= atomic_xchg(words + 1, (uint)(slot >> 32));
#endif
  return old & (uint)get_global_offset(0);
}

static ulong hx_published(global ulong *from, uint at, uint groups) {
  volatile global uint *const words = (volatile global uint *)(from + at);
  if (at >= groups) return HX_NO_SLOT;
#if HX_SLOT_WORDS == 2
  const ulong high = atomic_or(words + 1, 0u);
#else
  const ulong high = 0;
#endif
  return high << 32 | atomic_or(words, 0u);
}

static void hx_join_groups(local ulong *nodes, local ulong *ends, local uint *taken, uint id, uint leaves, ulong n,
                           const hx_join_target to, global uint *ticket) {
  const uint groups = (uint)((n + HX_LEAF * leaves - 1) / (HX_LEAF * leaves)); /* get_num_groups divides */
  global ulong *const published = to.slots + HX_JOINED_SLOTS;
  hx_join_nodes(nodes, leaves, id);
  if (groups == 1) {
    if (id == 0) hx_store_joined(to, nodes[0]);
    return;
  }
  if (id == 0) {
    const uint zero = hx_publish(published + get_group_id(0), nodes[0]);
    mem_fence(CLK_GLOBAL_MEM_FENCE);
    taken[0] = atomic_add((volatile global uint *)ticket, 1u + zero) + 1;
  }
  HX_GROUP_BARRIER
  if (taken[0] != groups) return;

  /* This is the last group. */
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  for (uint i = id; i < HX_ENDS; i += HX_LOCAL0) ends[i] = HX_NO_SLOT;
#pragma unroll 1
  for (uint first = 0; first < groups; first += 4 * HX_NODES) {
    HX_GROUP_BARRIER
#pragma unroll 1
    for (uint i = id; i < HX_NODES; i += HX_LOCAL0) {
      const uint at = first + 4 * i;
      const ulong p = hx_published(published, at, groups), q = hx_published(published, at + 1, groups);
      const ulong r = hx_published(published, at + 2, groups), s = hx_published(published, at + 3, groups);
      const ulong pq = HX_SLOT_JOIN(p, q), rs = HX_SLOT_JOIN(r, s);
      nodes[i] = HX_SLOT_JOIN(pq, rs);
    }
    hx_join_nodes(nodes, HX_NODES, id);
    if (id == 0) ends[first / (4 * HX_NODES)] = nodes[0];
  }
  hx_join_nodes(ends, HX_ENDS, id);
  if (id == 0) {
    hx_store_joined(to, ends[0]);
    atomic_xchg((volatile global uint *)ticket, 0u); /* as the next launch expects it */
  }
}

#else

#define HX_JOIN_PARAMETERS
#define HX_JOIN_LOCALS
#define HX_PUT(l, leaf, count, slot) \
  if (count) slots[leaf] = (slot);
#define HX_JOIN_GROUPS(id, leaves)

#endif
