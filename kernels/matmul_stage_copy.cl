/* SPDX-License-Identifier: Apache-2.0
 * An item's share of the copies of matmul_tiles.cl into local memory, by cp.async (HX_PTX) or through registers. The
 * parameters are those of matmul_stage.cl. */
#if HX_SHAPE_TILES

/* An item's share of the copies of an operand laid out [line][k]: 8 neighbouring items copy 8 k of a line, a float
 * each. Of one laid out [k][line]: HX_WIDTH neighbouring floats at once, ALONG items for one k, several times if they
 * do not reach the end. ALONG is a full line of the tile if each item has one copy at most, else a power of two. LINES:
 * how many of the outer index the items copy at once. */
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

/* With HX_VEC4 a warp reads four lines of A at once, or eight of B, that are four apart. So lines are placed such that
 * these are neighbours, in blocks of 16 lines of A and of 32 of B, and their float4s of k are in different banks.
 * TILE_K / 4 items copy a line. */
#define HX_BLOCK_A 16
#define HX_BLOCK_B 32
#define HX_LINE_PLACE(block, line) \
  ((line) / (block) * (block) + (line) % 4 * ((block) / 4) + (line) % (block) / 4)
#define HX_PLACE_LINE(block, place) \
  ((place) / (block) * (block) + (place) % ((block) / 4) * 4 + (place) % (block) / ((block) / 4))
#define HX_VEC4_LINES (HX_ITEMS / (HX_TILE_K / 4))
#define HX_VEC4_COPIES(tile) ((tile) / HX_VEC4_LINES)
#define HX_VEC4_FROM(block, at, ld, u) ((at) + HX_PLACE_LINE(block, (u) * HX_VEC4_LINES) * (ld))
#define HX_VEC4_TO(pitch, u) ((u) * HX_VEC4_LINES * (pitch))
#if HX_VEC4 && (HX_SLICES > 1 || HX_TILE_M % HX_VEC4_LINES != 0 || HX_TILE_N % HX_VEC4_LINES != 0)
#error every item needs as many copies, and the last of k are found by the items of one slice
#endif

/* The copies of a tile: those of A, then those of B in two parts. */
#define HX_HALF(count, part) uint u = (count) * (part) / 2; u < (count) * ((part) + 1) / 2; u++
#define HX_COPY_BEGIN(half) HX_COPY_A(half) HX_COPY_B(half, 0) HX_COPY_B(half, 1) HX_COPY_COMMIT
#if HX_PTX
/* Prefetches the next elements of a line, because two short stages do not hide the latency of memory, nor do many
 * copies of both operands; two slices get slower by it. */
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
/* Copies only if `some` is not 0, because there may be more items than quads. */
static void hx_copy16_if(uint to, global const float *from, uint some) {
  __asm__ __volatile__("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16; }"
                       :
                       : "r"(to), "l"(from), "r"(some));
}
#define HX_COPY_STATE                                                                                            \
  uint a_to = (uint)(size_t)(tile_a + a_mine), b_to = (uint)(size_t)(tile_b + b_mine);                     \
  const uint a_some = HX_WIDE_LINES(HX_TILE_M) <= HX_TILE_K || id < HX_TILE_K * HX_WIDE_ALONG(HX_TILE_M);
#define HX_COPY_A(half)                                                                                              \
  if (HX_A_VEC4) {                                                                                                  \
    _Pragma("unroll") for (uint u = 0; u < HX_VEC4_COPIES(HX_TILE_M); u++)                                          \
        hx_copy16(a_to + 4 * ((half) * HX_A_FLOATS + HX_VEC4_TO(HX_PITCH_A, u)),                                    \
                  HX_VEC4_FROM(HX_BLOCK_A, a_at, lda, u));                                                          \
  } else if (!HX_A_BY_K) {                                                                                           \
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
  if (HX_B_VEC4) {                                                                                                  \
    _Pragma("unroll") for (HX_HALF(HX_VEC4_COPIES(HX_TILE_N), part))                                                \
        hx_copy16(b_to + 4 * ((half) * HX_B_FLOATS + HX_VEC4_TO(HX_PITCH_B, u)),                                    \
                  HX_VEC4_FROM(HX_BLOCK_B, b_at, ldb, u));                                                          \
  } else if (HX_B_BY_COLUMN) {                                                                                       \
    _Pragma("unroll") for (HX_HALF(HX_SINGLE_COPIES(HX_TILE_N), part))                                               \
        hx_copy4(b_to + 4 * ((half) * HX_B_FLOATS + HX_SINGLE_TO(HX_PITCH_B, u)), HX_SINGLE_FROM(b_at, b_lines, u)); \
  } else {                                                                                                           \
    _Pragma("unroll") for (HX_HALF(HX_WIDE_COPIES(HX_TILE_N), part))                                                 \
        HX_COPY_WIDE(b_to + 4 * ((half) * HX_B_FLOATS + HX_WIDE_TO(HX_TILE_N, HX_PITCH_B, u)),                       \
                     HX_WIDE_FROM(HX_TILE_N, b_at, b_lines, u));                                                     \
  }
/* Macros that copy one element, and that wait for all copies of an item. */
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
  float4 a_four[HX_VEC4_COPIES(HX_TILE_M) + 1], b_four[HX_VEC4_COPIES(HX_TILE_N) + 1];                         \
  hx_wide a_wide[HX_WIDE_COPIES(HX_TILE_M)], b_in[HX_WIDE_COPIES(HX_TILE_N)];                                     \
  const bool a_some = HX_WIDE_LINES(HX_TILE_M) <= HX_TILE_K || id < HX_TILE_K * HX_WIDE_ALONG(HX_TILE_M);
#define HX_COPY_A(half)                                                      \
  if (HX_A_VEC4) {                                                          \
    _Pragma("unroll") for (uint u = 0; u < HX_VEC4_COPIES(HX_TILE_M); u++)  \
        a_four[u] = vload4(0, HX_VEC4_FROM(HX_BLOCK_A, a_at, lda, u));      \
  } else if (!HX_A_BY_K) {                                                   \
    _Pragma("unroll") for (uint u = 0; u < HX_SINGLE_COPIES(HX_TILE_M); u++) \
        a_in[u] = *HX_SINGLE_FROM(a_at, a_lines, u);                         \
  } else if (a_some) {                                                       \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_M); u++)   \
        a_wide[u] = *(global const hx_wide *)HX_WIDE_FROM(HX_TILE_M, a_at, a_lines, u);            \
  }
#define HX_COPY_B(half, part)                                          \
  if (HX_B_VEC4) {                                                    \
    _Pragma("unroll") for (HX_HALF(HX_VEC4_COPIES(HX_TILE_N), part))  \
        b_four[u] = vload4(0, HX_VEC4_FROM(HX_BLOCK_B, b_at, ldb, u)); \
  } else if (HX_B_BY_COLUMN) {                                         \
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
  if (HX_A_VEC4) {                                                                                              \
    _Pragma("unroll") for (uint u = 0; u < HX_VEC4_COPIES(HX_TILE_M); u++)                                      \
        vstore4(a_four[u], 0, tile_a + (half) * HX_A_FLOATS + a_mine + HX_VEC4_TO(HX_PITCH_A, u));              \
  } else if (!HX_A_BY_K) {                                                                                       \
    _Pragma("unroll") for (uint u = 0; u < HX_SINGLE_COPIES(HX_TILE_M); u++)                                     \
        tile_a[(half) * HX_A_FLOATS + a_mine + HX_SINGLE_TO(HX_PITCH_A, u)] = a_in[u];                           \
  } else if (a_some) {                                                                                           \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_M); u++)                                       \
        *(local hx_wide *)(tile_a + (half) * HX_A_FLOATS + a_mine + HX_WIDE_TO(HX_TILE_M, HX_PITCH_A, u)) = a_wide[u]; \
  }                                                                                                              \
  if (HX_B_VEC4) {                                                                                              \
    _Pragma("unroll") for (uint u = 0; u < HX_VEC4_COPIES(HX_TILE_N); u++)                                      \
        vstore4(b_four[u], 0, tile_b + (half) * HX_B_FLOATS + b_mine + HX_VEC4_TO(HX_PITCH_B, u));              \
  } else if (HX_B_BY_COLUMN) {                                                                                   \
    _Pragma("unroll") for (uint u = 0; u < HX_SINGLE_COPIES(HX_TILE_N); u++)                                     \
        tile_b[(half) * HX_B_FLOATS + b_mine + HX_SINGLE_TO(HX_PITCH_B, u)] = b_one[u];                          \
  } else {                                                                                                       \
    _Pragma("unroll") for (uint u = 0; u < HX_WIDE_COPIES(HX_TILE_N); u++)                                       \
        *(local hx_wide *)(tile_b + (half) * HX_B_FLOATS + b_mine + HX_WIDE_TO(HX_TILE_N, HX_PITCH_B, u)) = b_in[u]; \
  }                                                                                                              \
  barrier(CLK_LOCAL_MEM_FENCE);
#endif

#endif
