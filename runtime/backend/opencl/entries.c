/* SPDX-License-Identifier: Apache-2.0
 * Looks up the entry points of OpenCL in the ICD loader, and defines the functions that call them through the gate. */
#define HX__CL_ENTRIES_AS_THEY_ARE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/cl.h"

#define LOADER "libOpenCL.so.1"
#define NVIDIA_LOST (-9999) /* returned by NVIDIA's driver after a kernel has made an illegal access */

struct hx__cl_entries hx__cl;

static const struct {
  const char *name;
  size_t at;
} table[] = {
#define ROW(name) {#name, offsetof(struct hx__cl_entries, name)},
#define STATUS(name, parameters, arguments) ROW(name)
#define OBJECT(type, name, parameters, arguments, release) ROW(name)
#define PLAIN(type, name, parameters, arguments) ROW(name)
#define NOTHING(name, parameters, arguments) ROW(name)
    HX__CL_ENTRIES(STATUS, STATUS, STATUS, OBJECT, PLAIN, NOTHING)
#undef STATUS
#undef OBJECT
#undef PLAIN
#undef NOTHING
};

/* Inside the gate, because dlopen waits while another thread loads a library. If that library's constructor waits for
 * hx, neither would end. */
static void load(void) {
  if (!hx__gate_enter("dlopen")) return;
  void *const library = dlopen(LOADER, RTLD_NOW | RTLD_LOCAL);
  hx__gate_leave(NULL, NULL);
  if (!library) {
    hx__log(HX__LOG_INFO, "no OpenCL: %s", dlerror());
    return;
  }
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    void *const entry = dlsym(library, table[i].name);
    memcpy((char *)&hx__cl + table[i].at, &entry, sizeof entry);
  }
}

bool hx__cl_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return hx__cl.clGetPlatformIDs && hx__cl.clGetDeviceIDs && hx__cl.clGetDeviceInfo;
}

/* These free the object that a call has created after its thread was given up. That thread calls them, without a
 * gate. */
static void nothing_to_release(void *made) { (void)made; }
#define RELEASES(release) \
  static void free_by_##release(void *made) { hx__cl.release(made); }
RELEASES(clReleaseContext)
RELEASES(clReleaseCommandQueue)
RELEASES(clReleaseMemObject)
RELEASES(clReleaseProgram)
RELEASES(clReleaseKernel)
static void (*const free_by_nothing_to_release)(void *) = nothing_to_release;

/* Marks the device as lost if the code says so. This also covers calls whose code the caller ignores: one of them may
 * be the first to report the loss. */
static cl_int note_loss(const char *call, cl_int code) {
  const hx__gate *const gate = hx__gate_of_this_thread();
  if (gate && gate->device && (code == CL_DEVICE_NOT_AVAILABLE || code == NVIDIA_LOST))
    hx__device_lost(gate->device, "%s returned %s (%d)", call, hx__cl_code_name(code), code);
  return code;
}

/* `before` is done inside the gate before the driver's entry is called, `after` when it has returned. */
#define STATUS_WITH(before, after, name, parameters, arguments) \
  cl_int hx__##name parameters {                                \
    if (!hx__cl.name) return CL_INVALID_OPERATION;              \
    if (!hx__gate_enter(#name)) return CL_DEVICE_NOT_AVAILABLE; \
    before;                                                     \
    const cl_int code = hx__cl.name arguments;                  \
    hx__gate_leave(NULL, NULL);                                 \
    after;                                                      \
    return code == CL_SUCCESS ? code : note_loss(#name, code);  \
  }
#define STATUS(name, parameters, arguments) STATUS_WITH((void)0, (void)0, name, parameters, arguments)
#define UNMAP(name, parameters, arguments) STATUS_WITH(hx__gate_unmaps(q), (void)0, name, parameters, arguments)
#define FINISH(name, parameters, arguments) STATUS_WITH((void)0, hx__gate_has_finished(q), name, parameters, arguments)
#define OBJECT(type, name, parameters, arguments, release)                              \
  type hx__##name parameters {                                                          \
    cl_int unread;                                                                      \
    if (!err) err = &unread;                                                            \
    *err = CL_DEVICE_NOT_AVAILABLE;                                                     \
    if (!hx__cl.name || !hx__gate_enter(#name)) return NULL;                            \
    type const made = hx__cl.name arguments;                                            \
    hx__gate_leave(free_by_##release, made);                                            \
    /* Neither an object nor an error: the driver's fault, must not pass as success. */ \
    if (!made && *err == CL_SUCCESS) *err = CL_INVALID_OPERATION;                       \
    return made;                                                                        \
  }
#define PLAIN(type, name, parameters, arguments)             \
  type hx__##name parameters {                               \
    if (!hx__cl.name || !hx__gate_enter(#name)) return NULL; \
    type const got = hx__cl.name arguments;                  \
    hx__gate_leave(NULL, NULL);                              \
    return got;                                              \
  }
#define NOTHING(name, parameters, arguments)            \
  void hx__##name parameters {                          \
    if (!hx__cl.name || !hx__gate_enter(#name)) return; \
    hx__cl.name arguments;                              \
    hx__gate_leave(NULL, NULL);                         \
  }
HX__CL_ENTRIES(STATUS, UNMAP, FINISH, OBJECT, PLAIN, NOTHING)

void *hx__cl_usm_alloc(hx__cl_device *d, size_t bytes) {
  cl_int code;
  if (!hx__gate_enter("clHostMemAllocINTEL")) return NULL;
  void *const p = d->usm_alloc(d->context, NULL, bytes, 0, &code);
  hx__gate_leave(NULL, NULL);
  return p;
}

void hx__cl_usm_free(hx__cl_device *d, void *p) {
  if (!hx__gate_enter("clMemFreeINTEL")) return;
  d->usm_free(d->context, p);
  hx__gate_leave(NULL, NULL);
}

cl_int hx__cl_usm_arg(const hx__cl_device *d, cl_kernel kernel, cl_uint index, const void *p) {
  if (!hx__gate_enter("clSetKernelArgMemPointerINTEL")) return CL_DEVICE_NOT_AVAILABLE;
  const cl_int code = d->usm_arg(kernel, index, p);
  hx__gate_leave(NULL, NULL);
  return code;
}
