/* SPDX-License-Identifier: Apache-2.0
 * What libhx_blas.so computes itself: routines of the BLAS with 32-bit integers (LP64), as netlib and MKL declare them.
 * Matrices are column-major by Fortran's interface. Character arguments are followed, at the end, by their lengths,
 * which C programs leave out and which are not read. */
#ifndef HX_BLAS_BLAS_H
#define HX_BLAS_BLAS_H

#include <stddef.h>

#define HX_BLAS_API __attribute__((visibility("default")))

/* C = alpha op(A) op(B) + beta C; errors in the order of netlib's SGEMM. */
HX_BLAS_API void sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                        const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                        const float *beta, float *c, const int *ldc);
HX_BLAS_API void cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a,
                             int lda, const float *b, int ldb, float beta, float *c, int ldc);

/* The products C[i] = alpha op(A[i]) op(B[i]) + beta C[i], where matrix i begins i strides after the first. Strides of
 * A and B may be 0: then all products have the same one. The C may not overlap. (MKL: sgemm_batch_strided; cuBLAS:
 * cublasSgemmStridedBatched, with a handle first.) The three names are one function. */
#define HX__BATCH_ARGUMENTS                                                                                   \
  const char *transa, const char *transb, const int *m, const int *n, const int *k, const float *alpha,       \
      const float *a, const int *lda, const int *stridea, const float *b, const int *ldb, const int *strideb, \
      const float *beta, float *c, const int *ldc, const int *stridec, const int *batch_size
HX_BLAS_API void sgemm_batch_strided_(HX__BATCH_ARGUMENTS);
HX_BLAS_API void sgemm_batch_strided(HX__BATCH_ARGUMENTS);
HX_BLAS_API void cblas_sgemm_batch_strided(int layout, int transa, int transb, int m, int n, int k, float alpha,
                                           const float *a, int lda, int stridea, const float *b, int ldb, int strideb,
                                           float beta, float *c, int ldc, int stridec, int batch_size);

/* y = alpha op(A) x + beta y */
HX_BLAS_API void sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a,
                        const int *lda, const float *x, const int *incx, const float *beta, float *y, const int *incy);
HX_BLAS_API void cblas_sgemv(int layout, int trans, int m, int n, float alpha, const float *a, int lda, const float *x,
                             int incx, float beta, float *y, int incy);

/* C = alpha op(A) op(A)^T + beta C in one triangle of C; the other is neither read nor written. */
HX_BLAS_API void ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha,
                        const float *a, const int *lda, const float *beta, float *c, const int *ldc);
HX_BLAS_API void cblas_ssyrk(int layout, int uplo, int trans, int n, int k, float alpha, const float *a, int lda,
                             float beta, float *c, int ldc);

/* Sums of x[i]*y[i] and of |x[i]|, and the place of the first largest |x[i]|: from 1 (Fortran), from 0 (C). */
HX_BLAS_API float sdot_(const int *n, const float *x, const int *incx, const float *y, const int *incy);
HX_BLAS_API float cblas_sdot(int n, const float *x, int incx, const float *y, int incy);
HX_BLAS_API float sasum_(const int *n, const float *x, const int *incx);
HX_BLAS_API float cblas_sasum(int n, const float *x, int incx);
HX_BLAS_API int isamax_(const int *n, const float *x, const int *incx);
HX_BLAS_API size_t cblas_isamax(int n, const float *x, int incx);

/* The default handlers of wrong arguments. libhx_blas.so has no xerbla_ (blas/xerbla.c). */
HX_BLAS_API void xerbla_(const char *routine, const int *info, size_t length);
HX_BLAS_API void cblas_xerbla(int info, const char *routine, const char *form, ...);

#endif
