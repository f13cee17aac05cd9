/* SPDX-License-Identifier: Apache-2.0
 * Device buffers that grow. */
#include "runtime/backend/opencl/cl.h"

/* The most for each buffer kept between runs is a discrete GPU's memory divided by this: to allocate and release 235 MB
 * takes an H100 240 us, to allocate 1 GiB 750 us (docs/measurements/resident-calls.tsv). */
#define RETAINED_PART 64u

size_t hx__cl_most_retained_bytes(const hx__cl_device *d) {
  const size_t part = d->unified ? 0 : (size_t)(d->base.memory_bytes / RETAINED_PART);
  return part > HX__CL_RETAINED_BYTES ? part : HX__CL_RETAINED_BYTES;
}

hx__outcome hx__cl_buffer_reserve(hx__cl_device *d, hx__cl_buffer *b, size_t bytes, cl_mem_flags flags) {
  if (b->bytes >= bytes) return HX__DONE;
  hx__cl_buffer_release(b);
  cl_int code = CL_INVALID_BUFFER_SIZE;
  if (bytes <= d->base.max_alloc) b->mem = clCreateBuffer(d->context, flags, bytes, NULL, &code);
  hx__log(HX__LOG_TRACE, "clCreateBuffer: %zu bytes: %d", bytes, code);
  if (!b->mem) return hx__cl_failed(d, "clCreateBuffer", code);
  b->bytes = bytes;
  return HX__DONE;
}

void hx__cl_buffer_release(hx__cl_buffer *b) {
  cl_mem const mem = b->mem;
  *b = (hx__cl_buffer){NULL, 0};
  if (mem) clReleaseMemObject(mem); /* the driver keeps the memory until commands that use it have ended */
}
