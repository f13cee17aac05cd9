/* SPDX-License-Identifier: Apache-2.0
 * The short-lived process in which an OpenCL driver is tried. `child LIBRARY` loads the library like the ICD loader and
 * queries its platforms and devices. It writes its current step to descriptor 3, as one character, and exits with a
 * status that no driver returns by chance. It includes nothing of hx or OpenCL; the library contains this program
 * (runtime/BUILD). */
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime/driver_check/status.h"

#define MOST 16u
#define ALL_DEVICES 0xffffffffu
#define PLATFORM_NAME 0x0902u
#define DEVICE_NAME 0x102bu

static void write_step(char what) {
  if (pwrite(HX__CHECK_FD, &what, 1, 0) != 1) _exit(HX__CHECK_PASSED); /* there is no reader */
}

/* The head of the KHR dispatch table, to which the first word of every OpenCL object points. */
typedef struct table {
  void *platform_ids;
  int (*platform_info)(void *platform, unsigned what, size_t bytes, void *value, size_t *used);
  int (*device_ids)(void *platform, unsigned long type, unsigned count, void **devices, unsigned *found);
  int (*device_info)(void *device, unsigned what, size_t bytes, void *value, size_t *used);
} table;

static void query_devices(void *platform) {
  const table *const t = *(table **)platform;
  char text[256];
  void *devices[MOST] = {NULL};
  unsigned found = 0;
  t->platform_info(platform, PLATFORM_NAME, sizeof text, text, NULL);
  if (t->device_ids(platform, ALL_DEVICES, MOST, devices, &found) != 0) return;
  for (unsigned i = 0; i < found && i < MOST; i++)
    (*(table **)devices[i])->device_info(devices[i], DEVICE_NAME, sizeof text, text, NULL);
}

int main(int argc, char **argv) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (argc != 2) return 1;
  write_step('l');
  void *const library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  if (!library) _exit(HX__CHECK_PASSED); /* the ICD loader skips it, too */
  write_step('p');
  void *(*address)(const char *name) = NULL;
  int (*platform_ids)(unsigned count, void **platforms, unsigned *found) = NULL;
  void *symbol = dlsym(library, "clGetExtensionFunctionAddress");
  memcpy(&address, &symbol, sizeof address);
  symbol = address ? address("clIcdGetPlatformIDsKHR") : NULL;
  memcpy(&platform_ids, &symbol, sizeof platform_ids);
  void *platforms[MOST] = {NULL};
  unsigned found = 0;
  if (!platform_ids || platform_ids(MOST, platforms, &found) != 0) _exit(HX__CHECK_PASSED);
  write_step('d');
  for (unsigned i = 0; i < found && i < MOST; i++) query_devices(platforms[i]);
  _exit(HX__CHECK_PASSED);
}
