/* SPDX-License-Identifier: Apache-2.0
 * The steps from a naive product C = A B (row-major, packed) to one that the multiply-adds bound. STEP says which; every
 * element is one chain of fma, k ascending. Sides are multiples of the tile: edges are no part of this ladder. */
#pragma OPENCL FP_CONTRACT OFF

#if STEP == 0 /* every element from global memory */

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void product(global const float *a, global const float *b,
                                                                     global float *c, uint m, uint n, uint k) {
  const size_t i = get_global_id(1), j = get_global_id(0);
  float sum = 0.0f;
  for (uint p = 0; p < k; p++) sum = fma(a[i * k + p], b[(size_t)p * n + j], sum);
  c[i * n + j] = sum;
}

#elif STEP == 1 /* a 16 x 16 tile of each operand in local memory: each element is loaded once a group */

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void product(global const float *a, global const float *b,
                                                                     global float *c, uint m, uint n, uint k) {
  local float tile_a[16][16], tile_b[16][16];
  const uint x = (uint)get_local_id(0), y = (uint)get_local_id(1);
  const size_t i = get_global_id(1), j = get_global_id(0);
  float sum = 0.0f;
  for (uint p = 0; p < k; p += 16) {
    tile_a[y][x] = a[i * k + p + x];
    tile_b[y][x] = b[(size_t)(p + y) * n + j];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint q = 0; q < 16; q++) sum = fma(tile_a[y][q], tile_b[q][x], sum);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[i * n + j] = sum;
}

#elif STEP == 2 /* four columns an item: local memory is read 128 bits at a time, neighbours next to each other */

kernel __attribute__((reqd_work_group_size(16, 16, 1))) void product(global const float *a, global const float *b,
                                                                     global float *c, uint m, uint n, uint k) {
  local float4 tile_a[16][4], tile_b[16][16];
  const uint x = (uint)get_local_id(0), y = (uint)get_local_id(1);
  const size_t i = get_global_id(1), j = 4 * get_global_id(0);
  float4 sum = 0.0f;
  for (uint p = 0; p < k; p += 16) {
    ((local float *)tile_a[y])[x] = a[i * k + p + x];
    tile_b[y][x] = vload4(0, b + (size_t)(p + y) * n + j);
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (uint q = 0; q < 4; q++) {
      const float4 four = tile_a[y][q]; /* one address a row of items: a broadcast */
      sum = fma((float4)(four.x), tile_b[4 * q][x], sum);
      sum = fma((float4)(four.y), tile_b[4 * q + 1][x], sum);
      sum = fma((float4)(four.z), tile_b[4 * q + 2][x], sum);
      sum = fma((float4)(four.w), tile_b[4 * q + 3][x], sum);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  vstore4(sum, 0, c + i * n + j);
}

#else /* 8 x 8 elements an item, in registers: 64 multiply-adds for four 128-bit reads */

#define TILE 128
#define DEPTH 16
#define ITEMS 256
#define PITCH (TILE + 4) /* of A, which is stored by columns: keeps its stores apart and its reads aligned */

/* Lanes of a warp in pairs that read the same 128 bits: every read takes the fewest cycles that local memory allows. */
#define PLACE                                                                                          \
  const uint id = (uint)get_local_id(0), lane = id % 32, warp = id / 32;                               \
  const uint row = warp / 2 * 32 + ((lane & 1) | (lane >> 4) << 1) * 4, column = warp % 2 * 64 + (lane >> 1) % 8 * 4; \
  const size_t i0 = get_group_id(1) * TILE, j0 = get_group_id(0) * TILE;                               \
  float4 sum[8][2];                                                                                    \
  _Pragma("unroll") for (uint i = 0; i < 8; i++) sum[i][0] = sum[i][1] = 0.0f;

#define USE(tile_a, tile_b)                                                                    \
  _Pragma("unroll") for (uint q = 0; q < DEPTH; q++) {                                         \
    float av[8];                                                                               \
    vstore4(*(local const float4 *)((tile_a) + q * PITCH + row), 0, av);                       \
    vstore4(*(local const float4 *)((tile_a) + q * PITCH + row + 16), 1, av);                  \
    const float4 b0 = *(local const float4 *)((tile_b) + q * TILE + column);                   \
    const float4 b1 = *(local const float4 *)((tile_b) + q * TILE + column + 32);              \
    _Pragma("unroll") for (uint i = 0; i < 8; i++) {                                           \
      sum[i][0] = fma((float4)(av[i]), b0, sum[i][0]);                                         \
      sum[i][1] = fma((float4)(av[i]), b1, sum[i][1]);                                         \
    }                                                                                          \
  }

#define STORE                                                                                  \
  _Pragma("unroll") for (uint i = 0; i < 8; i++) {                                             \
    global float *to = c + (i0 + row + (i / 4) * 16 + i % 4) * n + j0 + column;                \
    vstore4(sum[i][0], 0, to);                                                                 \
    vstore4(sum[i][1], 0, to + 32);                                                            \
  }

#if STEP == 3

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void product(global const float *a, global const float *b,
                                                                       global float *c, uint m, uint n, uint k) {
  local float tile_a[DEPTH * PITCH] __attribute__((aligned(16)));
  local float tile_b[DEPTH * TILE] __attribute__((aligned(16)));
  PLACE
  const uint a_row = id / 2, a_k = id % 2 * 8, b_k = id / 16, b_column = id % 16 * 8;
  a += (i0 + a_row) * k + a_k;
  b += (size_t)b_k * n + j0 + b_column;
  for (uint p = 0; p < k; p += DEPTH, a += DEPTH, b += (size_t)DEPTH * n) {
    float av[8];
    vstore4(vload4(0, a), 0, av);
    vstore4(vload4(1, a), 1, av);
    const float4 b0 = vload4(0, b), b1 = vload4(1, b);
#pragma unroll
    for (uint u = 0; u < 8; u++) tile_a[(a_k + u) * PITCH + a_row] = av[u];
    *(local float4 *)(tile_b + b_k * TILE + b_column) = b0;
    *(local float4 *)(tile_b + b_k * TILE + b_column + 4) = b1;
    barrier(CLK_LOCAL_MEM_FENCE);
    USE(tile_a, tile_b)
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  STORE
}

#else /* NVIDIA from sm_80 on: the next tile is copied from global to local memory, past the registers, during this one */

#define COPY(bytes, kind, to, from) \
  __asm__ volatile("cp.async." kind ".shared.global [%0], [%1], " bytes ";" ::"r"((uint)(size_t)(to)), "l"(from) : "memory")

#define FETCH(side)                                                                                           \
  _Pragma("unroll") for (uint u = 0; u < 8; u++)                                                              \
      COPY("4", "ca", tile_a + (side) * (DEPTH * PITCH) + (id % 16) * PITCH + id / 16 + 16 * u, a + (size_t)u * 16 * k); \
  _Pragma("unroll") for (uint u = 0; u < 2; u++)                                                              \
      COPY("16", "cg", tile_b + (side) * (DEPTH * TILE) + (id / 32 + 8 * u) * TILE + id % 32 * 4, b + (size_t)u * 8 * n);

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void product(global const float *a, global const float *b,
                                                                       global float *c, uint m, uint n, uint k) {
  local float tile_a[2 * DEPTH * PITCH] __attribute__((aligned(16)));
  local float tile_b[2 * DEPTH * TILE] __attribute__((aligned(16)));
  PLACE
  a += (i0 + id / 16) * k + id % 16;
  b += (size_t)(id / 32) * n + j0 + id % 32 * 4;
  FETCH(0)
  for (uint p = 0; p < k; p += DEPTH) {
    const uint side = p / DEPTH % 2;
    __asm__ volatile("cp.async.wait_all;" ::: "memory");
    barrier(CLK_LOCAL_MEM_FENCE); /* this tile is there, and no item reads the one before any more */
    if (p + DEPTH < k) {
      a += DEPTH;
      b += (size_t)DEPTH * n;
      FETCH(side ^ 1)
    }
    USE(tile_a + side * (DEPTH * PITCH), tile_b + side * (DEPTH * TILE))
  }
  STORE
}

#endif
#endif
