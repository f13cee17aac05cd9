/* SPDX-License-Identifier: Apache-2.0
 * Calls drivers without the ICD loader, which would load every installed driver. The first word of each OpenCL object
 * points to its driver's table of entry points (cl_khr_icd), so a call uses the table of its first argument. */
#define HX__CL_ENTRIES_AS_THEY_ARE
#include <CL/cl_icd.h>
#include <dlfcn.h>
#include <string.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/entries.h"
#include "runtime/backend/opencl/driver_check.h"

#define MOST_PLATFORMS 16u

static cl_platform_id platforms[MOST_PLATFORMS];
static cl_uint platform_count;

#define FIRST(first, ...) ((const void *)(uintptr_t)(first))
#define TABLE(arguments) (*(const cl_icd_dispatch *const *)FIRST arguments)
#define STATUS(name, parameters, arguments) \
  static cl_int CL_API_CALL direct_##name parameters { return TABLE(arguments)->name arguments; }
#define OBJECT(type, name, parameters, arguments, release) \
  static type CL_API_CALL direct_##name parameters { return TABLE(arguments)->name arguments; }
#define PLAIN(type, name, parameters, arguments) \
  static type CL_API_CALL direct_##name parameters { return TABLE(arguments)->name arguments; }
#define NOTHING(name, parameters, arguments) \
  static void CL_API_CALL direct_##name parameters { TABLE(arguments)->name arguments; }
HX__CL_ENTRIES(STATUS, STATUS, STATUS, OBJECT, PLAIN, NOTHING)
#undef STATUS
#undef OBJECT
#undef PLAIN
#undef NOTHING

/* The first argument of these three entry points is not an OpenCL object. */
static cl_int CL_API_CALL get_platforms(cl_uint n, cl_platform_id *p, cl_uint *found) {
  for (cl_uint i = 0; p && i < n && i < platform_count; i++) p[i] = platforms[i];
  if (found) *found = platform_count;
  return platform_count ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *p, cl_uint n, const cl_device_id *d,
                                             void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u,
                                             cl_int *err) {
  return TABLE((d[0]))->clCreateContext(p, n, d, f, u, err);
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *w) { return TABLE((w[0]))->clWaitForEvents(n, w); }

static void add_platforms(const char *name) {
  if (!hx__gate_enter("clIcdGetPlatformIDsKHR")) return;
  void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  void *(*address)(const char *) = NULL;
  clIcdGetPlatformIDsKHR_fn get = NULL;
  void *symbol = library ? dlsym(library, "clGetExtensionFunctionAddress") : NULL;
  memcpy(&address, &symbol, sizeof address);
  symbol = address ? address("clIcdGetPlatformIDsKHR") : NULL;
  memcpy(&get, &symbol, sizeof get);
  cl_uint found = 0;
  const cl_uint room = MOST_PLATFORMS - platform_count;
  if (get && room && get(room, platforms + platform_count, &found) == CL_SUCCESS)
    platform_count += found < room ? found : room;
  hx__gate_leave(NULL, NULL);
}

void hx__driver_dispatch_directly(const hx__vendor *vendors, size_t count) {
  for (size_t i = 0; i < count; i++) add_platforms(vendors[i].file);
#define STATUS(name, parameters, arguments) hx__cl.name = direct_##name;
#define OBJECT(type, name, parameters, arguments, release) hx__cl.name = direct_##name;
#define PLAIN(type, name, parameters, arguments) hx__cl.name = direct_##name;
#define NOTHING(name, parameters, arguments) hx__cl.name = direct_##name;
  HX__CL_ENTRIES(STATUS, STATUS, STATUS, OBJECT, PLAIN, NOTHING)
  hx__cl.clGetPlatformIDs = get_platforms;
  hx__cl.clCreateContext = create_context;
  hx__cl.clWaitForEvents = wait_for_events;
}
