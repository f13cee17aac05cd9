/* SPDX-License-Identifier: Apache-2.0
 * The steps before and after the product of matmul_tiles.cl. They are the same for all tiles, so only one program of a
 * set has them: copying an operand that cannot be read in place (its rows do not begin at multiples of 16 bytes, it is
 * contiguous along the other index, or it has fewer rows or columns than a tile), and adding panels. */
#if HX_SHAPE_TILES && !HX_BARE

/* to[i * pitch + j] = x(i,j) = x[i*rs + j*cs] for i < rows, j < columns; zero up to the tile's edge. Tiles of 64 x 64
 * go through local memory if x is contiguous along its row index. The matrices of a batch are x_step elements apart, and
 * their copies follow one another. */
#define HX_COPY_SIDE 64u
#define HX_COPY_ITEMS 256u
kernel __attribute__((reqd_work_group_size(HX_COPY_ITEMS, 1, 1))) void hx_matmul_copy(
    global const float *x, ulong x_first, ulong rs, ulong cs, ulong rows, ulong columns, global float *to, ulong pitch,
    ulong lines, ulong x_step) {
  local float tile[HX_COPY_SIDE][HX_COPY_SIDE + 1];
  const uint id = (uint)get_local_id(0), minor = id % HX_COPY_SIDE, major = id / HX_COPY_SIDE;
  const uint in_row = (uint)((pitch + HX_COPY_SIDE - 1) / HX_COPY_SIDE), group = (uint)get_group_id(0);
  const ulong i0 = (ulong)(group / in_row) * HX_COPY_SIDE, j0 = (ulong)(group % in_row) * HX_COPY_SIDE;
  const bool by_column = rs == 1 && cs != 1;
  x += x_first + get_group_id(1) * x_step + i0 * rs + j0 * cs;
#pragma unroll
  for (uint u = 0; u < HX_COPY_SIDE; u += HX_COPY_ITEMS / HX_COPY_SIDE) {
    const uint i = by_column ? minor : major + u, j = by_column ? major + u : minor;
    const bool inside = i0 + i < rows && j0 + j < columns;
    tile[i][j] = inside ? x[i * rs + j * cs] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  to += get_group_id(1) * lines * pitch + i0 * pitch + j0;
#pragma unroll
  for (uint u = 0; u < HX_COPY_SIDE; u += HX_COPY_ITEMS / HX_COPY_SIDE)
    if (i0 + major + u < lines && j0 + minor < pitch) to[(major + u) * pitch + minor] = tile[major + u][minor];
}

#define HX_JOIN_ITEMS 128u
/* The sum of the panels of an element or quad, `apart` elements apart, in their order. `most` of them are loaded at
 * once, and 8 at the end, where -0 stands for missing ones, which changes no sum. */
#define HX_JOIN_SUM(name, type, lanes, most)                                   \
  static type name(global const type *partials, ulong apart, uint panels) {    \
    type s = (type)(-0.0f);                                                    \
    _Pragma("unroll 1") for (; panels >= most; panels -= most) {               \
      type v[most];                                                            \
      _Pragma("unroll") for (uint u = 0; u < most; u++, partials += apart)     \
        v[u] = *partials;                                                      \
      _Pragma("unroll") for (uint u = 0; u < most; u++)                        \
        s = HX_ADD(lanes, s, v[u]);                                            \
    }                                                                          \
    _Pragma("unroll 1") for (uint p = 0; p < panels; p += 8) {                 \
      type v[8];                                                               \
      _Pragma("unroll") for (uint u = 0; u < 8; u++, partials += apart) {      \
        v[u] = (type)(-0.0f);                                                  \
        if (p + u < panels) v[u] = *partials;                                  \
      }                                                                        \
      _Pragma("unroll") for (uint u = 0; u < 8; u++)                           \
        s = HX_ADD(lanes, s, v[u]);                                            \
    }                                                                          \
    return s;                                                                  \
  }
HX_JOIN_SUM(hx_join_one, float, , 32)
HX_JOIN_SUM(hx_join_four, float4, 4, 16)

/* Adds the panels of the tiles from `full_tiles` on, four neighbouring elements for each item if `vec4`, else one: with
 * few tiles there are too few vectors to have enough loads in flight. */
kernel __attribute__((reqd_work_group_size(HX_JOIN_ITEMS, 1, 1))) void hx_matmul_join(
    ulong m, ulong n, ulong k, float alpha, float beta, global float *t, ulong ldt, uint transposed, uint full_tiles,
    global const float *partials, uint tile_m, uint tile_n, uint align, uint vec4) {
  const uint panels = (uint)((k + HX_PANEL - 1) / HX_PANEL), items = tile_m * tile_n / (vec4 ? 4 : 1);
  const uint tile = (uint)(get_global_id(0) / items), q = (uint)(get_global_id(0) % items);
  /* In the order of partials: along the lines of t. */
  const uint width = (transposed ? tile_m : tile_n) / (vec4 ? 4 : 1), line = q / width, from = q % width * (vec4 ? 4 : 1);
  const hx_place at = hx_place_of(full_tiles + tile, tile_m, tile_n, align, m, n);
  const hx_target to = hx_target_of(t, ldt, at, tile_m, tile_n, m, n, alpha, beta, transposed);
  if (full_tiles + tile >= hx_tiles(tile_m, tile_n, m, n) || line >= to.lines || from >= to.along) return;
  partials += (ulong)tile * panels * tile_m * tile_n;
  if (!vec4) {
    hx_store(to, line, from, hx_join_one(partials + q, items, panels));
    return;
  }
  const float4 s = hx_join_four((global const float4 *)partials + q, items, panels);
  if (hx_target_is_vec4(to)) {
    hx_store_vec4(to, line, from, s);
  } else {
    const float v[4] = {s.x, s.y, s.z, s.w};
#pragma unroll
    for (uint e = 0; e < 4; e++) hx_store(to, line, from + e, v[e]);
  }
}

#endif
