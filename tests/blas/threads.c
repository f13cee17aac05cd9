/* SPDX-License-Identifier: Apache-2.0
 * Calls over stub.c, which is the covered BLAS (HXBLAS_LIB), if only the CPU is there, if there is a device, and if
 * HXBLAS_MIN=0 has hx compute all of them (then OMP_NUM_THREADS is 2). For each it prints "hx" or "forwarded": what the
 * line of the call at HX_LOG=info must say. Checks how many threads the process has.
 *     threads STUB PARALLEL [device|all]  */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blas/blas.h"

enum { SIDE = 512 /* large enough for a device */, CELLS = SIDE * SIDE, SMALL = 64, BATCH = 40 };

static float *a, *b, *c;
static int failed;

static int threads_now(void) {
  int n = 0;
  char line[256];
  FILE *const f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (sscanf(line, "Threads: %d", &n) == 1) break;
  if (f) fclose(f);
  return n;
}

static void product(const char *by) {
  const int side = SIDE;
  const float one = 1, zero = 0;
  sgemm_("N", "N", &side, &side, &side, &one, a, &side, b, &side, &zero, c, &side);
  puts(by);
}

static void sum(const char *by) {
  const int n = CELLS, one = 1;
  sasum_(&n, a, &one);
  puts(by);
}

static void batch(const char *by) {
  const int side = SMALL, stride = SMALL * SMALL, size = BATCH;
  const float one = 1, zero = 0;
  sgemm_batch_strided("N", "N", &side, &side, &side, &one, a, &side, &stride, b, &side, &stride, &zero, c, &side,
                      &stride, &size);
  puts(by);
}

static void expect_threads(int most, const char *when) {
  const int n = threads_now();
  if (n <= most) return;
  fprintf(stderr, "threads: %s: %d threads, not %d\n", when, n, most);
  failed = 1;
}

static void in_child(const char *by) {
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    product(by);
    fflush(stdout);
    _exit(0);
  }
  int status = 1;
  if (child < 0 || waitpid(child, &status, 0) != child || status) failed = 1;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) return 2;
  void *const stub = dlopen(argv[1], RTLD_NOW);
  void (*set)(int) = NULL;
  void *const address = stub ? dlsym(stub, "openblas_set_num_threads") : NULL;
  memcpy(&set, &address, sizeof set);
  a = calloc(CELLS, sizeof *a), b = calloc(CELLS, sizeof *b), c = calloc(CELLS, sizeof *c);
  if (!set || !a || !b || !c) return 1;
  const int device = argc == 4 && strcmp(argv[3], "device") == 0, all = argc == 4 && !device;
  const int pthreads = atoi(argv[2]) == 1 && !all;
  set(1); /* hx uses one thread, too */
  product("hx"), sum("hx"), batch("hx");
  if (!device) expect_threads(1, "one thread of OpenBLAS");
  set(2);
  product(pthreads && !device ? "forwarded" : "hx"), sum("hx");
  if (pthreads && !device) expect_threads(1, "a pool of OpenBLAS");
  if (all && threads_now() < 2) fprintf(stderr, "threads: HXBLAS_MIN: a product by one thread\n"), failed = 1;
  batch("hx");
  in_child(pthreads ? "forwarded" : "hx");
  set(1);
  product("hx");
  return failed;
}
