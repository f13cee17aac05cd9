/* SPDX-License-Identifier: Apache-2.0
 * What the product of matmul_tiles.cl is made of: its parameters, an item's share of the copies into local memory, the
 * operands and the fma of a step of k, and the sums in registers.
 *   HX_PTX       the copies are cp.async; otherwise they go through registers
 *   HX_BLOCKS_M, HX_BLOCKS_N  blocks of four rows, and of four columns, an item
 *   HX_SLICES    2 (HX_PTX alone): each half of a group does a panel of its own of the same tile, so that few tiles have
 *                twice the warps; they meet to add the panels. They keep step: warps of a unit that run apart fetch the
 *                same code twice, which then is the bound
 *   HX_STAGES    tiles in local memory. 2: the loop does two a turn, at fixed places. 4 (HX_PTX alone): further tiles
 *                are on their way, which gives far memory time; one a turn, or where A lies [k][row] two, for which
 *                the copies of another A leave too few registers
 *   HX_LAYOUT    how the operands lie: 0 A [row][k] and B [k][column]; 1 A [k][row]; 2 B [column][k]
 *   HX_WIDTH     floats that a copy of an operand that lies [k][line] takes: 4, whose lines begin at multiples of 16
 *                bytes, or 1, at any places: each warp then copies neighbours of one k, at offsets that are constants
 *   HX_SPREAD    steps of k from the copies of A in a tile to the first half of those of B, and on to the others
 *   HX_ORDER     the order of the fma of a step
 *   HX_DIRECT    a tile is stored from the registers where it can be; otherwise always through local memory
 *   HX_SPARE     quads of local memory that nobody uses: NVIDIA's compiler gives an item no more registers than as many
 *                groups leave it as local memory would have room for, and then loads operands late */
#if HX_SHAPE_TILES

#ifndef HX_SLICES
#define HX_SLICES 1
#endif
#define HX_CHAINS (HX_SLICES == 1 && HX_LOCAL0 < 512) /* matmul_tiles.cl: hx__kernel_row.chains */
#define HX_ITEMS (HX_LOCAL0 / HX_SLICES) /* that do a tile */
#define HX_ROWS (4 * HX_BLOCKS_M) /* of an item */
#define HX_COLUMNS (4 * HX_BLOCKS_N)
#define HX_QUADS (HX_BLOCKS_N * HX_ROWS)
#ifndef HX_DIRECT
#define HX_DIRECT 0
#endif
#ifndef HX_SPARE
#define HX_SPARE 0
#endif
#ifndef HX_LAYOUT
#define HX_LAYOUT 0
#endif
#ifndef HX_WIDTH
#define HX_WIDTH 4
#endif
#define HX_A_BY_K (HX_LAYOUT == 1)
#define HX_B_BY_COLUMN (HX_LAYOUT == 2)
#define HX_PLACE_WIDTH (HX_B_BY_COLUMN ? 1 : HX_WIDTH) /* where the last tiles may begin */
#ifndef HX_SPREAD /* B by columns: its copies are single floats, too many for one step */
#define HX_SPREAD (HX_A_BY_K && HX_TILE_K > 8 ? 2 : HX_B_BY_COLUMN)
#endif
#define HX_PITCH_A (HX_TILE_M + 4)
#define HX_PITCH_B (HX_TILE_N + (HX_B_BY_COLUMN ? 4 : 0))
#define HX_A_FLOATS (HX_TILE_K * HX_PITCH_A)
#define HX_B_FLOATS (HX_TILE_K * HX_PITCH_B)

#ifndef HX_STAGES
#define HX_STAGES 2
#endif
#define HX_PAIRS (HX_STAGES == 2 || HX_A_BY_K)
#define HX_TURN (HX_PAIRS ? 2 * HX_TILE_K : HX_TILE_K) /* of k */
/* A last tile that is no turn goes the same way where a slice has few. */
#define HX_ODD(count) (HX_SLICES > 1 && HX_PAIRS ? (count) & HX_TILE_K : 0)

/* An item's share of the copies of an operand that lies [line][k]: 8 neighbours take 8 k of a line, a float each; of one
 * that lies [k][line]: HX_WIDTH neighbouring floats at once, ALONG items of a k, several times where they do not reach.
 * ALONG is a whole line of the tile where the items have a copy each at most, else a power of two. LINES: of the outer
 * index that the items take at once. */
#define HX_SINGLE_LINES (HX_ITEMS / 8)
#define HX_SINGLE_COPIES(tile) ((tile) / HX_SINGLE_LINES * (HX_TILE_K / 8))
#define HX_SINGLE_FROM(at, lines, u) ((at) + (u) / (HX_TILE_K / 8) * (lines) + 8 * ((u) % (HX_TILE_K / 8)))
#define HX_SINGLE_TO(pitch, u) (8 * ((u) % (HX_TILE_K / 8)) * (pitch) + (u) / (HX_TILE_K / 8) * HX_SINGLE_LINES)
#define HX_WIDE_ALONG(tile) \
  (HX_WIDTH == 1 ? 32 : HX_ITEMS / ((tile) / 4) >= HX_TILE_K ? (tile) / 4 : (tile) / 4 & -((tile) / 4))
#define HX_WIDE_TIMES(tile) ((tile) / (HX_WIDE_ALONG(tile) * HX_WIDTH))
#define HX_WIDE_LINES(tile) (HX_ITEMS / HX_WIDE_ALONG(tile))
#define HX_WIDE_COPIES(tile) ((HX_TILE_K + HX_WIDE_LINES(tile) - 1) / HX_WIDE_LINES(tile) * HX_WIDE_TIMES(tile))
#define HX_WIDE_PAST(tile, u) ((u) % HX_WIDE_TIMES(tile) * (HX_WIDE_ALONG(tile) * HX_WIDTH))
#define HX_WIDE_FROM(tile, at, lines, u) ((at) + (u) / HX_WIDE_TIMES(tile) * (lines) + HX_WIDE_PAST(tile, u))
#define HX_WIDE_TO(tile, pitch, u) \
  ((u) / HX_WIDE_TIMES(tile) * HX_WIDE_LINES(tile) * (pitch) + HX_WIDE_PAST(tile, u))

/* Of the items of a slice alone. */
#if HX_SLICES == 1
#define HX_BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#else
#define HX_BARRIER hx_barrier(slice);
static void hx_barrier(uint slice) {
  if (slice) __asm__ __volatile__("bar.sync 2, %0;" : : "n"(HX_ITEMS) : "memory");
  else __asm__ __volatile__("bar.sync 1, %0;" : : "n"(HX_ITEMS) : "memory");
}
#endif

/* The copies of a tile: those of A, then those of B in two parts. */
#define HX_HALF(count, part) uint u = (count) * (part) / 2; u < (count) * ((part) + 1) / 2; u++
#define HX_COPY_BEGIN(half) HX_COPY_A(half) HX_COPY_B(half, 0) HX_COPY_B(half, 1) HX_COPY_COMMIT
#if HX_PTX
/* The elements of a line that come next, for two short stages do not wait out far memory, nor do many copies of both
 * operands; two slices lose by it. */
#if HX_STAGES == 2 && HX_TILE_K == 8 || HX_B_BY_COLUMN && HX_SLICES == 1 && !HX_SMALL
#define HX_FETCH ".L2::256B"
#else
#define HX_FETCH ""
#endif
static void hx_copy4(uint to, global const float *from) {
  __asm__ __volatile__("cp.async.ca.shared.global" HX_FETCH " [%0], [%1], 4;" : : "r"(to), "l"(from));
}
static void hx_copy16(uint to, global const float *from) {
  __asm__ __volatile__("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from));
}
#if HX_WIDTH == 4
#define HX_COPY_WIDE hx_copy16
#else
#define HX_COPY_WIDE hx_copy4
#endif
/* Where there are more items than quads. */
static void hx_copy16_if(uint to, global const float *from, uint some) {
  __asm__ __volatile__("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }"
                       :
                       : "r"(to), "l"(from), "r"(some));
}
#define HX_COPY_STATE                                                                                            \
  uint a_to = (uint)(size_t)(tile_a + a_mine), b_to = (uint)(size_t)(tile_b + b_mine);                     \
  const uint a_some = HX_WIDE_LINES(HX_TILE_M) <= HX_TILE_K || id < HX_TILE_K * HX_WIDE_ALONG(HX_TILE_M);
#define HX_COPY_A(half)                                                                                              \
  if (!HX_A_BY_K) {                                                                                                  \
    _Pragma("unroll") for (uint u = 0; u < HX_SINGLE_COPIES(HX_TILE_M); u++)                                         \
        hx_copy4(a_to + 4 * ((half) * HX_A_FLOATS + HX_SINGLE_TO(HX_PITCH_A, u)), HX_SINGLE_FROM(a_at, a_lines, u)); \
  } else if (HX_WIDE_LINES(HX_TILE_M) > HX_TILE_K) {                                                                 \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_M); u++)                                           \
        hx_copy16_if(a_to + 4 * ((half) * HX_A_FLOATS + HX_WIDE_TO(HX_TILE_M, HX_PITCH_A, u)),                       \
                     HX_WIDE_FROM(HX_TILE_M, a_at, a_lines, u), a_some);                                             \
  } else {                                                                                                           \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_M); u++)                                           \
        HX_COPY_WIDE(a_to + 4 * ((half) * HX_A_FLOATS + HX_WIDE_TO(HX_TILE_M, HX_PITCH_A, u)),                       \
                     HX_WIDE_FROM(HX_TILE_M, a_at, a_lines, u));                                                     \
  }
#define HX_COPY_B(half, part)                                                                                        \
  if (HX_B_BY_COLUMN) {                                                                                              \
    _Pragma("unroll") for (HX_HALF(HX_SINGLE_COPIES(HX_TILE_N), part))                                               \
        hx_copy4(b_to + 4 * ((half) * HX_B_FLOATS + HX_SINGLE_TO(HX_PITCH_B, u)), HX_SINGLE_FROM(b_at, b_lines, u)); \
  } else {                                                                                                           \
    _Pragma("unroll") for (HX_HALF(HX_WIDE_COPIES(HX_TILE_N), part))                                                 \
        HX_COPY_WIDE(b_to + 4 * ((half) * HX_B_FLOATS + HX_WIDE_TO(HX_TILE_N, HX_PITCH_B, u)),                       \
                     HX_WIDE_FROM(HX_TILE_N, b_at, b_lines, u));                                                     \
  }
/* An element, and the wait for all that an item has asked for. */
#define HX_COPY_ONE(tile, at, from) hx_copy4((uint)(size_t)((tile) + (at)), from);
#define HX_COPY_ALL __asm__ __volatile__("cp.async.wait_all;" : : : "memory");
#define HX_COPY_COMMIT __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_COPY_END(half)                                                            \
  __asm__ __volatile__("cp.async.wait_group %0;" : : "n"(HX_STAGES - 2) : "memory"); \
  barrier(CLK_LOCAL_MEM_FENCE);
#else
#if HX_WIDTH == 4
typedef float4 hx_wide;
#else
typedef float hx_wide;
#endif
#define HX_COPY_STATE                                                                                            \
  float a_in[HX_SINGLE_COPIES(HX_TILE_M)], b_one[HX_SINGLE_COPIES(HX_TILE_N)];                                   \
  hx_wide a_wide[HX_WIDE_COPIES(HX_TILE_M)], b_in[HX_WIDE_COPIES(HX_TILE_N)];                                     \
  const bool a_some = HX_WIDE_LINES(HX_TILE_M) <= HX_TILE_K || id < HX_TILE_K * HX_WIDE_ALONG(HX_TILE_M);
#define HX_COPY_A(half)                                                      \
  if (!HX_A_BY_K) {                                                          \
    _Pragma("unroll") for (uint u = 0; u < HX_SINGLE_COPIES(HX_TILE_M); u++) \
        a_in[u] = *HX_SINGLE_FROM(a_at, a_lines, u);                         \
  } else if (a_some) {                                                       \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_M); u++)   \
        a_wide[u] = *(global const hx_wide *)HX_WIDE_FROM(HX_TILE_M, a_at, a_lines, u);            \
  }
#define HX_COPY_B(half, part)                                          \
  if (HX_B_BY_COLUMN) {                                                \
    _Pragma("unroll") for (HX_HALF(HX_SINGLE_COPIES(HX_TILE_N), part)) \
        b_one[u] = *HX_SINGLE_FROM(b_at, b_lines, u);                  \
  } else {                                                             \
    _Pragma("unroll") for (HX_HALF(HX_WIDE_COPIES(HX_TILE_N), part))   \
        b_in[u] = *(global const hx_wide *)HX_WIDE_FROM(HX_TILE_N, b_at, b_lines, u);        \
  }
#define HX_COPY_ONE(tile, at, from) (tile)[at] = *(from);
#define HX_COPY_ALL
#define HX_COPY_COMMIT
#define HX_COPY_END(half)                                                                                        \
  if (!HX_A_BY_K) {                                                                                              \
    _Pragma("unroll") for (uint u = 0; u < HX_SINGLE_COPIES(HX_TILE_M); u++)                                     \
        tile_a[(half) * HX_A_FLOATS + a_mine + HX_SINGLE_TO(HX_PITCH_A, u)] = a_in[u];                           \
  } else if (a_some) {                                                                                           \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_M); u++)                                       \
        *(local hx_wide *)(tile_a + (half) * HX_A_FLOATS + a_mine + HX_WIDE_TO(HX_TILE_M, HX_PITCH_A, u)) = a_wide[u]; \
  }                                                                                                              \
  if (HX_B_BY_COLUMN) {                                                                                          \
    _Pragma("unroll") for (uint u = 0; u < HX_SINGLE_COPIES(HX_TILE_N); u++)                                     \
        tile_b[(half) * HX_B_FLOATS + b_mine + HX_SINGLE_TO(HX_PITCH_B, u)] = b_one[u];                          \
  } else {                                                                                                       \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_N); u++)                                       \
        *(local hx_wide *)(tile_b + (half) * HX_B_FLOATS + b_mine + HX_WIDE_TO(HX_TILE_N, HX_PITCH_B, u)) = b_in[u]; \
  }                                                                                                              \
  barrier(CLK_LOCAL_MEM_FENCE);
#endif

/* Operands of step p of a stage into registers; the fma of a step. */
#define HX_FRAGMENTS(set, stage, p)                                                                             \
  {                                                                                                             \
    _Pragma("unroll") for (uint i = 0; i < HX_BLOCKS_M; i++)                                                    \
        vstore4(*(local const float4 *)(a_frag + (stage) * HX_A_FLOATS + (p) * HX_PITCH_A + 16 * i), i, av[set]); \
    _Pragma("unroll") for (uint j = 0; j < HX_BLOCKS_N; j++)                                                    \
        vstore4(*(local const float4 *)(b_frag + (stage) * HX_B_FLOATS + (p) * HX_PITCH_B + 32 * j), j, bv[set]); \
  }
#define HX_STEP(set)                                                            \
  _Pragma("unroll") for (uint e = 0; e < HX_ROWS * HX_COLUMNS; e++) {           \
    const uint i = HX_STEP_I(e), j = HX_STEP_J(e, i);                           \
    acc[i][j] = fma(av[set][i], bv[set][j], acc[i][j]);                         \
  }
/* HX_ORDER: the way over the rows and columns, which the bits do not show and the compiler's registers do: along the
 * rows to and fro, along four columns of them at a time, or along the columns. */
#ifndef HX_ORDER
#define HX_ORDER 0
#endif
#if HX_ORDER == 0
#define HX_STEP_I(e) ((e) / HX_COLUMNS)
#define HX_STEP_J(e, i) ((i) & 1 ? HX_COLUMNS - 1 - (e) % HX_COLUMNS : (e) % HX_COLUMNS)
#elif HX_ORDER == 1
#define HX_STEP_I(e) ((e) / (4 * HX_ROWS) ? 2 * HX_ROWS - 1 - (e) / 4 : (e) / 4)
#define HX_STEP_J(e, i) ((e) / (4 * HX_ROWS) * 4 + ((i) & 1 ? 3 - (e) % 4 : (e) % 4))
#else
#define HX_STEP_I(e) ((e) / HX_ROWS & 1 ? HX_ROWS - 1 - (e) % HX_ROWS : (e) % HX_ROWS)
#define HX_STEP_J(e, i) ((e) / HX_ROWS)
#endif
/* A tile of a stage, while another one is copied into `into`; up to the first operands of the next one. */
#define HX_TILE(stage, into, next)                                                          \
  _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p++) {                                  \
    if (p + 1 < HX_TILE_K) {                                                                \
      HX_FRAGMENTS((p + 1) & 1, stage, p + 1)                                               \
    }                                                                                       \
    if (p == 0) {                                                                           \
      HX_COPY_A(into)                                                                       \
    }                                                                                       \
    if (p == HX_SPREAD) {                                                                   \
      HX_COPY_B(into, 0)                                                                    \
    }                                                                                       \
    if (p == 2 * HX_SPREAD) {                                                               \
      HX_COPY_B(into, 1)                                                                    \
      HX_COPY_COMMIT                                                                        \
    }                                                                                       \
    if (p + 1 == HX_TILE_K) {                                                               \
      HX_COPY_END(into)                                                                     \
      HX_FRAGMENTS(0, next, 0)                                                              \
    }                                                                                       \
    HX_STEP(p & 1)                                                                          \
  }

#define HX_SET_ACC(value)                                                                   \
  _Pragma("unroll") for (uint i = 0; i < HX_ROWS; i++) {                                    \
    _Pragma("unroll") for (uint j = 0; j < HX_COLUMNS; j++) acc[i][j] = (value);            \
  }
/* Quad q: four columns of row q / HX_BLOCKS_N, its pairs swapped. */
#define HX_QUAD_ACC(q, e) acc[(q) / HX_BLOCKS_N][4 * ((q) % HX_BLOCKS_N) + ((e) ^ 1)]
#define HX_QUAD(q) (float4)(HX_QUAD_ACC(q, 0), HX_QUAD_ACC(q, 1), HX_QUAD_ACC(q, 2), HX_QUAD_ACC(q, 3))
#define HX_ADD_QUAD(q, s)                                            \
  {                                                                  \
    const float4 hx_s = (s);                                         \
    HX_QUAD_ACC(q, 0) = HX_ADD(, hx_s.x, HX_QUAD_ACC(q, 0));         \
    HX_QUAD_ACC(q, 1) = HX_ADD(, hx_s.y, HX_QUAD_ACC(q, 1));         \
    HX_QUAD_ACC(q, 2) = HX_ADD(, hx_s.z, HX_QUAD_ACC(q, 2));         \
    HX_QUAD_ACC(q, 3) = HX_ADD(, hx_s.w, HX_QUAD_ACC(q, 3));         \
  }

#endif
