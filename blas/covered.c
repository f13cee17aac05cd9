/* SPDX-License-Identifier: Apache-2.0
 * Which library is covered. The first of these that has a routine provides it:
 *   - HXBLAS_LIB, a file or a name for dlopen
 *   - what the program would use without libhx_blas, the next in its search order (if preloaded)
 *   - the system's libblas.so.3 and libcblas.so.3, unless they are libhx_blas itself
 *   - libraries that are known to be a BLAS, by their names and by the folders in which distributions keep them
 * Libraries are loaded one after the other, when a routine is looked up that those before them lack. */
#define _GNU_SOURCE
#include "blas/covered.h"

#include <dlfcn.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "blas/message.h"

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#endif

static const char *const names[] = {
    "libblas.so.3",
    "libcblas.so.3",
    "libopenblas.so.0",
    "libblis.so.4",
    "libmkl_rt.so.2",
    // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one path
    "/usr/lib/" TRIPLET "/blas/libblas.so.3",  /* Debian: netlib's, whichever alternative is selected */
    "/usr/lib/" TRIPLET "/atlas/libblas.so.3", /* Debian */
    "/usr/lib64/libblas.so.3",                 /* Fedora */
    "/usr/lib64/libcblas.so.3",
    "/usr/lib/libblas.so.3", /* Arch */
    "/usr/lib/libcblas.so.3",
};
enum { NAMES = sizeof names / sizeof names[0] };

/* Every copy of libhx_blas in a process exports it, under whatever file name. A copy covers no other copy. */
#define MARK "hx_blas_mark"
__attribute__((visibility("default"))) const char hx_blas_mark[] = "libhx_blas";

/* No lock protects these: another thread may hold the dynamic linker's lock while it waits for ours, in a constructor
 * that calls a BLAS routine. dlopen may be called twice for a library, and returns the same handle. */
static void *_Atomic chosen;         /* HXBLAS_LIB */
static void *_Atomic library[NAMES]; /* of names */
static char none;                    /* its address in place of a handle: cannot be loaded, or is libhx_blas */

/* The handle of a library that is not libhx_blas; &none if there is none. */
static void *load(const char *name) {
  void *const handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return &none;
  if (!dlsym(handle, MARK)) return handle;
  dlclose(handle);
  return &none;
}

static void *load_chosen(void) {
  const char *const name = secure_getenv("HXBLAS_LIB");
  if (!name || !*name) return &none;
  void *const handle = load(name);
  if (handle != &none) return handle;
  const char *const why = dlerror();
  hx__blas_message("warning", "HXBLAS_LIB=%s is not used: %s", name, why ? why : "it is libhx_blas itself");
  return &none;
}

/* The routine of the library that follows this one in the search order, unless that is another copy of this one. */
static void *next(const char *routine) {
  void *const address = dlsym(RTLD_NEXT, routine), *const mark = dlsym(RTLD_NEXT, MARK);
  Dl_info of_routine, of_mark;
  if (address && mark && dladdr(address, &of_routine) && dladdr(mark, &of_mark) &&
      of_routine.dli_fbase == of_mark.dli_fbase)
    return NULL;
  return address;
}

static void *look_up(const char *routine) {
  if (!chosen) chosen = load_chosen();
  void *address = chosen != &none ? dlsym(chosen, routine) : NULL;
  if (!address) address = next(routine);
  for (unsigned i = 0; !address && i < NAMES; i++) {
    if (!library[i]) library[i] = load(names[i]);
    if (library[i] != &none) address = dlsym(library[i], routine);
  }
  return address;
}

/* Constructors of the libraries may change the floating-point state and errno, and dlopen is a cancellation point. */
void *hx__blas_look_up(const char *routine) {
  const int saved_errno = errno;
  int cancel;
  fenv_t state;
  fegetenv(&state);
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
  void *const address = look_up(routine);
  pthread_setcancelstate(cancel, NULL);
  fesetenv(&state);
  errno = saved_errno;
  return address;
}

const char *hx__blas_file_of(const char *routine) {
  void *const address = hx__blas_look_up(routine);
  Dl_info info;
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "no BLAS";
}

void *hx__blas_resolve(struct hx__blas_cell *cell) {
  void *const target = hx__blas_look_up(cell->routine);
  if (!target) {
    hx__blas_message("error", "no BLAS of this system has %s (HXBLAS_LIB may name one)", cell->routine);
    _exit(127); /* the status of ld.so for a missing symbol */
  }
  __atomic_store_n(&cell->target, target, __ATOMIC_RELEASE);
  return target;
}
