/* SPDX-License-Identifier: Apache-2.0
 * The launches of a chunk. A reduction has one launch for several fields if their program is
 * ready (fields.c), else one for each. A product has launches that pack its operands, if
 * the row needs that, and the launch of the product itself. */
#include <stdlib.h>

#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/opencl/maps.h"

#define LEAST_PART_BYTES ((size_t)8 << 20) /* at least, of each part of the operand that all chunks share */
#define MOST_PARTS 4u
#define LEAST_STEP 1024u /* rows or columns of a part: smaller parts transfer slowly and leave the device half idle */
#define GROUPS_A_UNIT 8u /* work-groups per compute unit, at least, if a group may compute several tiles */
#define MOST_TILES 64u

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
 * writes one slot for all leaves, and those that are checked. */
static hx__outcome launch_field(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t f,
                                uint32_t join, cl_mem slots) {
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
  arg_view(&a, &x);
  arg_view(&a, &y);
  arg_size(&a, hx__chunk_elements(w, chunk));
  arg_mem(&a, slots);
  if (row->joins) arg_join(&a, join);
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
  if (outcome == HX__DONE) outcome = launch_field(stream, request, chunk, f, to->join, one->mem);
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
  return fields == 1 ? launch_field(stream, request, chunk, 0, to->join, to->out.mem)
                     : launch_fields(stream, request, chunk, slots, bytes, fuse, to);
}

/* The strides of op(X) from the leading dimension of X as the kernel reads it. */
static hx__cl_strides strides_of(bool transposed, size_t ld) {
  return transposed ? (hx__cl_strides){1, ld} : (hx__cl_strides){ld, 1};
}

/* Packs one operand into panels of `tile` along its row (A) or column (B) index. */
static hx__outcome pack_operand(hx__cl_stream *stream, hx__cl_kernel *slot, const char *name, const hx__cl_view *v,
                                hx__cl_strides s, size_t extent, size_t k, bool k_first, size_t tile,
                                hx__cl_buffer *to) {
  const hx__kernel_row *const row = stream->device->program[stream->product].row;
  hx__outcome outcome;
  args a = {.stream = stream, .kernel = hx__cl_stream_kernel(stream, slot, stream->product, name, v, NULL, &outcome)};
  const size_t panels = hx__ceiling(extent, tile);
  if (outcome == HX__DONE)
    outcome = hx__cl_buffer_reserve(stream->device, to, panels * tile * k * sizeof(float), CL_MEM_READ_WRITE);
  if (outcome != HX__DONE) return outcome;
  arg_view(&a, v);
  arg_size(&a, s.rs);
  arg_size(&a, s.cs);
  arg_size(&a, k_first ? k : extent);
  arg_size(&a, k_first ? extent : k);
  arg_mem(&a, to->mem);
  const size_t groups[2] = {panels, hx__ceiling(k, row->pack)};
  return launch(&a, 2, groups, row->local);
}

/* A product's operands in one launch. */
typedef struct operands {
  hx__cl_view a, b;
  hx__cl_strides as, bs;
} operands;

/* The rows and columns of a block of C. */
typedef struct block {
  hx__chunk rows, cols;
} block;

static block block_of(const hx__work *w, hx__chunk chunk, hx__chunk cross) {
  return w->by_columns ? (block){cross, chunk} : (block){chunk, cross};
}

/* The part of op(A) or op(B), stored transposed or not, with these rows and columns. */
static hx__cl_region region_of(bool transposed, hx__chunk rows, hx__chunk cols) {
  return transposed ? (hx__cl_region){cols.first, cols.count, rows.first, rows.count}
                    : (hx__cl_region){rows.first, rows.count, cols.first, cols.count};
}

/* Sets the views and strides of the operands of one launch. The operand that is cut into chunks is uploaded first, the
 * operand that all chunks share after it. in_parts: the shared one arrives in parts. */
static hx__outcome operands_of(hx__cl_stream *stream, const hx__work *w, block c, hx__chunk k, bool in_parts,
                               operands *o) {
  const hx__cl_region region[2] = {region_of(w->trans_a, c.rows, k), region_of(w->trans_b, k, c.cols)};
  hx__cl_view *const view[2] = {&o->a, &o->b};
  const unsigned own = w->by_columns, shared = !own;
  hx__outcome outcome = hx__cl_view_of(stream, &stream->operand[own], region[own], view[own]);
  if (outcome == HX__DONE)
    outcome =
        (in_parts ? hx__cl_view_part : hx__cl_view_of)(stream, &stream->operand[shared], region[shared], view[shared]);
  if (outcome == HX__DONE) outcome = hx__cl_await_uploads(stream);
  o->as = strides_of(w->trans_a, o->a.ld);
  o->bs = strides_of(w->trans_b, o->b.ld);
  return outcome;
}

/* Packs the chunk's part of the operand that is cut, and the operand that all chunks share. If one launch computes all
 * of k, the shared one is packed once in a run. */
static hx__outcome pack_both(hx__cl_stream *stream, const hx__work *w, const operands *o, size_t m, size_t n,
                             hx__chunk k) {
  const hx__cl_program *const p = &stream->device->program[stream->product];
  const bool shared = stream->run.shared_packed && k.count == w->gemm.k;
  hx__outcome outcome = HX__DONE;
  if (!(w->by_columns && shared))
    outcome = pack_operand(stream, &stream->kernels.pack_a[stream->product], "hx_pack_a", &o->a, o->as, m, k.count,
                           false, p->tile_m, &stream->scratch.packed_a);
  if (outcome == HX__DONE && (w->by_columns || !shared))
    outcome = pack_operand(stream, &stream->kernels.pack_b[stream->product], "hx_pack_b", &o->b, o->bs, n, k.count,
                           true, p->tile_n, &stream->scratch.packed_b);
  stream->run.shared_packed = outcome == HX__DONE;
  return outcome;
}

/* How many tiles a work-group computes, one below another, if its row allows several. What these tiles share is then
 * read once, but every compute unit should still get several groups. */
static cl_uint tiles_of_group(const hx__cl_stream *stream, size_t tiles) {
  const size_t each = tiles / ((size_t)GROUPS_A_UNIT * stream->device->base.compute_units);
  return (cl_uint)(each < 1 ? 1 : each < MOST_TILES ? each : MOST_TILES);
}

static hx__outcome launch_product(hx__cl_stream *stream, const hx__work *w, const operands *o, size_t m, size_t n,
                                  hx__chunk k, const hx__cl_target *t) {
  const hx__cl_program *const p = &stream->device->program[stream->product];
  hx__outcome outcome = p->row->pack != 0 ? pack_both(stream, w, o, m, n, k) : HX__DONE;
  if (outcome != HX__DONE) return outcome;
  const bool packed = p->row->pack != 0;
  args a = {.stream = stream};
  a.kernel = hx__cl_stream_kernel(stream, &stream->kernels.compute[stream->product], stream->product, "hx_matmul",
                                  packed ? NULL : &o->a, packed ? NULL : &o->b, &outcome);
  if (outcome != HX__DONE) return outcome;
  if (packed) {
    arg_mem(&a, stream->scratch.packed_a.mem);
    arg_mem(&a, stream->scratch.packed_b.mem);
  } else {
    arg_view(&a, &o->a);
    arg_size(&a, o->as.rs);
    arg_size(&a, o->as.cs);
    arg_view(&a, &o->b);
    arg_size(&a, o->bs.rs);
    arg_size(&a, o->bs.cs);
  }
  arg_size(&a, m);
  arg_size(&a, n);
  arg_size(&a, k.count);
  const cl_float alpha = w->gemm.alpha;
  const size_t groups[2] = {hx__ceiling(n, p->tile_n), hx__ceiling(m, p->tile_m)};
  const cl_uint tiles = p->row->stacks ? tiles_of_group(stream, groups[0] * groups[1]) : 1;
  const cl_uint part = (k.first != 0) | (cl_uint)(k.first + k.count != w->gemm.k) << 1 | (tiles - 1) << 2;
  arg(&a, sizeof alpha, &alpha);
  arg_mem(&a, t->mem);
  arg_size(&a, t->ldt);
  arg(&a, sizeof part, &part);
  const size_t launched[2] = {groups[0], hx__ceiling(groups[1], tiles)};
  return launch(&a, 2, launched, p->row->local);
}

/* Computes a block of C. */
static hx__outcome launch_block(hx__cl_stream *stream, const hx__work *w, block c, bool in_parts,
                                const hx__cl_target *t) {
  const hx__cl_program *const p = &stream->device->program[stream->product];
  const size_t m = c.rows.count, n = c.cols.count;
  const size_t most = hx__cl_cut_of(stream, w).k;
  hx__outcome outcome = HX__DONE;
  for (size_t first = 0; first < w->gemm.k && outcome == HX__DONE; first += most) {
    const size_t left = w->gemm.k - first;
    const hx__chunk k = {first, left < most ? left : most};
    operands o;
    outcome = operands_of(stream, w, c, k, in_parts, &o);
    if (outcome != HX__DONE) return outcome;
    outcome = hx__kernel_of_set(p->row) ? hx__cl_launch_tiles(stream, &o.a, o.as, &o.b, o.bs,
                                                              &(hx__gemm_size){m, n, k.count, w->gemm.alpha}, t)
                                        : launch_product(stream, w, &o, m, n, k, t);
  }
  return outcome;
}

/* The most lines of the shared operand in one launch: fewer than all if a buffer for all of it would be too large. */
static size_t limit_of(const hx__cl_stream *stream, const hx__work *w) {
  const hx__cl_operand *const shared = &stream->operand[!w->by_columns];
  const bool copied = shared->mode == HX__MEMORY_COPY && !shared->mirror;
  const bool packed = stream->device->program[stream->product].row->pack != 0;
  return copied || packed ? hx__cl_cut_of(stream, w).cross_extent : hx__work_cross_extent(w);
}

/* The lines of the shared operand that one launch of the run's first chunk waits for, so that kernels overlap with the
 * upload of the next lines. All lines if the operand is on the device already or cannot arrive in parts. */
static size_t step_of(const hx__cl_stream *stream, const hx__work *w, hx__chunk chunk) {
  const size_t extent = hx__work_cross_extent(w), bytes = extent * w->gemm.k * sizeof(float);
  const size_t parts = bytes / LEAST_PART_BYTES < MOST_PARTS ? bytes / LEAST_PART_BYTES : MOST_PARTS;
  const bool gaps = stream->run.resident && w->gemm.ldc != w->gemm.n; /* a driver refuses such rectangles
                                                                       * (hx__cl_operand_arrives_in_parts) */
  if (parts < 2 || gaps || !stream->uploads || stream->device->program[stream->product].row->pack != 0 ||
      !hx__cl_operand_arrives_in_parts(&stream->operand[!w->by_columns]))
    return extent;
  const size_t step = hx__ceiling(hx__ceiling(extent, parts), LEAST_STEP) * LEAST_STEP;
  const bool fits = step * sizeof(float) <= hx__cl_stage_bytes(stream->device) &&
                    chunk.count * step * sizeof(float) <= HX__CL_RETAINED_BYTES;
  return fits && step < extent ? step : extent;
}

/* Copies a block from the start of a buffer to its place in another. */
static hx__outcome copy_block(hx__cl_stream *stream, block c, const hx__cl_target *part, const hx__cl_target *t) {
  const size_t from[3] = {0, 0, 0}, to[3] = {c.cols.first * sizeof(float), c.rows.first, 0};
  const size_t region[3] = {c.cols.count * sizeof(float), c.rows.count, 1};
  const cl_int code = clEnqueueCopyBufferRect(stream->queue, part->mem, t->mem, from, to, region,
                                              part->ldt * sizeof(float), 0, t->ldt * sizeof(float), 0, 0, NULL, NULL);
  hx__log(HX__LOG_TRACE, "clEnqueueCopyBufferRect: %zu x %zu bytes: %d", region[1], region[0], code);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(stream->device, "clEnqueueCopyBufferRect", code);
}

/* Launches a chunk in several parts of the shared operand. comes: the operand is being uploaded in parts, as in the
 * first chunk of a run; the upload of each part then overlaps with the kernels of the one before. Each part is first
 * written to a buffer of its own, because the kernels take no offset of t, and one driver loses what was written to a
 * sub-buffer when the next one is used. */
static hx__outcome launch_parts(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, size_t step, bool comes,
                                const hx__cl_target *t) {
  const size_t extent = hx__work_cross_extent(w);
  hx__outcome outcome = HX__DONE;
  for (size_t first = 0; first < extent && outcome == HX__DONE; first += step) {
    const hx__chunk part = {first, extent - first < step ? extent - first : step};
    block c = block_of(w, chunk, part);
    hx__cl_target own = {.ldt = (c.cols.count + 15) & ~(size_t)15, .beta = t->beta};
    outcome = hx__cl_buffer_reserve(stream->device, &stream->scratch.part, c.rows.count * own.ldt * sizeof(float),
                                    CL_MEM_READ_WRITE);
    own.mem = stream->scratch.part.mem;
    stream->run.shared_packed = false; /* the packed part is another one */
    if (outcome == HX__DONE) outcome = launch_block(stream, w, c, comes, &own);
    *(w->by_columns ? &c.cols.first : &c.rows.first) = 0; /* t begins with this chunk */
    if (outcome == HX__DONE) outcome = copy_block(stream, c, &own, t);
    if (outcome == HX__DONE) clFlush(stream->queue);
  }
  stream->run.shared_packed = false;
  if (comes) hx__cl_operand_parts_done(&stream->operand[!w->by_columns], outcome == HX__DONE);
  return outcome;
}

hx__outcome hx__cl_launch_matmul(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                 hx__cl_inflight *to) {
  const hx__work *const w = request->work;
  const size_t m = w->by_columns ? w->gemm.m : chunk.count, n = w->by_columns ? chunk.count : w->gemm.n;
  const size_t extent = hx__work_cross_extent(w), comes = step_of(stream, w, chunk), limit = limit_of(stream, w);
  const size_t step = comes < limit ? comes : limit;
  hx__cl_target t = hx__cl_resident_target(stream, w, chunk, step < extent);
  to->joined = false;
  to->stored = t.mem;
  if (!t.mem) t.ldt = (n + 15) & ~(size_t)15; /* beta is applied by the host when it stores the block */
  to->ldt = t.ldt;
  to->bytes = m * ((n + 15) & ~(size_t)15) * sizeof(float);
  if (!t.mem) {
    const hx__outcome outcome =
        hx__cl_buffer_reserve(stream->device, &to->out, to->bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
    if (outcome != HX__DONE) return outcome;
    t.mem = to->out.mem;
  }
  return step < extent ? launch_parts(stream, w, chunk, step, comes < extent, &t)
                       : launch_block(stream, w, block_of(w, chunk, (hx__chunk){0, extent}), false, &t);
}
