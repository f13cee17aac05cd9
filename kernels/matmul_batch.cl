/* SPDX-License-Identifier: Apache-2.0
 * Products of a batch, for NVIDIA GPUs: a group computes one tile or several, of the same product or of neighbours, each
 * by HX_BATCH_ITEMS items, over all of k, which is one panel at most. Operands are read in place in any layout. The
 * order is that of matmul.cl. One tile of k is in local memory: while a group waits for the next one, others compute,
 * and registers for loads ahead would let fewer groups run. -D options:
 *   HX_TILE_M, HX_TILE_N  rows and columns of a tile of C
 *   HX_TILE_K             steps of k of a tile in local memory, a multiple of 4
 *   HX_ITEM_M, HX_ITEM_N  rows and columns of C of an item, multiples of 4
 *   HX_LOCAL0             items of a group: of one tile or several
 *   HX_COPIES             copies of one operand that an item loads before it stores them; default 0: it loads its part of
 *                         both operands first, which hides latency better and takes more registers */
#if HX_SHAPE_TILES && HX_BATCH

#ifndef HX_COPIES
#define HX_COPIES 0
#endif
#define HX_BATCH_HIGH (HX_TILE_M / HX_ITEM_M) /* items one above the other, and side by side */
#define HX_BATCH_WIDE (HX_TILE_N / HX_ITEM_N)
#define HX_BATCH_ITEMS (HX_BATCH_HIGH * HX_BATCH_WIDE)
#define HX_BATCH_EACH (HX_LOCAL0 / HX_BATCH_ITEMS) /* tiles of a group */

/* Local memory holds operands as [k][line]. An item that has loaded four steps of one line writes them to four rows
 * there, and its neighbours write the next four steps of the same line. These would all be in the same bank, so in row p
 * a quad of lines is stored at its number XOR p / 4. */
#define HX_BATCH_PITCH(tile) ((tile) <= 16 ? 16 : ((tile) + 31) / 32 * 32)
#define HX_BATCH_SHIFT(pitch, p) (((p) / 4 & ((pitch) / 4 - 1) & 7) * 4)
#define HX_BATCH_AT(pitch, p, line) ((p) * (pitch) + ((line) ^ HX_BATCH_SHIFT(pitch, p)))
#define HX_BATCH_PITCH_A HX_BATCH_PITCH(HX_TILE_M)
#define HX_BATCH_PITCH_B HX_BATCH_PITCH(HX_TILE_N)
#define HX_BATCH_A_FLOATS (HX_TILE_K * HX_BATCH_PITCH_A)
#define HX_BATCH_B_FLOATS (HX_TILE_K * HX_BATCH_PITCH_B)

/* What an item copies of an operand: four neighbours in memory at a time, number e of those of the tile. */
#define HX_BATCH_COPIES(tile) (((tile) * HX_TILE_K / 4 + HX_BATCH_ITEMS - 1) / HX_BATCH_ITEMS)
#define HX_BATCH_AT_ONCE(tile) (HX_COPIES ? HX_COPIES : HX_BATCH_COPIES(tile))
#define HX_BATCH_ROW(across, e) ((e) / (across))
#define HX_BATCH_COLUMN(across, e) ((e) % (across) * 4)

/* Loads four neighbours of rows x columns elements; zeros stand for those that do not exist, and are never used. */
static float4 hx_batch_load(global const float *x, ulong ld, uint vec4, uint row, uint column, uint rows, uint columns) {
  float4 v = (float4)(0.0f);
  global const float *const from = x + row * ld + column;
  if (row >= rows || column >= columns) return v;
  if (vec4) return *(global const float4 *)from; /* then columns is a multiple of 4 */
  v.s0 = from[0];
  if (column + 1 < columns) v.s1 = from[1];
  if (column + 2 < columns) v.s2 = from[2];
  if (column + 3 < columns) v.s3 = from[3];
  return v;
}

/* The item's part of an operand from copy u0 on, of which `lines` lines and `steps` steps of k exist from x on. */
#define HX_BATCH_FETCH(v, x, ld, layout, TILE, lines, steps)                                                    \
  if ((layout) & HX_LAYOUT_BY_K) {                                                                              \
    _Pragma("unroll") for (uint u = 0; u < HX_BATCH_AT_ONCE(TILE); u++) {                                       \
      const uint e = (u0 + u) * HX_BATCH_ITEMS + item;                                                          \
      v[u] = hx_batch_load(x, ld, (layout) & HX_LAYOUT_VEC4, HX_BATCH_ROW((TILE) / 4, e),                       \
                           HX_BATCH_COLUMN((TILE) / 4, e), steps, lines);                                       \
    }                                                                                                           \
  } else {                                                                                                      \
    _Pragma("unroll") for (uint u = 0; u < HX_BATCH_AT_ONCE(TILE); u++) {                                       \
      const uint e = (u0 + u) * HX_BATCH_ITEMS + item;                                                          \
      v[u] = hx_batch_load(x, ld, (layout) & HX_LAYOUT_VEC4, HX_BATCH_ROW(HX_TILE_K / 4, e),                    \
                           HX_BATCH_COLUMN(HX_TILE_K / 4, e), lines, steps);                                    \
    }                                                                                                           \
  }

#define HX_BATCH_KEEP(v, layout, TILE, to)                                                                      \
  _Pragma("unroll") for (uint u = 0; u < HX_BATCH_AT_ONCE(TILE); u++) {                                         \
    const uint e = (u0 + u) * HX_BATCH_ITEMS + item, pitch = HX_BATCH_PITCH(TILE);                              \
    if (e >= (TILE) * HX_TILE_K / 4) continue;                                                                  \
    if ((layout) & HX_LAYOUT_BY_K) {                                                                            \
      const uint p = HX_BATCH_ROW((TILE) / 4, e);                                                               \
      *(local float4 *)((to) + HX_BATCH_AT(pitch, p, HX_BATCH_COLUMN((TILE) / 4, e))) = v[u];                   \
    } else {                                                                                                    \
      const uint p = HX_BATCH_COLUMN(HX_TILE_K / 4, e);                                                         \
      local float *const at = (to) + HX_BATCH_AT(pitch, p, HX_BATCH_ROW(HX_TILE_K / 4, e));                     \
      at[0] = v[u].s0, at[pitch] = v[u].s1, at[2 * pitch] = v[u].s2, at[3 * pitch] = v[u].s3;                   \
    }                                                                                                           \
  }

/* Copies an operand, HX_COPIES at a time. As a loop also if it has one turn: then compilers do not begin with the other
 * operand before it is done, and 64 x 64 tiles of 64 items fit the registers. */
#define HX_BATCH_COPY(x, ld, layout, TILE, lines, steps, to)                                                    \
  _Pragma("unroll 1") for (uint u0 = 0; u0 < HX_BATCH_COPIES(TILE); u0 += HX_COPIES) {                          \
    float4 v[HX_COPIES];                                                                                        \
    HX_BATCH_FETCH(v, x, ld, layout, TILE, lines, steps)                                                        \
    HX_BATCH_KEEP(v, layout, TILE, to)                                                                          \
  }

/* The multiply-adds of step p of k, if p / 4 is `four`. */
#define HX_BATCH_STEP(p, four)                                                                                  \
  {                                                                                                             \
    float av[HX_ITEM_M], bv[HX_ITEM_N];                                                                         \
    _Pragma("unroll") for (uint i = 0; i < HX_ITEM_M; i += 4) vstore4(                                          \
        *(local const float4 *)(own_a + HX_BATCH_AT(HX_BATCH_PITCH_A, 4 * (four), 4 * y + i * HX_BATCH_HIGH) +  \
                                ((p) - 4 * (four)) * HX_BATCH_PITCH_A),                                         \
        0, av + i);                                                                                             \
    _Pragma("unroll") for (uint j = 0; j < HX_ITEM_N; j += 4) vstore4(                                          \
        *(local const float4 *)(own_b + HX_BATCH_AT(HX_BATCH_PITCH_B, 4 * (four), 4 * x + j * HX_BATCH_WIDE) +  \
                                ((p) - 4 * (four)) * HX_BATCH_PITCH_B),                                         \
        0, bv + j);                                                                                             \
    _Pragma("unroll") for (uint i = 0; i < HX_ITEM_M; i++) {                                                    \
      _Pragma("unroll") for (uint c = 0; c < HX_ITEM_N; c++) {                                                  \
        const uint j = i & 1 ? HX_ITEM_N - 1 - c : c;                                                           \
        acc[i][j] = fma(av[i], bv[j], acc[i][j]);                                                               \
      }                                                                                                         \
    }                                                                                                           \
  }

/* The arguments of the kernel in matmul_small.cl. tiles: of all products. */
kernel __attribute__((reqd_work_group_size(HX_LOCAL0, 1, 1))) void hx_matmul(
    global const float *a, ulong a_first, ulong lda, global const float *b, ulong b_first, ulong ldb, ulong m, ulong n,
    ulong k, float alpha, float beta, global float *t, ulong ldt, uint transposed, uint tiles, global float *partials,
    uint layout, uint join, global uint *tickets, ulong a_step, ulong b_step, ulong t_step) {
  local float tiles_a[HX_BATCH_EACH * HX_BATCH_A_FLOATS] __attribute__((aligned(16)));
  local float tiles_b[HX_BATCH_EACH * HX_BATCH_B_FLOATS] __attribute__((aligned(16)));
  const uint id = (uint)get_local_id(0), which = id / HX_BATCH_ITEMS, item = id % HX_BATCH_ITEMS;
  const uint in_row = ((uint)n + HX_TILE_N - 1) / HX_TILE_N, of_product = ((uint)m + HX_TILE_M - 1) / HX_TILE_M * in_row;
  const uint number = (uint)get_group_id(0) * HX_BATCH_EACH + which, product = number / of_product;
  const uint i0 = number % of_product / in_row * HX_TILE_M, j0 = number % of_product % in_row * HX_TILE_N;
  const uint x = item % HX_BATCH_WIDE, y = item / HX_BATCH_WIDE;
  const uint rows = number < tiles ? min((uint)m - i0, (uint)HX_TILE_M) : 0;
  const uint columns = number < tiles ? min((uint)n - j0, (uint)HX_TILE_N) : 0;
  local float *const own_a = tiles_a + which * HX_BATCH_A_FLOATS, *const own_b = tiles_b + which * HX_BATCH_B_FLOATS;
  const uint a_layout = layout, b_layout = layout >> 1;
  const ulong a_ahead = a_layout & HX_LAYOUT_BY_K ? lda : 1, b_ahead = b_layout & HX_LAYOUT_BY_K ? ldb : 1;
  a += a_first + product * a_step + i0 * (a_layout & HX_LAYOUT_BY_K ? 1 : lda);
  b += b_first + product * b_step + j0 * (b_layout & HX_LAYOUT_BY_K ? 1 : ldb);

  float acc[HX_ITEM_M][HX_ITEM_N];
#pragma unroll
  for (uint i = 0; i < HX_ITEM_M; i++) {
#pragma unroll
    for (uint j = 0; j < HX_ITEM_N; j++) acc[i][j] = 0.0f;
  }
#pragma unroll 1
  for (uint left = (uint)k, steps; left; left -= steps) {
    steps = min(left, (uint)HX_TILE_K);
    /* Tiles are overwritten after a barrier, when all items have used those before. */
#if HX_COPIES
    barrier(CLK_LOCAL_MEM_FENCE);
    HX_BATCH_COPY(a, lda, a_layout, HX_TILE_M, rows, steps, own_a)
    HX_BATCH_COPY(b, ldb, b_layout, HX_TILE_N, columns, steps, own_b)
#else
    const uint u0 = 0;
    float4 from_a[HX_BATCH_COPIES(HX_TILE_M)], from_b[HX_BATCH_COPIES(HX_TILE_N)];
    HX_BATCH_FETCH(from_a, a, lda, a_layout, HX_TILE_M, rows, steps)
    HX_BATCH_FETCH(from_b, b, ldb, b_layout, HX_TILE_N, columns, steps)
    barrier(CLK_LOCAL_MEM_FENCE);
    HX_BATCH_KEEP(from_a, a_layout, HX_TILE_M, own_a)
    HX_BATCH_KEEP(from_b, b_layout, HX_TILE_N, own_b)
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    a += HX_TILE_K * a_ahead;
    b += HX_TILE_K * b_ahead;
    uint p = 0;
#pragma unroll 2
    for (; p + 4 <= steps; p += 4) {
#pragma unroll
      for (uint u = 0; u < 4; u++) HX_BATCH_STEP(p + u, p / 4)
    }
#pragma unroll 1
    for (; p < steps; p++) HX_BATCH_STEP(p, p / 4)
  }

  const hx_place at = {i0, j0, i0, j0};
  const hx_target to =
      hx_target_of(t + product * t_step, ldt, at, HX_TILE_M, HX_TILE_N, i0 + rows, j0 + columns, alpha, beta, transposed);
  const bool vec4 = !transposed && hx_target_is_vec4(to) && (t_step & 3) == 0;
#pragma unroll
  for (uint i = 0; i < HX_ITEM_M; i++) {
    const uint row = 4 * y + i / 4 * 4 * HX_BATCH_HIGH + i % 4;
#pragma unroll
    for (uint j = 0; j < HX_ITEM_N; j += 4) {
      const uint column = 4 * x + j * HX_BATCH_WIDE;
      if (vec4) {
        hx_store_vec4(to, row, column, vload4(0, &acc[i][j]));
      } else {
#pragma unroll
        for (uint v = 0; v < 4; v++)
          hx_store(to, transposed ? column + v : row, transposed ? row : column + v, acc[i][j + v]);
      }
    }
  }
}

#endif
