/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "blas/errors.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "blas/blas.h"
#include "blas/covered.h"

/* Netlib's CBLAS tells its xerbla_ and cblas_xerbla by these what the call was, and test programs read them. hx sets
 * them only while it reports an error, so concurrent calls without errors do not write them. */
HX_BLAS_API int CBLAS_CallFromC, RowMajorStrg;

static void begin(hx__blas_caller caller) {
  CBLAS_CallFromC = caller != HX__FROM_FORTRAN;
  RowMajorStrg = caller == HX__FROM_C_BY_ROWS;
}
static void end(void) { CBLAS_CallFromC = RowMajorStrg = 0; }

/* The program's, or that of xerbla.c if this library contains it. */
#pragma weak xerbla_

/* A handler that follows this library in the search order belongs to a BLAS: it does not replace the default. */
static bool is_replaced(void) { return xerbla_ && (void *)xerbla_ != dlsym(RTLD_NEXT, "xerbla_"); }

void hx__blas_wrong_argument(const char *routine, int info, hx__blas_caller caller) {
  const size_t length = strlen(routine);
  begin(caller);
  if (is_replaced())
    xerbla_(routine, &info, length);
  else
    hx__blas_report(routine, &info, length);
  end();
}

void hx__blas_wrong_value(const char *routine, int info, const char *what, int value, hx__blas_caller caller) {
  char form[64];
  snprintf(form, sizeof form, "Illegal %s setting, %%d\n", what);
  begin(caller);
  cblas_xerbla(info, routine, form, value);
  end();
}

/* As netlib's: an error of a C program is passed on under the name of the C function, which has one argument more. */
void hx__blas_report(const char *routine, const int *info, size_t length) {
  char name[40] = "cblas_";
  if (!CBLAS_CallFromC) {
    hx__covered_xerbla_(routine, info, length);
    return;
  }
  for (size_t i = 6; i < sizeof name - 1 && routine[i - 6] > ' '; i++) name[i] = (char)tolower(routine[i - 6]);
  cblas_xerbla(*info + 1, name, "");
}

/* Arguments that change places in a call by rows (netlib's cblas_xerbla): part of the routine's name, what the name
 * must not contain, and two positions in the C call. */
static const struct swap {
  const char *routine, *but;
  int one, other;
} swaps[] = {
    {"gemm_batch", NULL, 5, 4}, {"gemm_batch", NULL, 12, 9}, {"gemm_batch", NULL, 13, 10}, {"gemm", "batch", 5, 4},
    {"gemm", "batch", 11, 9},   {"symm", NULL, 5, 4},        {"hemm", NULL, 5, 4},         {"trmm", NULL, 7, 6},
    {"trsm", NULL, 7, 6},       {"gemv", NULL, 4, 3},        {"gbmv", NULL, 4, 3},         {"gbmv", NULL, 6, 5},
    {"ger", NULL, 3, 2},        {"ger", NULL, 8, 6},         {"her2", "her2k", 8, 6},      {"hpr2", NULL, 8, 6},
};

static int by_rows(const char *routine, int info) {
  for (size_t i = 0; i < sizeof swaps / sizeof swaps[0]; i++) {
    const struct swap *const s = &swaps[i];
    if (!strstr(routine, s->routine) || (s->but && strstr(routine, s->but))) continue;
    if (info == s->one) return s->other;
    if (info == s->other) return s->one;
  }
  return info;
}

/* Netlib's also ends the process; those of OpenBLAS and MKL do not. */
void cblas_xerbla(int info, const char *routine, const char *form, ...) {
  if (RowMajorStrg) info = by_rows(routine, info);
  if (info) fprintf(stderr, "Parameter %d to routine %s was incorrect\n", info, routine);
  va_list arguments;
  va_start(arguments, form);
  vfprintf(stderr, form, arguments);
  va_end(arguments);
}
