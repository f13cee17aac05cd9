/* SPDX-License-Identifier: Apache-2.0
 * Wrong arguments are reported as netlib's BLAS and CBLAS (3.11) do, through functions that the program may replace. */
#ifndef HX_BLAS_ERRORS_H
#define HX_BLAS_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

/* How a routine was called. */
typedef enum hx__blas_caller { HX__FROM_FORTRAN, HX__FROM_C_BY_COLUMNS, HX__FROM_C_BY_ROWS } hx__blas_caller;

/* CBLAS_LAYOUT, CBLAS_TRANSPOSE and CBLAS_UPLO of cblas.h. */
enum { HX__ROW_MAJOR = 101, HX__COL_MAJOR, HX__NO_TRANS = 111, HX__TRANS, HX__CONJ_TRANS, HX__UPPER = 121, HX__LOWER };

/* The default handler of wrong arguments, which xerbla_ of netlib is. */
void hx__blas_report(const char *routine, const int *info, size_t length);

/* Calls xerbla_ of the program, or hx__blas_report. routine: six characters, filled up with blanks; info: the position
 * of the argument in the call by Fortran's interface. If the call came from C, the default handler passes it on to
 * cblas_xerbla, which counts in C's order. */
void hx__blas_wrong_argument(const char *routine, int info, hx__blas_caller caller);

/* Calls cblas_xerbla for a value that has no counterpart in Fortran. info: the position in the call; what: the name of
 * the argument. */
void hx__blas_wrong_value(const char *routine, int info, const char *what, int value, hx__blas_caller caller);

/* Whether a matrix is transposed; for a real one T and C are the same. */
typedef enum hx__blas_trans { HX__PLAIN, HX__TRANSPOSED, HX__NO_SUCH_TRANS } hx__blas_trans;

/* Character arguments of Fortran's interface may be capitals or small letters (netlib's LSAME). */
static inline bool hx__blas_is(const char *c, char upper) { return (*c & ~0x20) == upper; }
static inline hx__blas_trans hx__blas_trans_of(const char *c) { /* without a branch: small calls pay for it */
  const unsigned letter = (unsigned)((unsigned char)*c | 0x20) - 'a', bit = 1u << (letter & 31);
  const bool transposed = (bit & (1u << ('t' - 'a') | 1u << ('c' - 'a'))) != 0, plain = bit == 1u << ('n' - 'a');
  return ((letter < 26) & (transposed | plain)) ? (hx__blas_trans)transposed : HX__NO_SUCH_TRANS;
}

/* The same of a CBLAS_TRANSPOSE. */
static inline hx__blas_trans hx__blas_cblas_trans(int trans) {
  const bool transposed = (trans == HX__TRANS) | (trans == HX__CONJ_TRANS);
  return (transposed | (trans == HX__NO_TRANS)) ? (hx__blas_trans)transposed : HX__NO_SUCH_TRANS;
}

/* The character for it. */
static inline const char *hx__blas_letter(hx__blas_trans trans) { return trans == HX__PLAIN ? "N" : "T"; }

#endif
