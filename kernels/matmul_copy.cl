/* SPDX-License-Identifier: Apache-2.0
 * The copy of an operand that the kernels of matmul_tiles.cl cannot read where it lies: rows that do not begin at
 * multiples of 16 bytes, the other index running along memory, or fewer rows or columns than a tile has. */
#if HX_SHAPE_TILES

/* to[i * pitch + j] = x(i,j) = x[i*rs + j*cs] for i < rows, j < columns; zero up to the tile's edge. Tiles of 64 x 64
 * pass through local memory where x runs along its rows' index. */
#define HX_COPY_SIDE 64u
#define HX_COPY_ITEMS 256u
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
