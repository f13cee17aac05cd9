/* SPDX-License-Identifier: Apache-2.0
 * The launches of a reduction's chunk: one for several fields if their program is ready (fields.c), else one for each.
 */
#include <stdlib.h>

#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/opencl/maps.h"

/* Views of the arrays of a field, or of the elements that a user kernel makes of its inputs. */
static hx__outcome view_field(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t f,
                              hx__cl_view *x, hx__cl_view *y) {
  const hx__work *const w = request->work;
  const hx__cl_region region = {0, 1, chunk.first * HX__LEAF, hx__chunk_elements(w, chunk)};
  hx__outcome outcome = w->kernel ? hx__cl_map_to_view(stream, request, chunk, f == 0, x)
                                  : hx__cl_view_of(stream, &stream->operand[2 * f], region, x);
  *y = *x;
  if (outcome == HX__DONE && w->fields[f].op == HX_DOT)
    outcome = hx__cl_view_of(stream, &stream->operand[2 * f + 1], region, y);
  return outcome == HX__DONE ? hx__cl_await_uploads(stream) : outcome;
}

/* Launches the reduction of one field of the chunk, which writes its slots. join: 0, or the number of a launch that
 * writes one slot for all leaves, and those that are checked. only: as in arg_join. */
static hx__outcome launch_field(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t f,
                                uint32_t join, cl_mem slots, hx__cl_inflight *only) {
  const hx__work *const w = request->work;
  const hx_field *const field = &w->fields[f];
  const unsigned need = hx__need_index(hx__need_reduce(field->op, field->type));
  const hx__kernel_row *const row = stream->device->program[need].row;
  hx__cl_view x, y;
  hx__outcome outcome = view_field(stream, request, chunk, f, &x, &y);
  args a = {.stream = stream};
  if (outcome == HX__DONE)
    a.kernel = hx__cl_stream_kernel(stream, &stream->kernels.compute[need], need, "hx_reduce", &x, &y, &outcome);
  if (outcome == HX__DONE && row->joins) outcome = hx__cl_tickets_ready(stream);
  if (outcome != HX__DONE) return outcome;
  a.values = stream->kernels.compute[need].values;
  arg_view(&a, &x);
  arg_view(&a, &y);
  arg_size(&a, hx__chunk_elements(w, chunk));
  arg_mem(&a, slots);
  if (row->joins) arg_join(&a, join, only);
  const uint32_t leaves = hx__kernel_leaves(row, chunk.count), local[2] = {row->local[0] * leaves / row->leaves, 1};
  const size_t groups = hx__ceiling(chunk.count, leaves);
  return launch(&a, 1, &groups, local);
}

/* Whether the chunk's leaves are a node of the tree, and so have a sum of their own: an aligned block whose length is a
 * power of two, or such a block that the end of the task cuts short. */
static bool is_node(const hx__work *w, hx__chunk chunk) {
  size_t power = 1;
  while (power < chunk.count) power *= 2;
  return chunk.first % power == 0 && (chunk.count == power || chunk.first + chunk.count == w->slices);
}

bool hx__cl_row_joins(const hx__cl_stream *stream, const hx__kernel_row *row, const hx__work *w, hx__chunk chunk) {
  return stream->joins && row->joins && is_node(w, chunk) && chunk.count <= UINT32_MAX / HX__LEAF &&
         hx__ceiling(chunk.count, row->leaves) <= HX__JOINED_GROUPS;
}

/* Whether the kernels of all fields join the chunk. */
static bool kernels_join_chunk(const hx__cl_stream *stream, const hx__work *w, hx__chunk chunk) {
  for (size_t f = 0; f < w->nfields; f++) {
    const unsigned need = hx__need_index(hx__need_reduce(w->fields[f].op, w->fields[f].type));
    if (!hx__cl_row_joins(stream, stream->device->program[need].row, w, chunk)) return false;
  }
  return true;
}

/* One of several fields by itself: the kernel writes to a scratch buffer of `slots` bytes, of which `bytes` are copied
 * to the field's place in to->out, or in to->host if that is not NULL. */
static hx__outcome launch_apart(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t f,
                                size_t slots, size_t bytes, const hx__cl_inflight *to) {
  hx__cl_buffer *const one = &stream->scratch.packed_a;
  hx__outcome outcome = hx__cl_buffer_reserve(stream->device, one, slots, CL_MEM_READ_WRITE);
  if (outcome == HX__DONE) outcome = launch_field(stream, request, chunk, f, to->join, one->mem, NULL);
  if (outcome != HX__DONE) return outcome;
  const cl_int code =
      to->host ? clEnqueueReadBuffer(stream->queue, one->mem, CL_FALSE, 0, bytes, (char *)to->host + f * bytes, 0, NULL,
                                     NULL)
               : clEnqueueCopyBuffer(stream->queue, one->mem, to->out.mem, 0, f * bytes, bytes, 0, NULL, NULL);
  return code == CL_SUCCESS
             ? HX__DONE
             : hx__cl_failed(stream->device, to->host ? "clEnqueueReadBuffer" : "clEnqueueCopyBuffer", code);
}

/* Several fields. fuse: those that have a program together have one launch. */
static hx__outcome launch_fields(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t slots,
                                 size_t bytes, bool fuse, const hx__cl_inflight *to) {
  hx__outcome outcome = HX__DONE;
  for (size_t f = 0, fields; f < request->work->nfields && outcome == HX__DONE; f += fields) {
    fields = 0;
    if (fuse) outcome = hx__cl_launch_fields(stream, request, chunk, f, to, &fields);
    if (fields) continue;
    outcome = launch_apart(stream, request, chunk, f, slots, bytes, to);
    fields = 1;
  }
  return outcome;
}

hx__outcome hx__cl_launch_reduce(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                 hx__cl_inflight *to) {
  if (request->work->kernel && stream->device->map[stream->run.map]->op)
    return hx__cl_launch_map_reduce(stream, request, chunk, to);
  const size_t fields = request->work->nfields, slots = hx__cl_slot_bytes(chunk);
  const bool joins = kernels_join_chunk(stream, request->work, chunk);
  const bool fuse = hx__cl_fields_fuse(stream, request->work, joins);
  hx__cl_set_joined(stream, to, joins && !fuse);
  const size_t bytes = hx__cl_result_bytes(chunk, to->joined);
  to->bytes = fields * bytes;
  if (to->bytes > stream->device->base.max_alloc) { /* a single slice with very many fields */
    to->host = malloc(to->bytes);
    if (!to->host) return HX__NO_MEMORY;
    return launch_fields(stream, request, chunk, slots, bytes, false, to);
  }
  const hx__outcome outcome = hx__cl_buffer_reserve(stream->device, &to->out, fields == 1 ? slots : to->bytes,
                                                    CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  if (outcome != HX__DONE) return outcome;
  return fields == 1 ? launch_field(stream, request, chunk, 0, to->join, to->out.mem, to)
                     : launch_fields(stream, request, chunk, slots, bytes, fuse, to);
}
