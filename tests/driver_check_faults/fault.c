/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL driver that does something else, by the macro FAULT. Each load adds a line to the file that LOAD_COUNT
 * names.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ABORT = 1, CRASH_IN_PLATFORMS, HANG_IN_PLATFORMS, EXIT, HANG_IN_DEVICES, NONSENSE, KILLED, PRELOADED };

__attribute__((constructor)) static void fail_when_loaded(void) {
  const char *const path = getenv("LOAD_COUNT");
  FILE *const f = path ? fopen(path, "a") : NULL;
  if (f) fprintf(f, "%d\n", FAULT);
  if (f) fclose(f);
  if (FAULT == ABORT) abort();
  if (FAULT == EXIT) exit(3);
  if (FAULT == KILLED) raise(SIGTERM);
  if (FAULT == PRELOADED && getenv("LD_PRELOAD")) abort();
}

static int platform_info(void *platform, unsigned what, size_t bytes, void *value, size_t *used) {
  (void)platform, (void)what, (void)bytes, (void)value, (void)used;
  return -30;
}

static int device_ids(void *platform, unsigned long type, unsigned count, void **devices, unsigned *found) {
  (void)platform, (void)type, (void)count, (void)devices, (void)found;
  pause(); /* signals are blocked, or end it */
  return -1;
}

static void *table[256] = {[1] = (void *)platform_info, [2] = (void *)device_ids};
static void *platform[1] = {table};

static int platform_ids(unsigned count, void **platforms, unsigned *found) {
  if (FAULT == PRELOADED) return -1001; /* CL_PLATFORM_NOT_FOUND_KHR */
  if (FAULT == CRASH_IN_PLATFORMS) raise(SIGSEGV);
  if (FAULT == HANG_IN_PLATFORMS) pause();
  if (found) *found = FAULT == NONSENSE ? 0x7fffffff : 1;
  if (platforms && count) platforms[0] = FAULT == NONSENSE ? (void *)8 : platform;
  return 0;
}

__attribute__((visibility("default"))) void *clGetExtensionFunctionAddress(const char *name);
void *clGetExtensionFunctionAddress(const char *name) {
  return strcmp(name, "clIcdGetPlatformIDsKHR") == 0 ? (void *)platform_ids : NULL;
}
