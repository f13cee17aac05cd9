/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that has one call fail: FAULT_FN names the entry, FAULT_NTH its call (from 1; 0: every one),
 * FAULT_CODE the error it returns. The failing call never reaches the driver. Lines of the log: layer: hx fault
 * injection loaded layer: fault: clFinish call 3 -> -5 FAULT_FN=list logs `layer: entry NAME` for every entry that can
 * fail, so that a test can walk them all. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "tests/layers/layer.h"

/* INT(name, parameters, arguments): returns its status. OBJECT(type, name, parameters, arguments): returns an object
 * and its status by err. POINTER: returns a pointer alone. */
#define WAITS cl_uint n, const cl_event *w, cl_event *e
#define ENTRIES(INT, OBJECT, POINTER)                                                                                  \
  INT(clGetPlatformInfo, (cl_platform_id p, cl_platform_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))        \
  INT(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint m, cl_device_id * d, cl_uint * r), (p, t, m, d, r)) \
  INT(clGetDeviceInfo, (cl_device_id d, cl_device_info i, size_t s, void *v, size_t *r), (d, i, s, v, r))              \
  OBJECT(cl_context, clCreateContext,                                                                                  \
         (const cl_context_properties *p, cl_uint m, const cl_device_id *d,                                            \
          void(CL_CALLBACK * f)(const char *, const void *, size_t, void *), void *u, cl_int *err),                    \
         (p, m, d, f, u, err))                                                                                         \
  INT(clRetainContext, (cl_context c), (c))                                                                            \
  INT(clReleaseContext, (cl_context c), (c))                                                                           \
  INT(clGetContextInfo, (cl_context c, cl_context_info i, size_t s, void *v, size_t *r), (c, i, s, v, r))              \
  OBJECT(cl_command_queue, clCreateCommandQueue,                                                                       \
         (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int * err), (c, d, p, err))                  \
  OBJECT(cl_command_queue, clCreateCommandQueueWithProperties,                                                         \
         (cl_context c, cl_device_id d, const cl_queue_properties *p, cl_int *err), (c, d, p, err))                    \
  INT(clReleaseCommandQueue, (cl_command_queue q), (q))                                                                \
  OBJECT(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t s, void *h, cl_int *err), (c, f, s, h, err))    \
  OBJECT(cl_mem, clCreateSubBuffer, (cl_mem m, cl_mem_flags f, cl_buffer_create_type t, const void *i, cl_int *err),   \
         (m, f, t, i, err))                                                                                            \
  INT(clRetainMemObject, (cl_mem m), (m))                                                                              \
  INT(clReleaseMemObject, (cl_mem m), (m))                                                                             \
  INT(clGetMemObjectInfo, (cl_mem m, cl_mem_info i, size_t s, void *v, size_t *r), (m, i, s, v, r))                    \
  INT(clSetMemObjectDestructorCallback, (cl_mem m, void(CL_CALLBACK * f)(cl_mem, void *), void *u), (m, f, u))         \
  OBJECT(cl_program, clCreateProgramWithSource,                                                                        \
         (cl_context c, cl_uint m, const char **t, const size_t *l, cl_int *err), (c, m, t, l, err))                   \
  OBJECT(cl_program, clCreateProgramWithBinary,                                                                        \
         (cl_context c, cl_uint m, const cl_device_id *d, const size_t *l, const unsigned char **b, cl_int *s,         \
          cl_int *err),                                                                                                \
         (c, m, d, l, b, s, err))                                                                                      \
  INT(clBuildProgram,                                                                                                  \
      (cl_program p, cl_uint m, const cl_device_id *d, const char *o, void(CL_CALLBACK * f)(cl_program, void *),       \
       void *u),                                                                                                       \
      (p, m, d, o, f, u))                                                                                              \
  INT(clReleaseProgram, (cl_program p), (p))                                                                           \
  INT(clGetProgramInfo, (cl_program p, cl_program_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))              \
  INT(clGetProgramBuildInfo, (cl_program p, cl_device_id d, cl_program_build_info i, size_t s, void *v, size_t *r),    \
      (p, d, i, s, v, r))                                                                                              \
  OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *t, cl_int *err), (p, t, err))                           \
  INT(clReleaseKernel, (cl_kernel k), (k))                                                                             \
  INT(clSetKernelArg, (cl_kernel k, cl_uint i, size_t s, const void *v), (k, i, s, v))                                 \
  INT(clSetKernelArgSVMPointer, (cl_kernel k, cl_uint i, const void *v), (k, i, v))                                    \
  INT(clSetKernelExecInfo, (cl_kernel k, cl_kernel_exec_info i, size_t s, const void *v), (k, i, s, v))                \
  INT(clGetKernelInfo, (cl_kernel k, cl_kernel_info i, size_t s, void *v, size_t *r), (k, i, s, v, r))                 \
  INT(clGetKernelWorkGroupInfo,                                                                                        \
      (cl_kernel k, cl_device_id d, cl_kernel_work_group_info i, size_t s, void *v, size_t *r), (k, d, i, s, v, r))    \
  INT(clGetKernelSubGroupInfo,                                                                                         \
      (cl_kernel k, cl_device_id d, cl_kernel_sub_group_info i, size_t a, const void *b, size_t s, void *v,            \
       size_t *r),                                                                                                     \
      (k, d, i, a, b, s, v, r))                                                                                        \
  INT(clWaitForEvents, (cl_uint m, const cl_event *e), (m, e))                                                         \
  INT(clGetEventInfo, (cl_event e, cl_event_info i, size_t s, void *v, size_t *r), (e, i, s, v, r))                    \
  INT(clGetEventProfilingInfo, (cl_event e, cl_profiling_info i, size_t s, void *v, size_t *r), (e, i, s, v, r))       \
  INT(clSetEventCallback, (cl_event e, cl_int i, void(CL_CALLBACK * f)(cl_event, cl_int, void *), void *u),            \
      (e, i, f, u))                                                                                                    \
  INT(clRetainEvent, (cl_event e), (e))                                                                                \
  INT(clReleaseEvent, (cl_event e), (e))                                                                               \
  OBJECT(cl_event, clCreateUserEvent, (cl_context c, cl_int * err), (c, err))                                          \
  INT(clFlush, (cl_command_queue q), (q))                                                                              \
  INT(clFinish, (cl_command_queue q), (q))                                                                             \
  INT(clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *v, WAITS),              \
      (q, m, b, o, s, v, n, w, e))                                                                                     \
  INT(clEnqueueWriteBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *v, WAITS),       \
      (q, m, b, o, s, v, n, w, e))                                                                                     \
  INT(clEnqueueReadBufferRect,                                                                                         \
      (cl_command_queue q, cl_mem m, cl_bool b, const size_t *x, const size_t *y, const size_t *z, size_t r1,          \
       size_t s1, size_t r2, size_t s2, void *v, WAITS),                                                               \
      (q, m, b, x, y, z, r1, s1, r2, s2, v, n, w, e))                                                                  \
  INT(clEnqueueWriteBufferRect,                                                                                        \
      (cl_command_queue q, cl_mem m, cl_bool b, const size_t *x, const size_t *y, const size_t *z, size_t r1,          \
       size_t s1, size_t r2, size_t s2, const void *v, WAITS),                                                         \
      (q, m, b, x, y, z, r1, s1, r2, s2, v, n, w, e))                                                                  \
  INT(clEnqueueCopyBuffer, (cl_command_queue q, cl_mem a, cl_mem b, size_t x, size_t y, size_t s, WAITS),              \
      (q, a, b, x, y, s, n, w, e))                                                                                     \
  INT(clEnqueueFillBuffer, (cl_command_queue q, cl_mem m, const void *v, size_t p, size_t o, size_t s, WAITS),         \
      (q, m, v, p, o, s, n, w, e))                                                                                     \
  OBJECT(void *, clEnqueueMapBuffer,                                                                                   \
         (cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, WAITS, cl_int * err),           \
         (q, m, b, f, o, s, n, w, e, err))                                                                             \
  INT(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *v, WAITS), (q, m, v, n, w, e))                     \
  INT(clEnqueueMigrateMemObjects, (cl_command_queue q, cl_uint c, const cl_mem *m, cl_mem_migration_flags f, WAITS),   \
      (q, c, m, f, n, w, e))                                                                                           \
  INT(clEnqueueNDRangeKernel,                                                                                          \
      (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *l, WAITS),          \
      (q, k, d, o, g, l, n, w, e))                                                                                     \
  INT(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAITS), (q, n, w, e))                                          \
  INT(clEnqueueBarrierWithWaitList, (cl_command_queue q, WAITS), (q, n, w, e))                                         \
  POINTER(clSVMAlloc, (cl_context c, cl_svm_mem_flags f, size_t s, cl_uint a), (c, f, s, a))                           \
  INT(clEnqueueSVMMap, (cl_command_queue q, cl_bool b, cl_map_flags f, void *v, size_t s, WAITS),                      \
      (q, b, f, v, s, n, w, e))                                                                                        \
  INT(clEnqueueSVMUnmap, (cl_command_queue q, void *v, WAITS), (q, v, n, w, e))                                        \
  INT(clEnqueueSVMMemcpy, (cl_command_queue q, cl_bool b, void *x, const void *y, size_t s, WAITS),                    \
      (q, b, x, y, s, n, w, e))                                                                                        \
  POINTER(clGetExtensionFunctionAddressForPlatform, (cl_platform_id p, const char *t), (p, t))

#define COUNT_ENTRY(name, ...) at_##name,
#define COUNT_OBJECT(type, name, ...) at_##name,
enum { ENTRIES(COUNT_ENTRY, COUNT_OBJECT, COUNT_ENTRY) entries };

#define NAME_ENTRY(name, ...) #name,
#define NAME_OBJECT(type, name, ...) #name,
static const char *const kNames[] = {ENTRIES(NAME_ENTRY, NAME_OBJECT, NAME_ENTRY)};

static int target = -1; /* FAULT_FN */
static unsigned long nth;
static cl_int code;
static atomic_ulong calls;

/* Whether this call of the entry is the one that fails. */
static bool fails(int entry) {
  if (entry != target) return false;
  unsigned long call = atomic_fetch_add(&calls, 1) + 1;
  if (nth != 0 && call != nth) return false;
  layer_log("fault: %s call %lu -> %d", kNames[entry], call, code);
  return true;
}

#define WRAP_INT(name, parameters, arguments) \
  static cl_int CL_API_CALL fault_##name parameters { return fails(at_##name) ? code : next.name arguments; }
#define WRAP_OBJECT(type, name, parameters, arguments) \
  static type CL_API_CALL fault_##name parameters {    \
    if (!fails(at_##name)) return next.name arguments; \
    if (err) *err = code;                              \
    return NULL;                                       \
  }
#define WRAP_POINTER(name, parameters, arguments) \
  static void *CL_API_CALL fault_##name parameters { return fails(at_##name) ? NULL : next.name arguments; }
ENTRIES(WRAP_INT, WRAP_OBJECT, WRAP_POINTER)

/* FAULT_STALL_MS: of the writes (or maps) of at least FAULT_LEAST bytes, that call does not fail but begins so much
 * later. */
static unsigned long stall_ms, least;

static void *open_gate(void *gate) {
  nanosleep(&(struct timespec){(time_t)(stall_ms / 1000), (long)(stall_ms % 1000) * 1000000}, NULL);
  next.clSetUserEventStatus(gate, CL_COMPLETE);
  next.clReleaseEvent(gate);
  return NULL;
}

/* An event that the stalled command waits for; NULL where it is another command's turn. */
static cl_event gate_for(int entry, cl_command_queue q, cl_uint waits, size_t bytes) {
  cl_context context;
  pthread_t thread;
  if (waits != 0 || bytes < least || !fails(entry)) return NULL;
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

static void *CL_API_CALL stall_map(cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, WAITS,
                                   cl_int *err) {
  const cl_event gate = gate_for(at_clEnqueueMapBuffer, q, n, s);
  return next.clEnqueueMapBuffer(q, m, b, f, o, s, gate ? 1 : n, gate ? &gate : w, e, err);
}

__attribute__((destructor)) static void at_end(void) {
  if (target >= 0) layer_log("calls: %s %lu", kNames[target], atomic_load(&calls));
}

/* A compiler that takes liberties: FAULT_OPTIONS are added to those of every program. */
static const char *liberties;

static cl_int CL_API_CALL build_freely(cl_program program, cl_uint n, const cl_device_id *devices, const char *options,
                                       void(CL_CALLBACK *notify)(cl_program, void *), void *data) {
  char text[4096];
  snprintf(text, sizeof text, "%s %s", options ? options : "", liberties);
  return fault_clBuildProgram(program, n, devices, text, notify, data);
}

static const char *layer_name(void) { return "hx fault injection"; }

static void layer_fill(void) {
  const char *name = getenv("FAULT_FN"), *call = getenv("FAULT_NTH"), *error = getenv("FAULT_CODE");
#define FILL_ENTRY(name, ...) mine.name = fault_##name;
#define FILL_OBJECT(type, name, ...) mine.name = fault_##name;
  ENTRIES(FILL_ENTRY, FILL_OBJECT, FILL_ENTRY)
  const char *stall = getenv("FAULT_STALL_MS"), *bytes = getenv("FAULT_LEAST");
  stall_ms = stall ? strtoul(stall, NULL, 10) : 0;
  least = bytes ? strtoul(bytes, NULL, 10) : 0;
  if (stall_ms) mine.clEnqueueWriteBuffer = stall_write;
  if (stall_ms) mine.clEnqueueMapBuffer = stall_map;
  liberties = getenv("FAULT_OPTIONS");
  if (liberties) mine.clBuildProgram = build_freely;
  nth = call ? strtoul(call, NULL, 10) : 1;
  code = error ? (cl_int)strtol(error, NULL, 10) : CL_OUT_OF_RESOURCES;
  for (int i = 0; name && i < entries; i++) {
    if (strcmp(name, kNames[i]) == 0) target = i;
    if (strcmp(name, "list") == 0) layer_log("entry %s", kNames[i]);
  }
  if (target < 0 && name && strcmp(name, "list") != 0) {
    layer_log("there is no entry %s", name); /* a test that meant one would pass in silence */
    abort();
  }
}
