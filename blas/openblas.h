/* SPDX-License-Identifier: Apache-2.0
 * What the covered BLAS says of its threads, if it is OpenBLAS. */
#ifndef HX_BLAS_OPENBLAS_H
#define HX_BLAS_OPENBLAS_H

#include <stdbool.h>

/* The threads that OpenBLAS may use now (OPENBLAS_NUM_THREADS, openblas_set_num_threads); 0: it is another BLAS. */
int hx__openblas_threads(void);

/* Whether these are a pool of OpenBLAS's own (a build with pthreads), and more than one. Its threads and hx's, which
 * are OpenMP's, then wait for their next work on the same cores, and each pool finds the cores taken by the other one.
 */
bool hx__openblas_has_pool(void);

#endif
