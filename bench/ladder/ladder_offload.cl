/* SPDX-License-Identifier: Apache-2.0
 * A product C = A B (row-major, packed). Every element is one chain of fma, k ascending. */
#pragma OPENCL FP_CONTRACT OFF

#if FLAT /* an item computes a row of C in memory; RESTRICT: arrays are promised not to overlap */

#if RESTRICT
#define PROMISE restrict
#else
#define PROMISE
#endif

kernel void product(global const float *PROMISE a, global const float *PROMISE b, global float *PROMISE c, uint m, uint n,
                    uint k) {
  const size_t i = get_global_id(1);
  a += i * k;
  c += i * n;
  for (uint j = 0; j < n; j++) c[j] = 0.0f;
  for (uint p = 0; p < k; p++)
    for (uint j = 0; j < n; j++) c[j] = fma(a[p], b[(size_t)p * n + j], c[j]);
}

#else /* an item computes a tile of M x N, in steps of K; A's tile and the sums are private. Sides are multiples */

#define COLUMNS (N / 8)

kernel void product(global const float *a, global const float *b, global float *c, uint m, uint n, uint k) {
  const size_t i0 = M * get_global_id(1), j0 = N * get_global_id(0);
  float8 sum[M][COLUMNS];
  float tile[M][K];
#pragma unroll
  for (uint i = 0; i < M; i++)
#pragma unroll
    for (uint j = 0; j < COLUMNS; j++) sum[i][j] = 0.0f;
  for (uint p = 0; p < k; p += K) {
#pragma unroll
    for (uint i = 0; i < M; i++)
#pragma unroll
      for (uint q = 0; q < K / 8; q++) vstore8(vload8(q, a + (i0 + i) * k + p), q, tile[i]);
#pragma unroll
    for (uint q = 0; q < K; q++) {
      float8 row[COLUMNS];
#pragma unroll
      for (uint j = 0; j < COLUMNS; j++) row[j] = vload8(j, b + (size_t)(p + q) * n + j0);
#pragma unroll
      for (uint i = 0; i < M; i++)
#pragma unroll
        for (uint j = 0; j < COLUMNS; j++) sum[i][j] = fma((float8)(tile[i][q]), row[j], sum[i][j]);
    }
  }
#pragma unroll
  for (uint i = 0; i < M; i++)
#pragma unroll
    for (uint j = 0; j < COLUMNS; j++) vstore8(sum[i][j], j, c + (i0 + i) * n + j0);
}

#endif
