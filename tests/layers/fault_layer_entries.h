/* SPDX-License-Identifier: Apache-2.0
 * The entries that the fault layer wraps, and the sort of each:
 *   QUERY    returns its status; nothing stands in for what it would have done (queries, arguments, references)
 *   ACT      returns its status; silent, it returns success at once (waits, releases, builds)
 *   COMMAND  enqueues; silent, a marker stands in for it: queue q, wait list n and w, event e
 *   MAKE     returns an object of that type, and its status by err
 *   FIND     returns a pointer alone
 *   FREE     returns nothing */
#ifndef HX_TESTS_LAYERS_FAULT_LAYER_ENTRIES_H
#define HX_TESTS_LAYERS_FAULT_LAYER_ENTRIES_H

#define WAITS cl_uint n, const cl_event *w, cl_event *e
#define ENTRIES(QUERY, ACT, COMMAND, MAKE, FIND, FREE)                                                                 \
  QUERY(clGetPlatformIDs, (cl_uint m, cl_platform_id * p, cl_uint * r), (m, p, r))                                     \
  QUERY(clGetPlatformInfo, (cl_platform_id p, cl_platform_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))      \
  QUERY(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint m, cl_device_id * d, cl_uint * r),                \
        (p, t, m, d, r))                                                                                               \
  QUERY(clGetDeviceInfo, (cl_device_id d, cl_device_info i, size_t s, void *v, size_t *r), (d, i, s, v, r))            \
  MAKE(cl_context, clCreateContext,                                                                                    \
       (const cl_context_properties *p, cl_uint m, const cl_device_id *d,                                              \
        void(CL_CALLBACK * f)(const char *, const void *, size_t, void *), void *u, cl_int *err),                      \
       (p, m, d, f, u, err))                                                                                           \
  QUERY(clRetainContext, (cl_context c), (c))                                                                          \
  ACT(clReleaseContext, (cl_context c), (c))                                                                           \
  QUERY(clGetContextInfo, (cl_context c, cl_context_info i, size_t s, void *v, size_t *r), (c, i, s, v, r))            \
  MAKE(cl_command_queue, clCreateCommandQueue,                                                                         \
       (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int * err), (c, d, p, err))                    \
  MAKE(cl_command_queue, clCreateCommandQueueWithProperties,                                                           \
       (cl_context c, cl_device_id d, const cl_queue_properties *p, cl_int *err), (c, d, p, err))                      \
  ACT(clReleaseCommandQueue, (cl_command_queue q), (q))                                                                \
  MAKE(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t s, void *h, cl_int *err), (c, f, s, h, err))      \
  MAKE(cl_mem, clCreateSubBuffer, (cl_mem m, cl_mem_flags f, cl_buffer_create_type t, const void *i, cl_int *err),     \
       (m, f, t, i, err))                                                                                              \
  QUERY(clRetainMemObject, (cl_mem m), (m))                                                                            \
  ACT(clReleaseMemObject, (cl_mem m), (m))                                                                             \
  QUERY(clGetMemObjectInfo, (cl_mem m, cl_mem_info i, size_t s, void *v, size_t *r), (m, i, s, v, r))                  \
  QUERY(clSetMemObjectDestructorCallback, (cl_mem m, void(CL_CALLBACK * f)(cl_mem, void *), void *u), (m, f, u))       \
  MAKE(cl_program, clCreateProgramWithSource, (cl_context c, cl_uint m, const char **t, const size_t *l, cl_int *err), \
       (c, m, t, l, err))                                                                                              \
  MAKE(cl_program, clCreateProgramWithBinary,                                                                          \
       (cl_context c, cl_uint m, const cl_device_id *d, const size_t *l, const unsigned char **b, cl_int *s,           \
        cl_int *err),                                                                                                  \
       (c, m, d, l, b, s, err))                                                                                        \
  ACT(clBuildProgram,                                                                                                  \
      (cl_program p, cl_uint m, const cl_device_id *d, const char *o, void(CL_CALLBACK * f)(cl_program, void *),       \
       void *u),                                                                                                       \
      (p, m, d, o, f, u))                                                                                              \
  ACT(clReleaseProgram, (cl_program p), (p))                                                                           \
  QUERY(clGetProgramInfo, (cl_program p, cl_program_info i, size_t s, void *v, size_t *r), (p, i, s, v, r))            \
  QUERY(clGetProgramBuildInfo, (cl_program p, cl_device_id d, cl_program_build_info i, size_t s, void *v, size_t *r),  \
        (p, d, i, s, v, r))                                                                                            \
  MAKE(cl_kernel, clCreateKernel, (cl_program p, const char *t, cl_int *err), (p, t, err))                             \
  ACT(clReleaseKernel, (cl_kernel k), (k))                                                                             \
  QUERY(clSetKernelArg, (cl_kernel k, cl_uint i, size_t s, const void *v), (k, i, s, v))                               \
  QUERY(clSetKernelArgSVMPointer, (cl_kernel k, cl_uint i, const void *v), (k, i, v))                                  \
  QUERY(clSetKernelExecInfo, (cl_kernel k, cl_kernel_exec_info i, size_t s, const void *v), (k, i, s, v))              \
  QUERY(clGetKernelInfo, (cl_kernel k, cl_kernel_info i, size_t s, void *v, size_t *r), (k, i, s, v, r))               \
  QUERY(clGetKernelWorkGroupInfo,                                                                                      \
        (cl_kernel k, cl_device_id d, cl_kernel_work_group_info i, size_t s, void *v, size_t *r), (k, d, i, s, v, r))  \
  QUERY(clGetKernelSubGroupInfo,                                                                                       \
        (cl_kernel k, cl_device_id d, cl_kernel_sub_group_info i, size_t a, const void *b, size_t s, void *v,          \
         size_t *r),                                                                                                   \
        (k, d, i, a, b, s, v, r))                                                                                      \
  ACT(clWaitForEvents, (cl_uint m, const cl_event *e), (m, e))                                                         \
  QUERY(clGetEventInfo, (cl_event e, cl_event_info i, size_t s, void *v, size_t *r), (e, i, s, v, r))                  \
  QUERY(clGetEventProfilingInfo, (cl_event e, cl_profiling_info i, size_t s, void *v, size_t *r), (e, i, s, v, r))     \
  QUERY(clSetEventCallback, (cl_event e, cl_int i, void(CL_CALLBACK * f)(cl_event, cl_int, void *), void *u),          \
        (e, i, f, u))                                                                                                  \
  QUERY(clRetainEvent, (cl_event e), (e))                                                                              \
  ACT(clReleaseEvent, (cl_event e), (e))                                                                               \
  MAKE(cl_event, clCreateUserEvent, (cl_context c, cl_int * err), (c, err))                                            \
  ACT(clFlush, (cl_command_queue q), (q))                                                                              \
  ACT(clFinish, (cl_command_queue q), (q))                                                                             \
  COMMAND(clEnqueueReadBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, void *v, WAITS),          \
          (q, m, b, o, s, v, n, w, e))                                                                                 \
  COMMAND(clEnqueueWriteBuffer, (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t s, const void *v, WAITS),   \
          (q, m, b, o, s, v, n, w, e))                                                                                 \
  COMMAND(clEnqueueReadBufferRect,                                                                                     \
          (cl_command_queue q, cl_mem m, cl_bool b, const size_t *x, const size_t *y, const size_t *z, size_t r1,      \
           size_t s1, size_t r2, size_t s2, void *v, WAITS),                                                           \
          (q, m, b, x, y, z, r1, s1, r2, s2, v, n, w, e))                                                              \
  COMMAND(clEnqueueWriteBufferRect,                                                                                    \
          (cl_command_queue q, cl_mem m, cl_bool b, const size_t *x, const size_t *y, const size_t *z, size_t r1,      \
           size_t s1, size_t r2, size_t s2, const void *v, WAITS),                                                     \
          (q, m, b, x, y, z, r1, s1, r2, s2, v, n, w, e))                                                              \
  COMMAND(clEnqueueCopyBuffer, (cl_command_queue q, cl_mem a, cl_mem b, size_t x, size_t y, size_t s, WAITS),          \
          (q, a, b, x, y, s, n, w, e))                                                                                 \
  COMMAND(clEnqueueCopyBufferRect,                                                                                     \
          (cl_command_queue q, cl_mem a, cl_mem b, const size_t *x, const size_t *y, const size_t *z, size_t r1,       \
           size_t s1, size_t r2, size_t s2, WAITS),                                                                    \
          (q, a, b, x, y, z, r1, s1, r2, s2, n, w, e))                                                                 \
  COMMAND(clEnqueueFillBuffer, (cl_command_queue q, cl_mem m, const void *v, size_t p, size_t o, size_t s, WAITS),     \
          (q, m, v, p, o, s, n, w, e))                                                                                 \
  MAKE(void *, clEnqueueMapBuffer,                                                                                     \
       (cl_command_queue q, cl_mem m, cl_bool b, cl_map_flags f, size_t o, size_t s, WAITS, cl_int * err),             \
       (q, m, b, f, o, s, n, w, e, err))                                                                               \
  COMMAND(clEnqueueUnmapMemObject, (cl_command_queue q, cl_mem m, void *v, WAITS), (q, m, v, n, w, e))                 \
  COMMAND(clEnqueueMigrateMemObjects,                                                                                  \
          (cl_command_queue q, cl_uint c, const cl_mem *m, cl_mem_migration_flags f, WAITS), (q, c, m, f, n, w, e))    \
  COMMAND(clEnqueueNDRangeKernel,                                                                                      \
          (cl_command_queue q, cl_kernel k, cl_uint d, const size_t *o, const size_t *g, const size_t *l, WAITS),      \
          (q, k, d, o, g, l, n, w, e))                                                                                 \
  COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue q, WAITS), (q, n, w, e))                                      \
  COMMAND(clEnqueueBarrierWithWaitList, (cl_command_queue q, WAITS), (q, n, w, e))                                     \
  FIND(clSVMAlloc, (cl_context c, cl_svm_mem_flags f, size_t s, cl_uint a), (c, f, s, a))                              \
  COMMAND(clEnqueueSVMMap, (cl_command_queue q, cl_bool b, cl_map_flags f, void *v, size_t s, WAITS),                  \
          (q, b, f, v, s, n, w, e))                                                                                    \
  COMMAND(clEnqueueSVMUnmap, (cl_command_queue q, void *v, WAITS), (q, v, n, w, e))                                    \
  COMMAND(clEnqueueSVMMemcpy, (cl_command_queue q, cl_bool b, void *x, const void *y, size_t s, WAITS),                \
          (q, b, x, y, s, n, w, e))                                                                                    \
  FREE(clSVMFree, (cl_context c, void *v), (c, v))                                                                     \
  COMMAND(clEnqueueSVMMemFill, (cl_command_queue q, void *x, const void *v, size_t p, size_t s, WAITS),                \
          (q, x, v, p, s, n, w, e))                                                                                    \
  FIND(clGetExtensionFunctionAddressForPlatform, (cl_platform_id p, const char *t), (p, t))

/* Entries that a program gets from clGetExtensionFunctionAddressForPlatform. */
#define EXTENSIONS(QUERY, MAKE, FREE)                                                                         \
  MAKE(void *, clHostMemAllocINTEL,                                                                           \
       (cl_context c, const cl_mem_properties_intel *p, size_t s, cl_uint a, cl_int *err), (c, p, s, a, err)) \
  FREE(clMemFreeINTEL, (cl_context c, void *v), (c, v))                                                       \
  QUERY(clSetKernelArgMemPointerINTEL, (cl_kernel k, cl_uint i, const void *v), (k, i, v))

#define ENTRY_NUMBER(name, ...) at_##name,
#define ENTRY_NUMBER_OF(type, name, ...) at_##name,
enum {
  ENTRIES(ENTRY_NUMBER, ENTRY_NUMBER, ENTRY_NUMBER, ENTRY_NUMBER_OF, ENTRY_NUMBER, ENTRY_NUMBER)
      EXTENSIONS(ENTRY_NUMBER, ENTRY_NUMBER_OF, ENTRY_NUMBER) entries
};

#endif
