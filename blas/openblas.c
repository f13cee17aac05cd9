/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "blas/openblas.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "blas/covered.h"

enum { WITH_PTHREADS = 1 }; /* of openblas_get_parallel; 0: sequential, 2: with OpenMP */

static struct {
  int (*threads)(void); /* NULL: it is another BLAS */
  bool with_pthreads;
} openblas;

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

void hx__openblas_find(void) {
  int (*const parallel)(void) = function_of_covered("openblas_get_parallel");
  openblas.threads = parallel ? function_of_covered("openblas_get_num_threads") : NULL;
  openblas.with_pthreads = parallel && parallel() == WITH_PTHREADS;
}

int hx__openblas_threads(void) { return openblas.threads ? openblas.threads() : 0; }

bool hx__openblas_has_pool(void) { return openblas.with_pthreads && hx__openblas_threads() > 1; }
