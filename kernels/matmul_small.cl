/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for NVIDIA GPUs if C has few tiles, because it is small or has few rows. Tiles are small, so that the
 * panels of k fill the device, and operands are read in place, also at edges, so that nothing is copied first. Local
 * memory has a ring of tiles; the order is that of matmul.cl. Warps without a part of C only copy.
 * matmul_small_stage.cl has the step of k and the parameters. */
#if HX_SHAPE_TILES && HX_SMALL

/* The line of t, and the index in that line, of the e-th sum of an item. */
#define HX_SMALL_TO(e) (transposed ? column + (e) % HX_ITEM_N : row + (e) / HX_ITEM_N)
#define HX_SMALL_FROM(e) (transposed ? row + (e) / HX_ITEM_N : column + (e) % HX_ITEM_N)
#define HX_SMALL_SUM(e) acc[(e) / HX_ITEM_N][(e) % HX_ITEM_N]
#define HX_SMALL_PANELS(e) sums[(e)*HX_LOCAL0 + id]
#define HX_JOIN_AHEAD 8u /* panels that are loaded at once */

/* The arguments of the kernel in matmul_tiles.cl, and the layout of the operands. join: the group that finishes the
 * last panel of a tile adds them. The ticket of each of those tiles is 0 before the launch and after it. */
kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint transposed, uint full_tiles, global float *partials,
    uint layout, uint join, global uint *tickets, ulong a_step, ulong b_step, ulong t_step) {
  local float tiles_a[HX_STAGES * HX_SMALL_A_FLOATS] __attribute__((aligned(16)));
  local float tiles_b[HX_STAGES * HX_SMALL_B_FLOATS] __attribute__((aligned(16)));
  local uint taken[1];
  local HX_PASTE(float, HX_ITEM_N) sums[HX_ITEM_M * HX_LOCAL0]; /* the sums of an item's earlier panels */
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id / 32;
  const hx_job job = hx_job_of((uint)get_group_id(0), 0, full_tiles, m, n, k);
  const hx_place at = hx_place_of(job.tile, HX_TILE_M, HX_TILE_N, HX_WIDTH, m, n);
  const uint warp_row = warp / (HX_TILE_N / HX_WARP_N) * HX_WARP_M;
  const uint warp_column = warp % (HX_TILE_N / HX_WARP_N) * HX_WARP_N;
  const uint lane_row = HX_LANES_M == 4 ? (lane & 1) | (lane >> 4) << 1 : lane & 1;
  const uint lane_column = HX_LANES_M == 4 ? lane >> 1 & 7 : lane >> 1;
  const uint row = warp_row + HX_ITEM_M * lane_row, column = warp_column + HX_ITEM_N * lane_column;
  const bool active = at.i0 + warp_row < m && at.i0 + warp_row + HX_WARP_M > at.own_i && at.j0 + warp_column < n &&
                      at.j0 + warp_column + HX_WARP_N > at.own_j;

  a += a_first + get_group_id(1) * a_step;
  b += b_first + get_group_id(1) * b_step;
  t += get_group_id(1) * t_step;
  hx_side as = hx_side_of(a, lda, layout & (HX_LAYOUT_BY_K | HX_LAYOUT_VEC4), HX_TILE_M, at.i0, m, job.k0, id);
  hx_side bs = hx_side_of(b, ldb, layout >> 1 & (HX_LAYOUT_BY_K | HX_LAYOUT_VEC4), HX_TILE_N, at.j0, n, job.k0, id);
  const ulong a_ahead = as.layout & HX_LAYOUT_BY_K ? HX_TILE_K * lda : HX_TILE_K;
  const ulong b_ahead = bs.layout & HX_LAYOUT_BY_K ? HX_TILE_K * ldb : HX_TILE_K;
  const hx_tile_base a_base = HX_SMALL_BASE(tiles_a), b_base = HX_SMALL_BASE(tiles_b);
  const uint count = (uint)job.count, odd = count % HX_TILE_K, full = count / HX_TILE_K, steps = full + (odd != 0);

#define HX_SMALL_BYTES (HX_PTX ? 4 : 1) /* the unit of a base */
#define HX_SMALL_COPY_STEP(step, slot)                                                                      \
  if ((step) < full) {                                                                                      \
    hx_small_copy_a(as, a_base + HX_SMALL_BYTES * (slot) * HX_SMALL_A_FLOATS, id);                          \
    hx_small_copy_b(bs, b_base + HX_SMALL_BYTES * (slot) * HX_SMALL_B_FLOATS, id);                          \
    as.at += a_ahead;                                                                                       \
    bs.at += b_ahead;                                                                                       \
  } else if ((step) < steps) {                                                                              \
    const ulong p = job.k0 + full * HX_TILE_K;                                                              \
    hx_small_copy_last(a + (as.layout & HX_LAYOUT_BY_K ? p * lda + at.i0 : at.i0 * lda + p), as,                \
                       a_base + HX_SMALL_BYTES * (slot) * HX_SMALL_A_FLOATS, HX_TILE_M, odd, id);    \
    hx_small_copy_last(b + (bs.layout & HX_LAYOUT_BY_K ? p * ldb + at.j0 : at.j0 * ldb + p), bs,                \
                       b_base + HX_SMALL_BYTES * (slot) * HX_SMALL_B_FLOATS, HX_TILE_N, odd, id); \
  }                                                                                                         \
  HX_SMALL_COMMIT

  float acc[HX_ITEM_M][HX_ITEM_N], av[2][HX_AHEAD][HX_ITEM_M], bv[2][HX_AHEAD][HX_ITEM_N];
#pragma unroll
  for (uint e = 0; e < HX_SMALL_CELLS; e++) HX_SMALL_SUM(e) = 0.0f;
#pragma unroll 1
  for (uint s = 0; s + 1 < HX_STAGES; s++) {
    HX_SMALL_COPY_STEP(s, s)
  }
  uint slot = 0;
#pragma unroll 1
  for (uint s = 0; s < steps; s++) {
    HX_SMALL_WAIT
    barrier(CLK_LOCAL_MEM_FENCE);
    local const float *af = tiles_a + slot * HX_SMALL_A_FLOATS + row;
    local const float *bf = tiles_b + slot * HX_SMALL_B_FLOATS + column;
    const bool whole_step = active && s < full;
    if (whole_step) {
      HX_SMALL_FRAGMENTS(0, 0)
    }
    const uint into = slot ? slot - 1 : HX_STAGES - 1;
    HX_SMALL_COPY_STEP(s + HX_STAGES - 1, into)
    if (active) {
      if (whole_step) {
#pragma unroll
        for (uint p = 0; p < HX_TILE_K; p += HX_AHEAD) {
          if (p + HX_AHEAD < HX_TILE_K) {
            HX_SMALL_FRAGMENTS(p / HX_AHEAD + 1 & 1, p + HX_AHEAD)
          }
#pragma unroll
          for (uint u = 0; u < HX_AHEAD; u++) {
            HX_SMALL_STEP(p / HX_AHEAD & 1, u)
          }
        }
      } else {
#pragma unroll 1
        for (uint p = 0; p < odd; p++) {
          HX_SMALL_OPERANDS(0, 0, p)
          HX_SMALL_STEP(0, 0)
        }
      }
      if ((s + 1) % (HX_PANEL / HX_TILE_K) == 0 || s + 1 == steps) { /* the end of a panel */
        if (s >= HX_PANEL / HX_TILE_K) {
#pragma unroll
          for (uint e = 0; e < HX_ITEM_M; e++) {
            float before[HX_ITEM_N];
            HX_PASTE(vstore, HX_ITEM_N)(HX_SMALL_PANELS(e), 0, before);
#pragma unroll
            for (uint j = 0; j < HX_ITEM_N; j++) acc[e][j] = HX_ADD(, before[j], acc[e][j]);
          }
        }
        if (s + 1 < steps) {
#pragma unroll
          for (uint e = 0; e < HX_ITEM_M; e++) {
            HX_SMALL_PANELS(e) = HX_PASTE(vload, HX_ITEM_N)(0, acc[e]);
#pragma unroll
            for (uint j = 0; j < HX_ITEM_N; j++) acc[e][j] = 0.0f;
          }
        }
      }
    }
    slot = slot + 1 < HX_STAGES ? slot + 1 : 0;
  }

  hx_target to = hx_target_of(t, ldt, at, HX_TILE_M, HX_TILE_N, m, n, alpha, beta, transposed);
  if (job.part) {
    const hx_place own = {0, 0, 0, 0};
    const hx_target part = hx_target_of(partials + (ulong)job.panel * (HX_TILE_M * HX_TILE_N),
                                        transposed ? HX_TILE_M : HX_TILE_N, own, HX_TILE_M, HX_TILE_N, HX_TILE_M, HX_TILE_N,
                                        1.0f, 0.0f, transposed);
#pragma unroll
    for (uint e = 0; e < HX_SMALL_CELLS; e++)
      if (active) hx_store(part, HX_SMALL_TO(e), HX_SMALL_FROM(e), HX_SMALL_SUM(e));
    if (!join) return;
    const uint panels = (uint)((k + HX_PANEL - 1) / HX_PANEL), tail = job.tile - full_tiles;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (id == 0) taken[0] = hx_ticket(tickets + tail, 1) + 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (taken[0] != panels) return;
    if (id == 0) tickets[tail] = 0; /* for the next launch */
    /* An item without a part of C does not return, because PoCL may end all items if the first one returns. */
    global const float *from = partials + (ulong)tail * panels * (HX_TILE_M * HX_TILE_N);
    const uint width = transposed ? HX_TILE_M : HX_TILE_N;
#pragma unroll
    for (uint e = 0; e < HX_SMALL_CELLS; e++) HX_SMALL_SUM(e) = -0.0f; /* changes no sum */
#pragma unroll 1
    for (uint p = 0; p < panels; p += HX_JOIN_AHEAD) {
      float v[HX_JOIN_AHEAD][HX_SMALL_CELLS];
#pragma unroll
      for (uint u = 0; u < HX_JOIN_AHEAD; u++) {
#pragma unroll
        for (uint e = 0; e < HX_SMALL_CELLS; e++) {
          v[u][e] = -0.0f;
          if (p + u < panels)
            v[u][e] = from[(p + u) * (HX_TILE_M * HX_TILE_N) + HX_SMALL_TO(e) * width + HX_SMALL_FROM(e)];
        }
      }
#pragma unroll
      for (uint u = 0; u < HX_JOIN_AHEAD; u++) {
#pragma unroll
        for (uint e = 0; e < HX_SMALL_CELLS; e++) HX_SMALL_SUM(e) = HX_ADD(, HX_SMALL_SUM(e), v[u][e]);
      }
    }
  }
  if (!active) return;
#pragma unroll
  for (uint e = 0; e < HX_SMALL_CELLS; e++) hx_store(to, HX_SMALL_TO(e), HX_SMALL_FROM(e), HX_SMALL_SUM(e));
}

#endif
