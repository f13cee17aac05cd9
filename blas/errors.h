/* SPDX-License-Identifier: Apache-2.0
 * Wrong arguments are reported as netlib's BLAS and CBLAS (3.11) do, through functions that the program may replace. */
#ifndef HX_BLAS_ERRORS_H
#define HX_BLAS_ERRORS_H

#include <stdbool.h>

/* How a routine was called. */
typedef enum hx__blas_caller { HX__FROM_FORTRAN, HX__FROM_C_BY_COLUMNS, HX__FROM_C_BY_ROWS } hx__blas_caller;

/* CBLAS_LAYOUT, CBLAS_TRANSPOSE and CBLAS_UPLO of cblas.h. */
enum { HX__ROW_MAJOR = 101, HX__COL_MAJOR, HX__NO_TRANS = 111, HX__TRANS, HX__CONJ_TRANS, HX__UPPER = 121, HX__LOWER };

/* Calls xerbla_. routine: six characters, filled up with blanks; info: the position of the argument in the call by
 * Fortran's interface. If the call came from C, the default xerbla_ of netlib passes it on to cblas_xerbla, which
 * counts in C's order. */
void hx__blas_wrong_argument(const char *routine, int info, hx__blas_caller caller);

/* Calls cblas_xerbla for a value that has no counterpart in Fortran. info: the position in the call; what: the name of
 * the argument. */
void hx__blas_wrong_value(const char *routine, int info, const char *what, int value, hx__blas_caller caller);

/* 'N', 'T' or 'C' of a CBLAS_TRANSPOSE; 0 if it is none. */
char hx__blas_trans_of(int trans);

/* Whether a character argument of Fortran's interface is `upper`, as a capital or a small letter (LSAME). */
static inline bool hx__blas_is(const char *c, char upper) { return (*c & ~0x20) == upper; }

/* Whether a character argument says that a real matrix is transposed; *valid: whether it may have this value. */
static inline bool hx__blas_transposes(const char *c, bool *valid) {
  const bool transposes = hx__blas_is(c, 'T') || hx__blas_is(c, 'C');
  *valid = transposes || hx__blas_is(c, 'N');
  return transposes;
}

#endif
