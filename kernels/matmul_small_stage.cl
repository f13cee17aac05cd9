/* SPDX-License-Identifier: Apache-2.0
 * What the product of matmul_small.cl is made of: its parameters, an item's share of the copies into local memory, the
 * operands and the fma of a step of k.
 *   HX_ITEM_M, HX_ITEM_N  rows and columns of an item: 2 or 4 of each, or more as HX_BLOCKS_M and HX_BLOCKS_N of 4.
 *                Small items are for products that do not fill the device: a chain over a panel takes as long as its
 *                warps
 *   HX_LANES_M   items of a warp one above the other, 4 or 2
 *   HX_AHEAD     steps of k whose operands are read into registers at once: local memory answers later than a warp
 *                alone takes for the few fma of a step
 *   HX_LAYOUT    2: B lies [column][k], and lies so in local memory as well: by fours, its copies are a quarter as many
 *                as those of single floats, which otherwise cost more than the reads of the operands */
#if HX_SHAPE_TILES && HX_SMALL

#ifndef HX_ITEM_M
#define HX_ITEM_M 4
#endif
#ifndef HX_ITEM_N
#define HX_ITEM_N 4
#endif
#define HX_LINES (HX_LAYOUT == 2)
#ifndef HX_BLOCKS_N
#define HX_BLOCKS_N 1
#endif
#define HX_SMALL_ROWS (HX_ITEM_M * HX_BLOCKS_M) /* of an item */
#define HX_SMALL_COLUMNS (HX_ITEM_N * HX_BLOCKS_N)
#define HX_SMALL_CELLS (HX_SMALL_ROWS * HX_SMALL_COLUMNS)
#define HX_LANES_N (32 / HX_LANES_M)
#define HX_WARP_M (HX_LANES_M * HX_SMALL_ROWS)
#define HX_WARP_N (HX_LANES_N * HX_SMALL_COLUMNS)
#define HX_SMALL_A_PITCH (HX_TILE_M + 4)
#define HX_SMALL_B_PITCH (HX_TILE_N + 4)
#define HX_SMALL_A_FLOATS (HX_TILE_K * HX_SMALL_A_PITCH)
#define HX_SMALL_B_FLOATS (HX_TILE_K * (HX_LINES ? HX_TILE_N : HX_SMALL_B_PITCH))

/* An item's share of the copies of an operand, up to `last` of its lines, which stands for those past it. */
typedef struct hx_side {
  global const float *at; /* the item's first element of the next tile of k */
  ulong ld;
  uint lies, line, last;
} hx_side;

/* Items along the lines of an operand that lies [k][line], one or four lines each. */
#define HX_ALONG(tile, width) min((uint)(tile) / (width), (uint)HX_LOCAL0)
/* Whether all items so take as many of them, none past the tile. */
#define HX_EVENLY(along, at_once) (HX_LOCAL0 % (along) == 0 && HX_TILE_K % (at_once) == 0)

static hx_side hx_side_of(global const float *x, ulong ld, uint lies, uint tile, ulong line0, ulong lines, ulong k0,
                          uint id) {
  hx_side s;
  s.ld = ld;
  s.lies = lies;
  s.last = (uint)min(lines - 1 - min(line0, lines - 1), (ulong)tile - 1);
  const uint width = lies & HX_LIES_FOURS ? 4 : 1, along = lies & HX_LIES_FOURS ? HX_ALONG(tile, 4) : HX_ALONG(tile, 1);
  s.line = lies & HX_LIES_BY_K ? id % along * width : id / 8;
  const ulong line = line0 + min(s.line, lies & HX_LIES_FOURS ? s.last & ~3u : s.last);
  s.at = x + (lies & HX_LIES_BY_K ? (k0 + id / along) * ld + line : line * ld + k0 + id % 8);
  return s;
}

#if HX_PTX
#define HX_SMALL_BASE(tile) (uint)(size_t)(tile)
#define HX_SMALL_MOVE(to, index, from) hx_copy4((to) + 4 * (index), from)
#define HX_SMALL_MOVE_FOUR(to, index, from) hx_copy16((to) + 4 * (index), from)
#define HX_SMALL_MOVE_FOUR_IF(to, index, from, some) hx_copy16_if((to) + 4 * (index), from, some)
#define HX_SMALL_COMMIT __asm__ __volatile__("cp.async.commit_group;" : : : "memory");
#define HX_SMALL_WAIT __asm__ __volatile__("cp.async.wait_group %0;" : : "n"(HX_STAGES - 2) : "memory");
typedef uint hx_tile_base;
#else
#define HX_SMALL_BASE(tile) (tile)
#define HX_SMALL_MOVE(to, index, from) (to)[index] = *(from)
#define HX_SMALL_MOVE_FOUR(to, index, from) vstore4(vload4(0, from), 0, (to) + (index))
#define HX_SMALL_MOVE_FOUR_IF(to, index, from, some) \
  if (some) HX_SMALL_MOVE_FOUR(to, index, from)
#define HX_SMALL_COMMIT
#define HX_SMALL_WAIT
typedef local float *hx_tile_base;
#endif

/* Copies a whole tile of k. The tile is a constant where this is inlined. */
#define HX_SMALL_COPY(name, TILE)                                                                              \
  static void name(const hx_side s, hx_tile_base to, uint id) {                                                \
    const uint pitch = (TILE) + 4;                                                                             \
    if (!(s.lies & HX_LIES_BY_K)) {                                                                            \
      _Pragma("unroll") for (uint u = 0; u < (TILE) * 8; u += HX_LOCAL0) {                                     \
        const uint past = u / 8, from = min(s.line, s.last), line = min(s.line + past, s.last);                \
        _Pragma("unroll") for (uint p = 0; p < HX_TILE_K; p += 8)                                              \
            HX_SMALL_MOVE(to, (p + id % 8) * pitch + s.line + past, s.at + (line - from) * s.ld + p);          \
      }                                                                                                        \
    } else if (s.lies & HX_LIES_FOURS) {                                                                       \
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
#if HX_LINES
#define HX_SMALL_COPY_B hx_small_copy_lines
#else
HX_SMALL_COPY(hx_small_copy_b, HX_TILE_N)
#define HX_SMALL_COPY_B hx_small_copy_b
#endif

/* The same of a B that lies [column][k], and so it does in local memory, with its fours of k in places such that
 * neither those of a line nor those of a warp's columns meet in a bank. */
#define HX_SMALL_LINE_AT(line, p) ((line)*HX_TILE_K + ((p) ^ ((line)&28)))
#if HX_LINES
static void hx_small_copy_lines(const hx_side s, hx_tile_base to, uint id) {
  global const float *at = s.at;
  if (s.lies & HX_LIES_FOURS) {
    const uint along = HX_TILE_K / 4, at_once = HX_LOCAL0 / along;
#pragma unroll
    for (uint past = 0; past < HX_TILE_N; past += at_once, at += at_once * s.ld)
      HX_SMALL_MOVE_FOUR(to, HX_SMALL_LINE_AT(id / along + past, id % along * 4), at);
  } else {
    const uint along = HX_TILE_K, at_once = HX_LOCAL0 / along;
#pragma unroll 8
    for (uint past = 0; past < HX_TILE_N; past += at_once, at += at_once * s.ld)
      HX_SMALL_MOVE(to, HX_SMALL_LINE_AT(id / along + past, id % along), at);
  }
}
#endif

/* Copies the last `count` of k, less than a tile, from element (line 0, k 0) of them. */
static void hx_small_copy_last(global const float *x, const hx_side s, hx_tile_base to, uint tile, uint count,
                               bool by_line, uint id) {
#pragma unroll 1
  for (uint e = id; e < tile * count; e += HX_LOCAL0) {
    const uint line = e % tile, p = e / tile, from = min(line, s.last);
    const uint at = by_line ? HX_SMALL_LINE_AT(line, p) : p * (tile + 4) + line;
    HX_SMALL_MOVE(to, at, x + (s.lies & HX_LIES_BY_K ? p * s.ld + from : from * s.ld + p));
  }
}

/* N neighbours into registers. */
#define HX_SMALL_TAKE(N, from, i, to) HX_PASTE(vstore, N)(*(local const HX_PASTE(float, N) *)(from), i, to)
/* Operands of HX_AHEAD steps from p on into registers, while those of the steps before are used. */
#define HX_SMALL_FRAGMENTS(set, p)                                                                  \
  _Pragma("unroll") for (uint u = 0; u < HX_AHEAD; u++) {                                           \
    HX_SMALL_TAKE_A(set, u, (p) + u)                                                                \
    if (!HX_LINES) {                                                                                \
      HX_SMALL_TAKE_B(set, u, (p) + u)                                                              \
    }                                                                                               \
  }                                                                                                 \
  _Pragma("unroll") for (uint c = 0; c < HX_LINES * HX_SMALL_COLUMNS; c++) {                        \
    const float4 four = *(local const float4 *)(bf + HX_SMALL_LINE(c) * HX_TILE_K + ((p) ^ place)); \
    bv[set][0][c] = four.x, bv[set][1 % HX_AHEAD][c] = four.y;                                      \
    bv[set][2 % HX_AHEAD][c] = four.z, bv[set][3 % HX_AHEAD][c] = four.w;                           \
  }
/* Those of one step. */
#define HX_SMALL_LINE(c) ((c) % HX_ITEM_N + (c) / HX_ITEM_N * (HX_ITEM_N * HX_LANES_N))
#define HX_SMALL_TAKE_A(set, u, p)                         \
  _Pragma("unroll") for (uint i = 0; i < HX_BLOCKS_M; i++) \
      HX_SMALL_TAKE(HX_ITEM_M, af + (p)*HX_SMALL_A_PITCH + HX_ITEM_M * HX_LANES_M * i, i, av[set][u]);
#define HX_SMALL_TAKE_B(set, u, p)                                                                       \
  if (HX_LINES) {                                                                                        \
    _Pragma("unroll") for (uint c = 0; c < HX_SMALL_COLUMNS; c++)                                        \
        bv[set][u][c] = bf[HX_SMALL_LINE(c) * HX_TILE_K + ((p) ^ place)];                                \
  } else {                                                                                               \
    _Pragma("unroll") for (uint j = 0; j < HX_BLOCKS_N; j++)                                             \
        HX_SMALL_TAKE(HX_ITEM_N, bf + (p)*HX_SMALL_B_PITCH + HX_ITEM_N * HX_LANES_N * j, j, bv[set][u]); \
  }
#define HX_SMALL_STEP(set, u)                                                                                \
  _Pragma("unroll") for (uint e = 0; e < HX_SMALL_CELLS; e++) {                                              \
    const uint i = e / HX_SMALL_COLUMNS, c = e % HX_SMALL_COLUMNS, j = i & 1 ? HX_SMALL_COLUMNS - 1 - c : c; \
    acc[i][j] = fma(av[set][u][i], bv[set][u][j], acc[i][j]);                                                \
  }

#endif
