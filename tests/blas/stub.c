/* SPDX-License-Identifier: Apache-2.0
 * A BLAS that says of its threads what OpenBLAS would: STUB_PARALLEL is 0 (sequential), 1 (pthreads) or 2 (OpenMP), and
 * STUB_THREADS their number until openblas_set_num_threads. Its routines only note that they were called. */
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static int threads; /* 0: not set */

static int number(const char *variable) {
  const char *const value = getenv(variable);
  return value ? atoi(value) : 1;
}

EXPORT int openblas_get_parallel(void);
EXPORT int openblas_get_parallel(void) { return number("STUB_PARALLEL"); }
EXPORT int openblas_get_num_threads(void);
EXPORT int openblas_get_num_threads(void) { return threads ? threads : number("STUB_THREADS"); }
EXPORT void openblas_set_num_threads(int n);
EXPORT void openblas_set_num_threads(int n) { threads = n; }

EXPORT void sgemm_(void);
EXPORT void sgemm_(void) {}
EXPORT float sasum_(void);
EXPORT float sasum_(void) { return 0; }
