/* SPDX-License-Identifier: Apache-2.0
 * Sums of u32 below 8: of an array, of the products of two (DOT), or of SUMS arrays, each `pitch` elements behind the
 * last, or mixed as an array of structures (STRUCTS). An item adds RUN consecutive elements, 16 at a time if RUN allows
 * it, and its group adds what its items have. With GATHER, a power of two, whole blocks of so many elements are read in
 * steps of STEP, one element at a time. part[s * groups + g]: sum s of group g. */

#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)

#if ALIGNED /* the compiler is promised that vectors are */
#define LOAD(p) NAME(convert_uint, 16)(*(global const NAME(TYPE, 16) *)(p))
#else
#define LOAD(p) convert_uint16(vload16(0, p))
#endif

#if GATHER
#define PLACE(s, i) ((i) < n / GATHER * GATHER ? (i) / GATHER * GATHER + (i)*STEP % GATHER : (i))
#elif STRUCTS
#define PLACE(s, i) ((i)*SUMS + (s))
#else
#define PLACE(s, i) ((s)*pitch + (i))
#endif

#if DOT
#define TERM(s, i) ((uint)x[i] * x[pitch + (i)])
#define TERMS(s, i) (LOAD(x + (i)) * LOAD(x + pitch + (i)))
#else
#define TERM(s, i) ((uint)x[PLACE(s, i)])
#define TERMS(s, i) LOAD(x + PLACE(s, i))
#endif

uint add_lanes(uint16 v) {
  const uint8 a = v.lo + v.hi;
  const uint4 b = a.lo + a.hi;
  return b.x + b.y + b.z + b.w;
}

kernel __attribute__((reqd_work_group_size(LOCAL, 1, 1))) void sums(global const TYPE *x, ulong first, ulong pitch,
                                                                    ulong n, global uint *part) {
  local uint tree[LOCAL];
  const uint item = (uint)get_local_id(0);
  ulong i = get_global_id(0) * RUN;
  const ulong end = min(i + RUN, n);
  uint sum[SUMS];
  x += first;
#pragma unroll
  for (uint s = 0; s < SUMS; s++) sum[s] = 0;
#if RUN >= 16 && !STRUCTS && !GATHER
  uint16 lanes[SUMS];
#pragma unroll
  for (uint s = 0; s < SUMS; s++) lanes[s] = 0;
  for (; i + 16 <= end; i += 16)
#pragma unroll
    for (uint s = 0; s < SUMS; s++) lanes[s] += TERMS(s, i);
#pragma unroll
  for (uint s = 0; s < SUMS; s++) sum[s] = add_lanes(lanes[s]);
#endif
  for (; i < end; i++)
#pragma unroll
    for (uint s = 0; s < SUMS; s++) sum[s] += TERM(s, i);
  for (uint s = 0; s < SUMS; s++) {
    tree[item] = sum[s];
    for (uint half_size = LOCAL / 2; half_size > 0; half_size /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < half_size) tree[item] += tree[item + half_size];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) part[s * get_num_groups(0) + get_group_id(0)] = tree[0];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
