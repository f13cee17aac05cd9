/* SPDX-License-Identifier: Apache-2.0
 * The covered BLAS: the library that computes what hx does not. */
#ifndef HX_BLAS_COVERED_H
#define HX_BLAS_COVERED_H

#include <stddef.h>

/* Routines of the covered BLAS; forward.S defines them. Fortran's interface has the lengths of character arguments at
 * the end. A call that is forwarded by a jump keeps those of its caller, so such a call is declared without them; a
 * call that is made here passes them, because code of gfortran may use their place on the stack. */
void hx__covered_sgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                        const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                        const float *beta, float *c, const int *ldc);
void hx__covered_sgemm(const char *transa, const char *transb, const int *m, const int *n, const int *k,
                       const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
                       const float *beta, float *c, const int *ldc, size_t, size_t) __asm__("hx__covered_sgemm_");
void hx__covered_cblas_sgemm(int layout, int transa, int transb, int m, int n, int k, float alpha, const float *a,
                             int lda, const float *b, int ldb, float beta, float *c, int ldc);
void hx__covered_sgemv_(const char *trans, const int *m, const int *n, const float *alpha, const float *a,
                        const int *lda, const float *x, const int *incx, const float *beta, float *y, const int *incy);
void hx__covered_sgemv(const char *trans, const int *m, const int *n, const float *alpha, const float *a,
                       const int *lda, const float *x, const int *incx, const float *beta, float *y, const int *incy,
                       size_t) __asm__("hx__covered_sgemv_");
void hx__covered_cblas_sgemv(int layout, int trans, int m, int n, float alpha, const float *a, int lda, const float *x,
                             int incx, float beta, float *y, int incy);
void hx__covered_ssyrk_(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha,
                        const float *a, const int *lda, const float *beta, float *c, const int *ldc);
void hx__covered_ssyrk(const char *uplo, const char *trans, const int *n, const int *k, const float *alpha,
                       const float *a, const int *lda, const float *beta, float *c, const int *ldc, size_t,
                       size_t) __asm__("hx__covered_ssyrk_");
void hx__covered_cblas_ssyrk(int layout, int uplo, int trans, int n, int k, float alpha, const float *a, int lda,
                             float beta, float *c, int ldc);
float hx__covered_sdot_(const int *n, const float *x, const int *incx, const float *y, const int *incy);
float hx__covered_cblas_sdot(int n, const float *x, int incx, const float *y, int incy);
float hx__covered_sasum_(const int *n, const float *x, const int *incx);
float hx__covered_cblas_sasum(int n, const float *x, int incx);
int hx__covered_isamax_(const int *n, const float *x, const int *incx);
size_t hx__covered_cblas_isamax(int n, const float *x, int incx);
void hx__covered_xerbla_(const char *routine, const int *info, size_t length);

/* The cell of a trampoline of forward.S. */
struct hx__blas_cell {
  void *target; /* what the trampoline jumps to */
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
