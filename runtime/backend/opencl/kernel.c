/* SPDX-License-Identifier: Apache-2.0
 * The kernel objects of a stream, and the tickets that some kernels use. */
#include "runtime/backend/opencl/stream.h"

cl_kernel hx__cl_stream_kernel_of(hx__cl_stream *stream, hx__cl_kernel *slot, unsigned need, const char *name,
                                  uint64_t kinds, hx__outcome *outcome) {
  cl_int code = CL_SUCCESS;
  *outcome = HX__DONE;
  if (slot->kernel && slot->kinds != kinds) {
    clReleaseKernel(slot->kernel);
    slot->kernel = NULL;
  }
  if (!slot->kernel) {
    slot->kernel = clCreateKernel(stream->device->program[need].program, name, &code);
    slot->kinds = kinds;
  }
  if (!slot->kernel) *outcome = hx__cl_failed(stream->device, "clCreateKernel", code);
  return slot->kernel;
}

cl_kernel hx__cl_stream_kernel(hx__cl_stream *stream, hx__cl_kernel *slot, unsigned need, const char *name,
                               const hx__cl_view *x, const hx__cl_view *y, hx__outcome *outcome) {
  return hx__cl_stream_kernel_of(stream, slot, need, name, hx__cl_kind_of(x) | hx__cl_kind_of(y) << 4, outcome);
}

void hx__cl_release_kernels(const hx__cl_kernel *kernels) {
  for (unsigned i = 0; i < HX__PROGRAMS; i++)
    if (kernels[i].kernel) clReleaseKernel(kernels[i].kernel);
}

hx__outcome hx__cl_tickets_ready(hx__cl_stream *stream) {
  enum { BYTES = HX__JOIN_TICKETS * sizeof(cl_uint) };
  static const cl_uint zero;
  if (stream->scratch.tickets.mem) return HX__DONE;
  const hx__outcome outcome = hx__cl_buffer_reserve(stream->device, &stream->scratch.tickets, BYTES, CL_MEM_READ_WRITE);
  if (outcome != HX__DONE) return outcome;
  const cl_int code =
      clEnqueueFillBuffer(stream->queue, stream->scratch.tickets.mem, &zero, sizeof zero, 0, BYTES, 0, NULL, NULL);
  if (code == CL_SUCCESS) return HX__DONE;
  hx__cl_buffer_release(&stream->scratch.tickets); /* otherwise the next launch would use tickets that are not zero */
  return hx__cl_failed(stream->device, "clEnqueueFillBuffer", code);
}
