/* SPDX-License-Identifier: Apache-2.0
 * An OpenCL layer that makes a CPU device look like a card of 256 MiB of which other programs have left ROOM_MIB. As
 * with NVIDIA's driver, a buffer gets memory of the card with the first command that uses it, and that command fails if
 * there is none: also a buffer that the driver allocates on the host, but none over memory of the caller. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/layers/card.h"

#define CARD_BYTES ((cl_ulong)256 << 20)
#define MOST_BYTES ((cl_ulong)64 << 20) /* of one buffer */
#define BUFFERS 1024
#define ARGUMENTS 1024

typedef struct buffer {
  cl_mem mem;
  size_t bytes;
  bool placed; /* it has memory of the card */
} buffer;

typedef struct argument {
  cl_kernel kernel;
  cl_uint index;
  cl_mem mem;
} argument;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static buffer buffers[BUFFERS];
static argument arguments[ARGUMENTS];
static size_t room;

static cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t size, void *value,
                                      size_t *size_out) {
  const cl_int code = card_info(device, what, size, value, size_out);
  if (code != CL_SUCCESS || !value) return code;
  if (what == CL_DEVICE_GLOBAL_MEM_SIZE) *(cl_ulong *)value = CARD_BYTES;
  if (what == CL_DEVICE_MAX_MEM_ALLOC_SIZE) *(cl_ulong *)value = MOST_BYTES;
  return code;
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *err) {
  cl_mem const mem = next.clCreateBuffer(context, flags, bytes, host, err);
  if (!mem || (flags & CL_MEM_USE_HOST_PTR)) return mem;
  pthread_mutex_lock(&lock);
  buffer *b = buffers;
  while (b->mem) b++; /* a test that makes more buffers crashes here */
  *b = (buffer){mem, bytes, false};
  pthread_mutex_unlock(&lock);
  return mem;
}

static cl_int CL_API_CALL release_mem(cl_mem mem) {
  pthread_mutex_lock(&lock);
  for (buffer *b = buffers; b < buffers + BUFFERS; b++)
    if (b->mem == mem) {
      if (b->placed) room += b->bytes;
      *b = (buffer){NULL, 0, false};
    }
  for (argument *a = arguments; a < arguments + ARGUMENTS; a++)
    if (a->mem == mem) *a = (argument){NULL, 0, NULL};
  pthread_mutex_unlock(&lock);
  return next.clReleaseMemObject(mem);
}

/* Whether the buffer has memory of the card, or gets it now. Under the lock. */
static bool place(cl_mem mem) {
  for (buffer *b = buffers; b < buffers + BUFFERS; b++) {
    if (b->mem != mem || b->placed) continue;
    if (b->bytes > room) return false;
    room -= b->bytes;
    b->placed = true;
  }
  return true;
}

static bool fits(cl_mem mem) {
  pthread_mutex_lock(&lock);
  const bool placed = place(mem);
  pthread_mutex_unlock(&lock);
  return placed;
}

static cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t size, const void *value) {
  const cl_int code = next.clSetKernelArg(kernel, index, size, value);
  if (code != CL_SUCCESS) return code;
  cl_mem mem = NULL;
  if (value && size == sizeof mem) memcpy(&mem, value, sizeof mem);
  pthread_mutex_lock(&lock);
  bool known = false;
  for (const buffer *b = buffers; b < buffers + BUFFERS && mem; b++) known = known || b->mem == mem;
  argument *a = arguments, *unused = NULL;
  for (; a < arguments + ARGUMENTS && !(a->kernel == kernel && a->index == index); a++)
    if (!a->kernel && !unused) unused = a;
  if (a == arguments + ARGUMENTS) a = unused;
  *a = known ? (argument){kernel, index, mem} : (argument){NULL, 0, NULL};
  pthread_mutex_unlock(&lock);
  return code;
}

static cl_int CL_API_CALL release_kernel(cl_kernel kernel) {
  pthread_mutex_lock(&lock);
  for (argument *a = arguments; a < arguments + ARGUMENTS; a++)
    if (a->kernel == kernel) *a = (argument){NULL, 0, NULL};
  pthread_mutex_unlock(&lock);
  return next.clReleaseKernel(kernel);
}

static cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                 const size_t *global, const size_t *local, cl_uint waits, const cl_event *wait,
                                 cl_event *event) {
  bool placed = true;
  pthread_mutex_lock(&lock);
  for (const argument *a = arguments; a < arguments + ARGUMENTS; a++)
    if (a->kernel == kernel) placed = placed && place(a->mem);
  pthread_mutex_unlock(&lock);
  if (!placed) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return next.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, waits, wait, event);
}

static cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, size_t offset, size_t size,
                                       const void *from, cl_uint waits, const cl_event *wait, cl_event *event) {
  if (!fits(mem)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return next.clEnqueueWriteBuffer(queue, mem, blocking, offset, size, from, waits, wait, event);
}

static cl_int CL_API_CALL write_rect(cl_command_queue queue, cl_mem mem, cl_bool blocking, const size_t *to,
                                     const size_t *from, const size_t *region, size_t to_pitch, size_t to_slice,
                                     size_t pitch, size_t slice, const void *p, cl_uint waits, const cl_event *wait,
                                     cl_event *event) {
  if (!fits(mem)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return next.clEnqueueWriteBufferRect(queue, mem, blocking, to, from, region, to_pitch, to_slice, pitch, slice, p,
                                       waits, wait, event);
}

static cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t at, size_t to_at,
                                      size_t size, cl_uint waits, const cl_event *wait, cl_event *event) {
  if (!fits(from) || !fits(to)) return CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return next.clEnqueueCopyBuffer(queue, from, to, at, to_at, size, waits, wait, event);
}

static void *CL_API_CALL map_buffer(cl_command_queue queue, cl_mem mem, cl_bool blocking, cl_map_flags flags, size_t at,
                                    size_t size, cl_uint waits, const cl_event *wait, cl_event *event, cl_int *err) {
  if (fits(mem)) return next.clEnqueueMapBuffer(queue, mem, blocking, flags, at, size, waits, wait, event, err);
  if (err) *err = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return NULL;
}

static const char *layer_name(void) { return "hx room"; }

static void layer_fill(void) {
  const char *const mib = getenv("ROOM_MIB");
  room = (mib ? strtoul(mib, NULL, 10) : 0) << 20;
  mine.clGetDeviceInfo = device_info;
  mine.clCreateBuffer = create_buffer;
  mine.clReleaseMemObject = release_mem;
  mine.clSetKernelArg = set_argument;
  mine.clReleaseKernel = release_kernel;
  mine.clEnqueueNDRangeKernel = launch;
  mine.clEnqueueWriteBuffer = write_buffer;
  mine.clEnqueueWriteBufferRect = write_rect;
  mine.clEnqueueCopyBuffer = copy_buffer;
  mine.clEnqueueMapBuffer = map_buffer;
}
