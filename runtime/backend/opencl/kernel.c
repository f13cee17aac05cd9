/* SPDX-License-Identifier: Apache-2.0
 * The kernel objects of a stream, and the tickets that some kernels use. */
#include <stdlib.h>

#include "runtime/backend/opencl/stream.h"

cl_kernel hx__cl_stream_kernel_of(hx__cl_stream *stream, hx__cl_kernel *slot, unsigned need, const char *name,
                                  uint64_t kinds, hx__outcome *outcome) {
  cl_int code = CL_SUCCESS;
  *outcome = HX__DONE;
  if (slot->kernel && slot->kinds != kinds) {
    clReleaseKernel(slot->kernel);
    free(slot->values);
    *slot = (hx__cl_kernel){.kernel = NULL};
  }
  if (!slot->kernel) {
    slot->kernel = clCreateKernel(stream->device->program[need].program, name, &code);
    slot->kinds = kinds;
    if (slot->kernel) slot->values = calloc(1, sizeof *slot->values);
  }
  if (!slot->kernel) *outcome = hx__cl_failed(stream->device, "clCreateKernel", code);
  return slot->kernel;
}

cl_kernel hx__cl_stream_kernel(hx__cl_stream *stream, hx__cl_kernel *slot, unsigned need, const char *name,
                               const hx__cl_view *x, const hx__cl_view *y, hx__outcome *outcome) {
  return hx__cl_stream_kernel_of(stream, slot, need, name, hx__cl_kind_of(x) | hx__cl_kind_of(y) << 4, outcome);
}

void hx__cl_release_kernels(const hx__cl_kernel *kernels, bool lost) {
  for (unsigned i = 0; i < HX__PROGRAMS; i++) {
    if (kernels[i].kernel && !lost) clReleaseKernel(kernels[i].kernel);
    free(kernels[i].values);
  }
}

/* The zeros come with the buffer: a command that sets it to zero could be cancelled without an error. */
hx__outcome hx__cl_tickets_ready(hx__cl_stream *stream) {
  static cl_uint zeros[HX__JOIN_TICKETS];
  if (stream->scratch.tickets.mem) return HX__DONE;
  cl_int code;
  cl_mem const mem =
      clCreateBuffer(stream->device->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zeros, zeros, &code);
  if (!mem) return hx__cl_failed(stream->device, "clCreateBuffer", code);
  stream->scratch.tickets = (hx__cl_buffer){mem, sizeof zeros};
  return HX__DONE;
}
