/* SPDX-License-Identifier: Apache-2.0
 * Measures how fast a device copies from pinned host memory over its link. Estimates use this until a run has shown the
 * device's cost. */
#include "runtime/backend/opencl/cl.h"
#include "runtime/base/clock.h"

#define LINK_BYTES ((size_t)4 << 20)
#define TIMES 3

static uint64_t time_writes(cl_command_queue queue, cl_mem to, const void *from) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < TIMES; i++) {
    const uint64_t begin = hx__now_ns();
    if (clEnqueueWriteBuffer(queue, to, CL_TRUE, 0, LINK_BYTES, from, 0, NULL, NULL) != CL_SUCCESS) return 0;
    const uint64_t ns = hx__now_ns() - begin;
    if (ns < least) least = ns;
  }
  return least;
}

float hx__cl_link_ns(hx__cl_device *d, cl_command_queue queue) {
  cl_int code;
  uint64_t ns = 0;
  if (LINK_BYTES > d->base.max_alloc) return 0.0f;
  cl_mem const host = clCreateBuffer(d->context, CL_MEM_READ_ONLY | CL_MEM_ALLOC_HOST_PTR, LINK_BYTES, NULL, &code);
  cl_mem const to = host ? clCreateBuffer(d->context, CL_MEM_READ_ONLY, LINK_BYTES, NULL, &code) : NULL;
  void *const from =
      to ? clEnqueueMapBuffer(queue, host, CL_TRUE, CL_MAP_WRITE, 0, LINK_BYTES, 0, NULL, NULL, &code) : NULL;
  if (from) {
    ns = time_writes(queue, to, from);
    clEnqueueUnmapMemObject(queue, host, from, 0, NULL, NULL);
    clFinish(queue);
  }
  if (to) clReleaseMemObject(to);
  if (host) clReleaseMemObject(host);
  return (float)ns / (float)LINK_BYTES;
}
