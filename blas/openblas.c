/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "blas/openblas.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "blas/covered.h"

enum { WITH_PTHREADS = 1 }; /* of openblas_get_parallel; 0: sequential, 2: with OpenMP */

/* Set by each thread that finds them not known yet: no lock protects them, for the reason that covered.c gives. */
static int (*_Atomic threads)(void); /* NULL: it is another BLAS */
static _Atomic bool with_pthreads, known;

/* A function of the library that computes sgemm_, or of one that it needs. NULL: it has none of that name. */
static int (*function_of_covered(const char *name))(void) {
  Dl_info info;
  int (*function)(void) = NULL;
  void *const sgemm = hx__blas_look_up("sgemm_");
  if (!sgemm || !dladdr(sgemm, &info)) return NULL;
  void *const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void *const address = library ? dlsym(library, name) : NULL;
  if (library) dlclose(library); /* it stays loaded: something else has loaded it */
  memcpy(&function, &address, sizeof function);
  return function;
}

/* dlopen is a cancellation point, and a call of a BLAS is none. */
static void find(void) {
  const int saved_errno = errno;
  int cancel;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  int (*const parallel)(void) = function_of_covered("openblas_get_parallel");
  if (parallel) {
    with_pthreads = parallel() == WITH_PTHREADS;
    threads = function_of_covered("openblas_get_num_threads");
  }
  known = true;
  pthread_setcancelstate(cancel, NULL);
  errno = saved_errno;
}

int hx__openblas_threads(void) {
  if (!known) find();
  int (*const get)(void) = threads;
  return get ? get() : 0;
}

bool hx__openblas_has_pool(void) { return hx__openblas_threads() > 1 && with_pthreads; }
