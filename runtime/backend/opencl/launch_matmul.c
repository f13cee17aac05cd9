/* SPDX-License-Identifier: Apache-2.0
 * The launches of a product's chunk: those that pack its operands, if the row needs that, and the launch of the product
 * itself. All products of a batch's chunk are computed by one launch. */
#include "runtime/backend/opencl/arguments.h"

#define LEAST_PART_BYTES ((size_t)8 << 20) /* at least, of each part of the operand that all chunks share */
#define MOST_PARTS 4u
#define LEAST_STEP 1024u /* rows or columns of a part: smaller parts transfer slowly and leave the device half idle */
#define GROUPS_A_UNIT 8u /* work-groups per compute unit, at least, if a group may compute several tiles */
#define MOST_TILES 64u

/* The strides of op(X) from the leading dimension of X as the kernel reads it. */
static hx__cl_strides strides_of(bool transposed, size_t ld) {
  return transposed ? (hx__cl_strides){1, ld} : (hx__cl_strides){ld, 1};
}

/* An operand that is packed into panels of `tile` along its row (A) or column (B) index. */
typedef struct packing {
  hx__cl_kernel *slot;
  const char *name;
  const hx__cl_view *view;
  hx__cl_strides strides;
  size_t extent, k, tile, products, step;
  bool k_first; /* the order of the kernel's arguments */
} packing;

static hx__outcome pack_operand(hx__cl_stream *stream, const packing *p, hx__cl_buffer *to) {
  const hx__kernel_row *const row = stream->device->program[stream->product].row;
  hx__outcome outcome;
  args a = {.stream = stream};
  a.kernel = hx__cl_stream_kernel(stream, p->slot, stream->product, p->name, p->view, NULL, &outcome);
  const size_t panels = hx__ceiling(p->extent, p->tile), bytes = panels * p->tile * p->k * p->products * sizeof(float);
  if (outcome == HX__DONE) outcome = hx__cl_buffer_reserve(stream->device, to, bytes, CL_MEM_READ_WRITE);
  if (outcome != HX__DONE) return outcome;
  arg_view(&a, p->view);
  arg_size(&a, p->strides.rs);
  arg_size(&a, p->strides.cs);
  arg_size(&a, p->k_first ? p->k : p->extent);
  arg_size(&a, p->k_first ? p->extent : p->k);
  arg_mem(&a, to->mem);
  arg_size(&a, p->step);
  const size_t groups[3] = {panels, hx__ceiling(p->k, row->pack), p->products};
  return launch(&a, 3, groups, row->local);
}

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
                               hx__cl_factors *o) {
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
  o->products = 1;
  o->a_step = o->b_step = 0;
  return outcome;
}

/* The matrices of an operand in a chunk of a batch. */
static hx__outcome view_matrices(hx__cl_stream *stream, const hx__work *w, unsigned which, hx__chunk chunk,
                                 hx__cl_view *view, size_t *step) {
  const hx__matrices x = hx__batch_matrices(w, which);
  const bool shared = x.count == 1;
  *step = shared ? 0 : x.stride;
  const hx__cl_region region = {0, 1, chunk.first * *step, hx__matrices_extent(&x, shared ? 1 : chunk.count)};
  return hx__cl_view_of(stream, &stream->operand[which], region, view);
}

/* Sets the views and strides of all matrices of a batch's chunk. */
static hx__outcome factors_of_batch(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, hx__cl_factors *o) {
  const hx__gemm *const g = &w->gemm;
  *o = (hx__cl_factors){.as = {g->a_rs, g->a_cs}, .bs = {g->b_rs, g->b_cs}, .products = chunk.count};
  hx__outcome outcome = view_matrices(stream, w, HX__BATCH_A, chunk, &o->a, &o->a_step);
  if (outcome == HX__DONE) outcome = view_matrices(stream, w, HX__BATCH_B, chunk, &o->b, &o->b_step);
  return outcome == HX__DONE ? hx__cl_await_uploads(stream) : outcome;
}

/* Packs the chunk's part of the operand that is cut, and the operand that all chunks share. If one launch computes all
 * of k, the shared one is packed once in a run. */
static hx__outcome pack_both(hx__cl_stream *stream, const hx__work *w, const hx__cl_factors *o, size_t m, size_t n,
                             hx__chunk k) {
  const hx__cl_program *const p = &stream->device->program[stream->product];
  const bool shared = stream->run.shared_packed && k.count == w->gemm.k;
  const packing a = {.slot = &stream->kernels.pack_a[stream->product],
                     .name = "hx_pack_a",
                     .view = &o->a,
                     .strides = o->as,
                     .extent = m,
                     .k = k.count,
                     .tile = p->tile_m,
                     .products = o->products,
                     .step = o->a_step};
  const packing b = {.slot = &stream->kernels.pack_b[stream->product],
                     .name = "hx_pack_b",
                     .view = &o->b,
                     .strides = o->bs,
                     .extent = n,
                     .k = k.count,
                     .tile = p->tile_n,
                     .products = o->products,
                     .step = o->b_step,
                     .k_first = true};
  hx__outcome outcome = HX__DONE;
  if (!(w->by_columns && shared)) outcome = pack_operand(stream, &a, &stream->scratch.packed_a);
  if (outcome == HX__DONE && (w->by_columns || !shared)) outcome = pack_operand(stream, &b, &stream->scratch.packed_b);
  stream->run.shared_packed = outcome == HX__DONE && !w->by_products;
  return outcome;
}

/* How many tiles a work-group computes, one below another, if its row allows several. What these tiles share is then
 * read once, but every compute unit should still get several groups. */
static cl_uint tiles_of_group(const hx__cl_stream *stream, size_t tiles) {
  const size_t each = tiles / ((size_t)GROUPS_A_UNIT * stream->device->base.compute_units);
  return (cl_uint)(each < 1 ? 1 : each < MOST_TILES ? each : MOST_TILES);
}

static hx__outcome launch_product(hx__cl_stream *stream, const hx__work *w, const hx__cl_factors *o, size_t m, size_t n,
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
  const cl_uint tiles = p->row->stacks ? tiles_of_group(stream, groups[0] * groups[1] * o->products) : 1;
  const cl_uint part = (k.first != 0) | (cl_uint)(k.first + k.count != w->gemm.k) << 1 | (tiles - 1) << 2;
  arg(&a, sizeof alpha, &alpha);
  arg_mem(&a, t->mem);
  arg_size(&a, t->ldt);
  arg(&a, sizeof part, &part);
  if (!packed) {
    arg_size(&a, o->a_step);
    arg_size(&a, o->b_step);
  }
  arg_size(&a, t->step);
  const size_t launched[3] = {groups[0], hx__ceiling(groups[1], tiles), o->products};
  return launch(&a, 3, launched, p->row->local);
}

/* One launch for each range of k that one can compute. */
static hx__outcome launch_batch(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, const hx__cl_target *t) {
  const hx__gemm *const g = &w->gemm;
  const bool of_set = hx__kernel_of_set(stream->device->program[stream->product].row);
  const size_t most = hx__cl_cut_of(stream, w, stream->run.resident).k;
  hx__cl_factors all;
  hx__outcome outcome = factors_of_batch(stream, w, chunk, &all);
  for (size_t first = 0; first < g->k && outcome == HX__DONE; first += most) {
    const hx__chunk k = {first, g->k - first < most ? g->k - first : most};
    hx__cl_factors part = all;
    part.a.first += first * g->a_cs;
    part.b.first += first * g->b_rs;
    outcome = of_set ? hx__cl_launch_tiles(stream, &part, &(hx__gemm_size){g->m, g->n, k.count, g->alpha}, t)
                     : launch_product(stream, w, &part, g->m, g->n, k, t);
  }
  return outcome;
}

/* Computes a block of C. */
static hx__outcome launch_block(hx__cl_stream *stream, const hx__work *w, block c, bool in_parts,
                                const hx__cl_target *t) {
  const hx__cl_program *const p = &stream->device->program[stream->product];
  const size_t m = c.rows.count, n = c.cols.count;
  const size_t most = hx__cl_cut_of(stream, w, stream->run.resident).k;
  hx__outcome outcome = HX__DONE;
  for (size_t first = 0; first < w->gemm.k && outcome == HX__DONE; first += most) {
    const size_t left = w->gemm.k - first;
    const hx__chunk k = {first, left < most ? left : most};
    hx__cl_factors o;
    outcome = operands_of(stream, w, c, k, in_parts, &o);
    if (outcome != HX__DONE) return outcome;
    outcome = hx__kernel_of_set(p->row)
                  ? hx__cl_launch_tiles(stream, &o, &(hx__gemm_size){m, n, k.count, w->gemm.alpha}, t)
                  : launch_product(stream, w, &o, m, n, k, t);
  }
  return outcome;
}

/* The most lines of the shared operand in one launch: fewer than all if a buffer for all of it would be too large. */
static size_t limit_of(const hx__cl_stream *stream, const hx__work *w) {
  const hx__cl_operand *const shared = &stream->operand[!w->by_columns];
  const bool copied = shared->mode == HX__MEMORY_COPY && !shared->mirror;
  const bool packed = stream->device->program[stream->product].row->pack != 0;
  return copied || packed ? hx__cl_cut_of(stream, w, stream->run.resident).cross_extent : hx__work_cross_extent(w);
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

/* Where the kernels write, with `rows` rows of `cols` elements in all: directly to the C that stays on the device, or
 * to to->out. Then the host, or a kernel, applies beta when it stores the block. */
static hx__outcome set_target(hx__cl_stream *stream, hx__cl_inflight *to, size_t rows, size_t cols, hx__cl_target *t) {
  to->joined = false;
  to->stored = t->mem;
  to->bytes = rows * ((cols + 15) & ~(size_t)15) * sizeof(float);
  hx__outcome outcome = HX__DONE;
  if (!t->mem) {
    t->ldt = (cols + 15) & ~(size_t)15;
    outcome = hx__cl_buffer_reserve(stream->device, &to->out, to->bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
    t->mem = to->out.mem;
  }
  to->ldt = t->ldt;
  return outcome;
}

static hx__outcome launch_products(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, hx__cl_inflight *to) {
  hx__cl_target t = hx__cl_resident_target(stream, w, chunk, false);
  const hx__outcome outcome = set_target(stream, to, chunk.count * w->gemm.m, w->gemm.n, &t);
  t.step = w->gemm.m * t.ldt; /* also in that C, which has no gaps */
  return outcome == HX__DONE ? launch_batch(stream, w, chunk, &t) : outcome;
}

hx__outcome hx__cl_launch_matmul(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                 hx__cl_inflight *to) {
  const hx__work *const w = request->work;
  if (w->by_products) return launch_products(stream, w, chunk, to);
  const size_t m = w->by_columns ? w->gemm.m : chunk.count, n = w->by_columns ? chunk.count : w->gemm.n;
  const size_t extent = hx__work_cross_extent(w), comes = step_of(stream, w, chunk), limit = limit_of(stream, w);
  const size_t step = comes < limit ? comes : limit;
  hx__cl_target t = hx__cl_resident_target(stream, w, chunk, step < extent);
  const hx__outcome outcome = set_target(stream, to, m, n, &t);
  if (outcome != HX__DONE) return outcome;
  return step < extent ? launch_parts(stream, w, chunk, step, comes < extent, &t)
                       : launch_block(stream, w, block_of(w, chunk, (hx__chunk){0, extent}), false, &t);
}
