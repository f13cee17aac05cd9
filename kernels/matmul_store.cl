/* SPDX-License-Identifier: Apache-2.0
 * The store of a product whose C stays on the device. It is a part of every product's program, but of only
 * one program of a set. */
#if !HX_BARE

#if HX_SHAPE_SUBGROUP && !defined(HX_SUB_GROUP)
#define HX_SUB_GROUP HX_LOCAL0
#endif
/* c(i,j) = t(i,j), or fma(beta, c(i,j), t(i,j)) if beta is not 0, for i < m, j < n, as the host stores C. */
kernel
#ifdef HX_SUB_GROUP /* a program has one sub-group size */
    __attribute__((intel_reqd_sub_group_size(HX_SUB_GROUP)))
#endif
    void
    hx_matmul_store(global const float *t, ulong ldt, global float *c, ulong c_first, ulong ldc, ulong m, ulong n,
                    float beta) {
  c += c_first;
  for (ulong i = get_global_id(1); i < m; i += get_global_size(1)) {
    for (ulong j = get_global_id(0); j < n; j += get_global_size(0)) {
      float s = t[i * ldt + j];
      if (beta != 0.0f) s = HX_FMA(, beta, c[i * ldc + j], s);
      c[i * ldc + j] = HX_CANONICAL(, s);
    }
  }
}

#endif
