/* SPDX-License-Identifier: Apache-2.0
 * The product of matmul_few.cl if B is laid out [line][k]: an item computes a line, and the elements of neighbouring
 * items are far apart. So a group's items copy stages of HX_TILE_K steps of all lines into a ring in local memory, and
 * each reads its own line from there, as float4. A float4 of global memory begins at a multiple of 16 bytes, and lines
 * need not: the elements of a line are `shift` places further on, and the first and last ones are copied singly. */
#if HX_SHAPE_TILES && HX_FEW_ROWS && HX_LAYOUT == 2

#define HX_FEW_SPARE 4 /* steps of k: before A's stage, after B's */
#define HX_FEW_PITCH (HX_TILE_K + HX_FEW_SPARE) /* float4s of neighbouring lines are in different banks */
#define HX_FEW_B (HX_TILE_N * HX_FEW_PITCH)
#define HX_FEW_STAGE (HX_FEW_B + HX_FEW_PITCH * HX_TILE_M)

#define HX_FEW_ALONG (HX_TILE_K / 4)
#define HX_FEW_LINES (HX_LOCAL0 / HX_FEW_ALONG) /* whose float4s the items copy at once */
#define HX_FEW_MINE (HX_TILE_N / HX_FEW_LINES)

kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint transposed, uint full_tiles, global float *partials,
    uint layout, uint join, global uint *tickets) {
  local float ring[HX_STAGES * HX_FEW_STAGE > HX_FEW_JOINS ? HX_STAGES * HX_FEW_STAGE : HX_FEW_JOINS]
      __attribute__((aligned(16)));
  local uint taken[1];
  const uint id = (uint)get_local_id(0), rows = (uint)m, group = (uint)get_group_id(0);
  const hx_units units = hx_units_of(n, k, layout);
  const uint unit = units.back ? units.tiles * units.panels - 1 - group : group; /* panels of a tile are neighbours */
  const uint tile = unit / units.panels, panel = unit % units.panels;
  const hx_few_target to = {t, ldt, m, n, alpha, beta, transposed};
  const bool a_by_k = layout & HX_LAYOUT_BY_K, vec4 = layout >> 1 & HX_LAYOUT_VEC4;
  const ulong k0 = (ulong)panel * HX_PANEL, line0 = (ulong)tile * HX_TILE_N;
  const uint lines = (uint)min(n - line0, (ulong)HX_TILE_N), count = (uint)min(k - k0, (ulong)HX_PANEL);
  const uint steps = (count + 3 + HX_TILE_K - 1) / HX_TILE_K, stages = min(steps, (uint)(HX_PANEL / HX_TILE_K));
  a += a_first + k0 * (a_by_k ? lda : 1);
  b += b_first + line0 * ldb + k0;

  /* An item's float4s of a stage, each with the place where the last one begins. */
  const uint column = id % HX_FEW_ALONG * 4;
  global const float *from_b[HX_FEW_MINE];
  int ends[HX_FEW_MINE];
  bool begins[HX_FEW_MINE];
#pragma unroll
  for (uint u = 0; u < HX_FEW_MINE; u++) {
    const uint line = id / HX_FEW_ALONG + u * HX_FEW_LINES;
    global const float *const bp = b + min(line, lines - 1) * ldb;
    const uint shift = hx_few_shift(bp);
    from_b[u] = bp + column - shift;
    ends[u] = line < lines ? (int)(count + shift) - 4 - (int)column : -1;
    begins[u] = column >= shift;
  }
  uint ask_slot = 0;
#define HX_FEW_ASK(s)                                                                                                  \
  if ((s) < stages) {                                                                                                  \
    const uint from = (s)*HX_TILE_K;                                                                                   \
    local float *const bs = ring + ask_slot * HX_FEW_STAGE, *const as = bs + HX_FEW_B;                                 \
    _Pragma("unroll") for (uint u = 0; u < HX_FEW_MINE; u++) {                                                         \
      HX_FEW_MOVE(4, bs + (id / HX_FEW_ALONG + u * HX_FEW_LINES) * HX_FEW_PITCH + column, from_b[u],                   \
                  ((int)from <= ends[u]) & (from || begins[u]))                                                        \
      from_b[u] += HX_TILE_K;                                                                                          \
    }                                                                                                                  \
    if (!(vec4 && (count & 3) == 0) && ((s) == 0 || (s) + 2 >= stages)) { /* single elements */                       \
      for (uint line = id; line < lines; line += HX_LOCAL0) {                                                          \
        global const float *const bp = b + line * ldb;                                                                 \
        const uint shift = hx_few_shift(bp), end = count + shift & ~3u;                                                \
        const bool here = end > 0 && min(end / HX_TILE_K, stages - 1) == (s);                                          \
        local float *const to_line = bs + line * HX_FEW_PITCH;                                                         \
        _Pragma("unroll") for (uint i = 0; i < 4; i++) {                                                               \
          const uint first = (s) == 0 && (shift || count < 4) && i >= shift && i < count + shift;                      \
          HX_FEW_MOVE(1, to_line + i, bp + i - shift, first)                                                           \
          HX_FEW_MOVE(1, to_line + end + i - from, bp + end + i - shift, here && end + i < count + shift)              \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
    _Pragma("unroll") for (uint e = 0; e < HX_FEW_PITCH * HX_TILE_M; e += HX_LOCAL0) {                                 \
      const uint at = e + id, row = a_by_k ? at % HX_TILE_M : at / HX_FEW_PITCH;                                       \
      const uint i = a_by_k ? at / HX_TILE_M : at % HX_FEW_PITCH, q = from + i - HX_FEW_SPARE;                         \
      const ulong row_at = min(row, rows - 1);                                                                         \
      HX_FEW_MOVE(1, as + i * HX_TILE_M + row, a + (a_by_k ? q * lda + row_at : row_at * lda + q),                     \
                  (q < count) & (at < HX_FEW_PITCH * HX_TILE_M))                                                       \
    }                                                                                                                  \
    ask_slot = ask_slot + 1 < HX_STAGES ? ask_slot + 1 : 0;                                                            \
  }                                                                                                                    \
  HX_FEW_COMMIT

#pragma unroll 1
  for (uint s = 0; s + 1 < HX_STAGES; s++) {
    HX_FEW_ASK(s)
  }
  const uint shift = hx_few_shift(b + min(id, lines - 1) * ldb);
  uint slot = 0;
  float acc[HX_TILE_M];
#pragma unroll
  for (uint r = 0; r < HX_TILE_M; r++) acc[r] = 0.0f;
#pragma unroll 1
  for (uint s = 0; s < stages; s++) {
    HX_FEW_WAIT
    barrier(CLK_LOCAL_MEM_FENCE);
    HX_FEW_ASK(s + HX_STAGES - 1)
    if (id < HX_TILE_N) {
      const uint from = s * HX_TILE_K;
      local const float *const bs = ring + slot * HX_FEW_STAGE + id * HX_FEW_PITCH;
      local const float *const as = ring + slot * HX_FEW_STAGE + HX_FEW_B + HX_FEW_SPARE * HX_TILE_M;
      local const float *const own = as - shift * HX_TILE_M;
#define HX_FEW_FMA(x, value)                                                                        \
  {                                                                                                 \
    const float hx_v = (value);                                                                     \
    _Pragma("unroll") for (uint r = 0; r < HX_TILE_M; r++) acc[r] = fma((x)[r], hx_v, acc[r]);      \
  }
      if (vec4 && from + HX_TILE_K <= count) {
#pragma unroll
        for (uint p = 0; p < HX_TILE_K; p += 4) {
          float x[4 * HX_TILE_M];
#pragma unroll
          for (uint e = 0; e < HX_TILE_M; e++) vstore4(*(local const float4 *)(as + p * HX_TILE_M + 4 * e), e, x);
          const float4 w = *(local const float4 *)(bs + p);
          HX_FEW_FMA(x, w.x)
          HX_FEW_FMA(x + HX_TILE_M, w.y)
          HX_FEW_FMA(x + 2 * HX_TILE_M, w.z)
          HX_FEW_FMA(x + 3 * HX_TILE_M, w.w)
        }
      } else if (from + HX_TILE_K <= count) {
#pragma unroll
        for (uint p = 0; p < HX_TILE_K; p += 4) {
          const float4 w = *(local const float4 *)(bs + p);
          if (p || from || shift == 0) HX_FEW_FMA(own + p * HX_TILE_M, w.x)
          if (p || from || shift <= 1) HX_FEW_FMA(own + (p + 1) * HX_TILE_M, w.y)
          if (p || from || shift <= 2) HX_FEW_FMA(own + (p + 2) * HX_TILE_M, w.z)
          HX_FEW_FMA(own + (p + 3) * HX_TILE_M, w.w)
        }
        if (s + 1 == stages) { /* the single elements after it */
#pragma unroll
          for (uint p = HX_TILE_K; p < HX_TILE_K + 3; p++)
            if (from + p < count + shift) HX_FEW_FMA(own + p * HX_TILE_M, bs[p])
        }
      } else {
        const uint all = count + shift, most = s + 1 < stages ? HX_TILE_K : HX_FEW_PITCH;
        const uint stop = min(all - min(from, all), most);
#pragma unroll 4
        for (uint p = from ? 0 : shift; p < stop; p++) HX_FEW_FMA(own + p * HX_TILE_M, bs[p])
      }
    }
    slot = slot + 1 < HX_STAGES ? slot + 1 : 0;
  }
  if (units.panels > 1) {
    if (id < HX_TILE_N) {
#pragma unroll
      for (uint r = 0; r < HX_TILE_M; r++) HX_FEW_PART(units, tile, panel)[r * HX_TILE_N + id] = acc[r];
    }
    hx_few_join(units, tile, 1, to, partials, tickets, ring, taken); /* all have read the ring before it is used */
  } else if (id < HX_TILE_N) {
    hx_few_store(to, tile, id, acc);
  }
}

#endif
