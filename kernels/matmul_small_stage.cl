/* SPDX-License-Identifier: Apache-2.0
 * The parts of the product of matmul_small.cl: its parameters, an item's share of the copies into local memory, the
 * operands and the fma of a step of k.
 *   HX_ITEM_M, HX_ITEM_N  rows and columns of an item: 2 or 4 rows, 2 columns. Small items are for products that do
 *                not fill the device: a chain over a panel takes as long as its warps
 *   HX_LANES_M   items of a warp one above the other, 4 or 2
 *   HX_AHEAD     steps of k whose operands are read into registers at once: the latency of local memory is longer
 *                than a warp takes for the few fma of a step
 *   HX_TILE_M, HX_TILE_N, HX_TILE_K, HX_STAGES, HX_PTX, HX_WIDTH  as in matmul_stage.cl */
#if HX_SHAPE_TILES && HX_SMALL

#define HX_SMALL_CELLS (HX_ITEM_M * HX_ITEM_N)
#define HX_LANES_N (32 / HX_LANES_M)
#define HX_WARP_M (HX_LANES_M * HX_ITEM_M)
#define HX_WARP_N (HX_LANES_N * HX_ITEM_N)
#define HX_SMALL_A_PITCH (HX_TILE_M + 4)
#define HX_SMALL_B_PITCH (HX_TILE_N + 4)
#define HX_SMALL_A_FLOATS (HX_TILE_K * HX_SMALL_A_PITCH)
#define HX_SMALL_B_FLOATS (HX_TILE_K * HX_SMALL_B_PITCH)

/* An item's share of the copies of an operand, up to `last` of its lines, which stands for those past it. */
typedef struct hx_side {
  global const float *at; /* the item's first element of the next tile of k */
  ulong ld;
  uint layout, line, last;
} hx_side;

/* Items along the lines of an operand that is laid out [k][line], one or four lines each. */
#define HX_ALONG(tile, width) min((uint)(tile) / (width), (uint)HX_LOCAL0)
/* Whether all items copy equally many, and none past the tile. */
#define HX_EVENLY(along, at_once) (HX_LOCAL0 % (along) == 0 && HX_TILE_K % (at_once) == 0)

static hx_side hx_side_of(global const float *x, ulong ld, uint layout, uint tile, ulong line0, ulong lines, ulong k0,
                          uint id) {
  hx_side s;
  s.ld = ld;
  s.layout = layout;
  s.last = (uint)min(lines - 1 - min(line0, lines - 1), (ulong)tile - 1);
  const uint width = layout & HX_LAYOUT_VEC4 ? 4 : 1, along = layout & HX_LAYOUT_VEC4 ? HX_ALONG(tile, 4) : HX_ALONG(tile, 1);
  s.line = layout & HX_LAYOUT_BY_K ? id % along * width : id / 8;
  const ulong line = line0 + min(s.line, layout & HX_LAYOUT_VEC4 ? s.last & ~3u : s.last);
  s.at = x + (layout & HX_LAYOUT_BY_K ? (k0 + id / along) * ld + line : line * ld + k0 + id % 8);
  return s;
}

#if HX_PTX
#define HX_SMALL_BASE(tile) (uint)(size_t)(tile)
#define HX_SMALL_MOVE(to, index, from) hx_copy4((to) + 4 * (index), from)
#define HX_SMALL_MOVE_FOUR_IF(to, index, from, some) hx_copy16_if((to) + 4 * (index), from, some)
#define HX_SMALL_COMMIT __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_SMALL_WAIT __asm__ __volatile__("cp.async.wait_group %0;" : : "n"(HX_STAGES - 2) : "memory");
typedef uint hx_tile_base;
#else
#define HX_SMALL_BASE(tile) (tile)
#define HX_SMALL_MOVE(to, index, from) (to)[index] = *(from)
#define HX_SMALL_MOVE_FOUR_IF(to, index, from, some) \
  if (some) vstore4(vload4(0, from), 0, (to) + (index))
#define HX_SMALL_COMMIT
#define HX_SMALL_WAIT
typedef local float *hx_tile_base;
#endif

/* Copies a full tile of k. The tile is a constant after inlining. */
#define HX_SMALL_COPY(name, TILE)                                                                              \
  static void name(const hx_side s, hx_tile_base to, uint id) {                                                \
    const uint pitch = (TILE) + 4;                                                                             \
    if (!(s.layout & HX_LAYOUT_BY_K)) {                                                                            \
      _Pragma("unroll") for (uint u = 0; u < (TILE) * 8; u += HX_LOCAL0) {                                     \
        const uint past = u / 8, from = min(s.line, s.last), line = min(s.line + past, s.last);                \
        _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += 8)                                              \
            HX_SMALL_MOVE(to, (p + id % 8) * pitch + s.line + past, s.at + (line - from) * s.ld + p);          \
      }                                                                                                        \
    } else if (s.layout & HX_LAYOUT_VEC4) {                                                                       \
      const uint along = HX_ALONG(TILE, 4), at_once = HX_LOCAL0 / along;                                       \
      _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += at_once)                                          \
          if (HX_EVENLY(along, at_once) || p + id / along < HX_TILE_K)                                         \
              HX_SMALL_MOVE_FOUR_IF(to, (p + id / along) * pitch + s.line, s.at + p * s.ld, s.line <= s.last); \
    } else {                                                                                                   \
      const uint along = HX_ALONG(TILE, 1), at_once = HX_LOCAL0 / along;                                       \
      _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += at_once)                                          \
          _Pragma("unroll") for (uint past = 0; past < (TILE); past += along) {                                \
        const uint from = min(s.line, s.last), line = min(s.line + past, s.last);                              \
        if (HX_EVENLY(along, at_once) || p + id / along < HX_TILE_K)                                           \
          HX_SMALL_MOVE(to, (p + id / along) * pitch + s.line + past, s.at + (line - from) + p * s.ld);        \
      }                                                                                                        \
    }                                                                                                          \
  }
HX_SMALL_COPY(hx_small_copy_a, HX_TILE_M)
HX_SMALL_COPY(hx_small_copy_b, HX_TILE_N)

/* Copies the last `count` of k, less than a tile, from element (line 0, k 0) of them. */
static void hx_small_copy_last(global const float *x, const hx_side s, hx_tile_base to, uint tile, uint count,
                               uint id) {
#pragma unroll 1
  for (uint e = id; e < tile * count; e += HX_LOCAL0) {
    const uint line = e % tile, p = e / tile, from = min(line, s.last);
    HX_SMALL_MOVE(to, p * (tile + 4) + line, x + (s.layout & HX_LAYOUT_BY_K ? p * s.ld + from : from * s.ld + p));
  }
}

/* Loads N neighbours into registers. */
#define HX_SMALL_TAKE(N, from, to) HX_PASTE(vstore, N)(*(local const HX_PASTE(float, N) *)(from), 0, to)
#define HX_SMALL_OPERANDS(set, u, p)                                       \
  HX_SMALL_TAKE(HX_ITEM_M, af + (p)*HX_SMALL_A_PITCH, av[set][u]);         \
  HX_SMALL_TAKE(HX_ITEM_N, bf + (p)*HX_SMALL_B_PITCH, bv[set][u]);
/* Loads the operands of HX_AHEAD steps from p on into registers while those of the steps before are used. */
#define HX_SMALL_FRAGMENTS(set, p)                        \
  _Pragma("unroll") for (uint u = 0; u < HX_AHEAD; u++) { \
    HX_SMALL_OPERANDS(set, u, (p) + u)                    \
  }
#define HX_SMALL_STEP(set, u)                                                                \
  _Pragma("unroll") for (uint e = 0; e < HX_SMALL_CELLS; e++) {                              \
    const uint i = e / HX_ITEM_N, c = e % HX_ITEM_N, j = i & 1 ? HX_ITEM_N - 1 - c : c;      \
    acc[i][j] = fma(av[set][u][i], bv[set][u][j], acc[i][j]);                                \
  }

#endif
