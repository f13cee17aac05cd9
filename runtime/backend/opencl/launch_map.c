/* SPDX-License-Identifier: Apache-2.0
 * The launch of a user kernel, which writes the elements of a chunk, to the chunk's results or to a buffer that a
 * reduction reads, or which reduces them. */
#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/opencl/maps.h"

/* Items of a work-group, if the device allows as many; of kernels whose items write several elements: measured with
 * MAP_EACH (maps.c). */
#define GROUP 128u
#define EACH_GROUP 256u
#define SHORT_LEAVES 16u /* a compute unit: as few leaves have a group each (user-kernels-long.tsv) */
#define CPU_WIDTH 8u     /* of a group for narrow matrices on a CPU; 4, 8 and 16 were equally fast */
#define MOST_HIGH 32768u /* groups of a launch in the second dimension: some drivers allow no more than 65535 */

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

/* The kernel object, with its first arguments: a rectangle of the inputs, the parameters, and where the rectangle
 * begins if the expression asks for that. */
static hx__outcome bind_inputs(hx__cl_stream *stream, const hx__work *w, hx__map_part part, args *a) {
  const hx__expr *const e = &w->kernel->expr;
  hx__cl_view views[HX__EXPR_INPUTS];
  hx__outcome outcome = HX__DONE;
  for (unsigned i = 0; i < e->inputs && outcome == HX__DONE; i++) {
    const bool shared = w->ld[i] == 0, per_row = e->per_row[i];
    const hx__cl_region region = {shared ? 0 : part.row, shared ? 1 : part.rows, per_row ? 0 : part.col,
                                  per_row ? 1 : part.cols};
    outcome = hx__cl_view_of(stream, &stream->operand[i], region, &views[i]);
  }
  if (outcome == HX__DONE) outcome = hx__cl_await_uploads(stream);
  if (outcome != HX__DONE) return outcome;
  *a = (args){.stream = stream};
  a->kernel = kernel_for(stream, stream->run.map, views, e->inputs, &outcome);
  if (outcome != HX__DONE) return outcome;
  for (unsigned i = 0; i < e->inputs; i++) {
    arg_view(a, &views[i]);
    if (!stream->device->map[stream->run.map]->op) arg_size(a, w->ld[i] ? views[i].ld : 0);
  }
  for (unsigned i = 0; i < e->parameters; i++) arg(a, sizeof w->parameter[i], &w->parameter[i]);
  const uint32_t row = (uint32_t)part.row, col = (uint32_t)part.col;
  if (e->by_row) arg(a, sizeof row, &row);
  if (e->by_index) arg(a, sizeof col, &col);
  return HX__DONE;
}

/* A work-group, and the most rows of a launch of such groups. */
typedef struct group {
  uint32_t local[2];
  size_t most_rows;
} group;

/* The group of a narrow rectangle is as wide as a row, rounded up to a power of two, and has several rows. PoCL
 * compiles a kernel for each shape of a group, and again for more than 65535 items in a dimension. So CPU devices have
 * only two shapes, both of which the self-test uses (map_test.c), and no launch of more rows than that. */
static group group_of(const hx__cl_device *d, unsigned each, hx__map_part part) {
  const bool cpu = d->families & HX__FAMILY_CPU;
  const size_t width = cpu && part.cols <= GROUP / 2 ? CPU_WIDTH : part.cols;
  group g = {.local = {each > 1 ? EACH_GROUP : GROUP, 1}};
  while (g.local[0] > d->max_local) g.local[0] /= 2;
  for (; part.rows > 1 && g.local[0] / 2 >= width; g.local[0] /= 2) g.local[1] *= 2;
  g.most_rows = (size_t)MOST_HIGH * (cpu ? 1 : g.local[1]);
  return g;
}

/* Writes a rectangle of elements to `out`, from `first` on with rows `ld` elements apart; outputs `step` apart. */
static hx__outcome launch_part(hx__cl_stream *stream, const hx__work *w, hx__map_part part, const uint32_t local[2],
                               cl_mem out, size_t first, size_t ld, size_t step) {
  args a;
  const hx__outcome outcome = bind_inputs(stream, w, part, &a);
  if (outcome != HX__DONE) return outcome;
  arg_size(&a, part.cols);
  arg_size(&a, part.rows);
  arg_mem(&a, out);
  arg_size(&a, first);
  arg_size(&a, ld);
  if (w->kernel->expr.outputs > 1) arg_size(&a, step);
  const size_t wide = (size_t)local[0] * stream->device->map[stream->run.map]->each;
  return launch(&a, 2, (size_t[2]){hx__ceiling(part.cols, wide), hx__ceiling(part.rows, local[1])}, local);
}

/* Writes the elements of a chunk one after the other, those of each output behind those of the one before it, or
 * (stays) to their places in the result that stays on the device. */
static hx__outcome launch_elements(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, cl_mem out, bool stays) {
  const hx__elements e = hx__elements_of(w, chunk);
  const hx__cl_device *const d = stream->device;
  hx__outcome outcome = HX__DONE;
  for (size_t done = 0; done < e.count && outcome == HX__DONE;) {
    hx__map_part part = hx__map_part_at(w, e.first + done, e.count - done);
    const group g = group_of(d, d->map[stream->run.map]->each, part);
    if (part.rows > g.most_rows) part.rows = g.most_rows;
    outcome = stays ? launch_part(stream, w, part, g.local, out, part.row * w->ld_out + part.col, w->ld_out, 0)
                    : launch_part(stream, w, part, g.local, out, done, part.cols, e.count);
    done += part.rows * part.cols;
  }
  return outcome;
}

/* The groups of a map-reduce. If a group makes a leaf, a short launch has a group for each leaf, so that more of the
 * device is busy. In a long launch that would only give the last group more results to join. */
static size_t groups_of(const hx__cl_stream *stream, const hx__cl_map *map, size_t leaves) {
  const size_t most = SHORT_LEAVES * stream->device->base.compute_units;
  const bool one_leaf = map->group_makes_leaf && leaves <= most && leaves <= HX__JOINED_GROUPS;
  return one_leaf && !stream->self_test.full_groups ? leaves : hx__ceiling(leaves, map->row->leaves);
}

/* Reduces the elements of a chunk. A map-reduce has one row. */
static hx__outcome launch_reduction(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, hx__cl_inflight *to) {
  const hx__cl_map *const map = stream->device->map[stream->run.map];
  const hx__kernel_row *const row = map->row;
  const hx__map_part part = {0, chunk.first * HX__LEAF, 1, hx__chunk_elements(w, chunk)};
  hx__outcome outcome = row->joins ? hx__cl_tickets_ready(stream) : HX__DONE;
  args a;
  if (outcome == HX__DONE) outcome = bind_inputs(stream, w, part, &a);
  if (outcome != HX__DONE) return outcome;
  arg_size(&a, part.cols);
  arg_mem(&a, to->out.mem);
  if (row->joins) arg_join(&a, to->join, to);
  const size_t groups = groups_of(stream, map, chunk.count);
  return launch(&a, 1, &groups, row->local);
}

static hx__outcome reserve_results(hx__cl_stream *stream, hx__cl_inflight *to, size_t bytes) {
  return hx__cl_buffer_reserve(stream->device, &to->out, bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
}

hx__outcome hx__cl_launch_map(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, hx__cl_inflight *to) {
  hx__cl_set_joined(stream, to, false);
  to->bytes = hx__work_outputs(request->work) * hx__chunk_elements(request->work, chunk) * sizeof(uint32_t);
  to->stored = stream->run.resident;
  if (to->stored) return launch_elements(stream, request->work, chunk, hx__cl_resident_mem(stream), true);
  const hx__outcome outcome = reserve_results(stream, to, to->bytes);
  return outcome == HX__DONE ? launch_elements(stream, request->work, chunk, to->out.mem, false) : outcome;
}

hx__outcome hx__cl_launch_map_reduce(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                     hx__cl_inflight *to) {
  const hx__kernel_row *const row = stream->device->map[stream->run.map]->row;
  hx__cl_set_joined(stream, to, hx__cl_row_joins(stream, row, request->work, chunk));
  to->bytes = hx__cl_result_bytes(chunk, to->joined);
  const hx__outcome outcome = reserve_results(stream, to, hx__cl_slot_bytes(chunk));
  return outcome == HX__DONE ? launch_reduction(stream, request->work, chunk, to) : outcome;
}

hx__outcome hx__cl_map_to_view(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, bool launch,
                               hx__cl_view *view) {
  hx__cl_buffer *const elements = &stream->scratch.packed_b; /* packed_a has the slots of one of several fields */
  const size_t n = hx__elements_of(request->work, chunk).count;
  const hx__outcome outcome = hx__cl_buffer_reserve(stream->device, elements, n * sizeof(uint32_t), CL_MEM_READ_WRITE);
  *view = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = elements->mem, .ld = n};
  return outcome == HX__DONE && launch ? launch_elements(stream, request->work, chunk, elements->mem, false) : outcome;
}
