/* SPDX-License-Identifier: Apache-2.0
 * The loops of the address-arithmetic study: what a compiler makes of an index, of a pointer, of a pointer with a count
 * that all items share, and of two local arrays against one. FORM says which; addressing.sh counts instructions. */
#define ROW 256

kernel void loop(global int *data, global const float *in, global float *out, uint n) {
  const uint lid = (uint)get_local_id(0);
#if FORM == 1 /* index */
#pragma unroll 1
  for (uint i = lid; i < n * ROW; i += ROW) data[i]++;
#elif FORM == 2 /* pointer */
  global int *const end = data + n * ROW;
#pragma unroll 1
  for (global int *p = data + lid; p < end; p += ROW) (*p)++;
#elif FORM == 3 /* pointer, uniform count */
  global int *p = data + lid;
#pragma unroll 1
  for (uint c = 0; c < n; c++, p += ROW) (*p)++;
#else
#if FORM == 4 /* two local arrays */
  local float a[16 * ROW], b[16 * ROW];
#else /* one local array */
  local float a[32 * ROW];
  local float *const b = a + 16 * ROW;
#endif
  for (uint i = lid; i < 16 * ROW; i += ROW) {
    a[i] = in[i];
    b[i] = in[i + n];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0.0f;
#pragma unroll 1
  for (uint c = 0; c < n; c++) sum = fma(a[c * ROW + lid], b[c * ROW + lid], sum);
  out[lid] = sum;
#endif
}
