/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for NVIDIA GPUs: a group's tile of C in registers, 4 to 20 rows by 4 or 8 columns for each item, from
 * tiles of A and B that are copied into local memory while those before are used. The order is that of matmul.cl. These
 * decide the speed, and none of them changes the bits:
 *   - A is laid out [k][row] in local memory, so that four rows or columns are one 128-bit read; items of a warp share
 *     addresses in pairs, and every read takes two passes;
 *   - registers within the limit of two groups of 256 items (or one of 512) a compute unit;
 *   - the running sum of the panels is stored in local memory with the floats of its pairs swapped: its quads need
 *     neighbouring registers, as those of B do, and an fma that reads two registers of one bank is delayed;
 *   - the fma go along the rows to and fro, which reuses operands;
 *   - no branch in the loop over k: the last tile is copied twice.
 * matmul_stage.cl has the step of k and the parameters. */
#if HX_SHAPE_TILES && !HX_SMALL && !HX_FEW_ROWS && !HX_BATCH /* The others have their own kernels. */

#if !HX_B_BY_COLUMN && HX_WIDE_LINES(HX_TILE_N) > HX_TILE_K
#error the copies of B have no condition, so every item needs one
#endif

/* Where an item's quads are in the tile. */
static uint hx_tile_row(uint id) {
  const uint lane = id & 31, warp = id / 32;
  return warp / (HX_TILE_N / (32 * HX_BLOCKS_N)) * (16 * HX_BLOCKS_M) + (((lane & 1) | (lane >> 4) << 1) * 4);
}
static uint hx_tile_column(uint id) {
  const uint lane = id & 31, warp = id / 32;
  return warp % (HX_TILE_N / (32 * HX_BLOCKS_N)) * (32 * HX_BLOCKS_N) + ((lane >> 1) & 7) * 4;
}

/* A tile that is not stored from the registers is in local memory by rows of quads, placed such that a row, a column
 * and the quads of a warp's items are each spread over all banks. */
#define HX_ROW_QUADS (HX_TILE_N / 4)
#define HX_TILE_FLOATS (HX_TILE_M * HX_TILE_N)
static uint hx_quad_at(uint row, uint quad) {
  return row * HX_ROW_QUADS + (quad ^ ((row >> 2 & 1) << 2 | (row >> 3 & 3)));
}

/* Stores such a tile, neighbouring items along the lines of t. */
static void hx_store_tile(local const float4 *tile, const hx_target to, uint transposed) {
  if (transposed && hx_target_is_vec4(to)) {
#pragma unroll 1
    for (uint e = (uint)get_local_id(0); e < HX_TILE_FLOATS / 16; e += HX_LOCAL0) {
      const uint row = e % (HX_TILE_M / 4) * 4, quad = e / (HX_TILE_M / 4);
      const float4 a = tile[hx_quad_at(row, quad)].yxwz, b = tile[hx_quad_at(row + 1, quad)].yxwz;
      const float4 c = tile[hx_quad_at(row + 2, quad)].yxwz, d = tile[hx_quad_at(row + 3, quad)].yxwz;
      hx_store_vec4(to, 4 * quad, row, (float4)(a.x, b.x, c.x, d.x));
      hx_store_vec4(to, 4 * quad + 1, row, (float4)(a.y, b.y, c.y, d.y));
      hx_store_vec4(to, 4 * quad + 2, row, (float4)(a.z, b.z, c.z, d.z));
      hx_store_vec4(to, 4 * quad + 3, row, (float4)(a.w, b.w, c.w, d.w));
    }
    return;
  }
#if !HX_DIRECT
  if (hx_target_is_vec4(to)) {
#pragma unroll 4
    for (uint e = (uint)get_local_id(0); e < HX_TILE_FLOATS / 4; e += HX_LOCAL0) {
      const uint row = e / HX_ROW_QUADS, quad = e % HX_ROW_QUADS;
      hx_store_vec4(to, row, 4 * quad, tile[hx_quad_at(row, quad)].yxwz);
    }
    return;
  }
#endif
#if HX_SLICES == 2 && HX_WIDTH == 4 /* The code below slows its loop over k by 1 %. */
#pragma unroll 2
  for (uint e = (uint)get_local_id(0); e < HX_TILE_FLOATS; e += HX_LOCAL0) {
    const uint row = transposed ? e % HX_TILE_M : e / HX_TILE_N, column = transposed ? e / HX_TILE_M : e % HX_TILE_N;
    const float s = ((local const float *)tile)[4 * hx_quad_at(row, column / 4) + (column % 4 ^ 1)];
    hx_store(to, transposed ? column : row, transposed ? row : column, s);
  }
#else
  /* An item's elements are of one column of t. No item may return early: the loop over k would get other registers. */
  const uint id = (uint)get_local_id(0), width = transposed ? HX_TILE_M : HX_TILE_N, from = id % width;
  const uint apart = HX_LOCAL0 / width;
  const uint lines = id / width < apart && from >= to.from_own && from < to.along ? to.lines : 0;
#define HX_STORED(line) ((line) >= to.line_own && (line) < lines)
#pragma unroll 1
  for (uint line = id / width; line < HX_TILE_FLOATS / width; line += HX_AT_ONCE * apart) {
    global float *const at = to.t + line * to.ldt + from;
    float s[HX_AT_ONCE], t[HX_AT_ONCE];
#pragma unroll
    for (uint u = 0; u < HX_AT_ONCE; u++) {
      const uint row = transposed ? from : line + u * apart, column = transposed ? line + u * apart : from;
      s[u] = ((local const float *)tile)[4 * hx_quad_at(row, column / 4) + (column % 4 ^ 1)];
      s[u] = HX_MUL(, to.alpha, s[u]);
    }
    if (to.beta != 0.0f) {
#pragma unroll
      for (uint u = 0; u < HX_AT_ONCE; u++) t[u] = HX_STORED(line + u * apart) ? at[u * apart * to.ldt] : 0.0f;
#pragma unroll
      for (uint u = 0; u < HX_AT_ONCE; u++) s[u] = fma(to.beta, t[u], s[u]);
    }
#pragma unroll
    for (uint u = 0; u < HX_AT_ONCE; u++)
      if (HX_STORED(line + u * apart)) at[u * apart * to.ldt] = HX_CANONICAL(, s[u]);
  }
#endif
}

#if HX_CHAINS
/* Of two groups that use a ticket, whether the other one was first. room: local memory that all items can use. */
static bool hx_met(global uint *ticket, uint add, local uint *room) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (get_local_id(0) == 0) *room = hx_ticket(ticket, add);
  barrier(CLK_LOCAL_MEM_FENCE);
  return *room != 0;
}
#endif

/* A group that computes one panel stores it in partials, as a tile. With `join` (HX_CHAINS): the group that has the sum
 * of all panels before one and the group that has that panel share a ticket. The first of the two stores its sum in
 * partials and ends. The second one adds, and goes on with the ticket of the next panel, or stores the tile. No group
 * waits. If there are more groups than the device runs at once, the sum is mostly there, because all groups of a panel
 * come before those of the next one. */
kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint transposed, uint full_tiles, global float *partials,
    uint join, global uint *tickets, ulong a_step, ulong b_step, ulong t_step) {
  local float stages_a[HX_SLICES * HX_STAGES * HX_A_FLOATS] __attribute__((aligned(16)));
  local float stages_b[HX_SLICES * HX_STAGES * HX_B_FLOATS] __attribute__((aligned(16)));
  local float4 sums[HX_TILE_FLOATS / 4 + HX_SPARE]; /* the sums of an item's earlier panels, and at the end the tile */
  local float *tile_a = stages_a, *tile_b = stages_b;
  uint local_id = (uint)get_local_id(0);
#if HX_PTX
  __asm__ __volatile__("" : "+r"(local_id)); /* otherwise it is read again everywhere, and the loop scheduled badly */
#endif
#if HX_SLICES == 1
  const uint id = local_id, slice = 0, group = (uint)get_group_id(0);
#else
  const uint id = local_id % HX_ITEMS, slice = local_id / HX_ITEMS, group = (uint)get_group_id(0);
  tile_a += slice * (HX_STAGES * HX_A_FLOATS);
  tile_b += slice * (HX_STAGES * HX_B_FLOATS);
#endif
  const hx_job job = hx_job_of(group, slice, full_tiles, m, n, k);
  const hx_place at = hx_place_of(job.tile, HX_TILE_M, HX_TILE_N, HX_PLACE_WIDTH, m, n);
  uint left = (uint)job.count;             /* steps of k after the current panel */
  uint full = left & ~(HX_TURN - 1);       /* the part that the loop below computes */

#define HX_SINGLE_MINE(pitch) (id % 8 * (pitch) + id / 8)
#define HX_WIDE_MINE(tile, pitch) (id / HX_WIDE_ALONG(tile) * (pitch) + id % HX_WIDE_ALONG(tile) * HX_WIDTH)
#define HX_SINGLE_AT(line, ld) ((line + id / 8) * (ld) + job.k0 + id % 8)
#define HX_WIDE_AT(tile, line, ld) \
  ((job.k0 + id / HX_WIDE_ALONG(tile)) * (ld) + (line) + id % HX_WIDE_ALONG(tile) * HX_WIDTH)
#define HX_VEC4_MINE(pitch) (id / (HX_TILE_K / 4) * (pitch) + id % (HX_TILE_K / 4) * 4)
#define HX_VEC4_AT(block, line, ld) \
  (((line) + HX_PLACE_LINE(block, id / (HX_TILE_K / 4))) * (ld) + job.k0 + id % (HX_TILE_K / 4) * 4)
  const uint a_mine = HX_A_VEC4  ? HX_VEC4_MINE(HX_PITCH_A)
                      : HX_A_BY_K ? HX_WIDE_MINE(HX_TILE_M, HX_PITCH_A)
                                  : HX_SINGLE_MINE(HX_PITCH_A);
  const uint b_mine = HX_B_VEC4       ? HX_VEC4_MINE(HX_PITCH_B)
                      : HX_B_BY_COLUMN ? HX_SINGLE_MINE(HX_PITCH_B)
                                       : HX_WIDE_MINE(HX_TILE_N, HX_PITCH_B);
  const ulong a_lines = (HX_A_BY_K ? HX_WIDE_LINES(HX_TILE_M) : HX_SINGLE_LINES) * lda;
  const ulong b_lines = (HX_B_BY_COLUMN ? HX_SINGLE_LINES : HX_WIDE_LINES(HX_TILE_N)) * ldb;
  const ulong a_ahead = HX_A_BY_K ? HX_TILE_K * lda : HX_TILE_K, b_ahead = HX_B_BY_COLUMN ? HX_TILE_K : HX_TILE_K * ldb;
#define HX_PRODUCT (HX_SLICES == 1 ? get_group_id(1) : 0) /* of a batch; two slices would be slowed by it */
  global const float *a_at = a + a_first + HX_PRODUCT * a_step +
                             (HX_A_VEC4  ? HX_VEC4_AT(HX_BLOCK_A, at.i0, lda)
                              : HX_A_BY_K ? HX_WIDE_AT(HX_TILE_M, at.i0, lda)
                                          : HX_SINGLE_AT(at.i0, lda));
  global const float *b_at = b + b_first + HX_PRODUCT * b_step +
                             (HX_B_VEC4       ? HX_VEC4_AT(HX_BLOCK_B, at.j0, ldb)
                              : HX_B_BY_COLUMN ? HX_SINGLE_AT(at.j0, ldb)
                                               : HX_WIDE_AT(HX_TILE_N, at.j0, ldb));
#define HX_FRAG_AT(vec4, block, pitch, line) ((vec4) ? HX_LINE_PLACE(block, line) * (pitch) : (line))
  local const float *a_frag = tile_a + HX_FRAG_AT(HX_A_VEC4, HX_BLOCK_A, HX_PITCH_A, hx_tile_row(id));
  local const float *b_frag = tile_b + HX_FRAG_AT(HX_B_VEC4, HX_BLOCK_B, HX_PITCH_B, hx_tile_column(id));
  HX_COPY_STATE
#if HX_PTX && HX_B_BY_COLUMN /* for the same reason as local_id */
  __asm__ __volatile__("" : "+l"(a_frag), "+l"(b_frag));
  __asm__ __volatile__("" : "+r"(a_to), "+r"(b_to));
#endif

  float acc[HX_ROWS][HX_COLUMNS], av[2][HX_AHEAD][HX_ROWS], bv[2][HX_AHEAD][HX_COLUMNS];
  HX_SET_ACC(0.0f)
  uint stage = 0;
  if (full | HX_ODD(left)) {
#pragma unroll
    for (uint ahead = 0; ahead + 1 < HX_STAGES; ahead++) {
      HX_COPY_BEGIN(ahead)
      if (HX_STAGES > 2) {
        const bool more = (full | HX_ODD(left)) > (ahead + 1) * HX_TILE_K;
        a_at += more ? a_ahead : 0;
        b_at += more ? b_ahead : 0;
      }
    }
    HX_COPY_END(0)
    HX_FRAGMENTS(0, 0, 0)
  }
  bool first = true;
  for (;;) {
    const uint panel = min(left, (uint)HX_PANEL), end = full - (panel & ~(HX_TURN - 1));
    left -= panel;
#pragma unroll 1
    for (; full != end; full -= HX_TURN) {
#if HX_STAGES == 2
      a_at += a_ahead;
      b_at += b_ahead;
      HX_TILE(0, 1, 1)
      const bool more = full > HX_TURN || HX_ODD((uint)job.count);
      a_at += more ? a_ahead : 0;
      b_at += more ? b_ahead : 0;
      HX_TILE(1, 0, 0)
#elif HX_PAIRS
      const uint next = stage ^ 2, rest = full | HX_ODD((uint)job.count);
      HX_TILE(stage, next + 1, stage + 1)
      a_at += rest > HX_STAGES * HX_TILE_K ? a_ahead : 0;
      b_at += rest > HX_STAGES * HX_TILE_K ? b_ahead : 0;
      HX_TILE(stage + 1, stage, next)
      a_at += rest > (HX_STAGES + 1) * HX_TILE_K ? a_ahead : 0;
      b_at += rest > (HX_STAGES + 1) * HX_TILE_K ? b_ahead : 0;
      stage = next;
#else
      const uint into = stage ? stage - 1 : HX_STAGES - 1, next = stage + 1 < HX_STAGES ? stage + 1 : 0;
      HX_TILE(stage, into, next)
      const bool more = full > HX_STAGES * HX_TILE_K;
      a_at += more ? a_ahead : 0;
      b_at += more ? b_ahead : 0;
      stage = next;
#endif
    }
    if (HX_SLICES > 1 || left == 0) {
      left = panel & (HX_TURN - 1);
      break;
    }
    if (!first) {
#pragma unroll
      for (uint q = 0; q < HX_QUADS; q++) HX_ADD_QUAD(q, sums[q * HX_ITEMS + id])
    }
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) sums[q * HX_ITEMS + id] = HX_QUAD(q);
    first = false;
    HX_SET_ACC(0.0f)
    HX_FRAGMENTS(0, stage, 0)
  }

  /* What the loop did not need is computed again. `full` is 0 now, but the compiler does not know it: otherwise these
   * values would be in registers all the time. */
#if HX_SLICES > 1
  /* The second slice passes the barriers of the first one, which has as many steps or more. */
  const uint all = (uint)hx_job_of(group + full, 0, full_tiles, m, n, k).count, own = (uint)job.count;
  if (all >= HX_TILE_K && own < HX_TILE_K) barrier(CLK_LOCAL_MEM_FENCE);
  for (uint p = own & ~(HX_TURN - 1); p < (all & ~(HX_TURN - 1)); p += HX_TILE_K) barrier(CLK_LOCAL_MEM_FENCE);
  if (HX_ODD(left)) {
#pragma unroll
    for (uint p = 0; p < HX_TILE_K; p++) {
      if (p + 1 < HX_TILE_K) {
        HX_FRAGMENTS((p + 1) & 1, stage, p + 1)
      }
      HX_STEP(p & 1, 0)
    }
    left -= HX_TILE_K;
    HX_BARRIER
  }
#endif
#define HX_PRODUCT_AGAIN (HX_PRODUCT + full) /* kept over the loop, it would take registers */
  const hx_job done = hx_job_of(group + full, slice, full_tiles, m, n, k);
  const hx_place place = hx_place_of(done.tile, HX_TILE_M, HX_TILE_N, HX_PLACE_WIDTH, m, n);
  if (left) { /* the steps that do not fill an iteration of the loop */
#if HX_STAGES > 2
    __asm__ __volatile__("cp.async.wait_group 0;" : : : "memory");
    HX_BARRIER
#endif
    const ulong from = done.k0 + done.count - left;
    a += a_first + HX_PRODUCT_AGAIN * a_step + (HX_A_BY_K ? from * lda + place.i0 : place.i0 * lda + from);
    b += b_first + HX_PRODUCT_AGAIN * b_step + (HX_B_BY_COLUMN ? place.j0 * ldb + from : from * ldb + place.j0);
    const uint p = id % HX_TURN;
#define HX_LAST_TO(X, p, line)                                                                                         \
  (HX_##X##_VEC4                                                                                                      \
       ? (p) / HX_TILE_K * HX_##X##_FLOATS + HX_LINE_PLACE(HX_BLOCK_##X, line) * HX_PITCH_##X + (p) % HX_TILE_K \
       : (p)*HX_PITCH_##X + (line))
    if (HX_A_BY_K) {
#pragma unroll 1
      for (uint e = id; e < left * HX_TILE_M; e += HX_ITEMS)
        HX_COPY_ONE(tile_a, e / HX_TILE_M * HX_PITCH_A + e % HX_TILE_M, a + e / HX_TILE_M * lda + e % HX_TILE_M)
    } else {
#pragma unroll 4
      for (uint row = id / HX_TURN; row < HX_TILE_M; row += HX_ITEMS / HX_TURN)
        if (p < left) HX_COPY_ONE(tile_a, HX_LAST_TO(A, p, row), a + row * lda + p)
    }
    if (HX_B_BY_COLUMN) {
#pragma unroll 4
      for (uint column = id / HX_TURN; column < HX_TILE_N; column += HX_ITEMS / HX_TURN)
        if (p < left) HX_COPY_ONE(tile_b, HX_LAST_TO(B, p, column), b + column * ldb + p)
    } else {
#pragma unroll 4
      for (uint e = id; e < left * HX_TILE_N; e += HX_ITEMS)
        HX_COPY_ONE(tile_b, e / HX_TILE_N * HX_PITCH_B + e % HX_TILE_N, b + e / HX_TILE_N * ldb + e % HX_TILE_N)
    }
    HX_COPY_ALL
    HX_BARRIER
#pragma unroll 1
    for (uint p = 0; p < left; p++) {
      HX_LAST_FRAGMENTS(p)
      HX_STEP(0, 0)
    }
  }

#if HX_SLICES == 1
  if (!first) {
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) HX_ADD_QUAD(q, sums[q * HX_ITEMS + id])
  }
#if HX_CHAINS
  if (done.part && join) {
    const uint panels = (uint)((k + HX_PANEL - 1) / HX_PANEL), first_panel = (done.tile - full_tiles) * panels;
    global float4 *const left_here = (global float4 *)partials + (ulong)first_panel * (HX_TILE_FLOATS / 4) + id + full;
    uint own = done.panel - first_panel; /* and 0 for the sum of those up to one */
#pragma unroll 1
    for (uint next = max(own, 1u); next < panels; next++) {
      global uint *const ticket = tickets + first_panel + next;
      const uint other = own ? 0 : next;
      bool met = hx_met(ticket, 0, (local uint *)sums);
      if (!met) {
#pragma unroll
        for (uint q = 0; q < HX_QUADS; q++) left_here[own * (HX_TILE_FLOATS / 4) + q * HX_ITEMS] = HX_QUAD(q);
        met = hx_met(ticket, 1, (local uint *)sums);
      }
      if (!met) return;
      if (id == 0) *ticket = 0; /* for the next launch */
#pragma unroll
      for (uint q = 0; q < HX_QUADS; q++) HX_ADD_QUAD(q, left_here[other * (HX_TILE_FLOATS / 4) + q * HX_ITEMS])
      own = 0;
    }
  }
#endif
#else
  /* Each slice gives the other one a block of rows, adds the block that it gets, and stores the result. */
  if (!done.part) {
    if (done.count == 0) {
      HX_SET_ACC(-0.0f) /* changes no sum */
    }
#pragma unroll
    for (uint q = 0; q < HX_QUADS / 2; q++)
      sums[(q + slice * (HX_QUADS / 2)) * HX_ITEMS + id] = slice ? HX_QUAD(q) : HX_QUAD(q + HX_QUADS / 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice) {
#pragma unroll
      for (uint q = 0; q < HX_QUADS / 2; q++) HX_ADD_QUAD(q + HX_QUADS / 2, sums[q * HX_ITEMS + id])
    } else {
#pragma unroll
      for (uint q = 0; q < HX_QUADS / 2; q++) HX_ADD_QUAD(q, sums[(q + HX_QUADS / 2) * HX_ITEMS + id])
    }
  }
#endif
  const bool part = done.part && !(HX_CHAINS && join);
  hx_place spot = place;
  if (part) spot.i0 = spot.j0 = spot.own_i = spot.own_j = 0;
  const hx_target to =
      hx_target_of(part ? partials + (ulong)done.panel * HX_TILE_FLOATS : t + HX_PRODUCT_AGAIN * t_step,
                   part ? (transposed ? HX_TILE_M : HX_TILE_N) : ldt, spot, HX_TILE_M, HX_TILE_N,
                   part ? HX_TILE_M : m, part ? HX_TILE_N : n, part ? 1.0f : alpha,
                   part ? 0.0f : beta, transposed);
  const uint row = hx_tile_row(id + full), column = hx_tile_column(id + full);
  if (HX_DIRECT && !transposed && hx_target_is_vec4(to)) {
    if (HX_SLICES > 1 && part && done.count == 0) return; /* the number of panels is odd */
#pragma unroll
    for (uint block = 0; block < HX_BLOCKS_M; block++) {
      if (HX_SLICES > 1 && !part && block != slice) continue;
#pragma unroll
      for (uint q = 0; q < 4 * HX_BLOCKS_N; q++) {
        const uint r = 4 * block + q / HX_BLOCKS_N, c = q % HX_BLOCKS_N * 4;
        hx_store_vec4(to, row + 16 * block + q / HX_BLOCKS_N, column + q % HX_BLOCKS_N * 32,
                      (float4)(acc[r][c], acc[r][c + 1], acc[r][c + 2], acc[r][c + 3]));
      }
    }
    return;
  }
#if HX_SLICES == 1
#define HX_TILES_AT_ONCE 1
#else
#define HX_TILES_AT_ONCE 2
#endif
  /* One tile after the other, if each slice has one. */
  for (uint turn = 0; turn < (part ? HX_TILES_AT_ONCE : 1); turn++) {
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++)
      if (HX_SLICES == 1 || (part ? slice == turn : slice == q / (HX_QUADS / 2)))
        sums[hx_quad_at(row + q / HX_BLOCKS_N % 4 + q / (4 * HX_BLOCKS_N) * 16, column / 4 + q % HX_BLOCKS_N * 8)] =
            HX_QUAD(q);
    barrier(CLK_LOCAL_MEM_FENCE);
    hx_target one = to;
    if (HX_SLICES > 1 && part) {
      const hx_job job = hx_job_of(group + full, turn, full_tiles, m, n, k);
      if (job.count == 0) break;
      one.t = partials + (ulong)job.panel * HX_TILE_FLOATS;
    }
    hx_store_tile(sums, one, transposed);
  }
}

#endif
