/* SPDX-License-Identifier: Apache-2.0
 * The scalar definition of hx's results, written from docs/ARITHMETIC.md alone: no SIMD, no threads, no optimisation.
 * It shares no code with the library. The caller's floating-point state has to be the default one. */
#ifndef HX_REFERENCE_REF_H
#define HX_REFERENCE_REF_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/hx.h"

/* op over x[0..n); y: HX_DOT only. n > 0 for MIN, MAX, ARGMIN, ARGMAX. */
hx_value ref_reduce(hx_op op, hx_type type, const void *x, const void *y, size_t n);

/* The new C(i,j); args->c is the old C, which is read unless beta is 0. ld 0 means packed. */
float ref_matmul_element(const struct hx_matmul_args *args, size_t i, size_t j);

/* Every element, into args->c. */
void ref_matmul(const struct hx_matmul_args *args);

/* The bits of a float: results are compared as integers. */
uint32_t ref_bits(float f);

/* Leading dimensions with 0 replaced by the packed value. */
size_t ref_lda(const struct hx_matmul_args *args);
size_t ref_ldb(const struct hx_matmul_args *args);
size_t ref_ldc(const struct hx_matmul_args *args);

#endif
