/* SPDX-License-Identifier: Apache-2.0
 * The sum of u32 in three levels, each in several ways: within an item (LOAD), within a group (TREE), among groups
 * (AMONG). A step of the ladder is a choice of the three. LOCAL is the size of a work-group, a power of two; TIMES is
 * how many elements an item adds before the tree; WARP is the size of a sub-group, 0 if it is not known. */

/* Among groups. PARTIAL: out[group] is the group's sum, and the host launches again, or adds. ATOMIC: each group adds
 * to one[0]. TICKET: the last group adds out[] into one[0], and sets the ticket one[1] to 0 again. */
#define PARTIAL 0
#define ATOMIC 1
#define TICKET 2

/* The trees are macros, because PoCL 3.1 crashes on functions with barriers. They begin with the item's own sum in `mine`
 * and in words[item], and end with the sum in words[0], which item 0 has written. */
#if TREE == 0 /* interleaved: the items at work are spread over all warps */
#define LEVELS                                                                           \
  for (uint stride = 1; stride < LOCAL; stride *= 2) {                                   \
    if ((item & (2 * stride - 1)) == 0) words[item] += words[item + stride];             \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
  }
#elif TREE == 1 /* the items at work are neighbours, but their words lie 2 * stride apart: bank conflicts */
#define LEVELS                                                                           \
  for (uint stride = 1; stride < LOCAL; stride *= 2) {                                   \
    if (2 * stride * item < LOCAL) words[2 * stride * item] += words[2 * stride * item + stride]; \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
  }
#elif TREE == 2 /* neighbours touch neighbouring words */
#define LEVELS                                                                           \
  for (uint stride = LOCAL / 2; stride > 0; stride /= 2) {                               \
    if (item < stride) words[item] += words[item + stride];                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
  }
#elif TREE == 5 /* the same, but an item's own sum stays in a register: it reads only its partner's */
#define LEVELS                                                                           \
  local uint *const place = words + item;                                                \
  for (uint stride = LOCAL / 2; stride > 0; stride /= 2) {                               \
    if (item < stride) *place = mine += place[stride];                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
  }
#elif TREE == 6 /* all items join at every level, so none may write before all have read: two barriers for a level */
#define LEVELS                                                                           \
  for (uint stride = LOCAL / 2; stride > 0; stride /= 2) {                               \
    mine += words[item ^ stride];                                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
    words[item] = mine;                                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
  }
#elif TREE == 7 /* the same with twice as much local memory: a level reads one side and writes the other */
#define SIDES 2
#define LEVELS                                                                           \
  for (uint stride = LOCAL / 2, side = LOCAL; stride > 0; stride /= 2, side ^= LOCAL) {  \
    mine += words[(side ^ LOCAL) + (item ^ stride)];                                     \
    words[side + item] = mine;                                                           \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
  }                                                                                      \
  if (item == 0) words[0] = mine;
#elif TREE == 8 /* OpenCL's own */
#define LEVELS                               \
  mine = work_group_reduce_add(mine);        \
  if (item == 0) words[0] = mine;
#else /* every level written out; with TREE 4 the items of the first sub-group end it without barriers of the group */

#if TREE == 3
#define LAST 1
#define END
#else
#define LAST WARP
/* NVIDIA's warps may run apart since Volta. AMD's wavefronts do not, and the fence is for the compiler. */
#if NVIDIA
#define TOGETHER __asm__ __volatile__("bar.warp.sync 0xffffffff;" : : : "memory");
#else
#define TOGETHER mem_fence(CLK_LOCAL_MEM_FENCE);
#endif
#define END                                                                              \
  if (item < LAST) {                                                                     \
    volatile local uint *const last = words;                                             \
    uint both = last[item];                                                              \
    _Pragma("unroll") for (uint stride = LAST; stride > 0; stride /= 2) {                \
      both += last[item + stride];                                                       \
      TOGETHER                                                                           \
      last[item] = both;                                                                 \
      TOGETHER                                                                           \
    }                                                                                    \
  }
#endif

#define LEVEL(stride)                                                                    \
  if (LOCAL > (stride) && (LAST == 1 || (stride) > LAST)) {                              \
    if (item < (stride)) words[item] += words[item + (stride)];                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                        \
  }
#define LEVELS LEVEL(512) LEVEL(256) LEVEL(128) LEVEL(64) LEVEL(32) LEVEL(16) LEVEL(8) LEVEL(4) LEVEL(2) LEVEL(1) END
#endif

#ifndef SIDES
#define SIDES 1
#endif

#define JOIN(own)                 \
  {                               \
    uint mine = (own);            \
    words[item] = mine;           \
    barrier(CLK_LOCAL_MEM_FENCE); \
    LEVELS                        \
  }

/* What an item adds by itself. Unrolled, because loads are to be in flight together, but not without limit. */
#if TIMES > 16
#define UNROLLED _Pragma("unroll 16")
#else
#define UNROLLED _Pragma("unroll")
#endif

#define LOCAL_STRIDE 0  /* TIMES elements as far apart as the group is wide: a group reads one block */
#define GLOBAL_STRIDE 1 /* as far apart as all groups are wide: at any time the whole device reads one block */
#define ALL 2           /* the same without a limit, eight elements at a time: few groups for any n */
#define RARE_FIRST 3    /* local stride, but whether elements lack, as only in the last group, is tested first */
#define EACH_TESTED 4   /* local stride, but the end is tested before every element */

#define WHOLE UNROLLED for (uint t = 0; t < TIMES; t++) own += x[i + t * stride];
#define REST for (; i < n; i += stride) own += x[i];

static uint own_sum(global const uint *x, ulong n, uint item) {
  uint own = 0;
#if LOAD == ALL
  const ulong stride = get_global_size(0);
  ulong i = get_global_id(0);
  for (; i + 7 * stride < n; i += 8 * stride) {
    uint some[8];
#pragma unroll
    for (uint u = 0; u < 8; u++) some[u] = x[i + u * stride];
#pragma unroll
    for (uint u = 0; u < 8; u++) own += some[u];
  }
  REST
#else
#if LOAD == GLOBAL_STRIDE
  const ulong stride = get_global_size(0), begin = (ulong)get_group_id(0) * LOCAL, end = stride * TIMES;
#else
  const ulong stride = LOCAL, begin = (ulong)get_group_id(0) * (LOCAL * TIMES), end = begin + LOCAL * TIMES;
#endif
  ulong i = begin + item;
#if LOAD == EACH_TESTED
  UNROLLED for (uint t = 0; t < TIMES; t++) if (i + t * stride < n) own += x[i + t * stride];
#elif LOAD == RARE_FIRST
  if (end > n) {
    REST
  } else {
    WHOLE
  }
#else
  if (end <= n) {
    WHOLE
  } else {
    REST
  }
#endif
#endif
  return own;
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void sum(global const uint *x, ulong n, global uint *out,
                                                                   volatile global uint *one) {
  local uint words[SIDES * LOCAL];
  const uint item = (uint)get_local_id(0), group = (uint)get_group_id(0), groups = (uint)get_num_groups(0);
  JOIN(own_sum(x, n, item))
#if AMONG == PARTIAL
  if (item == 0) out[group] = words[0];
#elif AMONG == ATOMIC
  if (item == 0) atomic_add(&one[0], words[0]);
#else
  local uint taken;
  if (item == 0) {
    out[group] = words[0];
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
    taken = atomic_inc(&one[1]) + 1;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (taken != groups) return;
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
  uint rest = 0;
  for (uint i = item; i < groups; i += LOCAL) rest += out[i];
  JOIN(rest)
  if (item == 0) one[0] = words[0], one[1] = 0;
#endif
}
