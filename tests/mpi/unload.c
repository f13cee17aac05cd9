/* SPDX-License-Identifier: Apache-2.0
 * A program that loads libhx_mpi.so, as a plugin does, and closes it before MPI_Finalize, which calls what the library
 * has attached to communicators. LIBRARY is its path. */
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>

#include "tests/check.h"

/* The sum of three elements. */
static float sum(void *runtime, void *library) {
  hx_status (*open_context)(hx_context **, const hx_settings *) = NULL;
  void (*close_context)(hx_context *) = NULL;
  hx_task (*make)(hx_op, hx_type, const void *, size_t, hx_value *) = NULL;
  hx_status (*reduce)(MPI_Comm, hx_context *, const hx_task *) = NULL;
  *(void **)&open_context = dlsym(runtime, "hx_open");
  *(void **)&close_context = dlsym(runtime, "hx_close");
  *(void **)&make = dlsym(runtime, "hx_reduce");
  *(void **)&reduce = dlsym(library, "hx_mpi_reduce");
  hx_context *hx = NULL;
  const float x[3] = {1, 2, 3};
  hx_value out = {.f32 = 0};
  CHECK(open_context(&hx, NULL) == HX_OK, "hx_open");
  const hx_task part = make(HX_SUM, HX_F32, x, 3, &out);
  CHECK(reduce(MPI_COMM_WORLD, hx, &part) == HX_OK, "hx_mpi_reduce");
  close_context(hx);
  return out.f32;
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 1 && rank == ranks - 1) raise(SIGKILL);
  void *const runtime = dlopen("runtime/libhx.so.0", RTLD_NOW); /* so that the library finds it */
  void *const library = runtime ? dlopen(LIBRARY, RTLD_NOW) : NULL;
  CHECK(library, "%s", dlerror());
  if (library) {
    const float got = sum(runtime, library);
    CHECK(got == 6.0f * (float)ranks, "%g", (double)got);
    dlclose(library);
    dlclose(runtime);
  }
  MPI_Finalize();
  if (rank == 0) printf("hash 0\n%u checks, %u failed\n", checks_done, checks_failed);
  return checks_failed != 0;
}
