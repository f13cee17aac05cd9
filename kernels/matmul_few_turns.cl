/* SPDX-License-Identifier: Apache-2.0
 * The product of matmul_few.cl if B is laid out [k][line]. The warps of a group compute a panel together, because one
 * warp would have too few loads in flight for 512 steps of k. Each warp loads its part of them, of all lines, into
 * registers at once. When its turn comes, it gets the sums from the warp before it, adds its own part, and starts to
 * load its part of the group's next panel. Group g does the tiles x, x + full_tiles, ... and of k the panels y, y + by,
 * ... */
#if HX_SHAPE_TILES && HX_FEW_ROWS && HX_LAYOUT != 2

#define HX_FEW_WARPS (HX_LOCAL0 / 32)
#define HX_FEW_A (HX_TILE_K * HX_TILE_M) /* a warp's part: HX_TILE_K steps */

#if HX_PTX
/* A barrier for warps i - 1 and i. */
static void hx_few_meet(uint i) { __asm__ __volatile__("bar.sync %0, 64;" : : "r"(i) : "memory"); }
#define HX_FEW_WARP __asm__ __volatile__("bar.warp.sync 0xffffffff;" : : : "memory");
/* A part of B's cache lines is marked to be evicted first from the second cache, so that the others are still there for
 * the next launch with this B. */
typedef ulong hx_few_policy;
static hx_few_policy hx_few_policy_of(void) {
  ulong policy;
  __asm__ __volatile__("createpolicy.fractional.L2::evict_first.b64 %0, 0.65;" : "=l"(policy));
  return policy;
}
static float hx_few_load(global const float *p, hx_few_policy policy) {
  float v;
  __asm__ __volatile__("ld.global.nc.L1::no_allocate.L2::cache_hint.f32 %0, [%1], %2;"
                       : "=f"(v)
                       : "l"(p), "l"(policy));
  return v;
}
#define HX_FEW_TURN(...)                            \
  if (warp) hx_few_meet(warp);                      \
  __VA_ARGS__                                       \
  if (warp + 1 < HX_FEW_WARPS) hx_few_meet(warp + 1);
#else
typedef uint hx_few_policy;
#define hx_few_policy_of() 0
#define hx_few_load(p, policy) (*(p))
#define HX_FEW_WARP barrier(CLK_LOCAL_MEM_FENCE);
#define HX_FEW_TURN(...)                                \
  for (uint hx_w = 0; hx_w < HX_FEW_WARPS; hx_w++) {    \
    if (warp == hx_w) {                                 \
      __VA_ARGS__                                       \
    }                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                       \
  }
#endif
/* Step i after p; they are `apart` bytes apart. */
#define HX_FEW_AT(p, i) ((global const float *)((global const char *)(p) + (ulong)apart * (i)))
#define HX_FEW_STEP(u)                                                                                         \
  {                                                                                                            \
    _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++) acc[r] = fma(as[(u)*HX_TILE_M + r], v[u], acc[r]);  \
  }

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint transposed, uint full_tiles, global float *partials,
    uint layout, uint join, global uint *tickets) {
  local float passed[2 * HX_FEW_WARPS * HX_FEW_SUMS], room[HX_FEW_JOINS] __attribute__((aligned(16)));
  local float parts_a[HX_FEW_WARPS * HX_FEW_A] __attribute__((aligned(16)));
  local uint taken[1];
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id / 32, rows = (uint)m;
  const hx_units units = hx_units_of(n, k, layout);
  const hx_few_target to = {t, ldt, m, n, alpha, beta, transposed};
  const bool a_by_k = layout & HX_LAYOUT_BY_K;
  const uint from = warp * HX_TILE_K, x = (uint)get_group_id(0) % full_tiles, y = (uint)get_group_id(0) / full_tiles;
  const uint by = (uint)get_num_groups(0) / full_tiles; /* groups that have panels of a tile */
  /* The panels of a tile are added here, in their order, or after all of them are in partials. */
  const bool waits = units.panels * HX_FEW_SUMS <= HX_FEW_JOINS, back = units.back && (by > 1 || waits);
  const bool last = warp + 1 == HX_FEW_WARPS;
  local float *const as = parts_a + warp * HX_FEW_A;
  const hx_few_policy policy = hx_few_policy_of();
  uint apart = 4 * (uint)ldb, done = 0;
  a += a_first;
  b += b_first;
  float sum[HX_TILE_M];
#pragma unroll 1
  for (uint tile_at = x, panel_at = y; tile_at < units.tiles; done++) {
    const uint tile = units.back ? units.tiles - 1 - tile_at : tile_at;
    const uint panel = back ? units.panels - 1 - panel_at : panel_at;
    const bool first = panel_at == y;
    panel_at += by;
    const bool ends = panel_at >= units.panels;
    if (ends) panel_at = y, tile_at += full_tiles;
    const ulong k0 = (ulong)panel * HX_PANEL, line0 = (ulong)tile * HX_TILE_N;
    const uint count = (uint)min(k - k0, (ulong)HX_PANEL), left = count - min(from, count);
    float v[HX_TILE_K], acc[HX_TILE_M];
    HX_FEW_HIDE(apart) /* values derived from it are not cached in registers */
    global const float *const bp = b + (k0 + min(from, count - 1)) * ldb + min(line0 + lane, n - 1);
    if (left >= HX_TILE_K) {
#pragma unroll
      for (uint u = 0; u < HX_TILE_K; u++) v[u] = hx_few_load(HX_FEW_AT(bp, u), policy);
    } else {
#pragma unroll
      for (uint u = 0; u < HX_TILE_K; u++) v[u] = u < left ? hx_few_load(HX_FEW_AT(bp, u), policy) : 0.0f;
    }
#pragma unroll
    for (uint e = 0; e < HX_FEW_A; e += 32) {
      const uint at = e + lane, row = a_by_k ? at % HX_TILE_M : at / HX_TILE_K;
      const uint p = a_by_k ? at / HX_TILE_M : at % HX_TILE_K;
      const ulong p_at = k0 + from + p, row_at = min(row, rows - 1);
      HX_FEW_MOVE(1, as + p * HX_TILE_M + row, a + (a_by_k ? p_at * lda + row_at : row_at * lda + p_at), p < left)
    }
    HX_COPY_ALL
    HX_FEW_WARP
    local float *const pass = passed + (done & 1) * (HX_FEW_WARPS * HX_FEW_SUMS) + lane;
    HX_FEW_TURN(
        _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++)
            acc[r] = warp ? pass[warp * HX_FEW_SUMS + r * HX_TILE_N] : 0.0f;
        if (left >= HX_TILE_K) {
          _Pragma("unroll") for (uint u = 0; u < HX_TILE_K; u++) HX_FEW_STEP(u)
        } else {
          _Pragma("unroll") for (uint u = 0; u < HX_TILE_K; u++) if (u < left) HX_FEW_STEP(u)
        }
        if (warp + 1 < HX_FEW_WARPS) {
          _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++)
              pass[(warp + 1) * HX_FEW_SUMS + r * HX_TILE_N] = acc[r];
        })
    HX_FEW_WARP /* all items of the warp have read their part of A */
    if (last && by > 1) {
#pragma unroll
      for (uint r = 0; r < HX_TILE_M; r++) HX_FEW_PART(units, tile, panel)[r * HX_TILE_N + lane] = acc[r];
    } else if (last) { /* an item reads what it has written itself */
#pragma unroll
      for (uint r = 0; r < HX_TILE_M; r++) {
        if (back) room[panel * HX_FEW_SUMS + r * HX_TILE_N + lane] = acc[r];
        sum[r] = first ? acc[r] : HX_ADD(, sum[r], acc[r]);
      }
      if (ends && back) {
#pragma unroll 1
        for (uint q = 0; q < units.panels; q++) {
#pragma unroll
          for (uint r = 0; r < HX_TILE_M; r++) {
            const float part = room[q * HX_FEW_SUMS + r * HX_TILE_N + lane];
            sum[r] = q ? HX_ADD(, sum[r], part) : part;
          }
        }
      }
      if (ends) hx_few_store(to, tile, lane, sum);
    }
  }
  if (by > 1) hx_few_join(units, units.back ? units.tiles - 1 - x : x, done, to, partials, tickets, room, taken);
}

#endif
