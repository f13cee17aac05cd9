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
 * HX_PTX: the copies are cp.async; otherwise they go through registers. HX_BLOCKS_M: blocks of four rows an item. */
#if HX_SHAPE_TILES

#define HX_ITEMS HX_LOCAL0
#define HX_ROWS (4 * HX_BLOCKS_M) /* of an item; its columns are 8 */
#define HX_QUADS (2 * HX_ROWS)
#define HX_PITCH_A (HX_TILE_M + 4)
#define HX_A_FLOATS (HX_TILE_K * HX_PITCH_A)
#define HX_B_FLOATS (HX_TILE_K * HX_TILE_N)

/* An item's share of the copies of A where it lies [row][k]: 8 neighbours take 8 k of a row, a float each; where it lies
 * [k][row], and of B: four neighbouring floats at once. */
#define HX_A_LINES (HX_ITEMS / 8)
#define HX_A_COPIES (HX_TILE_M / HX_A_LINES * (HX_TILE_K / 8))
#define HX_A_FROM(u) (a_at + (u) / (HX_TILE_K / 8) * a_lines + 8 * ((u) % (HX_TILE_K / 8)))
#define HX_A_TO(u) (8 * ((u) % (HX_TILE_K / 8)) * HX_PITCH_A + (u) / (HX_TILE_K / 8) * HX_A_LINES)
#define HX_AK_LINES (HX_ITEMS / (HX_TILE_M / 4))
#define HX_AK_COPIES ((HX_TILE_K + HX_AK_LINES - 1) / HX_AK_LINES)
#define HX_AK_FROM(u) (a_at + (u) * a_lines)
#define HX_AK_TO(u) ((u) * HX_AK_LINES * HX_PITCH_A)
#define HX_B_LINES (HX_ITEMS / (HX_TILE_N / 4))
#define HX_B_COPIES (HX_TILE_K / HX_B_LINES)
#define HX_B_FROM(u) (b_at + (u) * b_lines)
#define HX_B_TO(u) ((u) * HX_B_LINES * HX_TILE_N)

#if HX_PTX
static void hx_copy4(uint to, global const float *from) {
  __asm__ __volatile__("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(to), "l"(from));
}
static void hx_copy16(uint to, global const float *from) {
  __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from));
}
/* Where there are more items than quads. */
static void hx_copy16_if(uint to, global const float *from, uint some) {
  __asm__ __volatile__("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }"
                       :
                       : "r"(to), "l"(from), "r"(some));
}
#define HX_COPY_STATE                                                                                            \
  const uint a_to = (uint)(size_t)(tile_a + a_mine), b_to = (uint)(size_t)(tile_b + b_mine);                      \
  const uint a_some = HX_AK_LINES <= HX_TILE_K || id < HX_TILE_K * HX_TILE_M / 4;
#define HX_COPY_BEGIN(half)                                                                                      \
  if (!by_k) {                                                                                                   \
    _Pragma("unroll") for (uint u = 0; u < HX_A_COPIES; u++)                                                     \
        hx_copy4(a_to + 4 * ((half) * HX_A_FLOATS + HX_A_TO(u)), HX_A_FROM(u));                                  \
  } else if (HX_AK_LINES > HX_TILE_K) {                                                                          \
    hx_copy16_if(a_to + 4 * (half) * HX_A_FLOATS, a_at, a_some);                                                 \
  } else {                                                                                                       \
    _Pragma("unroll") for (uint u = 0; u < HX_AK_COPIES; u++)                                                    \
        hx_copy16(a_to + 4 * ((half) * HX_A_FLOATS + HX_AK_TO(u)), HX_AK_FROM(u));                               \
  }                                                                                                              \
  _Pragma("unroll") for (uint u = 0; u < HX_B_COPIES; u++)                                                       \
      hx_copy16(b_to + 4 * ((half) * HX_B_FLOATS + HX_B_TO(u)), HX_B_FROM(u));                                   \
  __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_COPY_END(half)                                             \
  __asm__ __volatile__("cp.async.wait_group 0;" : : : "memory");      \
  barrier(CLK_LOCAL_MEM_FENCE);
#else
#define HX_COPY_STATE       \
  float a_in[HX_A_COPIES];  \
  float4 ak_in[HX_AK_COPIES], b_in[HX_B_COPIES]; \
  const bool a_some = HX_AK_LINES <= HX_TILE_K || id < HX_TILE_K * HX_TILE_M / 4;
#define HX_COPY_BEGIN(half)                                                                                      \
  if (!by_k) {                                                                                                   \
    _Pragma("unroll") for (uint u = 0; u < HX_A_COPIES; u++) a_in[u] = *HX_A_FROM(u);                            \
  } else if (a_some) {                                                                                           \
    _Pragma("unroll") for (uint u = 0; u < HX_AK_COPIES; u++) ak_in[u] = *(global const float4 *)HX_AK_FROM(u);  \
  }                                                                                                              \
  _Pragma("unroll") for (uint u = 0; u < HX_B_COPIES; u++) b_in[u] = *(global const float4 *)HX_B_FROM(u);
#define HX_COPY_END(half)                                                                                        \
  if (!by_k) {                                                                                                   \
    _Pragma("unroll") for (uint u = 0; u < HX_A_COPIES; u++)                                                     \
        tile_a[(half) * HX_A_FLOATS + a_mine + HX_A_TO(u)] = a_in[u];                                            \
  } else if (a_some) {                                                                                           \
    _Pragma("unroll") for (uint u = 0; u < HX_AK_COPIES; u++)                                                    \
        *(local float4 *)(tile_a + (half) * HX_A_FLOATS + a_mine + HX_AK_TO(u)) = ak_in[u];                      \
  }                                                                                                              \
  _Pragma("unroll") for (uint u = 0; u < HX_B_COPIES; u++)                                                       \
      *(local float4 *)(tile_b + (half) * HX_B_FLOATS + b_mine + HX_B_TO(u)) = b_in[u];                          \
  barrier(CLK_LOCAL_MEM_FENCE);
#endif

/* Operands of step p (of both halves) into registers; the fma of a step. */
#define HX_FRAGMENTS(set, p)                                                                                 \
  {                                                                                                          \
    _Pragma("unroll") for (uint i = 0; i < HX_BLOCKS_M; i++)                                                 \
        vstore4(*(local const float4 *)(a_frag + (p) * HX_PITCH_A + 16 * i), i, av[set]);                    \
    _Pragma("unroll") for (uint j = 0; j < 2; j++)                                                           \
        vstore4(*(local const float4 *)(b_frag + (p) * HX_TILE_N + 32 * j), j, bv[set]);                     \
  }
#define HX_STEP(set)                                                                        \
  _Pragma("unroll") for (uint i = 0; i < HX_ROWS; i++) {                                    \
    _Pragma("unroll") for (uint jj = 0; jj < 8; jj++) {                                     \
      const uint j = i & 1 ? 7 - jj : jj;                                                   \
      acc[i][j] = fma(av[set][i], bv[set][j], acc[i][j]);                                   \
    }                                                                                       \
  }
/* A tile of the half `half`, while the next one goes into the other. */
#define HX_TILE(half)                                                                       \
  _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p++) {                                  \
    if (p + 1 < HX_TILE_K) {                                                                \
      HX_FRAGMENTS((p + 1) & 1, (half) * HX_TILE_K + p + 1)                                \
    }                                                                                       \
    if (p == 0) {                                                                           \
      HX_COPY_BEGIN(1 - (half))                                                             \
    }                                                                                       \
    if (p + 1 == HX_TILE_K) {                                                               \
      HX_COPY_END(1 - (half))                                                               \
      HX_FRAGMENTS(0, (1 - (half)) * HX_TILE_K)                                             \
    }                                                                                       \
    HX_STEP(p & 1)                                                                          \
  }

#define HX_ZERO_ACC                                                                         \
  _Pragma("unroll") for (uint i = 0; i < HX_ROWS; i++) {                                    \
    _Pragma("unroll") for (uint j = 0; j < 8; j++) acc[i][j] = 0.0f;                        \
  }
/* Quad q: four columns of row q / 2, its pairs swapped. */
#define HX_QUAD_ACC(q, e) acc[(q) / 2][4 * ((q) % 2) + ((e) ^ 1)]
#define HX_QUAD(q) (float4)(HX_QUAD_ACC(q, 0), HX_QUAD_ACC(q, 1), HX_QUAD_ACC(q, 2), HX_QUAD_ACC(q, 3))
#define HX_ADD_QUAD(q, s)                                            \
  {                                                                  \
    const float4 hx_s = (s);                                         \
    HX_QUAD_ACC(q, 0) = HX_ADD(, hx_s.x, HX_QUAD_ACC(q, 0));         \
    HX_QUAD_ACC(q, 1) = HX_ADD(, hx_s.y, HX_QUAD_ACC(q, 1));         \
    HX_QUAD_ACC(q, 2) = HX_ADD(, hx_s.z, HX_QUAD_ACC(q, 2));         \
    HX_QUAD_ACC(q, 3) = HX_ADD(, hx_s.w, HX_QUAD_ACC(q, 3));         \
  }

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

/* What group g does: the whole of tile g < whole; those after it one panel each of the tiles from `whole` on. */
typedef struct hx_job {
  bool part;
  uint tile;
  ulong k0, count; /* of k */
} hx_job;

static hx_job hx_job_of(uint group, uint whole, ulong k) {
  const uint panels = (uint)((k + HX_PANEL - 1) / HX_PANEL);
  hx_job job;
  job.part = group >= whole;
  job.tile = job.part ? whole + (group - whole) / panels : group;
  job.k0 = job.part ? (ulong)((group - whole) % panels) * HX_PANEL : 0;
  job.count = job.part ? min(k - job.k0, (ulong)HX_PANEL) : k;
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

/* A panel that is a group's own goes to partials, quad by quad, item by item. by_k: A lies [k][row]. */
static inline __attribute__((always_inline)) void hx_product(
    const bool by_k, global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb,
    ulong m, ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole,
    global float4 *partials, local float *tile_a, local float *tile_b, local float4 *sums) {
  const uint id = (uint)get_local_id(0), group = (uint)get_group_id(0);
  const hx_job job = hx_job_of(group, whole, k);
  const hx_place at = hx_place_of(job.tile, m, n);
  uint left = (uint)job.count;             /* of k, after the panel at hand */
  uint full = left & ~(2 * HX_TILE_K - 1); /* what the loop below does of it */

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
  HX_ZERO_ACC
  if (full) {
    HX_COPY_BEGIN(0)
    HX_COPY_END(0)
    HX_FRAGMENTS(0, 0)
  }
  bool first = true;
  for (;;) {
    const uint panel = min(left, (uint)HX_PANEL), end = full - (panel & ~(2 * HX_TILE_K - 1));
    left -= panel;
#pragma unroll 1
    for (; full != end; full -= 2 * HX_TILE_K) {
      a_at += a_ahead;
      b_at += b_ahead;
      HX_TILE(0)
      const bool more = full > 2 * HX_TILE_K;
      a_at += more ? a_ahead : 0;
      b_at += more ? b_ahead : 0;
      HX_TILE(1)
    }
    if (left == 0) {
      left = panel & (2 * HX_TILE_K - 1);
      break;
    }
    if (!first) {
#pragma unroll
      for (uint q = 0; q < HX_QUADS; q++) HX_ADD_QUAD(q, sums[q * HX_ITEMS + id])
    }
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) sums[q * HX_ITEMS + id] = HX_QUAD(q);
    first = false;
    HX_ZERO_ACC
    HX_FRAGMENTS(0, 0)
  }

  /* What the loop did not need is found anew, and `full`, now 0, keeps the compiler from knowing it before: else it
   * stays in registers throughout. */
  const hx_job done = hx_job_of(group + full, whole, k);
  const hx_place to = hx_place_of(done.tile, m, n);
  if (left) { /* what is no whole turn of the loop: exactly so many steps */
    const ulong from = done.k0 + done.count - left;
    a += a_first + (by_k ? from * lda + to.i0 : to.i0 * lda + from);
    b += b_first + from * ldb + to.j0;
    if (by_k) {
      for (uint e = id; e < left * HX_TILE_M; e += HX_ITEMS)
        tile_a[e / HX_TILE_M * HX_PITCH_A + e % HX_TILE_M] = a[e / HX_TILE_M * lda + e % HX_TILE_M];
    } else {
      const uint p = id % (2 * HX_TILE_K);
#pragma unroll 4
      for (uint row = id / (2 * HX_TILE_K); row < HX_TILE_M; row += HX_ITEMS / (2 * HX_TILE_K))
        if (p < left) tile_a[p * HX_PITCH_A + row] = a[row * lda + p];
    }
#pragma unroll 4
    for (uint e = id; e < left * HX_TILE_N; e += HX_ITEMS) tile_b[e] = b[e / HX_TILE_N * ldb + e % HX_TILE_N];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll 1
    for (uint p = 0; p < left; p++) {
      HX_FRAGMENTS(0, p)
      HX_STEP(0)
    }
  }

  if (done.part) {
    partials += (ulong)(group - whole) * HX_QUADS * HX_ITEMS + id;
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) partials[q * HX_ITEMS] = HX_QUAD(q);
    return;
  }
  if (!first) {
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) HX_ADD_QUAD(q, sums[q * HX_ITEMS + id])
  }
  const ulong i = to.i0 + hx_tile_row(id + full), j = to.j0 + hx_tile_column(id + full);
  if (across) {
#pragma unroll
    for (uint q = 0; q < HX_QUADS; q++) {
      const uint row = q / 8 * 4, column = q % 8;
      const float4 s = (float4)(acc[row][column], acc[row + 1][column], acc[row + 2][column], acc[row + 3][column]);
      hx_store_quad(t, ldt, to, i + row / 4 * 16, j + column % 4 + column / 4 * 32, m, n, s, alpha, beta, 1);
    }
    return;
  }
#pragma unroll
  for (uint q = 0; q < HX_QUADS; q++) {
    const uint row = q / 2, column = q % 2 * 4;
    const float4 s = (float4)(acc[row][column], acc[row][column + 1], acc[row][column + 2], acc[row][column + 3]);
    hx_store_quad(t, ldt, to, i + row % 4 + row / 4 * 16, j + column * 8, m, n, s, alpha, beta, 0);
  }
}

#define HX_KERNEL(name, by_k)                                                                                       \
  kernel __attribute__((reqd_work_group_size(HX_ITEMS, 1, 1))) void name(                                           \
      global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m,    \
      ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole,               \
      global float4 *partials) {                                                                                    \
    local float tile_a[2 * HX_A_FLOATS] __attribute__((aligned(16)));                                               \
    local float tile_b[2 * HX_B_FLOATS] __attribute__((aligned(16)));                                               \
    local float4 sums[HX_QUADS * HX_ITEMS];                                                                         \
    hx_product(by_k, a, a_first, lda, b, b_first, ldb, m, n, k, alpha, beta, t, ldt, across, whole, partials, tile_a, \
               tile_b, sums);                                                                                       \
  }
HX_KERNEL(hx_matmul, false)
HX_KERNEL(hx_matmul_tn, true)

/* The sum of the panels of a quad. */
static float4 hx_join_quad(global const float4 *partials, uint q, uint panels) {
  float4 s = partials[q * HX_ITEMS];
#pragma unroll 8
  for (uint p = 1; p < panels; p++) s = HX_ADD(4, s, partials[((ulong)p * HX_QUADS + q) * HX_ITEMS]);
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
