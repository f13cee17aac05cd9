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

/* An item's share of the copies: 8 neighbours take 8 k of a row of A, a float each; four columns of B at once. */
#define HX_A_LINES (HX_ITEMS / 8)
#define HX_A_COPIES (HX_TILE_M / HX_A_LINES * (HX_TILE_K / 8))
#define HX_B_LINES (HX_ITEMS / (HX_TILE_N / 4))
#define HX_B_COPIES (HX_TILE_K / HX_B_LINES)
#define HX_A_FROM(u) (a_at + (u) / (HX_TILE_K / 8) * a_lines + 8 * ((u) % (HX_TILE_K / 8)))
#define HX_A_TO(u) (8 * ((u) % (HX_TILE_K / 8)) * HX_PITCH_A + (u) / (HX_TILE_K / 8) * HX_A_LINES)
#define HX_B_FROM(u) (b_at + (u) * b_lines)
#define HX_B_TO(u) ((u) * HX_B_LINES * HX_TILE_N)

#if HX_PTX
static void hx_copy4(uint to, global const float *from) {
  __asm__ __volatile__("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(to), "l"(from));
}
static void hx_copy16(uint to, global const float *from) {
  __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from));
}
#define HX_COPY_STATE \
  const uint a_to = (uint)(size_t)(tile_a + a_mine), b_to = (uint)(size_t)(tile_b + b_mine);
#define HX_COPY_BEGIN(half)                                                                                      \
  _Pragma("unroll") for (uint u = 0; u < HX_A_COPIES; u++)                                                       \
      hx_copy4(a_to + 4 * ((half) * HX_A_FLOATS + HX_A_TO(u)), HX_A_FROM(u));                                    \
  _Pragma("unroll") for (uint u = 0; u < HX_B_COPIES; u++)                                                       \
      hx_copy16(b_to + 4 * ((half) * HX_B_FLOATS + HX_B_TO(u)), HX_B_FROM(u));                                   \
  __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_COPY_END(half)                                      \
  __asm__ __volatile__("cp.async.wait_group 0;" : : : "memory");       \
  barrier(CLK_LOCAL_MEM_FENCE);
#else
#define HX_COPY_STATE     \
  float a_in[HX_A_COPIES]; \
  float4 b_in[HX_B_COPIES];
#define HX_COPY_BEGIN(half)                                                                        \
  _Pragma("unroll") for (uint u = 0; u < HX_A_COPIES; u++) a_in[u] = *HX_A_FROM(u);                \
  _Pragma("unroll") for (uint u = 0; u < HX_B_COPIES; u++) b_in[u] = *(global const float4 *)HX_B_FROM(u);
#define HX_COPY_END(half)                                                                          \
  _Pragma("unroll") for (uint u = 0; u < HX_A_COPIES; u++)                                         \
      tile_a[(half) * HX_A_FLOATS + a_mine + HX_A_TO(u)] = a_in[u];                                \
  _Pragma("unroll") for (uint u = 0; u < HX_B_COPIES; u++)                                         \
      *(local float4 *)(tile_b + (half) * HX_B_FLOATS + b_mine + HX_B_TO(u)) = b_in[u];            \
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
/* Quad q: row q / 2, columns 4 * (q % 2) on, its pairs swapped. */
#define HX_QUAD(q)                                                                                              \
  (float4)(acc[(q) / 2][4 * ((q) % 2) + 1], acc[(q) / 2][4 * ((q) % 2)], acc[(q) / 2][4 * ((q) % 2) + 3],        \
           acc[(q) / 2][4 * ((q) % 2) + 2])
#define HX_ADD_QUAD(q, s)                                                                   \
  {                                                                                         \
    acc[(q) / 2][4 * ((q) % 2) + 1] = HX_ADD(, (s).x, acc[(q) / 2][4 * ((q) % 2) + 1]);     \
    acc[(q) / 2][4 * ((q) % 2)] = HX_ADD(, (s).y, acc[(q) / 2][4 * ((q) % 2)]);             \
    acc[(q) / 2][4 * ((q) % 2) + 3] = HX_ADD(, (s).z, acc[(q) / 2][4 * ((q) % 2) + 3]);     \
    acc[(q) / 2][4 * ((q) % 2) + 2] = HX_ADD(, (s).w, acc[(q) / 2][4 * ((q) % 2) + 2]);     \
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

/* t = alpha * s + beta * t, for the columns j to j+3 of row i that fall to this tile. */
static void hx_store_quad(global float *t, ulong ldt, const hx_place at, ulong i, ulong j, ulong m, ulong n, float4 s,
                          float alpha, float beta) {
  if (i < at.own_i || i >= m || j + 3 < at.own_j) return;
  global float *const to = t + i * ldt + j;
  s = HX_MUL(4, (float4)(alpha), s); /* alpha == 1 changes nothing */
  if (j >= at.own_j && j + 4 <= n && (ldt & 3) == 0) {
    if (beta != 0.0f) s = fma((float4)(beta), *(global const float4 *)to, s);
    *(global float4 *)to = HX_CANONICAL(4, s);
    return;
  }
  const float v[4] = {s.x, s.y, s.z, s.w};
#pragma unroll
  for (uint e = 0; e < 4; e++) {
    if (j + e >= at.own_j && j + e < n) {
      const float r = beta != 0.0f ? fma(beta, to[e], v[e]) : v[e];
      to[e] = HX_CANONICAL(, r);
    }
  }
}

/* A panel that is a group's own goes to partials, quad by quad, item by item. */
kernel __attribute__((reqd_work_group_size(HX_ITEMS, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint whole, global float4 *partials) {
  local float tile_a[2 * HX_A_FLOATS] __attribute__((aligned(16)));
  local float tile_b[2 * HX_B_FLOATS] __attribute__((aligned(16)));
  local float4 sums[HX_QUADS * HX_ITEMS];
  const uint id = (uint)get_local_id(0), group = (uint)get_group_id(0);
  const hx_job job = hx_job_of(group, whole, k);
  const hx_place at = hx_place_of(job.tile, m, n);
  uint left = (uint)job.count;             /* of k, after the panel at hand */
  uint full = left & ~(2 * HX_TILE_K - 1); /* what the loop below does of it */

  const uint a_mine = id % 8 * HX_PITCH_A + id / 8, b_mine = id / (HX_TILE_N / 4) * HX_TILE_N + id % (HX_TILE_N / 4) * 4;
  const ulong a_lines = HX_A_LINES * lda, b_lines = HX_B_LINES * ldb, b_ahead = HX_TILE_K * ldb;
  global const float *a_at = a + a_first + (at.i0 + id / 8) * lda + job.k0 + id % 8;
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
      a_at += HX_TILE_K;
      b_at += b_ahead;
      HX_TILE(0)
      const bool more = full > 2 * HX_TILE_K;
      a_at += more ? HX_TILE_K : 0;
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
    a += a_first + to.i0 * lda + from;
    b += b_first + from * ldb + to.j0;
    for (uint row = id / (2 * HX_TILE_K); row < HX_TILE_M; row += HX_ITEMS / (2 * HX_TILE_K)) {
      const uint p = id % (2 * HX_TILE_K);
      if (p < left) tile_a[p * HX_PITCH_A + row] = a[row * lda + p];
    }
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
#pragma unroll
  for (uint q = 0; q < HX_QUADS; q++) {
    const uint row = q / 2, side = q % 2;
    const float4 s = (float4)(acc[row][4 * side], acc[row][4 * side + 1], acc[row][4 * side + 2], acc[row][4 * side + 3]);
    hx_store_quad(t, ldt, to, i + row % 4 + row / 4 * 16, j + 32 * side, m, n, s, alpha, beta);
  }
}

/* Adds the panels of the tiles from `whole` on in their order: a group does one quad of each item of a tile. */
kernel __attribute__((reqd_work_group_size(HX_ITEMS, 1, 1))) void hx_matmul_join(
    ulong m, ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint whole,
    global const float4 *partials) {
  const uint id = (uint)get_local_id(0), q = (uint)get_group_id(0) % HX_QUADS, tile = (uint)get_group_id(0) / HX_QUADS;
  const uint panels = (uint)((k + HX_PANEL - 1) / HX_PANEL), row = q / 2, side = q % 2;
  partials += ((ulong)tile * panels * HX_QUADS + q) * HX_ITEMS + id;
  float4 s = *partials;
#pragma unroll 8
  for (uint p = 1; p < panels; p++) s = HX_ADD(4, s, partials[(ulong)p * HX_QUADS * HX_ITEMS]);
  const hx_place at = hx_place_of(whole + tile, m, n);
  hx_store_quad(t, ldt, at, at.i0 + hx_tile_row(id) + row % 4 + row / 4 * 16, at.j0 + hx_tile_column(id) + 32 * side, m,
                n, s.yxwz, alpha, beta);
}

/* to[i * pitch + j] = x(i,j) = x[i*rs + j*cs] for i < rows, j < columns; zero up to the tile's edge. Tiles of 64 x 64
 * pass through local memory where x runs along its rows' index. */
#define HX_COPY_SIDE 64
#define HX_COPY_ITEMS 256
kernel __attribute__((reqd_work_group_size(HX_COPY_ITEMS, 1, 1))) void hx_matmul_copy(
    global const float *x, ulong x_first, ulong rs, ulong cs, ulong rows, ulong columns, global float *to, ulong pitch,
    ulong lines) {
  local float tile[HX_COPY_SIDE][HX_COPY_SIDE + 1];
  const uint id = (uint)get_local_id(0), minor = id % HX_COPY_SIDE, major = id / HX_COPY_SIDE;
  const ulong i0 = (ulong)get_group_id(1) * HX_COPY_SIDE, j0 = (ulong)get_group_id(0) * HX_COPY_SIDE;
  const bool across = rs == 1 && cs != 1;
  x += x_first + i0 * rs + j0 * cs;
#pragma unroll
  for (uint u = 0; u < HX_COPY_SIDE; u += HX_COPY_ITEMS / HX_COPY_SIDE) {
    const uint i = across ? minor : major + u, j = across ? major + u : minor;
    const bool inside = i0 + i < rows && j0 + j < columns;
    tile[i][j] = inside ? x[i * rs + j * cs] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  to += i0 * pitch + j0;
#pragma unroll
  for (uint u = 0; u < HX_COPY_SIDE; u += HX_COPY_ITEMS / HX_COPY_SIDE)
    if (i0 + major + u < lines && j0 + minor < pitch) to[(major + u) * pitch + minor] = tile[major + u][minor];
}

#endif
