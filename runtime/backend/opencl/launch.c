/* SPDX-License-Identifier: Apache-2.0
 * The launches of a chunk: one a field of a reduction; packing where the row wants it, and the product. */
#include "runtime/backend/opencl/arguments.h"

static hx__outcome ticket_ready(hx__cl_lane *lane) {
  if (lane->ticket.mem) return HX__DONE;
  static const cl_uint zero = 0;
  const hx__outcome outcome = hx__cl_buffer_reserve(lane->device, &lane->ticket, sizeof zero, CL_MEM_READ_WRITE);
  if (outcome != HX__DONE) return outcome;
  const cl_int code =
      clEnqueueWriteBuffer(lane->queue, lane->ticket.mem, CL_TRUE, 0, sizeof zero, &zero, 0, NULL, NULL);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(lane->device, "clEnqueueWriteBuffer", code);
}

/* The slots of field f of the chunk. */
static hx__outcome launch_field(hx__cl_lane *lane, const hx__request *request, hx__chunk chunk, size_t f,
                                cl_mem slots) {
  const hx__work *const w = request->work;
  const hx_field *const field = &w->fields[f];
  const unsigned need = hx__need_index(hx__need_reduce(field->op, field->type));
  const hx__kernel_row *const row = lane->device->program[need].row;
  const hx__cl_region region = {0, 1, chunk.first * HX__LEAF, hx__chunk_elements(w, chunk)};
  hx__cl_view x, y;
  hx__outcome outcome = hx__cl_view_of(lane, &lane->operand[2 * f], region, &x);
  y = x;
  if (outcome == HX__DONE && field->op == HX_DOT) outcome = hx__cl_view_of(lane, &lane->operand[2 * f + 1], region, &y);
  if (outcome == HX__DONE) outcome = hx__cl_await_uploads(lane);
  args a = {.lane = lane};
  const bool large = row->large_from != 0 && chunk.count >= row->large_from;
  if (outcome == HX__DONE)
    a.kernel = hx__cl_lane_kernel(lane, large ? &lane->large[need] : &lane->kernel[need], need,
                                  large ? "hx_reduce_large" : "hx_reduce", &x, &y, &outcome);
  if (outcome == HX__DONE && row->large_from != 0) outcome = ticket_ready(lane);
  if (outcome != HX__DONE) return outcome;
  arg_view(&a, &x);
  arg_view(&a, &y);
  arg_size(&a, region.cols);
  arg_mem(&a, slots);
  if (row->large_from != 0) {
    const cl_uint join = lane->joined;
    arg(&a, sizeof join, &join);
    arg_mem(&a, lane->ticket.mem);
  }
  const uint32_t local[2] = {row->local[0] << large, 1};
  const size_t groups = hx__ceiling(chunk.count, row->leaves << large);
  return launch(&a, 1, &groups, local);
}

/* Whether the leaves of the chunk have a sum of their own: an aligned power of two of them, or the end of one. */
static bool is_node(const hx__work *w, hx__chunk chunk) {
  size_t power = 1;
  while (power < chunk.count) power *= 2;
  return chunk.first % power == 0 && (chunk.count == power || chunk.first + chunk.count == w->slices);
}

/* Whether the kernels of all fields join the chunk. */
static bool joins(const hx__cl_lane *lane, const hx__work *w, hx__chunk chunk) {
  if (!lane->joins || !is_node(w, chunk) || chunk.count > UINT32_MAX / HX__LEAF) return false;
  for (size_t f = 0; f < w->nfields; f++) {
    const hx__kernel_row *const row =
        lane->device->program[hx__need_index(hx__need_reduce(w->fields[f].op, w->fields[f].type))].row;
    if (row->large_from == 0 || hx__ceiling(chunk.count, row->leaves) > (size_t)128 * row->local[0]) return false;
  }
  return true;
}

hx__outcome hx__cl_launch_reduce(hx__cl_lane *lane, const hx__request *request, hx__chunk chunk) {
  lane->joined = joins(lane, request->work, chunk);
  const size_t fields = request->work->nfields, slots = (chunk.count + 1) * sizeof(uint64_t);
  const size_t bytes = (lane->joined ? 1 : chunk.count) * sizeof(uint64_t);
  lane->bytes = fields * bytes;
  hx__outcome outcome = hx__cl_buffer_reserve(lane->device, &lane->out, fields == 1 ? slots : lane->bytes,
                                              CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  if (outcome != HX__DONE || fields == 1)
    return outcome == HX__DONE ? launch_field(lane, request, chunk, 0, lane->out.mem) : outcome;
  /* Several fields: each kernel writes a buffer of its own, copied into its part of out on the device. */
  hx__cl_buffer *const one = &lane->packed_a;
  outcome = hx__cl_buffer_reserve(lane->device, one, slots, CL_MEM_READ_WRITE);
  for (size_t f = 0; f < fields && outcome == HX__DONE; f++) {
    outcome = launch_field(lane, request, chunk, f, one->mem);
    if (outcome != HX__DONE) break;
    const cl_int code = clEnqueueCopyBuffer(lane->queue, one->mem, lane->out.mem, 0, f * bytes, bytes, 0, NULL, NULL);
    if (code != CL_SUCCESS) outcome = hx__cl_failed(lane->device, "clEnqueueCopyBuffer", code);
  }
  return outcome;
}

/* Strides of op(X) from the leading dimension where the kernel finds it. */
static hx__cl_strides strides_of(bool transposed, size_t ld) {
  return transposed ? (hx__cl_strides){1, ld} : (hx__cl_strides){ld, 1};
}

/* Packs one operand into panels of `tile` along its row (A) or column (B) index. */
static hx__outcome pack(hx__cl_lane *lane, hx__cl_kernel *slot, const char *name, const hx__cl_view *v,
                        hx__cl_strides s, size_t extent, size_t k, bool k_first, size_t tile, hx__cl_buffer *to) {
  const hx__kernel_row *const row = lane->device->program[lane->product].row;
  hx__outcome outcome;
  args a = {.lane = lane, .kernel = hx__cl_lane_kernel(lane, slot, lane->product, name, v, NULL, &outcome)};
  const size_t panels = hx__ceiling(extent, tile);
  if (outcome == HX__DONE)
    outcome = hx__cl_buffer_reserve(lane->device, to, panels * tile * k * sizeof(float), CL_MEM_READ_WRITE);
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

/* A product's operands for one chunk. */
typedef struct operands {
  hx__cl_view a, b;
  hx__cl_strides as, bs;
} operands;

static hx__outcome operands_of(hx__cl_lane *lane, const hx__work *w, hx__chunk chunk, operands *o) {
  const hx__gemm *const g = &w->gemm;
  const size_t row = w->by_columns ? 0 : chunk.first, rows = w->by_columns ? g->m : chunk.count;
  const size_t col = w->by_columns ? chunk.first : 0, cols = w->by_columns ? chunk.count : g->n;
  const hx__cl_region a = w->trans_a ? (hx__cl_region){0, g->k, row, rows} : (hx__cl_region){row, rows, 0, g->k};
  const hx__cl_region b = w->trans_b ? (hx__cl_region){col, cols, 0, g->k} : (hx__cl_region){0, g->k, col, cols};
  hx__outcome outcome = hx__cl_view_of(lane, &lane->operand[0], a, &o->a);
  if (outcome == HX__DONE) outcome = hx__cl_view_of(lane, &lane->operand[1], b, &o->b);
  if (outcome == HX__DONE) outcome = hx__cl_await_uploads(lane);
  o->as = strides_of(w->trans_a, o->a.ld);
  o->bs = strides_of(w->trans_b, o->b.ld);
  return outcome;
}

/* A range of k that one launch does. */
typedef struct k_range {
  size_t first, count;
} k_range;

static hx__cl_view from_k(hx__cl_view v, size_t stride, k_range k) {
  v.first += k.first * stride;
  return v;
}

/* Packs the chunk's part of the operand that is cut, and once a run, where one launch does all of k, the other one. */
static hx__outcome pack_both(hx__cl_lane *lane, const hx__work *w, const operands *o, size_t m, size_t n, k_range k) {
  const hx__cl_program *const p = &lane->device->program[lane->product];
  const hx__cl_view a = from_k(o->a, o->as.cs, k), b = from_k(o->b, o->bs.rs, k);
  const bool shared = lane->shared_packed && k.count == w->gemm.k;
  hx__outcome outcome = HX__DONE;
  if (!(w->by_columns && shared))
    outcome =
        pack(lane, &lane->pack_a[lane->product], "hx_pack_a", &a, o->as, m, k.count, false, p->tile_m, &lane->packed_a);
  if (outcome == HX__DONE && (w->by_columns || !shared))
    outcome =
        pack(lane, &lane->pack_b[lane->product], "hx_pack_b", &b, o->bs, n, k.count, true, p->tile_n, &lane->packed_b);
  lane->shared_packed = outcome == HX__DONE;
  return outcome;
}

static hx__outcome launch_product(hx__cl_lane *lane, const hx__work *w, const operands *o, size_t m, size_t n,
                                  k_range k) {
  const hx__cl_program *const p = &lane->device->program[lane->product];
  hx__outcome outcome = p->row->pack != 0 ? pack_both(lane, w, o, m, n, k) : HX__DONE;
  if (outcome != HX__DONE) return outcome;
  const hx__cl_view av = from_k(o->a, o->as.cs, k), bv = from_k(o->b, o->bs.rs, k);
  const bool packed = p->row->pack != 0;
  args a = {.lane = lane};
  a.kernel = hx__cl_lane_kernel(lane, &lane->kernel[lane->product], lane->product, "hx_matmul", packed ? NULL : &av,
                                packed ? NULL : &bv, &outcome);
  if (outcome != HX__DONE) return outcome;
  if (packed) {
    arg_mem(&a, lane->packed_a.mem);
    arg_mem(&a, lane->packed_b.mem);
  } else {
    arg_view(&a, &av);
    arg_size(&a, o->as.rs);
    arg_size(&a, o->as.cs);
    arg_view(&a, &bv);
    arg_size(&a, o->bs.rs);
    arg_size(&a, o->bs.cs);
  }
  arg_size(&a, m);
  arg_size(&a, n);
  arg_size(&a, k.count);
  const cl_float alpha = w->gemm.alpha;
  const cl_uint part = (k.first != 0) | (cl_uint)(k.first + k.count != w->gemm.k) << 1;
  arg(&a, sizeof alpha, &alpha);
  arg_mem(&a, lane->t);
  arg_size(&a, lane->ldt);
  arg(&a, sizeof part, &part);
  const size_t groups[2] = {hx__ceiling(n, p->tile_n), hx__ceiling(m, p->tile_m)};
  return launch(&a, 2, groups, p->row->local);
}

hx__outcome hx__cl_launch_matmul(hx__cl_lane *lane, const hx__request *request, hx__chunk chunk) {
  const hx__work *const w = request->work;
  const hx__cl_program *const p = &lane->device->program[lane->product];
  const size_t m = w->by_columns ? w->gemm.m : chunk.count, n = w->by_columns ? chunk.count : w->gemm.n;
  const size_t most = p->arithmetic == HX__ARITHMETIC_SOFT_FMA ? HX__SOFT_FMA_MAX_K : SIZE_MAX;
  operands o;
  lane->ldt = (n + 15) & ~(size_t)15;
  lane->bytes = m * lane->ldt * sizeof(float);
  hx__outcome outcome = HX__DONE;
  if (!hx__cl_keep_directly(lane, w, chunk)) {
    outcome = hx__cl_buffer_reserve(lane->device, &lane->out, lane->bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
    lane->t = lane->out.mem;
  }
  if (outcome == HX__DONE) outcome = operands_of(lane, w, chunk, &o);
  if (outcome == HX__DONE && p->row->rate != 0)
    return hx__cl_launch_tiles(lane, &o.a, o.as, &o.b, o.bs, &(hx__tiles_size){m, n, w->gemm.k, w->gemm.alpha});
  for (size_t k = 0; k < w->gemm.k && outcome == HX__DONE;) {
    const size_t left = w->gemm.k - k;
    const k_range range = {k, left < most ? left : most};
    outcome = launch_product(lane, w, &o, m, n, range);
    k += range.count;
  }
  return outcome;
}
