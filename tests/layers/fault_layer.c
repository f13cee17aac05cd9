/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer in which one call goes wrong: FAULT_FN names the entry, FAULT_NTH its call (from 1; 0: every one),
 * and FAULT_KIND what happens.
 * - error (default): it returns FAULT_CODE and never reaches the driver.
 * - hang: it never returns.
 * - slow: it reaches the driver FAULT_MS later.
 * - silent: it returns success, and nothing was done; entries of which that cannot be said pass.
 * - lost: it and every call after it fail; calls on a context FAULT_GRACE_MS later are logged as violations.
 * - count: nothing happens, and the log ends with a line `count: ENTRY BEFORE SINCE` for each entry called.
 * With FAULT_ARM set calls count and faults begin when a file of that name appears, or the program sets
 * layer_fault.armed (fault_layer.h). FAULT_ONE_IN=N and FAULT_SEED instead of FAULT_FN: one call in N of any entry.
 * FAULT_THEN=ENTRY: after the first fault, the next call of that entry returns FAULT_CODE.
 * Lines of the log: layer: fault: clFinish call 3 -> error -5. FAULT_FN=list logs `layer: entry NAME` for every entry,
 * so that a test can walk them all. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "tests/layers/layer.h"

#include "tests/layers/fault_layer_entries.h"
#include "tests/layers/fault_layer_plan.h"

/* The driver's extension functions. */
static struct {
  clHostMemAllocINTEL_fn clHostMemAllocINTEL;
  clMemFreeINTEL_fn clMemFreeINTEL;
  clSetKernelArgMemPointerINTEL_fn clSetKernelArgMemPointerINTEL;
} extension;

/* A release that the driver refuses is not repeated, so it does not change the count of references. */
static cl_int status(int entry, cl_int from_driver) {
  if (from_driver == CL_SUCCESS) fault_live(entry, 0);
  return from_driver;
}

static cl_int refused(int entry) {
  if (entry == at_clReleaseCommandQueue || entry == at_clReleaseMemObject || entry == at_clReleaseEvent ||
      entry == at_clReleaseKernel || entry == at_clReleaseProgram || entry == at_clReleaseContext ||
      entry == at_clEnqueueUnmapMemObject)
    fault_live(entry, 0);
  return fault_code();
}

static cl_int enqueued(int entry, cl_int from_driver, const cl_event *event) {
  if (from_driver == CL_SUCCESS) fault_live(entry, event && *event);
  return from_driver;
}

/* A command that is not executed; its event completes when the commands before it have ended. */
static cl_int unexecuted(cl_command_queue q, WAITS) {
  return e ? next.clEnqueueMarkerWithWaitList(q, n, w, e) : CL_SUCCESS;
}

#define WRAP_QUERY_OF(from, name, parameters, arguments)               \
  static cl_int CL_API_CALL fault_##name parameters {                  \
    if (fault_plan_call(at_##name) == FAULT_FAIL) return fault_code(); \
    return status(at_##name, from.name arguments);                     \
  }
#define WRAP_ACT(name, parameters, arguments)          \
  static cl_int CL_API_CALL fault_##name parameters {  \
    switch (fault_plan_call(at_##name)) {              \
      case FAULT_FAIL:                                 \
        return refused(at_##name);                     \
      case FAULT_SILENT:                               \
        return status(at_##name, CL_SUCCESS);          \
      default:                                         \
        return status(at_##name, next.name arguments); \
    }                                                  \
  }
#define WRAP_COMMAND(name, parameters, arguments)              \
  static cl_int CL_API_CALL fault_##name parameters {          \
    switch (fault_plan_call(at_##name)) {                      \
      case FAULT_FAIL:                                         \
        return refused(at_##name);                             \
      case FAULT_SILENT:                                       \
        return enqueued(at_##name, unexecuted(q, n, w, e), e); \
      default:                                                 \
        return enqueued(at_##name, next.name arguments, e);    \
    }                                                          \
  }
#define WRAP_MAKE_OF(from, type, name, parameters, arguments) \
  static type CL_API_CALL fault_##name parameters {           \
    if (fault_plan_call(at_##name) == FAULT_FAIL) {           \
      if (err) *err = fault_code();                           \
      return NULL;                                            \
    }                                                         \
    type const made = from.name arguments;                    \
    if (made) fault_live(at_##name, 0);                       \
    return made;                                              \
  }
#define WRAP_FIND(name, parameters, arguments)                 \
  static void *CL_API_CALL fault_##name parameters {           \
    if (fault_plan_call(at_##name) == FAULT_FAIL) return NULL; \
    void *const found = next.name arguments;                   \
    if (found) fault_live(at_##name, 0);                       \
    return found;                                              \
  }
#define WRAP_FREE_OF(from, name, parameters, arguments)                \
  static void CL_API_CALL fault_##name parameters {                    \
    if (fault_plan_call(at_##name) == FAULT_PASS) from.name arguments; \
    fault_live(at_##name, 0);                                          \
  }
#define WRAP_QUERY(name, ...) WRAP_QUERY_OF(next, name, __VA_ARGS__)
#define WRAP_MAKE(type, name, ...) WRAP_MAKE_OF(next, type, name, __VA_ARGS__)
#define WRAP_FREE(name, ...) WRAP_FREE_OF(next, name, __VA_ARGS__)
ENTRIES(WRAP_QUERY, WRAP_ACT, WRAP_COMMAND, WRAP_MAKE, WRAP_FIND, WRAP_FREE)

#define WRAP_QUERY_EXT(name, ...) WRAP_QUERY_OF(extension, name, __VA_ARGS__)
#define WRAP_MAKE_EXT(type, name, ...) WRAP_MAKE_OF(extension, type, name, __VA_ARGS__)
#define WRAP_FREE_EXT(name, ...) WRAP_FREE_OF(extension, name, __VA_ARGS__)
EXTENSIONS(WRAP_QUERY_EXT, WRAP_MAKE_EXT, WRAP_FREE_EXT)

/* The address of an extension's function: this layer's own function if it has one. */
static void *CL_API_CALL find_extension(cl_platform_id platform, const char *name) {
  void *const found = fault_clGetExtensionFunctionAddressForPlatform(platform, name);
#define FILL_EXT(entry, ...)                \
  if (found && strcmp(name, #entry) == 0) { \
    extension.entry = (entry##_fn)found;    \
    return (void *)fault_##entry;           \
  }
#define FILL_EXT_OF(type, entry, ...) FILL_EXT(entry)
  EXTENSIONS(FILL_EXT, FILL_EXT_OF, FILL_EXT)
  return found;
}

/* The event of a map counts like the event of a command. */
static void *CL_API_CALL map_buffer(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, WAITS,
                                    cl_int *err) {
  void *const mapped = fault_clEnqueueMapBuffer(q, m, b, f, o, s, n, w, e, err);
  if (mapped && e && *e) fault_live(at_clCreateUserEvent, 0);
  return mapped;
}

static cl_int CL_API_CALL launch(cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g,
                                 const size_t *l, WAITS) {
  char name[32] = "";
  next.clGetKernelInfo(k, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
  fault_plan_copies = strcmp(name, "hx_matmul_copy") == 0 || strncmp(name, "hx_pack_", 8) == 0;
  return fault_clEnqueueNDRangeKernel(q, k, d, o, g, l, n, w, e);
}

/* FAULT_STALL_MS: the call of FAULT_NTH does not fail but begins this much later; only writes (or reads, or maps) of at
 * least FAULT_LEAST bytes count. */
static unsigned long stall_ms, least;

static void *open_gate(void *gate) {
  nanosleep(&(struct timespec){(time_t)(stall_ms / 1000), (long)(stall_ms % 1000) * 1000000}, NULL);
  next.clSetUserEventStatus(gate, CL_COMPLETE);
  next.clReleaseEvent(gate);
  return NULL;
}

/* The event that a stalled command waits for; NULL if this command is not stalled. */
static cl_event gate_for(int entry, cl_command_queue q, cl_uint waits, size_t bytes) {
  cl_context context;
  pthread_t thread;
  if (waits != 0 || bytes < least || fault_plan_call(entry) != FAULT_FAIL) return NULL;
  cl_int err = next.clGetCommandQueueInfo(q, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  const cl_event gate = err == CL_SUCCESS ? next.clCreateUserEvent(context, &err) : NULL;
  if (gate && pthread_create(&thread, NULL, open_gate, gate) == 0) pthread_detach(thread);
  return gate;
}

static cl_int CL_API_CALL stall_write(cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *v,
                                      WAITS) {
  const cl_event gate = gate_for(at_clEnqueueWriteBuffer, q, n, s);
  return next.clEnqueueWriteBuffer(q, m, b, o, s, v, gate ? 1 : n, gate ? &gate : w, e);
}

static cl_int CL_API_CALL stall_read(cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *p, WAITS) {
  const cl_event gate = gate_for(at_clEnqueueReadBuffer, q, n, s);
  return next.clEnqueueReadBuffer(q, m, b, o, s, p, gate ? 1 : n, gate ? &gate : w, e);
}

static void *CL_API_CALL stall_map(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, WAITS,
                                   cl_int *err) {
  const cl_event gate = gate_for(at_clEnqueueMapBuffer, q, n, s);
  return next.clEnqueueMapBuffer(q, m, b, f, o, s, gate ? 1 : n, gate ? &gate : w, e, err);
}

/* Simulates a compiler that changes the arithmetic: FAULT_OPTIONS are added to the options of every program. */
static const char *liberties;

static cl_int CL_API_CALL build_freely(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                                       void(CL_CALLBACK *notify)(cl_program, void *), void *data) {
  char text[4096];
  snprintf(text, sizeof text, "%s %s", options ? options : "", liberties);
  return fault_clBuildProgram(program, n, devices, text, notify, data);
}

static const char *layer_name(void) { return "hx fault injection"; }

static void layer_fill(void) {
  const char *stall = getenv("FAULT_STALL_MS"), *bytes = getenv("FAULT_LEAST");
#define FILL(name, ...) mine.name = fault_##name;
#define FILL_OF(type, name, ...) mine.name = fault_##name;
  ENTRIES(FILL, FILL, FILL, FILL_OF, FILL, FILL)
  mine.clGetExtensionFunctionAddressForPlatform = find_extension;
  mine.clEnqueueMapBuffer = map_buffer;
  mine.clEnqueueNDRangeKernel = launch;
  stall_ms = stall ? strtoul(stall, NULL, 10) : 0;
  least = bytes ? strtoul(bytes, NULL, 10) : 0;
  if (stall_ms) mine.clEnqueueWriteBuffer = stall_write;
  if (stall_ms) mine.clEnqueueReadBuffer = stall_read;
  if (stall_ms) mine.clEnqueueMapBuffer = stall_map;
  liberties = getenv("FAULT_OPTIONS");
  if (liberties) mine.clBuildProgram = build_freely;
  fault_plan_read();
}
