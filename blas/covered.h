/* SPDX-License-Identifier: Apache-2.0
 * The covered BLAS: the library that computes what hx does not. */
#ifndef HX_BLAS_COVERED_H
#define HX_BLAS_COVERED_H

#include <stdbool.h>
#include <stddef.h>

/* Routines of the covered BLAS, by the Fortran interface: scalars by reference; the lengths of character arguments
 * follow the other arguments (gfortran). forward.S defines them. */
void hx__covered_sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                        const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                        const float *beta, float *c, const int *ldc, size_t, size_t);
void hx__covered_sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a,
                        const int *lda, const float *x, const int *incx, const float *beta, float *y, const int *incy,
                        size_t);
void hx__covered_ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha,
                        const float *a, const int *lda, const float *beta, float *c, const int *ldc, size_t, size_t);
float hx__covered_sdot_(const int *n, const float *x, const int *incx, const float *y, const int *incy);
float hx__covered_sasum_(const int *n, const float *x, const int *incx);
int hx__covered_isamax_(const int *n, const float *x, const int *incx);
void hx__covered_xerbla_(const char *routine, const int *info, size_t);

/* The cell of a stub of forward.S. */
struct hx__blas_cell {
  void *target; /* what the stub jumps to */
  const char *routine;
};

/* The address of a routine of the covered BLAS; NULL if no BLAS of this system has it. */
void *hx__blas_look_up(const char *routine);

/* The file from which the covered BLAS's routine comes, for messages. */
const char *hx__blas_file_of(const char *routine);

/* Looks up the cell's routine, sets its target and returns it. If there is no such routine, ends the process with a
 * message as the dynamic linker does, because the call can be neither made nor returned from. */
void *hx__blas_resolve(struct hx__blas_cell *cell);

#endif
