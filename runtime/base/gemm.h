/* SPDX-License-Identifier: Apache-2.0
 * A matrix product as strides, the form in which it travels from the check to a kernel. */
#ifndef HX_BASE_GEMM_H
#define HX_BASE_GEMM_H

#include <stddef.h>

/* Where the operands of a product that follows begin. a, b: NULL if it is not to be prefetched. c: NULL if there is
 * none. */
typedef struct hx__gemm_operands {
  const float *a, *b, *c;
} hx__gemm_operands;

/* C = alpha op(A) op(B) + beta C with everything docs/ARITHMETIC.md says of alpha, beta, k == 0 and NaN:
 *   op(A)(i,p) = a[i*a_rs + p*a_cs], op(B)(p,j) = b[p*b_rs + j*b_cs], C(i,j) = c[i*ldc + j]
 * Any m, n, k from 0 up. Nothing but C's m x n elements is written. */
typedef struct hx__gemm {
  size_t m, n, k;
  const float *a, *b;
  size_t a_rs, a_cs, b_rs, b_cs;
  float *c;
  size_t ldc;
  float alpha, beta;
  size_t full_extent;     /* rows or columns of the product that this is a part of, cut along them; 0: it is no part */
  hx__gemm_operands next; /* of a product of the same shape that follows, so that they are prefetched */
  size_t apart;           /* Not 0: panel q is stored at c + q * apart, and panels are not added. alpha is 1, beta 0. */
} hx__gemm;

#endif
