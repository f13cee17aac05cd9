/* SPDX-License-Identifier: Apache-2.0
 * The launches of a product by a set of rows (kernels/tiles.h): copies of operands that the kernels cannot read where
 * they lie, the product, and the sum of its panels where they are many. */
#include <math.h>

#include "runtime/backend/opencl/arguments.h"

/* Whether the driver's memory objects or the caller's pointer put the first element at a multiple of 16 bytes. */
static bool is_even(const hx__cl_view *v) {
  const uintptr_t base = v->mem ? 0 : (uintptr_t)v->p;
  return (base / sizeof(float) + v->first) % 4 == 0;
}

static hx__tiles_plan plan_by(const hx__cl_device *d, unsigned program, const hx__tiles_shape *shape) {
  const hx__cl_program *const p = &d->program[program];
  return hx__tiles_plan_for(p->row, p->layout, shape, d->base.compute_units);
}

/* Whether the panels of a plan may be added by the product's own launch: it has the tickets. */
static bool may_chain(const hx__kernel_row *row, const hx__tiles_plan *p) {
  return row->chains && p->whole < p->tiles && p->panels <= HX__JOIN_TICKETS / (p->tiles - p->whole);
}

/* The program whose plan is the fastest, by its index; of one that is tested, that one wherever it can, and its panels
 * added both ways in turns. */
static unsigned choose_anew(hx__cl_stream *stream, uint64_t ready, const hx__tiles_shape *shape, hx__tiles_plan *best) {
  const hx__cl_device *const d = stream->device;
  unsigned chosen = stream->product;
  *best = plan_by(d, chosen, shape);
  if (chosen != HX__FIRST_PRODUCT) return chosen;
  for (unsigned i = HX__NEEDS; i < HX__TUNED_PROGRAM; i++) {
    if (!(ready >> (i - HX__NEEDS) & 1) && i != stream->tested) continue;
    const hx__tiles_plan plan = plan_by(d, i, shape);
    if (i == stream->tested && plan.ns < INFINITY) {
      *best = plan;
      if (may_chain(d->program[i].row, &plan)) best->joins = stream->chained = !stream->chained;
      stream->reached = true;
      return i;
    }
    if (plan.ns >= best->ns) continue;
    *best = plan;
    chosen = i;
  }
  return chosen;
}

static bool same_operand(const hx__tiles_operand *a, const hx__tiles_operand *b) {
  return a->rs == b->rs && a->cs == b->cs && a->even == b->even;
}

static bool same_shape(const hx__tiles_shape *a, const hx__tiles_shape *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && same_operand(&a->a, &b->a) && same_operand(&a->b, &b->b);
}

/* The same, as it was chosen for that shape with the variants there are. */
static unsigned choose(hx__cl_stream *stream, const hx__tiles_shape *shape, hx__tiles_plan *best) {
  const uint64_t ready = atomic_load_explicit(&stream->device->variants, memory_order_acquire);
  if (stream->tested || !ready) return choose_anew(stream, ready, shape, best);
  hx__cl_choice *c = NULL;
  for (unsigned i = 0; i < HX__CL_CHOICES && !c; i++)
    if (stream->choice[i].ready == ready && same_shape(&stream->choice[i].shape, shape)) c = &stream->choice[i];
  if (!c) {
    c = &stream->choice[stream->choices++ % HX__CL_CHOICES];
    *c = (hx__cl_choice){.shape = *shape, .ready = ready};
    c->program = choose_anew(stream, ready, shape, &c->plan);
  }
  *best = c->plan;
  return c->program;
}

/* Copies an operand to rows of `pitch` elements; v is then a view of the copy. */
static hx__outcome copy(hx__cl_stream *stream, hx__cl_buffer *to, hx__cl_view *v, hx__tiles_operand x, size_t rows,
                        size_t columns, size_t lines, size_t pitch) {
  static const uint32_t local[2] = {256, 1};
  hx__outcome outcome = hx__cl_buffer_reserve(stream->device, to, lines * pitch * sizeof(float), CL_MEM_READ_WRITE);
  args a = {.stream = stream};
  if (outcome == HX__DONE)
    a.kernel = hx__cl_stream_kernel(stream, &stream->copy[stream->product], stream->product, "hx_matmul_copy", v, NULL,
                                    &outcome);
  if (outcome != HX__DONE) return outcome;
  arg_view(&a, v);
  arg_size(&a, x.rs);
  arg_size(&a, x.cs);
  arg_size(&a, rows);
  arg_size(&a, columns);
  arg_mem(&a, to->mem);
  arg_size(&a, pitch);
  arg_size(&a, lines);
  const size_t groups[1] = {hx__ceiling(pitch, 64) * hx__ceiling(lines, 64)}; /* along y NVIDIA has 65535 at most */
  *v = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = to->mem};
  return launch(&a, 1, groups, local);
}

/* What the kernels of a plan share: the end of their arguments. */
static void arg_result(args *a, const hx__tiles_plan *p, const hx__tiles_size *size) {
  const cl_float beta = a->stream->beta;
  const cl_uint across = p->across, whole = (cl_uint)p->whole;
  arg_size(a, p->across ? size->n : size->m);
  arg_size(a, p->across ? size->m : size->n);
  arg_size(a, size->k);
  arg(a, sizeof size->alpha, &size->alpha);
  arg(a, sizeof beta, &beta);
  arg_mem(a, a->stream->t);
  arg_size(a, a->stream->ldt);
  arg(a, sizeof across, &across);
  arg(a, sizeof whole, &whole);
  arg_mem(a, a->stream->partials.mem);
}

hx__outcome hx__cl_launch_tiles(hx__cl_stream *stream, const hx__cl_view *av, hx__cl_strides as, const hx__cl_view *bv,
                                hx__cl_strides bs, const hx__tiles_size *size) {
  const hx__tiles_shape shape = {size->m, size->n, size->k, {as.rs, as.cs, is_even(av)}, {bs.rs, bs.cs, is_even(bv)}};
  if (size->k > UINT32_MAX / 2) return HX__NO_MEMORY; /* its steps are counted in 32 bits */
  hx__tiles_plan p;
  const unsigned program = choose(stream, &shape, &p);
  const hx__kernel_row *const row = stream->device->program[program].row;
  const hx__layout layout = stream->device->program[program].layout;
  if (!(p.ns < INFINITY)) return HX__NO_MEMORY; /* a row for few rows of C, and no other is ready */
  const size_t tail = p.tiles - p.whole, tile = (size_t)p.tile_m * p.tile_n;
  hx__cl_view a = p.across ? *bv : *av, b = p.across ? *av : *bv;
  const hx__tiles_operand ao =
      p.across ? (hx__tiles_operand){bs.cs, bs.rs, false} : (hx__tiles_operand){as.rs, as.cs, false};
  const hx__tiles_operand bo =
      p.across ? (hx__tiles_operand){as.cs, as.rs, false} : (hx__tiles_operand){bs.rs, bs.cs, false};
  const size_t m = p.across ? size->n : size->m, n = p.across ? size->m : size->n;
  const size_t partials = (p.partials ? p.partials : 1) * sizeof(float);
  hx__outcome outcome = hx__cl_buffer_reserve(stream->device, &stream->partials, partials, CL_MEM_READ_WRITE);
  if (outcome == HX__DONE && !row->blocks) outcome = hx__cl_tickets_ready(stream);
  if (outcome == HX__DONE && p.copy_a)
    outcome = copy(stream, &stream->packed_a, &a, ao, m, size->k, p.lines_a, p.pitch_a);
  if (outcome == HX__DONE && p.copy_b)
    outcome = copy(stream, &stream->packed_b, &b, bo, size->k, n, size->k, p.pitch_b);
  args x = {.stream = stream};
  if (outcome == HX__DONE)
    x.kernel = hx__cl_stream_kernel(stream, &stream->kernel[program], program, "hx_matmul", &a, &b, &outcome);
  if (outcome != HX__DONE) return outcome;
  const bool a_by_k = row->in_place ? p.lies & HX__LIES_A_BY_K : layout == HX__LAYOUT_TN;
  const bool b_by_k = row->in_place ? p.lies & HX__LIES_B_BY_K : layout != HX__LAYOUT_NT;
  arg_view(&x, &a);
  arg_size(&x, p.copy_a ? p.pitch_a : a_by_k ? ao.cs : ao.rs);
  arg_view(&x, &b);
  arg_size(&x, p.copy_b ? p.pitch_b : b_by_k ? bo.rs : bo.cs);
  arg_result(&x, &p, size);
  const cl_uint at_once = p.joins, tile_m = p.tile_m, tile_n = p.tile_n;
  const cl_uint align = layout == HX__LAYOUT_NT && !row->in_place ? 1 : row->width; /* of where the last tiles begin */
  if (row->few && (stream->back = !stream->back)) p.lies |= HX__LIES_BACK;
  if (row->in_place) arg(&x, sizeof p.lies, &p.lies);
  if (row->blocks) {
    arg(&x, sizeof tile_m, &tile_m);
    arg(&x, sizeof tile_n, &tile_n);
  } else {
    arg(&x, sizeof at_once, &at_once);
    arg_mem(&x, stream->tickets.mem);
  }
  outcome = launch(&x, 1, &p.groups, row->local);
  if (outcome != HX__DONE || row->few || tail == 0 || p.joins) return outcome;
  args j = {.stream = stream};
  j.kernel = hx__cl_stream_kernel(stream, &stream->join[stream->product], stream->product, "hx_matmul_join", NULL, NULL,
                                  &outcome);
  if (outcome != HX__DONE) return outcome;
  arg_result(&j, &p, size);
  arg(&j, sizeof tile_m, &tile_m);
  arg(&j, sizeof tile_n, &tile_n);
  arg(&j, sizeof align, &align);
  const uint32_t local[2] = {128, 1};
  const size_t items = tail * tile, quads = hx__ceiling(items / 4, local[0]);
  const bool fours = quads >= stream->device->base.compute_units;
  const size_t joins = fours ? quads : hx__ceiling(items, local[0]);
  const cl_uint how = (fours ? HX__JOIN_FOURS : 0) | (row->blocks ? HX__JOIN_CELLS : 0);
  arg(&j, sizeof how, &how);
  return launch(&j, 1, &joins, local);
}
