/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for NVIDIA GPUs where k is long and tiles and panels would fill the compute units badly: a group does one
 * panel of a tile whose rows and columns the launch chooses, in cells of 8 x 8 and up to 8 warps of 16 cells, so that one
 * group fills a unit and 200 x 200 x 13000 is one group a unit; at the edges only cells that are in C. Four warps more only copy: what a copy costs besides
 * reading (addresses, conditions, registers that it keeps) is not waited for by those that compute, and operands may lie
 * in any way. 8 rows by 4 columns an item, two items a cell; the order is that of matmul.cl.
 *   HX_CELLS_COPIERS  warps that copy, after those that compute
 *   HX_CELLS_LINES    rows and columns of a tile together, at most
 *   HX_CELLS_MOST_M, _N  rows, and columns, at most
 * What is left of k is a step with 0 in A and -0 in B where it has no more, whose products change no sum. */
#if HX_SHAPE_TILES && HX_CELLS

#define HX_CELLS_SIDE 8u
#define HX_CELLS_COLUMNS 4u                       /* of an item */
#define HX_CELLS_ELEMENTS (8 * HX_CELLS_COLUMNS) /* of an item */
#define HX_CELLS_PITCH (HX_CELLS_LINES + 4)
#define HX_CELLS_FLOATS (HX_TILE_K * HX_CELLS_PITCH)
#define HX_CELLS_ITEMS (HX_LOCAL0 - 32 * HX_CELLS_COPIERS) /* that compute */

/* In local memory the first fours of the rows of all items come before the second ones, from `second` on, so that what a
 * warp reads at once lies in different banks. */
#define HX_CELLS_ROW(line, second) ((line) / 4 % 2 * (second) + (line) / 8 * 4 + (line) % 4)

/* A copy where `line` is less than `limit`. */
#if HX_PTX
#define HX_CELLS_MOVE(CACHE, BYTES, to, from, line, limit)                                                    \
  __asm__ __volatile__("{ .reg .pred p; setp.lt.s32 p, %2, %3; @p cp.async." CACHE                             \
                       ".shared.global [%0], [%1], " BYTES "; }"                                               \
                       :                                                                                      \
                       : "r"(to), "l"(from), "n"(line), "r"(limit))
#define HX_CELLS_MOVE_1(to, from, line, limit) HX_CELLS_MOVE("ca", "4", to, from, line, limit)
#define HX_CELLS_MOVE_4(to, from, line, limit) HX_CELLS_MOVE("cg", "16", to, from, line, limit)
#define HX_CELLS_AT(index) (base + 4 * (index))
#define HX_CELLS_COMMIT __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_CELLS_WAIT __asm__ __volatile__("cp.async.wait_group %0;" : : "n"(HX_STAGES - 2) : "memory");
#else
#define HX_CELLS_MOVE_1(to, from, line, limit)  \
  do {                                          \
    if ((int)(line) < (limit)) *(to) = *(from); \
  } while (0)
#define HX_CELLS_MOVE_4(to, from, line, limit)                  \
  do {                                                          \
    if ((int)(line) < (limit)) vstore4(vload4(0, from), 0, to); \
  } while (0)
#define HX_CELLS_AT(index) (stages + (index))
#define HX_CELLS_COMMIT
#endif

/* How an item copies its share of an operand: where its first element of a step is, and where that goes. A warp copies
 * eight lines by eight k at a time, or where lines lie beside one another 32 of them, by fours of four k, else of one.
 * `limit` is how many lines are left from its first one on. */
typedef struct hx_share {
  global const float *at;
  ulong ld;
  uint to;
  bool by_k, fours;
  int limit;
} hx_share;

static hx_share hx_share_of(global const float *x, ulong ld, uint lies, ulong line0, uint lines, ulong k0, uint to,
                            uint second, uint copier) {
  const uint lane = copier % 32, warp = copier / 32;
  hx_share s;
  s.by_k = lies & HX_LIES_BY_K;
  s.fours = lies & HX_LIES_FOURS;
  const uint line = !s.by_k ? warp * 8 + lane / 8 : s.fours ? lane % 8 * 4 : lane;
  const uint k = !s.by_k ? lane % 8 : s.fours ? lane / 8 + 4 * warp : warp;
  s.at = x + (s.by_k ? (k0 + k) * ld + line0 + line : (line0 + line) * ld + k0 + k);
  s.ld = ld;
  s.to = to + k * HX_CELLS_PITCH + (second ? HX_CELLS_ROW(line, second) : line);
  s.limit = (int)lines - (int)line;
  return s;
}

/* Copies the share of a step into the stage that begins at `start`. HALVED: 2 for the rows of A, else 1; after four lines
 * the next ones are `odd` further on. */
#define HX_CELLS_COPY(s, start, HALVED, odd, MOST)                                                                       \
  {                                                                                                                      \
    global const float *from = s.at;                                                                                     \
    if (!s.by_k) {                                                                                                       \
      _Pragma("unroll") for (uint l = 0; l < (MOST); l += 8 * HX_CELLS_COPIERS) {                                        \
        _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += 8)                                                        \
            HX_CELLS_MOVE_1(HX_CELLS_AT((start) + s.to + p * HX_CELLS_PITCH + l / (HALVED)), from + p, l, s.limit);      \
        from += 4 * s.ld;                                                                                                \
        _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += 8)                                                        \
            HX_CELLS_MOVE_1(HX_CELLS_AT((start) + s.to + (odd) + p * HX_CELLS_PITCH + l / (HALVED)), from + p, l + 4,    \
                            s.limit);                                                                                    \
        from += (8 * HX_CELLS_COPIERS - 4) * s.ld;                                                                       \
      }                                                                                                                  \
    } else if (s.fours) {                                                                                                \
      _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += 4 * HX_CELLS_COPIERS) {                                     \
        _Pragma("unroll") for (uint l = 0; l < (MOST); l += 32)                                                          \
            HX_CELLS_MOVE_4(HX_CELLS_AT((start) + s.to + p * HX_CELLS_PITCH + l / (HALVED)), from + l, l, s.limit);      \
        from += 4 * HX_CELLS_COPIERS * s.ld;                                                                             \
      }                                                                                                                  \
    } else {                                                                                                             \
      _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += HX_CELLS_COPIERS) {                                         \
        _Pragma("unroll") for (uint l = 0; l < (MOST); l += 32)                                                          \
            HX_CELLS_MOVE_1(HX_CELLS_AT((start) + s.to + p * HX_CELLS_PITCH + l / (HALVED)), from + l, l, s.limit);      \
        from += HX_CELLS_COPIERS * s.ld;                                                                                 \
      }                                                                                                                  \
    }                                                                                                                    \
    s.at += s.by_k ? HX_TILE_K * s.ld : HX_TILE_K;                                                                       \
  }

/* The last of k, less than a step, from element (first line, k) on, filled up with `none`. */
static void hx_cells_copy_last(global const float *x, ulong ld, bool by_k, uint lines, uint count, local float *to,
                               uint second, float none, uint copier) {
#pragma unroll 1
  for (uint e = copier; e < lines * HX_TILE_K; e += 32 * HX_CELLS_COPIERS) {
    const uint line = e / HX_TILE_K, p = e % HX_TILE_K;
    float v = none;
    if (p < count) v = x[by_k ? p * ld + line : line * ld + p];
    to[p * HX_CELLS_PITCH + (second ? HX_CELLS_ROW(line, second) : line)] = v;
  }
}

/* Operands of step p of a stage into registers, and the fma of a step: along the rows to and fro. */
#define HX_CELLS_FRAGMENTS(set, p)                                          \
  vstore4(*(local const float4 *)(af + (p)*HX_CELLS_PITCH), 0, av[set]);    \
  vstore4(*(local const float4 *)(after + (p)*HX_CELLS_PITCH), 1, av[set]); \
  vstore4(*(local const float4 *)(bf + (p)*HX_CELLS_PITCH), 0, bv[set]);
#define HX_CELLS_STEP(set)                                          \
  _Pragma("unroll") for (uint e = 0; e < HX_CELLS_ELEMENTS; e++) {  \
    const uint i = e / 4, j = i % 2 ? 3 - e % 4 : e % 4;            \
    acc[i][j] = fma(av[set][i], bv[set][j], acc[i][j]);             \
  }

/* The cells of a tile along its columns, and all of them. */
static uint hx_cells_along(const hx_panel_job job) { return (job.rows + HX_CELLS_SIDE - 1) / HX_CELLS_SIDE; }
static uint hx_cells_of(const hx_panel_job job) {
  return (job.columns + HX_CELLS_SIDE - 1) / HX_CELLS_SIDE * hx_cells_along(job);
}

/* Which cell two items of a warp have. Warps with cells begin at another quarter of the compute unit in every group of
 * it, as the warps of one number, of four, share one; `warp` is the number of the group's first. Any is right. */
static uint hx_cells_own(uint id, uint warp, uint cells) {
  const uint warps = HX_CELLS_ITEMS / 32, slot = warp / (HX_LOCAL0 / 32);
  return (id / 32 + warp + slot * (3 * ((cells + 15) / 16))) % warps * 16 + id % 32 / 2;
}

/* A tile has tile_m rows and tile_n columns, multiples of 8. Cells go by columns of it, sixteen a warp. Two items beside
 * one another share their rows and two above one another their columns, which local memory then gives in half the passes.
 * The panels go to partials, each a tile whose pairs of columns are swapped (matmul_tiles.cl: registers). */
kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole, global float *partials,
    uint lies, uint tile_m, uint tile_n) {
  local float stages[HX_STAGES * HX_CELLS_FLOATS] __attribute__((aligned(16)));
  local uint place[1];
  uint id = (uint)get_local_id(0);
#if HX_PTX
  __asm__ __volatile__("" : "+r"(id)); /* else it is read anew everywhere */
  const uint base = (uint)(size_t)stages;
#endif
  const hx_panel_job job = hx_panel_job_of((uint)get_group_id(0), tile_m, tile_n, m, n, k);
  if (id == 0) place[0] = hx_warp();
  const uint full = job.count / HX_TILE_K, left = job.count % HX_TILE_K, steps = full + (left != 0);
  const uint copier = id - HX_CELLS_ITEMS;
  a += a_first;
  b += b_first;
  hx_share as = hx_share_of(a, lda, lies, job.i0, job.rows, job.k0, 0, tile_m / 2, copier);
  hx_share bs = hx_share_of(b, ldb, lies >> 1, job.j0, job.columns, job.k0, tile_m, 0, copier);
  /* Step s, if there is one. */
#define HX_CELLS_COPY_STEP(s, slot)                                                                                \
  if ((s) < full) {                                                                                                \
    HX_CELLS_COPY(as, (slot)*HX_CELLS_FLOATS, 2, tile_m / 2, HX_CELLS_MOST_M)                                      \
    HX_CELLS_COPY(bs, (slot)*HX_CELLS_FLOATS, 1, 4, HX_CELLS_MOST_N)                                               \
  } else if ((s) < steps) {                                                                                        \
    const ulong from = job.k0 + job.count - left;                                                                  \
    local float *const to = stages + (slot)*HX_CELLS_FLOATS;                                                       \
    hx_cells_copy_last(a + (as.by_k ? from * lda + job.i0 : job.i0 * lda + from), lda, as.by_k, job.rows, left, to, \
                       tile_m / 2, 0.0f, copier);                                                                  \
    hx_cells_copy_last(b + (bs.by_k ? from * ldb + job.j0 : job.j0 * ldb + from), ldb, bs.by_k, job.columns, left,  \
                       to + tile_m, 0, -0.0f, copier);                                                             \
  }                                                                                                                \
  HX_CELLS_COMMIT
  uint slot = 0;
#if HX_PTX
  if (hx_any(id >= HX_CELLS_ITEMS)) {
#pragma unroll 1
    for (uint s = 0; s + 1 < HX_STAGES; s++) {
      HX_CELLS_COPY_STEP(s, s)
    }
#pragma unroll 1
    for (uint s = 0; s <= steps; s++) {
      HX_CELLS_WAIT
      barrier(CLK_LOCAL_MEM_FENCE);
      HX_CELLS_COPY_STEP(s + HX_STAGES - 1, slot ? slot - 1 : HX_STAGES - 1)
      slot = slot + 1 < HX_STAGES ? slot + 1 : 0;
    }
    return;
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint cells = hx_cells_of(job), at = hx_cells_own(id, place[0], cells), cell = min(at, cells - 1);
  const uint row = cell % hx_cells_along(job) * HX_CELLS_SIDE;
  const uint column = cell / hx_cells_along(job) * HX_CELLS_SIDE + (id & 1) * HX_CELLS_COLUMNS;
  const uint active = hx_any(at < cells && id < HX_CELLS_ITEMS);
  float acc[8][HX_CELLS_COLUMNS], av[2][8], bv[2][HX_CELLS_COLUMNS];
#pragma unroll
  for (uint e = 0; e < HX_CELLS_ELEMENTS; e++) acc[e / 4][e % 4] = 0.0f;
  local const float *af = stages + row / 2, *after = af + tile_m / 2, *bf = stages + tile_m + column;
#if HX_PTX
  if (!active) {
#pragma unroll 1
    for (uint s = 0; s < steps; s++) barrier(CLK_LOCAL_MEM_FENCE);
    return;
  }
  HX_CELLS_FRAGMENTS(0, 0)
#pragma unroll 1
  for (uint s = 0; s < steps; s++) {
#pragma unroll
    for (uint p = 0; p + 1 < HX_TILE_K; p++) {
      HX_CELLS_FRAGMENTS((p + 1) & 1, p + 1)
      HX_CELLS_STEP(p & 1)
    }
    const bool on = slot + 1 < HX_STAGES;
    const int next = on ? HX_CELLS_FLOATS : -(int)((HX_STAGES - 1) * HX_CELLS_FLOATS);
    af += next;
    after += next;
    bf += next;
    slot = on ? slot + 1 : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    HX_CELLS_FRAGMENTS(0, 0) /* past the last step what nobody uses */
    HX_CELLS_STEP((HX_TILE_K - 1) & 1)
  }
#else /* the same, a step after the other */
  for (uint s = 0; s < steps; s++) {
    if (id >= HX_CELLS_ITEMS) {
      HX_CELLS_COPY_STEP(s, slot)
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint p = 0; p < HX_TILE_K && active; p++) {
      HX_CELLS_FRAGMENTS(0, p)
      HX_CELLS_STEP(0)
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (!active) return;
#endif
  if (at >= cells) return;

  global float *const to = partials + job.at + (ulong)row * tile_n + column;
#pragma unroll
  for (uint e = 0; e < 8; e++) {
    const float4 pairs = {acc[e][1], acc[e][0], acc[e][3], acc[e][2]};
    *(global float4 *)(to + e * tile_n) = pairs;
  }
}

#endif
