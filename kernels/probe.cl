/* SPDX-License-Identifier: Apache-2.0
 * Kernels that test a device. */

/* The three roundings, by the macros that the other kernels use. */
kernel void hx_probe(global const float *a, global const float *b, global const float *c, global float *out) {
  const size_t i = get_global_id(0);
  out[3 * i] = HX_ADD(, a[i], b[i]);
  out[3 * i + 1] = HX_MUL(, a[i], b[i]);
  out[3 * i + 2] = HX_FMA(, a[i], b[i], c[i]);
}

/* The value that the device reads at one place of an array. */
kernel void hx_touch(global const uint *x, ulong first, global uint *out) { out[0] = x[first]; }
