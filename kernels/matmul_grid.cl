/* SPDX-License-Identifier: Apache-2.0
 * Matrix product for NVIDIA GPUs where k is long and C small or of no good size: a group does one panel of a tile whose
 * rows and columns the launch chooses, in blocks of 16 x 16, so that tiles and panels come out as the compute units
 * do, and at the edges only blocks that are in C. Operands are read where they lie, at any places. 8 rows by 8 columns
 * an item, four items a block; the order is that of matmul.cl.
 *   HX_GRID_FOURS_A, _B  whether an operand is copied by four neighbours of a line [k][line] at multiples of 16 bytes,
 *                        else an element at a time, at any places
 *   HX_GRID_SIDE_M, _N   blocks of a side of a tile, at most
 *   HX_GRID_LINES        of local memory for the rows and columns of a tile, each in whole 64s
 * No branch in the loop over k: each, and each copy under a condition, costs a lone warp more than copies for nothing.
 * What is left of k is a step with 0 in A and -0 in B where it has no more, whose products change no sum: a loop of its
 * own would give the sums other registers. */
#if HX_SHAPE_TILES && HX_GRID

#define HX_GRID_BLOCK 16u
#define HX_GRID_PITCH (HX_GRID_LINES + 4)
#define HX_GRID_FLOATS (HX_TILE_K * HX_GRID_PITCH)
#define HX_GRID_B (HX_GRID_SIDE_M > 4 ? 128u : 64u) /* where B begins in a step */
#define HX_GRID_STRIDE (HX_LOCAL0 / HX_TILE_K) /* lines, or fours of them, that the items take at once: a block's */

/* In local memory the first halves of four blocks come before their second halves, so that what a warp reads at once
 * lies in different banks. */
#define HX_GRID_LINE(line) ((line) / 64 * 64 + (line) / 8 % 2 * 32 + (line) / 16 % 4 * 8 + (line) % 8)

#define HX_GRID_BY_K 1u
#define HX_GRID_K(lies) ((lies) & HX_GRID_BY_K ? id / HX_GRID_STRIDE : id % HX_TILE_K) /* an item's, of a step */
#define HX_GRID_APART(lies, ld) ((lies) & HX_GRID_BY_K ? HX_GRID_STRIDE : HX_GRID_STRIDE * (uint)(ld))
#define HX_GRID_AHEAD(lies, ld) ((lies) & HX_GRID_BY_K ? HX_TILE_K * (uint)(ld) : HX_TILE_K)

/* An item's share of the copies of an operand: its first element, the place of that in a stage, and how many lines are
 * left from it on. */
typedef struct hx_share {
  global const float *at;
  uint to;
  int limit;
} hx_share;

static hx_share hx_share_of(global const float *x, ulong ld, uint lies, uint width, ulong line0, uint lines, ulong k0,
                            uint offset, uint id) {
  const uint k = HX_GRID_K(lies), line = lies & HX_GRID_BY_K ? id % HX_GRID_STRIDE * width : id / HX_TILE_K;
  hx_share s;
  s.at = x + (lies & HX_GRID_BY_K ? (k0 + k) * ld + line0 + line : (line0 + line) * ld + k0 + k);
  s.to = k * HX_GRID_PITCH + offset + HX_GRID_LINE(line);
  s.limit = (int)lines - (int)line;
  return s;
}

/* A copy where `from_line` is less than `limit`, else zeros. */
#if HX_PTX
#define HX_GRID_MOVE(CACHE, BYTES, index, from, from_line, limit)                                              \
  __asm__ __volatile__("{ .reg .pred p; .reg .u32 n; setp.lt.s32 p, %2, %3; selp.u32 n, " BYTES ", 0, p;"       \
                       " cp.async." CACHE ".shared.global [%0], [%1], " BYTES ", n; }"                          \
                       :                                                                                       \
                       : "r"(base + 4 * (index)), "l"(from), "n"(from_line), "r"(limit))
#define HX_GRID_MOVE_1(index, from, from_line, limit) HX_GRID_MOVE("ca", "4", index, from, from_line, limit)
#define HX_GRID_MOVE_4(index, from, from_line, limit) HX_GRID_MOVE("cg", "16", index, from, from_line, limit)
#define HX_GRID_COMMIT __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_GRID_WAIT __asm__ __volatile__("cp.async.wait_group %0;" : : "n"(HX_STAGES - 2) : "memory");
#define HX_GRID_WAIT_ALL __asm__ __volatile__("cp.async.wait_all;" : : : "memory");
#define HX_GRID_ANY(so) hx_any(so)
#else
#define HX_GRID_MOVE_1(index, from, from_line, limit)        \
  do {                                                       \
    if ((int)(from_line) < (limit)) stages[index] = *(from); \
  } while (0)
#define HX_GRID_MOVE_4(index, from, from_line, limit)                              \
  do {                                                                             \
    if ((int)(from_line) < (limit)) vstore4(vload4(0, from), 0, stages + (index)); \
  } while (0)
#define HX_GRID_ANY(so) 1
#define HX_GRID_COMMIT
#define HX_GRID_WAIT
#define HX_GRID_WAIT_ALL
#endif

/* Copies an item's share of a step into the stage that begins at `start`. */
#define HX_GRID_COPY(s, start, lies, ld, FOURS, SIDE)                                                             \
  if (FOURS) {                                                                                                    \
    _Pragma("unroll") for (uint u = 0; u < (SIDE) * HX_GRID_BLOCK / (4 * HX_GRID_STRIDE); u++)                    \
        HX_GRID_MOVE_4((start) + (s).to + HX_GRID_LINE(u * HX_GRID_STRIDE * 4), (s).at + u * HX_GRID_STRIDE * 4,  \
                       u * HX_GRID_STRIDE * 4, (s).limit);                                                        \
  } else {                                                                                                        \
    _Pragma("unroll") for (uint u = 0; u < (SIDE) * HX_GRID_BLOCK / HX_GRID_STRIDE; u++)                          \
        HX_GRID_MOVE_1((start) + (s).to + HX_GRID_LINE(u * HX_GRID_STRIDE), (s).at + (ulong)HX_GRID_APART(lies, ld) * u, \
                       u * HX_GRID_STRIDE, (s).limit);                                                            \
  }                                                                                                               \
  (s).at += HX_GRID_AHEAD(lies, ld);
/* The last of k, less than a step, into the first stage. */
#define HX_GRID_COPY_LAST(s, lies, ld, width, none)                                                    \
  _Pragma("unroll 1") for (uint u = 0; (int)(u * HX_GRID_STRIDE * (width)) < (s).limit; u++) {         \
    _Pragma("unroll 1") for (uint e = 0; e < (width); e++) {                                           \
      const uint index = (s).to + HX_GRID_LINE(u * HX_GRID_STRIDE * (width)) + e;                      \
      if (HX_GRID_K(lies) < left) stages[index] = (s).at[(ulong)HX_GRID_APART(lies, ld) * u * (width) + e]; \
      else stages[index] = (none);                                                                     \
    }                                                                                                  \
  }
#define HX_GRID_LAST                                                                                               \
  {                                                                                                                \
    HX_GRID_WAIT_ALL /* for zeros on their way */                                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
    const hx_panel_job end = hx_panel_job_of((uint)get_group_id(0) + full, tile_m, tile_n, m, n, k);                 \
    const ulong from = end.k0 + end.count - left;                                                                  \
    const hx_share al = hx_share_of(a + a_first, lda, lies, HX_GRID_FOURS_A ? 4 : 1, end.i0, end.rows, from, 0, id); \
    const hx_share bl =                                                                                            \
        hx_share_of(b + b_first, ldb, lies >> 1, HX_GRID_FOURS_B ? 4 : 1, end.j0, end.columns, from, HX_GRID_B, id);  \
    HX_GRID_COPY_LAST(al, lies, lda, HX_GRID_FOURS_A ? 4u : 1u, 0.0f)                                              \
    HX_GRID_COPY_LAST(bl, lies >> 1, ldb, HX_GRID_FOURS_B ? 4u : 1u, -0.0f)                                        \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
  }

/* Operands of step p of a stage into registers, and the fma of a step. */
#define HX_GRID_FRAGMENTS(set, p)                                               \
  _Pragma("unroll") for (uint h = 0; h < 2; h++) {                              \
    vstore4(*(local const float4 *)(af + (p)*HX_GRID_PITCH + 32 * h), h, av[set]); \
    vstore4(*(local const float4 *)(bf + (p)*HX_GRID_PITCH + 32 * h), h, bv[set]); \
  }
#define HX_GRID_STEP(set)                                        \
  _Pragma("unroll") for (uint e = 0; e < 64; e++) {              \
    const uint i = HX_STEP_I(e), j = HX_STEP_J(e, i);            \
    acc[i][j] = fma(av[set][i], bv[set][j], acc[i][j]);          \
  }

/* The blocks of a tile along its rows, and all of them. */
static uint hx_grid_along(const hx_panel_job job) { return (job.columns + HX_GRID_BLOCK - 1) / HX_GRID_BLOCK; }
static uint hx_grid_blocks(const hx_panel_job job) {
  return (job.rows + HX_GRID_BLOCK - 1) / HX_GRID_BLOCK * hx_grid_along(job);
}

/* Where four items of a warp are among the blocks: warps without one are others in every group of a compute unit, by the
 * place `slot` that a group has there, as each quarter of a unit has the warps of one number. Any slot is right. */
static uint hx_grid_block(uint id, uint slot, uint blocks) {
  const uint warps = HX_LOCAL0 / 32;
  return (id / 32 + slot * ((blocks + 7) / 8)) % warps * 8 + id % 32 / 4;
}

/* A tile has tile_m rows and tile_n columns, multiples of 16. Blocks go by rows of it, eight a warp. Two items above one
 * another and two side by side share their operands, which local memory then gives in half the passes. The panels go to
 * partials, each a tile whose pairs of columns are swapped (matmul_tiles.cl: registers). */
kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint across, uint whole, global float *partials,
    uint lies, uint tile_m, uint tile_n) {
  local float stages[HX_STAGES * HX_GRID_FLOATS] __attribute__((aligned(16)));
  uint id = (uint)get_local_id(0);
#if HX_PTX
  __asm__ __volatile__("" : "+r"(id)); /* else it is read anew everywhere */
  const uint base = (uint)(size_t)stages;
#endif
  const hx_panel_job job = hx_panel_job_of((uint)get_group_id(0), tile_m, tile_n, m, n, k);
  local uint place[1];
  if (id == 0) place[0] = hx_warp() / (HX_LOCAL0 / 32);
  hx_share as = hx_share_of(a + a_first, lda, lies, HX_GRID_FOURS_A ? 4 : 1, job.i0, job.rows, job.k0, 0, id);
  hx_share bs = hx_share_of(b + b_first, ldb, lies >> 1, HX_GRID_FOURS_B ? 4 : 1, job.j0, job.columns, job.k0, HX_GRID_B, id);

#define HX_GRID_COPY_STEP(slot)                                          \
  HX_GRID_COPY(as, (slot)*HX_GRID_FLOATS, lies, lda, HX_GRID_FOURS_A, HX_GRID_SIDE_M)            \
  HX_GRID_COPY(bs, (slot)*HX_GRID_FLOATS, lies >> 1, ldb, HX_GRID_FOURS_B, HX_GRID_SIDE_N)
  uint slot = 0, full = job.count / HX_TILE_K;
#pragma unroll 1
  for (uint s = 0; s + 1 < HX_STAGES; s++) {
    if (s < full) {
      HX_GRID_COPY_STEP(s)
    }
    HX_GRID_COMMIT
  }
  HX_GRID_WAIT
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint blocks = hx_grid_blocks(job), at = hx_grid_block(id, place[0], blocks), block = min(at, blocks - 1);
  const uint row = block / hx_grid_along(job) * HX_GRID_BLOCK + (id & 1) * 4;
  const uint column = block % hx_grid_along(job) * HX_GRID_BLOCK + (id >> 1 & 1) * 4;
  const uint active = HX_GRID_ANY(at < blocks);
  float acc[8][8], av[2][8], bv[2][8];
#pragma unroll
  for (uint e = 0; e < 64; e++) acc[e / 8][e % 8] = 0.0f;
  local const float *af = stages + HX_GRID_LINE(row), *bf = stages + HX_GRID_B + HX_GRID_LINE(column);
  /* Of the step after those in local memory, if there is one. */
#define HX_GRID_COPY_NEXT                                       \
  as.limit = full >= HX_STAGES ? as.limit : 0;                  \
  bs.limit = full >= HX_STAGES ? bs.limit : 0;                  \
  {                                                             \
    const uint into = slot ? slot - 1 : HX_STAGES - 1;          \
    HX_GRID_COPY_STEP(into)                                     \
  }                                                             \
  HX_GRID_COMMIT
  uint left = job.count % HX_TILE_K;
  if (active) {
    for (;;) {
      HX_GRID_FRAGMENTS(0, 0)
#pragma unroll 1
      for (; full; full--) {
        HX_GRID_COPY_NEXT
#pragma unroll
        for (uint p = 0; p + 1 < HX_TILE_K; p++) {
          HX_GRID_FRAGMENTS((p + 1) & 1, p + 1)
          HX_GRID_STEP(p & 1)
        }
        const bool on = slot + 1 < HX_STAGES;
        af += on ? HX_GRID_FLOATS : -(int)((HX_STAGES - 1) * HX_GRID_FLOATS);
        bf += on ? HX_GRID_FLOATS : -(int)((HX_STAGES - 1) * HX_GRID_FLOATS);
        slot = on ? slot + 1 : 0;
        HX_GRID_WAIT
        barrier(CLK_LOCAL_MEM_FENCE);
        HX_GRID_FRAGMENTS(0, 0) /* past the last step what nobody uses */
        HX_GRID_STEP((HX_TILE_K - 1) & 1)
      }
      if (left == 0) break;
      HX_GRID_LAST
      af -= slot * HX_GRID_FLOATS;
      bf -= slot * HX_GRID_FLOATS;
      slot = left = 0;
      full = 1;
    }
  } else { /* a warp without a block copies, and waits with the others */
    for (;;) {
#pragma unroll 1
      for (; full; full--) {
        HX_GRID_COPY_NEXT
        slot = slot + 1 < HX_STAGES ? slot + 1 : 0;
        HX_GRID_WAIT
        barrier(CLK_LOCAL_MEM_FENCE);
      }
      if (left == 0) break;
      HX_GRID_LAST
      slot = left = 0;
      full = 1;
    }
  }

  /* What the loop did not need is found anew, and `full`, now 0, keeps the compiler from knowing it before. */
  const hx_panel_job done = hx_panel_job_of((uint)get_group_id(0) + full, tile_m, tile_n, m, n, k);
  const uint of = hx_grid_block(id, place[0], hx_grid_blocks(done));
  if (of >= hx_grid_blocks(done)) return;
  const uint r = of / hx_grid_along(done) * HX_GRID_BLOCK + (id & 1) * 4;
  const uint c = of % hx_grid_along(done) * HX_GRID_BLOCK + (id >> 1 & 1) * 4;
  global float *const to = partials + done.at;
#pragma unroll
  for (uint q = 0; q < 16; q++) {
    const uint e = q / 2, h = q % 2 * 4;
    const float4 pairs = {acc[e][h + 1], acc[e][h], acc[e][h + 3], acc[e][h + 2]};
    *(global float4 *)(to + (r + e / 4 * 8 + e % 4) * tile_n + c + 2 * h) = pairs;
  }
}

#endif
