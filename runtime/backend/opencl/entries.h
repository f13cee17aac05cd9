/* SPDX-License-Identifier: Apache-2.0
 * The entry points of OpenCL that hx uses, as a table. The ICD loader is opened by name when devices are first
 * discovered, so that a program also starts on a machine without the loader. Every call passes the gate of its thread
 * (gate.h). Files of this folder, hx-bench and tests write the calls as in any OpenCL program: the macros below replace
 * the names by the gated functions. */
#ifndef HX_BACKEND_OPENCL_ENTRIES_H
#define HX_BACKEND_OPENCL_ENTRIES_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS

#include <CL/cl.h>
#include <stdbool.h>

/* One row for each entry point, by what it returns.
 * STATUS(name, parameters, arguments): an error code. UNMAP and FINISH are like it: UNMAP puts an unmap on the queue q,
 * FINISH returns when all commands of the queue q have ended.
 * OBJECT(type, name, parameters, arguments, release): an object, and an error code through the last parameter. release
 * frees an object whose thread was given up during the call.
 * PLAIN(type, name, parameters, arguments): a pointer without an error code.
 * NOTHING(name, parameters, arguments): nothing. */
#define HX__CL_WAITS cl_uint n, const cl_event *w, cl_event *e
#define HX__CL_ENTRIES(STATUS, UNMAP, FINISH, OBJECT, PLAIN, NOTHING)                                                  \
  STATUS(clGetPlatformIDs, (cl_uint n, cl_platform_id * p, cl_uint * found), (n, p, found))                            \
  STATUS(clGetPlatformInfo, (cl_platform_id p, cl_platform_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))     \
  STATUS(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id * d, cl_uint * r),               \
         (p, t, n, d, r))                                                                                              \
  STATUS(clGetDeviceInfo, (cl_device_id d, cl_device_info i, size_t s, void *v, size_t *r), (d, i, s, v, r))           \
  OBJECT(cl_context, clCreateContext,                                                                                  \
         (const cl_context_properties *p, cl_uint n, const cl_device_id *d,                                            \
          void(CL_CALLBACK * f)(const char *, const void *, size_t, void *), void *u, cl_int *err),                    \
         (p, n, d, f, u, err), clReleaseContext)                                                                       \
  STATUS(clReleaseContext, (cl_context c), (c))                                                                        \
  OBJECT(cl_command_queue, clCreateCommandQueue,                                                                       \
         (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int * err), (c, d, p, err),                  \
         clReleaseCommandQueue)                                                                                        \
  STATUS(clReleaseCommandQueue, (cl_command_queue q), (q))                                                             \
  OBJECT(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t s, void *h, cl_int *err), (c, f, s, h, err),    \
         clReleaseMemObject)                                                                                           \
  STATUS(clReleaseMemObject, (cl_mem m), (m))                                                                          \
  OBJECT(cl_program, clCreateProgramWithSource,                                                                        \
         (cl_context c, cl_uint n, const char **t, const size_t *l, cl_int *err), (c, n, t, l, err), clReleaseProgram) \
  OBJECT(cl_program, clCreateProgramWithBinary,                                                                        \
         (cl_context c, cl_uint n, const cl_device_id *d, const size_t *l, const unsigned char **b, cl_int *s,         \
          cl_int *err),                                                                                                \
         (c, n, d, l, b, s, err), clReleaseProgram)                                                                    \
  STATUS(clBuildProgram,                                                                                               \
         (cl_program p, cl_uint n, const cl_device_id *d, const char *o, void(CL_CALLBACK * f)(cl_program, void *),    \
          void *u),                                                                                                    \
         (p, n, d, o, f, u))                                                                                           \
  STATUS(clGetProgramInfo, (cl_program p, cl_program_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))           \
  STATUS(clGetProgramBuildInfo, (cl_program p, cl_device_id d, cl_program_build_info i, size_t s, void *v, size_t *r), \
         (p, d, i, s, v, r))                                                                                           \
  STATUS(clRetainProgram, (cl_program p), (p))                                                                         \
  STATUS(clReleaseProgram, (cl_program p), (p))                                                                        \
  OBJECT(cl_kernel, clCreateKernel, (cl_program p, const char *t, cl_int *err), (p, t, err), clReleaseKernel)          \
  STATUS(clSetKernelArg, (cl_kernel k, cl_uint i, size_t s, const void *v), (k, i, s, v))                              \
  STATUS(clSetKernelArgSVMPointer, (cl_kernel k, cl_uint i, const void *v), (k, i, v))                                 \
  STATUS(clReleaseKernel, (cl_kernel k), (k))                                                                          \
  STATUS(                                                                                                              \
      clEnqueueNDRangeKernel,                                                                                          \
      (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *l, HX__CL_WAITS),   \
      (q, k, d, o, g, l, n, w, e))                                                                                     \
  STATUS(clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *p, HX__CL_WAITS),    \
         (q, m, b, o, s, p, n, w, e))                                                                                  \
  STATUS(clEnqueueWriteBuffer,                                                                                         \
         (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *p, HX__CL_WAITS),                   \
         (q, m, b, o, s, p, n, w, e))                                                                                  \
  STATUS(clEnqueueWriteBufferRect,                                                                                     \
         (cl_command_queue q, cl_mem m, cl_bool b, const size_t *bo, const size_t *ho, const size_t *r, size_t br,     \
          size_t bs, size_t hr, size_t hs, const void *p, HX__CL_WAITS),                                               \
         (q, m, b, bo, ho, r, br, bs, hr, hs, p, n, w, e))                                                             \
  STATUS(clEnqueueCopyBuffer, (cl_command_queue q, cl_mem a, cl_mem b, size_t x, size_t y, size_t s, HX__CL_WAITS),    \
         (q, a, b, x, y, s, n, w, e))                                                                                  \
  STATUS(clEnqueueCopyBufferRect,                                                                                      \
         (cl_command_queue q, cl_mem a, cl_mem b, const size_t *ao, const size_t *bo, const size_t *r, size_t ar,      \
          size_t as, size_t br, size_t bs, HX__CL_WAITS),                                                              \
         (q, a, b, ao, bo, r, ar, as, br, bs, n, w, e))                                                                \
  OBJECT(void *, clEnqueueMapBuffer,                                                                                   \
         (cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, HX__CL_WAITS, cl_int * err),    \
         (q, m, b, f, o, s, n, w, e, err), nothing_to_release)                                                         \
  UNMAP(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *p, HX__CL_WAITS), (q, m, p, n, w, e))            \
  STATUS(clEnqueueMarkerWithWaitList, (cl_command_queue q, HX__CL_WAITS), (q, n, w, e))                                \
  STATUS(clEnqueueBarrierWithWaitList, (cl_command_queue q, HX__CL_WAITS), (q, n, w, e))                               \
  STATUS(clEnqueueSVMMap, (cl_command_queue q, cl_bool b, cl_map_flags f, void *p, size_t s, HX__CL_WAITS),            \
         (q, b, f, p, s, n, w, e))                                                                                     \
  UNMAP(clEnqueueSVMUnmap, (cl_command_queue q, void *p, HX__CL_WAITS), (q, p, n, w, e))                               \
  STATUS(clFlush, (cl_command_queue q), (q))                                                                           \
  FINISH(clFinish, (cl_command_queue q), (q))                                                                          \
  STATUS(clWaitForEvents, (cl_uint n, const cl_event *w), (n, w))                                                      \
  STATUS(clGetEventInfo, (cl_event e, cl_event_info i, size_t s, void *v, size_t *r), (e, i, s, v, r))                 \
  STATUS(clGetEventProfilingInfo, (cl_event e, cl_profiling_info i, size_t s, void *v, size_t *r), (e, i, s, v, r))    \
  STATUS(clRetainEvent, (cl_event e), (e))                                                                             \
  STATUS(clReleaseEvent, (cl_event e), (e))                                                                            \
  PLAIN(void *, clSVMAlloc, (cl_context c, cl_svm_mem_flags f, size_t s, cl_uint a), (c, f, s, a))                     \
  PLAIN(void *, clGetExtensionFunctionAddressForPlatform, (cl_platform_id p, const char *t), (p, t))                   \
  NOTHING(clSVMFree, (cl_context c, void *p), (c, p))

#define HX__CL_DECLARE_STATUS(name, parameters, arguments) cl_int hx__##name parameters;
#define HX__CL_DECLARE_OBJECT(type, name, parameters, arguments, release) type hx__##name parameters;
#define HX__CL_DECLARE_PLAIN(type, name, parameters, arguments) type hx__##name parameters;
#define HX__CL_DECLARE_NOTHING(name, parameters, arguments) void hx__##name parameters;
HX__CL_ENTRIES(HX__CL_DECLARE_STATUS, HX__CL_DECLARE_STATUS, HX__CL_DECLARE_STATUS, HX__CL_DECLARE_OBJECT,
               HX__CL_DECLARE_PLAIN, HX__CL_DECLARE_NOTHING)

/* The entry points of the ICD loader. One that the loader lacks is NULL, and calling it fails. */
#define HX__CL_MEMBER_STATUS(name, parameters, arguments) cl_int(CL_API_CALL *name) parameters;
#define HX__CL_MEMBER_OBJECT(type, name, parameters, arguments, release) type(CL_API_CALL *name) parameters;
#define HX__CL_MEMBER_PLAIN(type, name, parameters, arguments) type(CL_API_CALL *name) parameters;
#define HX__CL_MEMBER_NOTHING(name, parameters, arguments) void(CL_API_CALL * name) parameters;
struct hx__cl_entries {
  HX__CL_ENTRIES(HX__CL_MEMBER_STATUS, HX__CL_MEMBER_STATUS, HX__CL_MEMBER_STATUS, HX__CL_MEMBER_OBJECT,
                 HX__CL_MEMBER_PLAIN, HX__CL_MEMBER_NOTHING)
};
extern struct hx__cl_entries hx__cl;

/* Opens libOpenCL.so.1 and looks up the entry points, once in a process. False if there is no such library; the reason
 * is then logged at level info. */
bool hx__cl_load(void);

#ifndef HX__CL_ENTRIES_AS_THEY_ARE
#define clGetPlatformIDs hx__clGetPlatformIDs
#define clGetPlatformInfo hx__clGetPlatformInfo
#define clGetDeviceIDs hx__clGetDeviceIDs
#define clGetDeviceInfo hx__clGetDeviceInfo
#define clCreateContext hx__clCreateContext
#define clReleaseContext hx__clReleaseContext
#define clCreateCommandQueue hx__clCreateCommandQueue
#define clReleaseCommandQueue hx__clReleaseCommandQueue
#define clCreateBuffer hx__clCreateBuffer
#define clReleaseMemObject hx__clReleaseMemObject
#define clCreateProgramWithSource hx__clCreateProgramWithSource
#define clCreateProgramWithBinary hx__clCreateProgramWithBinary
#define clBuildProgram hx__clBuildProgram
#define clGetProgramInfo hx__clGetProgramInfo
#define clGetProgramBuildInfo hx__clGetProgramBuildInfo
#define clRetainProgram hx__clRetainProgram
#define clReleaseProgram hx__clReleaseProgram
#define clCreateKernel hx__clCreateKernel
#define clSetKernelArg hx__clSetKernelArg
#define clSetKernelArgSVMPointer hx__clSetKernelArgSVMPointer
#define clReleaseKernel hx__clReleaseKernel
#define clEnqueueNDRangeKernel hx__clEnqueueNDRangeKernel
#define clEnqueueReadBuffer hx__clEnqueueReadBuffer
#define clEnqueueWriteBuffer hx__clEnqueueWriteBuffer
#define clEnqueueWriteBufferRect hx__clEnqueueWriteBufferRect
#define clEnqueueCopyBuffer hx__clEnqueueCopyBuffer
#define clEnqueueCopyBufferRect hx__clEnqueueCopyBufferRect
#define clEnqueueMapBuffer hx__clEnqueueMapBuffer
#define clEnqueueUnmapMemObject hx__clEnqueueUnmapMemObject
#define clEnqueueMarkerWithWaitList hx__clEnqueueMarkerWithWaitList
#define clEnqueueBarrierWithWaitList hx__clEnqueueBarrierWithWaitList
#define clEnqueueSVMMap hx__clEnqueueSVMMap
#define clEnqueueSVMUnmap hx__clEnqueueSVMUnmap
#define clFlush hx__clFlush
#define clFinish hx__clFinish
#define clWaitForEvents hx__clWaitForEvents
#define clGetEventInfo hx__clGetEventInfo
#define clGetEventProfilingInfo hx__clGetEventProfilingInfo
#define clRetainEvent hx__clRetainEvent
#define clReleaseEvent hx__clReleaseEvent
#define clSVMAlloc hx__clSVMAlloc
#define clGetExtensionFunctionAddressForPlatform hx__clGetExtensionFunctionAddressForPlatform
#define clSVMFree hx__clSVMFree
#endif

#endif
