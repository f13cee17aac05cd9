/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for NVIDIA GPUs: a group's tile of C in registers, 8 (or 4) rows by 8 columns an item, over tiles of A
 * and B that are copied into local memory while those before are used. The order is that of matmul.cl. What decides
 * the speed, none of it visible in the bits:
 *   - A lies [k][row] in local memory, so that four rows or columns are one 128-bit read; items of a warp share
 *     addresses in pairs, and every read takes two passes;
 *   - registers within the limit of two groups of 256 items (or one of 512) a compute unit;
 *   - the running sum of the panels waits in local memory with the floats of its pairs swapped: its quads need
 *     neighbouring registers, as those of B do, and an fma that reads two registers of one bank waits;
 *   - the fma go along the rows to and fro, which reuses operands;
 *   - no branch in the loop over k: the last tile is copied twice.
 * matmul_stage.cl has what a step of k is made of, and the parameters. */
#if HX_SHAPE_TILES

/* Where an item's quads lie in the tile. */
static uint hx_tile_row(uint id) {
  const uint lane = id & 31, warp = id / 32;
  return warp / (HX_TILE_N / 64) * (16 * HX_BLOCKS_M) + (((lane & 1) | (lane >> 4) << 1) * 4);
}
static uint hx_tile_column(uint id) {
  const uint lane = id & 31, warp = id / 32;
  return warp % (HX_TILE_N / 64) * 64 + ((lane >> 1) & 7) * 4;
}

/* A tile's place in C. The last tiles lie over those before, so that no read needs a bound; an element is stored by
 * the tile that it falls to, from row and column `own` on. */
typedef struct hx_place {
  ulong i0, j0, own_i, own_j;
} hx_place;

/* What a slice of group g does: the whole of tile g < whole (with two slices a panel of it, of two at most); of those
 * after it one panel each of the tiles from `whole` on. */
typedef struct hx_job {
  bool part;
  uint tile, panel; /* panel: with `part`, of all those tiles */
  ulong k0, count;  /* of k */
} hx_job;

static hx_job hx_job_of(uint group, uint slice, uint whole, ulong k) {
  const uint panels = (uint)((k + HX_PANEL - 1) / HX_PANEL), groups = (panels + HX_SLICES - 1) / HX_SLICES;
  hx_job job;
  job.part = group >= whole;
  const uint tail = job.part ? (group - whole) / groups : 0;
  const uint panel = job.part ? (group - whole) % groups * HX_SLICES + slice : slice;
  job.tile = job.part ? whole + tail : group;
  job.panel = tail * panels + panel;
  job.k0 = min((ulong)panel * HX_PANEL, k);
  job.count = job.part || HX_SLICES > 1 ? min(k - job.k0, (ulong)HX_PANEL) : k;
  return job;
}

static hx_place hx_place_of(uint tile, ulong m, ulong n) {
  const ulong lines = max(m, (ulong)HX_TILE_M), columns = max((n + 3) & ~(ulong)3, (ulong)HX_TILE_N);
  const uint across = (uint)((n + HX_TILE_N - 1) / HX_TILE_N);
  hx_place at;
  at.own_i = (ulong)(tile / across) * HX_TILE_M;
  at.own_j = (ulong)(tile % across) * HX_TILE_N;
  at.i0 = min(at.own_i, lines - HX_TILE_M);
  at.j0 = min(at.own_j, columns - HX_TILE_N);
  return at;
}

/* t = alpha * s + beta * t at four elements from (i, j) on along the rows of t, of those that fall to this tile. across:
 * t is C transposed, so that its rows are the columns of C. */
static void hx_store_quad(global float *t, ulong ldt, const hx_place at, ulong i, ulong j, ulong m, ulong n, float4 s,
                          float alpha, float beta, uint across) {
  const ulong line = across ? j : i, own_line = across ? at.own_j : at.own_i, lines = across ? n : m;
  const ulong from = across ? i : j, own_from = across ? at.own_i : at.own_j, end = across ? m : n;
  if (line < own_line || line >= lines || from + 3 < own_from) return;
  global float *const to = t + line * ldt + from;
  s = HX_MUL(4, (float4)(alpha), s); /* alpha == 1 changes nothing */
  if (from >= own_from && from + 4 <= end && ((ldt | from) & 3) == 0) {
    if (beta != 0.0f) s = fma((float4)(beta), *(global const float4 *)to, s);
    *(global float4 *)to = HX_CANONICAL(4, s);
    return;
  }
  const float v[4] = {s.x, s.y, s.z, s.w};
#pragma unroll
  for (uint e = 0; e < 4; e++) {
    if (from + e >= own_from && from + e < end) {
      const float r = beta != 0.0f ? fma(beta, to[e], v[e]) : v[e];
      to[e] = HX_CANONICAL(, r);
    }
  }
}

/* Stores the quads of a slice, from this one on. */
#define HX_STORE(from)                                                                                              \
  if (across) {                                                                                                     \
    _Pragma("unroll") for (uint q = (from); q < (from) + HX_QUADS / HX_SLICES; q++) {                               \
      const uint row = q / 8 * 4, column = q % 8;                                                                   \
      const float4 s = (float4)(acc[row][column], acc[row + 1][column], acc[row + 2][column], acc[row + 3][column]); \
      hx_store_quad(t, ldt, to, i + row / 4 * 16, j + column % 4 + column / 4 * 32, m, n, s, alpha, beta, 1);       \
    }                                                                                                               \
  } else {                                                                                                          \
    _Pragma("unroll") for (uint q = (from); q < (from) + HX_QUADS / HX_SLICES; q++) {                               \
      const uint row = q / 2, column = q % 2 * 4;                                                                   \
      const float4 s = (float4)(acc[row][column], acc[row][column + 1], acc[row][column + 2], acc[row][column + 3]); \
      hx_store_quad(t, ldt, to, i + row % 4 + row / 4 * 16, j + column * 8, m, n, s, alpha, beta, 0);               \
    }                                                                                                               \
  }

/* A panel that is a group's own goes to partials, quad by quad, item by item. by_k: A lies [k][row]. */
static inline __attribute__((always_inline)) void hx_product(
    const bool by_k, global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb,
    ulong m, ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole,
    global float4 *partials, local float *tile_a, local float *tile_b, local float4 *sums) {
#if HX_SLICES == 1
  const uint id = (uint)get_local_id(0), slice = 0, group = (uint)get_group_id(0);
#else
  const uint id = (uint)get_local_id(0) % HX_ITEMS, slice = (uint)get_local_id(0) / HX_ITEMS;
  const uint group = (uint)get_group_id(0);
  tile_a += slice * (HX_STAGES * HX_A_FLOATS);
  tile_b += slice * (HX_STAGES * HX_B_FLOATS);
#endif
  const hx_job job = hx_job_of(group, slice, whole, k);
  const hx_place at = hx_place_of(job.tile, m, n);
  uint left = (uint)job.count;             /* of k, after the panel at hand */
  uint full = left & ~(HX_TURN - 1);       /* what the loop below does of it */

  const uint a_mine = by_k ? id / (HX_TILE_M / 4) * HX_PITCH_A + id % (HX_TILE_M / 4) * 4 : id % 8 * HX_PITCH_A + id / 8;
  const uint b_mine = id / (HX_TILE_N / 4) * HX_TILE_N + id % (HX_TILE_N / 4) * 4;
  const ulong a_lines = (by_k ? HX_AK_LINES : HX_A_LINES) * lda, b_lines = HX_B_LINES * ldb;
  const ulong a_ahead = by_k ? HX_TILE_K * lda : HX_TILE_K, b_ahead = HX_TILE_K * ldb;
  global const float *a_at = a + a_first + (by_k ? (job.k0 + id / (HX_TILE_M / 4)) * lda + at.i0 + id % (HX_TILE_M / 4) * 4
                                                 : (at.i0 + id / 8) * lda + job.k0 + id % 8);
  global const float *b_at = b + b_first + (job.k0 + id / (HX_TILE_N / 4)) * ldb + at.j0 + id % (HX_TILE_N / 4) * 4;
  local const float *const a_frag = tile_a + hx_tile_row(id), *const b_frag = tile_b + hx_tile_column(id);
  HX_COPY_STATE

  float acc[HX_ROWS][8], av[2][HX_ROWS], bv[2][8];
  HX_SET_ACC(0.0f)
  uint stage = 0;
  if (full | HX_ODD(left)) {
#pragma unroll
    for (uint ahead = 0; ahead + 1 < HX_STAGES; ahead++) {
      HX_COPY_BEGIN(ahead)
      if (HX_STAGES > 2) {
        a_at += full > (ahead + 1) * HX_TILE_K ? a_ahead : 0;
        b_at += full > (ahead + 1) * HX_TILE_K ? b_ahead : 0;
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

  /* What the loop did not need is found anew, and `full`, now 0, keeps the compiler from knowing it before: else it
   * stays in registers throughout. */
#if HX_SLICES > 1
  /* The barriers of the first slice, which has no fewer steps. */
  const uint all = (uint)hx_job_of(group + full, 0, whole, k).count, own = (uint)job.count;
  if (all >= HX_TILE_K && own < HX_TILE_K) barrier(CLK_LOCAL_MEM_FENCE);
  for (uint p = own & ~(HX_TURN - 1); p < (all & ~(HX_TURN - 1)); p += HX_TILE_K) barrier(CLK_LOCAL_MEM_FENCE);
  if (HX_ODD(left)) {
#pragma unroll
    for (uint p = 0; p < HX_TILE_K; p++) {
      if (p + 1 < HX_TILE_K) {
        HX_FRAGMENTS((p + 1) & 1, 0, p + 1)
      }
      HX_STEP(p & 1)
    }
    left -= HX_TILE_K;
    HX_BARRIER
  }
#endif
  const hx_job done = hx_job_of(group + full, slice, whole, k);
  const hx_place to = hx_place_of(done.tile, m, n);
  if (left) { /* what is no whole turn of the loop: exactly so many steps */
#if HX_STAGES > 2
    __asm__ __volatile__("cp.async.wait_group 0;" : : : "memory");
    HX_BARRIER
#endif
    const ulong from = done.k0 + done.count - left;
    a += a_first + (by_k ? from * lda + to.i0 : to.i0 * lda + from);
    b += b_first + from * ldb + to.j0;
    if (by_k) {
      for (uint e = id; e < left * HX_TILE_M; e += HX_ITEMS)
        tile_a[e / HX_TILE_M * HX_PITCH_A + e % HX_TILE_M] = a[e / HX_TILE_M * lda + e % HX_TILE_M];
    } else {
      const uint p = id % HX_TURN;
#pragma unroll 4
      for (uint row = id / HX_TURN; row < HX_TILE_M; row += HX_ITEMS / HX_TURN)
        if (p < left) tile_a[p * HX_PITCH_A + row] = a[row * lda + p];
    }
#pragma unroll 4
    for (uint e = id; e < left * HX_TILE_N; e += HX_ITEMS) tile_b[e] = b[e / HX_TILE_N * ldb + e % HX_TILE_N];
    HX_BARRIER
#pragma unroll 1
    for (uint p = 0; p < left; p++) {
      HX_FRAGMENTS(0, 0, p)
      HX_STEP(0)
    }
  }

  if (done.part) {
    if (HX_SLICES > 1 && done.count == 0) return; /* the panels are odd in number */
    partials += (ulong)done.panel * HX_QUADS * HX_ITEMS + id;
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) partials[q * HX_ITEMS] = HX_QUAD(q);
    return;
  }
#if HX_SLICES == 1
  if (!first) {
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) HX_ADD_QUAD(q, sums[q * HX_ITEMS + id])
  }
#else
  /* Each slice gives the other one half of its rows, adds what it gets, and stores the half that it has kept. */
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
#endif
  const ulong i = to.i0 + hx_tile_row(id + full), j = to.j0 + hx_tile_column(id + full);
#if HX_SLICES == 1
  HX_STORE(0)
#else
  if (slice) {
    HX_STORE(HX_QUADS / 2)
  } else {
    HX_STORE(0)
  }
#endif
}

#define HX_KERNEL(name, by_k)                                                                                       \
  kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void name(                                           \
      global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m,    \
      ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole,               \
      global float4 *partials) {                                                                                    \
    local float tile_a[HX_SLICES * HX_STAGES * HX_A_FLOATS] __attribute__((aligned(16)));                                   \
    local float tile_b[HX_SLICES * HX_STAGES * HX_B_FLOATS] __attribute__((aligned(16)));                                               \
    local float4 sums[HX_QUADS * HX_ITEMS];                                                                         \
    hx_product(by_k, a, a_first, lda, b, b_first, ldb, m, n, k, alpha, beta, t, ldt, across, whole, partials, tile_a, \
               tile_b, sums);                                                                                       \
  }
HX_KERNEL(hx_matmul, false)
HX_KERNEL(hx_matmul_tn, true)

#ifndef HX_JOIN_AHEAD
#define HX_JOIN_AHEAD 24
#endif
/* The sum of the panels of a quad, many of them on their way at once. */
static float4 hx_join_quad(global const float4 *partials, uint q, uint panels) {
  float4 s = partials[q * HX_ITEMS];
  uint p = 1;
#pragma unroll 1
  for (; p + HX_JOIN_AHEAD <= panels; p += HX_JOIN_AHEAD) {
    float4 v[HX_JOIN_AHEAD];
#pragma unroll
    for (uint u = 0; u < HX_JOIN_AHEAD; u++) v[u] = partials[((ulong)(p + u) * HX_QUADS + q) * HX_ITEMS];
#pragma unroll
    for (uint u = 0; u < HX_JOIN_AHEAD; u++) s = HX_ADD(4, s, v[u]);
  }
#pragma unroll 8
  for (; p < panels; p++) s = HX_ADD(4, s, partials[((ulong)p * HX_QUADS + q) * HX_ITEMS]);
  return s.yxwz;
}

/* Adds the panels of the tiles from `whole` on in their order: a group does a quad of each item of a tile, or with
 * across four that lie below one another, so that it stores along the rows of t too. */
kernel __attribute__((reqd_work_group_size(HX_ITEMS, 1, 1))) void hx_matmul_join(
    ulong m, ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole,
    global const float4 *partials) {
  const uint parts = across ? HX_QUADS / 4 : HX_QUADS, panels = (uint)((k + HX_PANEL - 1) / HX_PANEL);
  const uint id = (uint)get_local_id(0), tile = (uint)get_group_id(0) / parts, q = (uint)get_group_id(0) % parts;
  const hx_place at = hx_place_of(whole + tile, m, n);
  const ulong i = at.i0 + hx_tile_row(id), j = at.j0 + hx_tile_column(id) + q % 2 * 32;
  partials += (ulong)tile * panels * HX_QUADS * HX_ITEMS + id;
  if (!across) {
    hx_store_quad(t, ldt, at, i + q / 2 % 4 + q / 8 * 16, j, m, n, hx_join_quad(partials, q, panels), alpha, beta, 0);
    return;
  }
  const uint first = q / 2 * 8 + q % 2;
  const float4 a = hx_join_quad(partials, first, panels), b = hx_join_quad(partials, first + 2, panels);
  const float4 c = hx_join_quad(partials, first + 4, panels), d = hx_join_quad(partials, first + 6, panels);
  const ulong row = i + q / 2 * 16;
  hx_store_quad(t, ldt, at, row, j, m, n, (float4)(a.x, b.x, c.x, d.x), alpha, beta, 1);
  hx_store_quad(t, ldt, at, row, j + 1, m, n, (float4)(a.y, b.y, c.y, d.y), alpha, beta, 1);
  hx_store_quad(t, ldt, at, row, j + 2, m, n, (float4)(a.z, b.z, c.z, d.z), alpha, beta, 1);
  hx_store_quad(t, ldt, at, row, j + 3, m, n, (float4)(a.w, b.w, c.w, d.w), alpha, beta, 1);
}

#endif
