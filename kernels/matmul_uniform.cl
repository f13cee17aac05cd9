/* SPDX-License-Identifier: Apache-2.0
 * The product for compilers without block reads of sub-groups (Mesa's, for Intel GPUs): a work-item computes 16 rows of
 * four columns from packed operands. All items of a group read A at the same address, which such a compiler turns into
 * one read for all of them, of values that an instruction takes without a copy; one that does not still has few reads.
 * No result depends on the sub-group size, so none is required. What these compilers need:
 *   - Sums are variables, not arrays: loops over arrays of sums are not always unrolled, and then the sums are in memory.
 *   - Operands are read through pointers that are incremented: on GPUs without 64-bit integers an index costs twice as
 *     many instructions. A is in constant memory, because values that a kernel might store are read by each item.
 *   - No condition is kept as a bool, of which Mesa 22.3 makes bytes that it spills. */
#if HX_SHAPE_UNIFORM

#define HX_PACKER kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1)))
#define HX_BLOCK(N, p) (p)[get_local_id(0)]
#define HX_WRITE(p, v) (p)[get_local_id(0)] = (v)

#define HX_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(a) X(b) X(c) X(d) X(e) X(f)
#define HX_CLEAR(i) float4 sum##i = (float4)(0.0f);
#define HX_STEP(i) sum##i = HX_FMA(4, (float4)(column.s##i), row, sum##i);
#define HX_STORE(i)                                                                    \
  if (0x##i + zero < rows && inside != 0) hx_put4((global float4 *)(t + t_at), sum##i, first, last, alpha); \
  t_at += ldt;

/* hx_put for four neighbours. */
static void hx_put4(global float4 *t, float4 s, uint first, uint last, float alpha) {
  if (first == 0) s = HX_ADD(4, *t, s);
  if (last != 0) {
    s = HX_MUL(4, (float4)(alpha), s);
    s = HX_CANONICAL(4, s);
  }
  *t = s;
}

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(constant float *pa, global const float *pb,
                                                                             ulong m, ulong n, ulong k, float alpha,
                                                                             global float *t, ulong ldt, uint part,
                                                                             ulong t_step) {
  /* Consecutive groups compute tiles one below another: they share the panel of B, which is the larger one. */
  const uint high = (uint)get_num_groups(1);
  const uint id = (uint)get_group_id(1) * (uint)get_num_groups(0) + (uint)get_group_id(0), left = id / high;
  const ulong i0 = (ulong)(id - left * high) * HX_TILE_M, j0 = (ulong)left * HX_TILE_N + 4 * get_local_id(0);
  const uint rows = (uint)min(m - i0, (ulong)HX_TILE_M);
  const uint inside = j0 < n ? 1 : 0; /* t has room for all four columns if it has room for the first */
  const ulong product = get_group_id(2);
  constant float *a = pa + (product * high * HX_TILE_M + i0) * k;
  global const float *b = pb + (product * get_num_groups(0) + left) * HX_TILE_N * k + 4 * get_local_id(0);
  for (ulong k0 = 0; k0 < k; k0 += HX_PANEL) {
    const uint first = HX_FIRST ? 1 : 0, last = HX_LAST ? 1 : 0;
    HX_ROWS(HX_CLEAR)
    for (uint steps = (uint)min(k - k0, (ulong)HX_PANEL); steps > 0; steps--) {
      const float16 column = *(constant float16 *)a;
      const float4 row = *(global const float4 *)b;
      a += HX_TILE_M;
      b += HX_TILE_N;
      HX_ROWS(HX_STEP)
    }
    /* Always zero, which no compiler knows: otherwise the addresses of all stores would stay in registers. */
    const uint zero = (uint)(k0 >> 63);
    ulong t_at = product * t_step + i0 * ldt + j0 + zero;
    HX_ROWS(HX_STORE)
  }
}

#endif
