/* SPDX-License-Identifier: Apache-2.0
 * The parts of the product of matmul_tiles.cl: its parameters, the operands and the fma of a step of k, and the sums in
 * registers. matmul_stage_copy.cl has the copies into local memory.
 * -D options, all from the row (table/matmul_nvidia_rows.inc) unless a default is given:
 *   HX_TILE_M, HX_TILE_N, HX_TILE_K  the group's tile of C, and its steps of k in local memory
 *   HX_PTX       1: the copies are cp.async; 0 (the tests): they go through registers
 *   HX_BLOCKS_M, HX_BLOCKS_N  blocks of four rows, and of four columns, of each item
 *   HX_SLICES    2 (HX_PTX alone): each half of a group computes another panel of the same tile, so that few tiles have
 *                twice the warps, and then the panels are added. The halves run in step, because warps that do not
 *                would fetch the same code twice, and that would limit the speed
 *   HX_STAGES    tiles in local memory. 2: an iteration uses two, at fixed places. More (HX_PTX alone): further tiles
 *                are being loaded, which hides the latency of memory; an iteration uses one, or two if A is laid out
 *                [k][row]; for another layout of A the copies leave too few registers
 *   HX_LAYOUT    the operands' layout (hx__layout): 0 A [row][k] and B [k][column]; 1 A [k][row]; 2 B [column][k]
 *   HX_WIDTH     floats that a copy of an operand laid out [k][line] takes: 4, if its lines begin at multiples of 16
 *                bytes, or 1 at any address: each warp then copies neighbours of one k, at constant offsets
 *   HX_VEC4     1: an operand laid out [line][k] is copied as float4 along k, and is laid out so in local
 *                memory. There are four times as many copies of single floats, which cost a small tile more than
 *                its fma
 *   HX_AHEAD     steps of k whose operands are read into registers at once; HX_VEC4: 4; otherwise HX_TILE_K is an even
 *                multiple of it
 *   HX_SPREAD    steps of k from the copies of A in a tile to the first half of those of B, and on to the others
 *   HX_ORDER     the order of the fma of a step
 *   HX_DIRECT    1: a tile is stored from the registers if possible; 0: always through local memory
 *   HX_AT_ONCE   elements of a tile that an item stores at once if it goes through local memory by elements; each
 *                store waits for local memory, and with beta for C
 *   HX_SPARE     unused float4s of local memory: NVIDIA's compiler limits the registers of an item so that as many
 *                groups fit as local memory has room for, and then loads operands late */
#if HX_SHAPE_TILES

#ifndef HX_SLICES
#define HX_SLICES 1
#endif
#define HX_CHAINS (HX_SLICES == 1 && HX_LOCAL0 < 512) /* matmul_tiles.cl: hx__kernel_row.chains */
#define HX_ITEMS (HX_LOCAL0 / HX_SLICES) /* the items that compute one tile */
#define HX_ROWS (4 * HX_BLOCKS_M) /* rows of one item */
#define HX_COLUMNS (4 * HX_BLOCKS_N)
#define HX_QUADS (HX_BLOCKS_N * HX_ROWS)
#ifndef HX_DIRECT
#define HX_DIRECT 0
#endif
#ifndef HX_SPARE
#define HX_SPARE 0
#endif
#ifndef HX_AT_ONCE
#define HX_AT_ONCE 8
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
#ifndef HX_VEC4
#define HX_VEC4 0
#endif
#ifndef HX_AHEAD
#define HX_AHEAD (HX_VEC4 ? 4 : 1)
#endif
#define HX_A_VEC4 (HX_VEC4 && !HX_A_BY_K)
#define HX_B_VEC4 (HX_VEC4 && HX_B_BY_COLUMN)
#define HX_PITCH_A (HX_A_VEC4 ? HX_TILE_K + 4 : HX_TILE_M + 4)
#define HX_PITCH_B (HX_B_VEC4 ? HX_TILE_K + 4 : HX_TILE_N + (HX_B_BY_COLUMN ? 4 : 0))
#define HX_A_FLOATS (HX_A_VEC4 ? HX_TILE_M * HX_PITCH_A : HX_TILE_K * HX_PITCH_A)
#define HX_B_FLOATS (HX_B_VEC4 ? HX_TILE_N * HX_PITCH_B : HX_TILE_K * HX_PITCH_B)

#if HX_VEC4 && !HX_PTX /* copies through registers are of one tile */
#undef HX_STAGES
#endif
#ifndef HX_STAGES
#define HX_STAGES 2
#endif
#define HX_PAIRS (HX_STAGES == 2 || HX_A_BY_K)
#define HX_TURN (HX_PAIRS ? 2 * HX_TILE_K : HX_TILE_K) /* steps of k of an iteration */
/* Whether a full tile of k is left that does not fill an iteration. With two slices, which have few iterations each, it
 * is computed by the code of full tiles, otherwise one step at a time. */
#define HX_ODD(count) (HX_SLICES > 1 && HX_PAIRS ? (count) & HX_TILE_K : 0)

/* A barrier for the items of one slice only. */
#if HX_SLICES == 1
#define HX_BARRIER barrier(CLK_LOCAL_MEM_FENCE);
#else
#define HX_BARRIER hx_barrier(slice);
static void hx_barrier(uint slice) {
  if (slice) __asm__ __volatile__("bar.sync 2, %0;" : : "n"(HX_ITEMS) : "memory");
  else __asm__ __volatile__("bar.sync 1, %0;" : : "n"(HX_ITEMS) : "memory");
}
#endif

/* Macros that load operands into registers, for HX_AHEAD steps from p on of a stage or for one of the last steps of k,
 * and that do the fma of a step. */
#define HX_ROW_AT(i) (HX_A_VEC4 ? HX_LINE_PLACE(HX_BLOCK_A, (i) / 4 * 16 + (i) % 4) * HX_PITCH_A : (i) / 4 * 16 + (i) % 4)
#define HX_COLUMN_AT(j) \
  (HX_B_VEC4 ? HX_LINE_PLACE(HX_BLOCK_B, (j) / 4 * 32 + (j) % 4) * HX_PITCH_B : (j) / 4 * 32 + (j) % 4)
#define HX_TAKE_LINE(to, i, from)                                              \
  {                                                                            \
    const float4 four = *(local const float4 *)(from);                         \
    to[0][i] = four.x, to[1 % HX_AHEAD][i] = four.y;                           \
    to[2 % HX_AHEAD][i] = four.z, to[3 % HX_AHEAD][i] = four.w;                \
  }
#define HX_TAKE(set, stage, p, steps)                                                                                \
  if (HX_A_VEC4) {                                                                                                  \
    _Pragma("unroll") for (uint i = 0; i < HX_ROWS; i++)                                                             \
        HX_TAKE_LINE(av[set], i, a_frag + (stage) * HX_A_FLOATS + HX_ROW_AT(i) + (p))                                \
  } else {                                                                                                           \
    _Pragma("unroll") for (uint u = 0; u < (steps); u++) {                                                           \
      _Pragma("unroll") for (uint i = 0; i < HX_BLOCKS_M; i++)                                                       \
          vstore4(*(local const float4 *)(a_frag + (stage) * HX_A_FLOATS + ((p) + u) * HX_PITCH_A + 16 * i), i,      \
                  av[set][u]);                                                                                       \
    }                                                                                                                \
  }                                                                                                                  \
  if (HX_B_VEC4) {                                                                                                  \
    _Pragma("unroll") for (uint j = 0; j < HX_COLUMNS; j++)                                                          \
        HX_TAKE_LINE(bv[set], j, b_frag + (stage) * HX_B_FLOATS + HX_COLUMN_AT(j) + (p))                             \
  } else {                                                                                                           \
    _Pragma("unroll") for (uint u = 0; u < (steps); u++) {                                                           \
      _Pragma("unroll") for (uint j = 0; j < HX_BLOCKS_N; j++)                                                       \
          vstore4(*(local const float4 *)(b_frag + (stage) * HX_B_FLOATS + ((p) + u) * HX_PITCH_B + 32 * j), j,      \
                  bv[set][u]);                                                                                       \
    }                                                                                                                \
  }
#define HX_FRAGMENTS(set, stage, p) HX_TAKE(set, stage, p, HX_AHEAD)
#if HX_VEC4
#define HX_LAST_AT(vec4, floats, pitch, p) ((vec4) ? (p) / HX_TILE_K * (floats) + (p) % HX_TILE_K : (p) * (pitch))
#define HX_LAST_FRAGMENTS(p)                                                                       \
  _Pragma("unroll") for (uint i = 0; i < HX_ROWS; i++)                                             \
      av[0][0][i] = a_frag[HX_LAST_AT(HX_A_VEC4, HX_A_FLOATS, HX_PITCH_A, p) + HX_ROW_AT(i)];     \
  _Pragma("unroll") for (uint j = 0; j < HX_COLUMNS; j++)                                          \
      bv[0][0][j] = b_frag[HX_LAST_AT(HX_B_VEC4, HX_B_FLOATS, HX_PITCH_B, p) + HX_COLUMN_AT(j)];
#else
#define HX_LAST_FRAGMENTS(p) HX_TAKE(0, 0, p, 1)
#endif
#define HX_STEP(set, u)                                                         \
  _Pragma("unroll") for (uint e = 0; e < HX_ROWS * HX_COLUMNS; e++) {           \
    const uint i = HX_STEP_I(e), j = HX_STEP_J(e, i);                           \
    acc[i][j] = fma(av[set][u][i], bv[set][u][j], acc[i][j]);                   \
  }
/* HX_ORDER: the order of rows and columns, which does not change the bits but the use of registers: along the rows to
 * and fro, along four columns of them at a time, or along the columns. */
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
/* Computes the tile of a stage while another tile is copied to `into`. Finally loads the first operands of the next
 * one. */
#define HX_TILE(stage, into, next)                                                          \
  _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p++) {                                  \
    if (p % HX_AHEAD == 0 && p + HX_AHEAD < HX_TILE_K) {                                    \
      HX_FRAGMENTS((p / HX_AHEAD + 1) & 1, stage, p + HX_AHEAD)                             \
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
    if (p + HX_AHEAD == HX_TILE_K) {                                                        \
      HX_COPY_END(into)                                                                     \
      HX_FRAGMENTS(0, next, 0)                                                              \
    }                                                                                       \
    HX_STEP(p / HX_AHEAD & 1, p % HX_AHEAD)                                                 \
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
