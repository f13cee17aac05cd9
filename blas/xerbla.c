/* SPDX-License-Identifier: Apache-2.0
 * xerbla_ for programs that are linked with libblas.so.3. libhx_blas.so does not contain it: preloaded, it would
 * replace the xerbla_ of libraries that a program loads later (NumPy's LAPACK makes a Python exception of an error). */
#include "blas/blas.h"
#include "blas/errors.h"

void xerbla_(const char *routine, const int *info, size_t length) { hx__blas_report(routine, info, length); }
