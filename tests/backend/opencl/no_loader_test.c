/* SPDX-License-Identifier: Apache-2.0
 * A machine without an ICD loader: dlopen() finds no libOpenCL here. The program starts, and the CPU does the
 * work. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "tests/check.h"
#include "reference/data.h"

enum { N = 1 << 16 };

static unsigned refused;

void *dlopen(const char *name, int flags) {
  void *(*const real)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  if (!name || !strstr(name, "libOpenCL")) return real(name, flags);
  refused++;
  return real("libOpenCL-of-another-machine.so.1", flags); /* so that dlerror() has a sentence */
}

static bool maps_name_opencl(void) {
  char line[4096];
  bool found = false;
  FILE *const maps = fopen("/proc/self/maps", "r");
  while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, "libOpenCL") != NULL;
  if (maps) fclose(maps);
  return found;
}

int main(void) {
  static int32_t x[N];
  int64_t want = 0;
  for (int i = 0; i < N; i++) want += x[i] = i % 1000 - 300;
  hx_settings s = HX_SETTINGS_DEFAULT;
  hx_context *const hx = open_or_exit(&s);
  CHECK_OK(hx_ready(hx));
  CHECK(refused > 0, "the loader was never looked for");
  CHECK(!maps_name_opencl(), "libOpenCL is in the process all the same");
  CHECK(hx_device_count(hx) == 1, "%zu devices", hx_device_count(hx));
  hx_value sum;
  const hx_task task = hx_reduce(HX_SUM, HX_I32, x, N, &sum);
  CHECK_OK(hx_offload(hx, &task, NULL));
  CHECK(sum.i64 == want, "%lld, not %lld", (long long)sum.i64, (long long)want);
  hx_close(hx);
  return checks_end("no_loader_test");
}
