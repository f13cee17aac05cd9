/* SPDX-License-Identifier: Apache-2.0
 * A product C = A B (row-major, packed) by one work-item per tile of 16 x 32, in steps of 16 of k: A's tile and the sums
 * are private arrays, 3 KB of registers. Every element is one chain of fma, k ascending. Sides are multiples of the tile. */
#pragma OPENCL FP_CONTRACT OFF

kernel void product(global const float *a, global const float *b, global float *c, uint m, uint n, uint k) {
  const size_t i0 = 16 * get_global_id(1), j0 = 32 * get_global_id(0);
  float8 sum[16][4];
  float tile[16][16];
#pragma unroll
  for (uint i = 0; i < 16; i++) sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0.0f;
  for (uint p = 0; p < k; p += 16) {
#pragma unroll
    for (uint i = 0; i < 16; i++)
#pragma unroll
      for (uint q = 0; q < 2; q++) vstore8(vload8(q, a + (i0 + i) * k + p), q, tile[i]);
#pragma unroll
    for (uint q = 0; q < 16; q++) {
      float8 row[4];
#pragma unroll
      for (uint j = 0; j < 4; j++) row[j] = vload8(j, b + (size_t)(p + q) * n + j0);
#pragma unroll
      for (uint i = 0; i < 16; i++)
#pragma unroll
        for (uint j = 0; j < 4; j++) sum[i][j] = fma((float8)(tile[i][q]), row[j], sum[i][j]);
    }
  }
#pragma unroll
  for (uint i = 0; i < 16; i++)
#pragma unroll
    for (uint j = 0; j < 4; j++) vstore8(sum[i][j], j, c + (i0 + i) * n + j0);
}
