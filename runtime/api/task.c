/* SPDX-License-Identifier: Apache-2.0
 * The builders of tasks. */
#include <string.h>

#include "runtime/hx.h"

/* All bytes zero, then the share left open. */
static hx_task blank(hx_kind kind) {
  hx_task t;
  memset(&t, 0, sizeof t);
  t.kind = kind;
  t.gpu_share = -1.0f;
  return t;
}

hx_task hx_reduce(hx_op op, hx_type type, const void *x, size_t n, hx_value *out) {
  hx_task t = blank(HX_REDUCE);
  t.reduce = (struct hx_reduce_args){op, type, x, NULL, n, out};
  return t;
}

hx_task hx_dot(hx_type type, const void *x, const void *y, size_t n, hx_value *out) {
  hx_task t = blank(HX_REDUCE);
  t.reduce = (struct hx_reduce_args){HX_DOT, type, x, y, n, out};
  return t;
}

hx_task hx_reduce_soa(const hx_field *fields, size_t nfields, size_t n, hx_value *out) {
  hx_task t = blank(HX_REDUCE_SOA);
  t.soa = (struct hx_soa_args){fields, nfields, n, out};
  return t;
}

hx_task hx_matmul(size_t m, size_t n, size_t k, const float *a, const float *b, float *c) {
  /* Member by member: to clear all of it at once costs as much as a product of 12 x 12. */
  hx_task t;
  t.kind = HX_MATMUL;
  t.gpu_share = -1.0f;
  t.matmul.m = m;
  t.matmul.n = n;
  t.matmul.k = k;
  t.matmul.lda = t.matmul.ldb = t.matmul.ldc = 0;
  t.matmul.a = a;
  t.matmul.b = b;
  t.matmul.c = c;
  t.matmul.alpha = 1.0f;
  t.matmul.beta = 0.0f;
  t.matmul.trans_a = t.matmul.trans_b = false;
  for (size_t i = 0; i < sizeof t.reserved / sizeof t.reserved[0]; i++) t.reserved[i] = 0;
  return t;
}
