/* SPDX-License-Identifier: Apache-2.0
 * The launch of a user kernel, which writes the elements of a chunk, to the chunk's results or to a buffer that a
 * reduction reads, or which reduces them. */
#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/opencl/maps.h"

#define GROUP 128u /* items of a work-group, if the device has room for as many */

static hx__memory_mode kind_of(const hx__cl_view *view) { return view->mem ? HX__MEMORY_COPY : view->mode; }

/* The kernel object for inputs of these kinds: as hx__cl_stream_kernel, for any number of them. */
static cl_kernel kernel_for(hx__cl_stream *stream, unsigned index, const hx__cl_view *views, unsigned count,
                            hx__outcome *outcome) {
  hx__cl_map_kernel *const slot = &stream->maps[index];
  cl_int code = CL_SUCCESS;
  bool same = slot->kernel != NULL;
  for (unsigned i = 0; i < count; i++) same = same && slot->mode[i] == kind_of(&views[i]);
  if (slot->kernel && !same) {
    clReleaseKernel(slot->kernel);
    slot->kernel = NULL;
  }
  const hx__cl_map *const map = stream->device->map[index];
  if (!slot->kernel) slot->kernel = clCreateKernel(map->program, map->op ? "hx_map_reduce" : "hx_map", &code);
  for (unsigned i = 0; i < count; i++) slot->mode[i] = kind_of(&views[i]);
  if (!slot->kernel) *outcome = hx__cl_failed(stream->device, "clCreateKernel", code);
  return slot->kernel;
}

/* first: where a map's elements begin in `out`. */
static hx__outcome launch_to(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, uint32_t join, cl_mem out,
                             size_t first) {
  const hx__expr *const e = &w->kernel->expr;
  const size_t n = hx__chunk_elements(w, chunk);
  const hx__cl_region region = {0, 1, chunk.first * HX__LEAF, n};
  hx__cl_view views[HX__EXPR_INPUTS];
  hx__outcome outcome = HX__DONE;
  for (unsigned i = 0; i < e->inputs && outcome == HX__DONE; i++)
    outcome = hx__cl_view_of(stream, &stream->operand[i], region, &views[i]);
  if (outcome == HX__DONE) outcome = hx__cl_await_uploads(stream);
  const hx__cl_map *const map = stream->device->map[stream->run.map];
  const bool can_join = map->op && map->row->joins;
  if (outcome == HX__DONE && can_join) outcome = hx__cl_tickets_ready(stream);
  if (outcome != HX__DONE) return outcome;
  args a = {.stream = stream};
  a.kernel = kernel_for(stream, stream->run.map, views, e->inputs, &outcome);
  if (outcome != HX__DONE) return outcome;
  for (unsigned i = 0; i < e->inputs; i++) arg_view(&a, &views[i]);
  for (unsigned i = 0; i < e->parameters; i++) arg(&a, sizeof w->parameter[i], &w->parameter[i]);
  arg_size(&a, n);
  arg_mem(&a, out);
  if (!map->op) arg_size(&a, first);
  if (can_join) arg_join(&a, join);
  const uint32_t local[2] = {GROUP < stream->device->max_local ? GROUP : 1, 1};
  const size_t groups = map->op ? hx__ceiling(chunk.count, map->row->leaves) : hx__ceiling(n, local[0]);
  return launch(&a, 1, &groups, map->op ? map->row->local : local);
}

/* bytes: of the buffer; to->bytes of it are results. */
static hx__outcome launch_results(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t bytes,
                                  hx__cl_inflight *to) {
  const hx__outcome outcome =
      hx__cl_buffer_reserve(stream->device, &to->out, bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  return outcome == HX__DONE ? launch_to(stream, request->work, chunk, to->join, to->out.mem, 0) : outcome;
}

hx__outcome hx__cl_launch_map(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, hx__cl_inflight *to) {
  hx__cl_set_joined(stream, to, false);
  to->bytes = hx__chunk_elements(request->work, chunk) * sizeof(uint32_t);
  to->stored = stream->run.resident;
  if (to->stored)
    return launch_to(stream, request->work, chunk, 0, hx__cl_resident_mem(stream), chunk.first * HX__LEAF);
  return launch_results(stream, request, chunk, to->bytes, to);
}

hx__outcome hx__cl_launch_map_reduce(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                     hx__cl_inflight *to) {
  const hx__kernel_row *const row = stream->device->map[stream->run.map]->row;
  hx__cl_set_joined(stream, to, hx__cl_row_joins(stream, row, request->work, chunk));
  to->bytes = hx__cl_result_bytes(chunk, to->joined);
  return launch_results(stream, request, chunk, hx__cl_slot_bytes(chunk), to);
}

hx__outcome hx__cl_map_to_view(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, hx__cl_view *view) {
  hx__cl_buffer *const elements = &stream->scratch.packed_a;
  const size_t n = hx__chunk_elements(request->work, chunk);
  const hx__outcome outcome = hx__cl_buffer_reserve(stream->device, elements, n * sizeof(uint32_t), CL_MEM_READ_WRITE);
  *view = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = elements->mem, .ld = n};
  return outcome == HX__DONE ? launch_to(stream, request->work, chunk, 0, elements->mem, 0) : outcome;
}
