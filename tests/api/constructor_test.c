/* SPDX-License-Identifier: Apache-2.0
 * A constructor of a library calls hx while dlopen loads that library, and thus holds the dynamic linker's lock. It may
 * wait neither for another thread of the program that is in its first call, nor for ever for the discovery of devices:
 * both need that lock, too.
 *     constructor_test LIBRARY  */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "runtime/base/clock.h"
#include "tests/scenario.h"

enum { N = 1 << 20, HEAD_START_NS = 200000000 };

static const char *path;
static float x[N];
static hx_settings settings = HX_SETTINGS_DEFAULT;
static hx_context *shared; /* NULL: no other thread calls hx */
static pthread_t other;

static void sum(hx_context *hx, float share) {
  hx_value value = {.u64 = 0};
  hx_task t = hx_reduce(HX_SUM, HX_F32, x, N, &value);
  t.gpu_share = share;
  CHECK_OK(hx_offload(hx, &t, NULL));
  CHECK(value.f32 == (float)N, "%g", (double)value.f32);
}

static void *make_first_call(void *unused) {
  sum(shared, -1);
  return unused;
}

static float share;

static void in_constructor(void) {
  if (shared && pthread_create(&other, NULL, make_first_call, NULL) != 0) exit(1);
  hx__sleep_ns(HEAD_START_NS); /* the other thread waits for the dynamic linker's lock by then */
  hx_context *const hx = open_or_exit(&settings);
  sum(hx, share);
  hx_close(hx);
}

static void load_library(void) {
  static void (*calls)(void) = in_constructor;
  char address[32];
  snprintf(address, sizeof address, "%llx", (unsigned long long)(uintptr_t)&calls);
  setenv("CONSTRUCTOR_CALLS", address, 1);
  for (size_t i = 0; i < N; i++) x[i] = 1.0f;
  void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL, "%s", dlerror());
  CHECK(checks_done > 2, "the constructor was not called");
}

static void beside_a_first_call(void) {
  settings.devices = "cpu";
  shared = open_or_exit(&settings);
  share = -1;
  load_library();
  pthread_join(other, NULL);
  hx_close(shared);
}

static void before_the_discovery(void) {
  settings.devices = "cpu,pocl";
  settings.timeout_ms = "300";
  share = 0.5f;
  load_library();
}

int main(int argc, char **argv) {
  static const scenario table[] = {{"beside_a_first_call", beside_a_first_call},
                                   {"before_the_discovery", before_the_discovery}};
  path = getenv("CONSTRUCTOR_LIBRARY");
  if (argc > 1 && argv[1][0] != '-') {
    setenv("CONSTRUCTOR_LIBRARY", path = argv[1], 1); /* for the processes of the scenarios */
    argv++, argc--;
  }
  if (!path) return puts("usage: constructor_test LIBRARY"), 2;
  return scenarios_main(argc, argv, "constructor_test", table, sizeof table / sizeof *table);
}
