/* SPDX-License-Identifier: Apache-2.0
 * The steps from a naive sum of u32 to one that memory bounds, each a kernel of its own with the same signature:
 * a group's sum of x[0..n) goes to out[group]. The host launches again on the partial sums until one is left.
 * LOCAL: work-group size, a power of two; TIMES: elements that an item adds up before the tree. */

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void naive(global const uint *x, ulong n, global uint *out) {
  local uint sum[LOCAL];
  const uint item = (uint)get_local_id(0);
  const ulong i = get_global_id(0);
  sum[item] = i < n ? x[i] : 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  /* Interleaved: the items at work are spread over all warps, and found by a remainder. */
  for (uint stride = 1; stride < LOCAL; stride *= 2) {
    if (item % (2 * stride) == 0) sum[item] += sum[item + stride];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) out[get_group_id(0)] = sum[0];
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void divergence_free(global const uint *x, ulong n,
                                                                               global uint *out) {
  local uint sum[LOCAL];
  const uint item = (uint)get_local_id(0);
  const ulong i = get_global_id(0);
  sum[item] = i < n ? x[i] : 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  /* The items at work are neighbours, so whole warps stop; what they touch lies 2 * stride apart: bank conflicts. */
  for (uint stride = 1; stride < LOCAL; stride *= 2) {
    const uint at = 2 * stride * item;
    if (at < LOCAL) sum[at] += sum[at + stride];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) out[get_group_id(0)] = sum[0];
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void conflict_free(global const uint *x, ulong n,
                                                                             global uint *out) {
  local uint sum[LOCAL];
  const uint item = (uint)get_local_id(0);
  const ulong i = get_global_id(0);
  sum[item] = i < n ? x[i] : 0u;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint stride = LOCAL / 2; stride > 0; stride /= 2) { /* neighbours touch neighbouring words */
    if (item < stride) sum[item] += sum[item + stride];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) out[get_group_id(0)] = sum[0];
}

/* The same tree with every level written out. */
#define LEVEL(stride)                                      \
  if (LOCAL > (stride)) {                                  \
    if (item < (stride)) sum[item] += sum[item + (stride)]; \
    barrier(CLK_LOCAL_MEM_FENCE);                          \
  }
#define TREE(value)                             \
  sum[item] = (value);                          \
  barrier(CLK_LOCAL_MEM_FENCE);                 \
  LEVEL(512)                                    \
  LEVEL(256)                                    \
  LEVEL(128)                                    \
  LEVEL(64)                                     \
  LEVEL(32)                                     \
  LEVEL(16)                                     \
  LEVEL(8)                                      \
  LEVEL(4)                                      \
  LEVEL(2)                                      \
  LEVEL(1)                                      \
  if (item == 0) out[get_group_id(0)] = sum[0];

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void unrolled(global const uint *x, ulong n,
                                                                        global uint *out) {
  local uint sum[LOCAL];
  const uint item = (uint)get_local_id(0);
  const ulong i = get_global_id(0);
  TREE(i < n ? x[i] : 0u)
}

/* Each item first adds TIMES elements, as far apart as the group is wide: a group reads one block. */
kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void local_stride(global const uint *x, ulong n,
                                                                            global uint *out) {
  local uint sum[LOCAL];
  const uint item = (uint)get_local_id(0);
  const ulong first = (ulong)get_group_id(0) * (LOCAL * TIMES) + item;
  uint own = 0;
  if (first - item + LOCAL * TIMES <= n) {
#pragma unroll
    for (uint t = 0; t < TIMES; t++) own += x[first + t * LOCAL];
  } else {
    for (ulong i = first; i < n; i += LOCAL) own += x[i];
  }
  TREE(own)
}

/* As far apart as all groups together are wide: at any time the whole device reads one block. */
kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void global_stride(global const uint *x, ulong n,
                                                                             global uint *out) {
  local uint sum[LOCAL];
  const uint item = (uint)get_local_id(0);
  const ulong first = get_global_id(0), stride = get_global_size(0);
  uint own = 0;
  if (stride * TIMES <= n) {
#pragma unroll
    for (uint t = 0; t < TIMES; t++) own += x[first + t * stride];
  } else {
    for (ulong i = first; i < n; i += stride) own += x[i];
  }
  TREE(own)
}

/* As many groups as the device holds at once, whatever n is: items over a stride, the tree of a group, and a second
 * launch over the groups' partial sums. */
kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void three_levels(global const uint *x, ulong n,
                                                                            global uint *out) {
  local uint sum[LOCAL];
  const uint item = (uint)get_local_id(0);
  const ulong stride = get_global_size(0);
  uint own = 0;
  ulong i = get_global_id(0);
  for (; i + 7 * stride < n; i += 8 * stride) {
    uint some[8];
#pragma unroll
    for (uint u = 0; u < 8; u++) some[u] = x[i + u * stride];
#pragma unroll
    for (uint u = 0; u < 8; u++) own += some[u];
  }
  for (; i < n; i += stride) own += x[i];
  TREE(own)
}
