/* SPDX-License-Identifier: Apache-2.0
 * Helpers to set the arguments of a kernel and to enqueue it. */
#ifndef HX_BACKEND_OPENCL_ARGUMENTS_H
#define HX_BACKEND_OPENCL_ARGUMENTS_H

#include <string.h>

#include "runtime/backend/opencl/stream.h"

/* A kernel whose arguments are being set, in order. values: those of the kernel's earlier launches, or NULL. code keeps
 * the first error. */
typedef struct args {
  hx__cl_stream *stream;
  cl_kernel kernel;
  hx__cl_values *values;
  cl_uint next;
  cl_int code;
} args;

/* A number. */
static inline void arg(args *a, size_t bytes, const void *value) {
  hx__cl_values *const v = a->next < HX__CL_VALUES ? a->values : NULL;
  const cl_uint at = a->next++, bit = at % HX__CL_VALUES;
  cl_ulong bits = 0;
  memcpy(&bits, value, bytes);
  if (v && (v->known >> bit & 1) && v->value[bit] == bits) return;
  const cl_int code = clSetKernelArg(a->kernel, at, bytes, value);
  if (a->code == CL_SUCCESS) a->code = code;
  if (!v || code != CL_SUCCESS) return;
  v->known |= 1u << bit;
  v->value[bit] = bits;
}
static inline void arg_size(args *a, size_t value) {
  const cl_ulong v = value;
  arg(a, sizeof v, &v);
}
static inline void arg_mem(args *a, cl_mem mem) {
  const cl_int code = clSetKernelArg(a->kernel, a->next++, sizeof mem, &mem);
  if (a->code == CL_SUCCESS) a->code = code;
}

/* Sets two arguments: a view's buffer or pointer, and the index of its first element. */
static inline void arg_view(args *a, const hx__cl_view *v) {
  cl_int code = CL_SUCCESS;
  switch (v->mode) {
    case HX__MEMORY_SVM_SYSTEM:
    case HX__MEMORY_SVM_FINE:
    case HX__MEMORY_SVM_COARSE:
      code = clSetKernelArgSVMPointer(a->kernel, a->next++, v->p);
      break;
    case HX__MEMORY_USM:
      code = hx__cl_usm_arg(a->stream->device, a->kernel, a->next++, v->p);
      break;
    default:
      arg_mem(a, v->mem);
  }
  if (a->code == CL_SUCCESS) a->code = code;
  arg_size(a, v->first);
}

/* Sets the three arguments of a reduction that can join its leaves; hx__cl_tickets_ready comes first. join: the number
 * of the launch, or 0. only: the chunk, if it has no other launch; then this one may bring its completion. Or NULL. */
static inline void arg_join(args *a, cl_uint join, hx__cl_inflight *only) {
  arg(a, sizeof join, &join);
  arg_mem(a, a->stream->scratch.tickets.mem);
  arg_size(a, join && only ? hx__cl_completion_expect(a->stream, only, join) : 0);
}

/* local: of the first two dimensions; that of the third is 1. */
static inline hx__outcome launch(args *a, cl_uint dims, const size_t *groups, const uint32_t *local) {
  size_t global[3], size[3];
  for (cl_uint i = 0; i < dims; i++) {
    size[i] = i < 2 ? local[i] : 1;
    global[i] = groups[i] * size[i];
  }
  if (a->code != CL_SUCCESS) return hx__cl_failed(a->stream->device, "clSetKernelArg", a->code);
  const cl_int code = clEnqueueNDRangeKernel(a->stream->queue, a->kernel, dims, NULL, global, size, 0, NULL, NULL);
  hx__log(HX__LOG_TRACE, "clEnqueueNDRangeKernel: %zu x %zu x %zu items in groups of %zu x %zu: %d", global[0],
          dims > 1 ? global[1] : 1, dims > 2 ? global[2] : 1, size[0], dims > 1 ? size[1] : 1, code);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(a->stream->device, "clEnqueueNDRangeKernel", code);
}

static inline size_t hx__ceiling(size_t n, size_t of) { return n / of + (n % of != 0); }

/* The bytes of the slots that a reduction of the chunk writes, joined or not, and of those that the host reads. */
static inline size_t hx__cl_slot_bytes(hx__chunk chunk) { return (HX__JOINED_SLOTS + chunk.count) * sizeof(uint64_t); }
static inline size_t hx__cl_result_bytes(hx__chunk chunk, bool joined) {
  return (joined ? HX__JOINED_SLOTS : chunk.count) * sizeof(uint64_t);
}

#endif
