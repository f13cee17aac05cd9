/* SPDX-License-Identifier: Apache-2.0
 * The launches of a product by a set of rows (kernels/gemm_plan.h): copies of operands that the kernels cannot read in
 * place, the product itself, and the sum of its panels if a separate launch adds them. */
#include <math.h>

#include "runtime/backend/opencl/arguments.h"

/* Whether the first element of a view, and those at multiples of `step` after it, are at multiples of 16 bytes. Memory
 * objects begin at one. */
static bool is_aligned(const hx__cl_view *v, size_t step) {
  const uintptr_t base = v->mem ? 0 : (uintptr_t)v->p;
  return (base / sizeof(float) + v->first) % 4 == 0 && step % 4 == 0;
}

static hx__gemm_plan plan_by(const hx__cl_device *d, unsigned program, const hx__gemm_shape *shape) {
  const hx__cl_program *const p = &d->program[program];
  return hx__gemm_plan_for(p->row, p->layout, shape, d->base.compute_units);
}

/* Whether the product's own launch can add the panels of a plan: the row supports it, and there are enough tickets. */
static bool may_chain(const hx__kernel_row *row, const hx__gemm_plan *p) {
  return row->chains && p->full_tiles < p->tiles && p->panels <= HX__JOIN_TICKETS / (p->tiles - p->full_tiles);
}

/* Returns the index of the program with the fastest plan. A program under test is chosen whenever it can compute the
 * product, and alternates between the two ways to add its panels. */
static unsigned fastest_program(hx__cl_stream *stream, uint64_t ready, const hx__gemm_shape *shape,
                                hx__gemm_plan *best) {
  const hx__cl_device *const d = stream->device;
  unsigned chosen = stream->product;
  *best = plan_by(d, chosen, shape);
  if (chosen != HX__FIRST_PRODUCT) return chosen;
  for (unsigned i = HX__NEEDS; i < HX__TUNED_PROGRAM; i++) {
    if (!(ready >> (i - HX__NEEDS) & 1) && i != stream->self_test.program) continue;
    const hx__gemm_plan plan = plan_by(d, i, shape);
    if (i == stream->self_test.program && plan.ns < INFINITY) {
      *best = plan;
      if (may_chain(d->program[i].row, &plan)) best->joins = stream->self_test.chained = !stream->self_test.chained;
      stream->self_test.reached = true;
      return i;
    }
    if (plan.ns >= best->ns) continue;
    *best = plan;
    chosen = i;
  }
  return chosen;
}

static bool same_operand(const hx__gemm_operand *a, const hx__gemm_operand *b) {
  return a->rs == b->rs && a->cs == b->cs && a->aligned == b->aligned;
}

static bool same_shape(const hx__gemm_shape *a, const hx__gemm_shape *b) {
  return a->m == b->m && a->n == b->n && a->k == b->k && a->products == b->products && same_operand(&a->a, &b->a) &&
         same_operand(&a->b, &b->b);
}

/* Returns the result of fastest_program, and remembers it for the last few shapes. */
static unsigned chosen_program(hx__cl_stream *stream, const hx__gemm_shape *shape, hx__gemm_plan *best) {
  const uint64_t ready = atomic_load_explicit(&stream->device->variants, memory_order_acquire);
  if (stream->self_test.program || !ready) return fastest_program(stream, ready, shape, best);
  hx__cl_choice *c = NULL;
  for (unsigned i = 0; i < HX__CL_CHOICES && !c; i++)
    if (stream->choices.entry[i].ready == ready && same_shape(&stream->choices.entry[i].shape, shape))
      c = &stream->choices.entry[i];
  if (!c) {
    c = &stream->choices.entry[stream->choices.made++ % HX__CL_CHOICES];
    *c = (hx__cl_choice){.shape = *shape, .ready = ready};
    c->program = fastest_program(stream, ready, shape, &c->plan);
  }
  *best = c->plan;
  return c->program;
}

/* An operand of `rows` x `columns` elements that is copied to `lines` rows of `pitch` elements; of a batch, all of
 * them, which are *step elements apart, and then their copies. */
typedef struct copied {
  hx__gemm_operand x;
  size_t rows, columns, lines, pitch, products;
  size_t *step;
} copied;

/* Copies the operand and makes *v a view of the copy. */
static hx__outcome copy_operand(hx__cl_stream *stream, const copied *c, hx__cl_view *v, hx__cl_buffer *to) {
  static const uint32_t local[2] = {256, 1};
  const size_t one = c->lines * c->pitch;
  hx__outcome outcome = hx__cl_buffer_reserve(stream->device, to, c->products * one * sizeof(float), CL_MEM_READ_WRITE);
  args a = {.stream = stream};
  if (outcome == HX__DONE)
    a.kernel = hx__cl_stream_kernel(stream, &stream->kernels.copy[stream->product], stream->product, "hx_matmul_copy",
                                    v, NULL, &outcome);
  if (outcome != HX__DONE) return outcome;
  arg_view(&a, v);
  arg_size(&a, c->x.rs);
  arg_size(&a, c->x.cs);
  arg_size(&a, c->rows);
  arg_size(&a, c->columns);
  arg_mem(&a, to->mem);
  arg_size(&a, c->pitch);
  arg_size(&a, c->lines);
  arg_size(&a, *c->step);
  /* The tiles in one dimension: y has at most 65535 groups on NVIDIA. */
  const size_t groups[2] = {hx__ceiling(c->pitch, 64) * hx__ceiling(c->lines, 64), c->products};
  *v = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = to->mem};
  *c->step = one;
  return launch(&a, c->products > 1 ? 2 : 1, groups, local);
}

/* The arguments that the product and the join of its panels share. */
static void arg_result(args *a, const hx__gemm_plan *p, const hx__gemm_size *size, const hx__cl_target *t) {
  const cl_float beta = t->beta;
  const cl_uint transposed = p->transposed, full_tiles = (cl_uint)p->full_tiles;
  arg_size(a, p->transposed ? size->n : size->m);
  arg_size(a, p->transposed ? size->m : size->n);
  arg_size(a, size->k);
  arg(a, sizeof size->alpha, &size->alpha);
  arg(a, sizeof beta, &beta);
  arg_mem(a, t->mem);
  arg_size(a, t->ldt);
  arg(a, sizeof transposed, &transposed);
  arg(a, sizeof full_tiles, &full_tiles);
  arg_mem(a, a->stream->scratch.partials.mem);
}

/* A launch that adds the panels of the tiles that were cut. */
static hx__outcome launch_join(hx__cl_stream *stream, const hx__kernel_row *row, hx__layout layout,
                               const hx__gemm_plan *p, const hx__gemm_size *size, const hx__cl_target *t) {
  static const uint32_t local[2] = {128, 1};
  hx__outcome outcome = HX__DONE;
  args a = {.stream = stream};
  a.kernel = hx__cl_stream_kernel(stream, &stream->kernels.join[stream->product], stream->product, "hx_matmul_join",
                                  NULL, NULL, &outcome);
  if (outcome != HX__DONE) return outcome;
  const size_t items = (p->tiles - p->full_tiles) * row->tile_m * row->tile_n,
               by_vec4 = hx__ceiling(items / 4, local[0]);
  const cl_uint vec4 = by_vec4 >= stream->device->base.compute_units; /* otherwise there are too few work-items */
  const cl_uint align = layout == HX__LAYOUT_NT && !hx__kernel_in_place(row) ? 1 : row->width; /* of the last tiles */
  const size_t groups = vec4 ? by_vec4 : hx__ceiling(items, local[0]);
  arg_result(&a, p, size, t);
  arg(&a, sizeof row->tile_m, &row->tile_m);
  arg(&a, sizeof row->tile_n, &row->tile_n);
  arg(&a, sizeof align, &align);
  arg(&a, sizeof vec4, &vec4);
  return launch(&a, 1, &groups, local);
}

hx__outcome hx__cl_launch_tiles(hx__cl_stream *stream, const hx__cl_factors *f, const hx__gemm_size *size,
                                const hx__cl_target *t) {
  const hx__cl_strides as = f->as, bs = f->bs;
  const hx__gemm_operand ao = {as.rs, as.cs, is_aligned(&f->a, f->a_step)},
                         bo = {bs.rs, bs.cs, is_aligned(&f->b, f->b_step)};
  const hx__gemm_shape shape = {size->m, size->n, size->k, ao, bo, f->products};
  if (size->k > UINT32_MAX / 2) return HX__NO_MEMORY; /* the kernels count steps of k in 32 bits */
  hx__gemm_plan p;
  const unsigned program = chosen_program(stream, &shape, &p);
  const hx__kernel_row *const row = stream->device->program[program].row;
  const hx__layout layout = stream->device->program[program].layout;
  const bool in_place = hx__kernel_in_place(row), few_rows = row->shape == HX__SHAPE_FEW_ROWS;
  if (!(p.ns < INFINITY)) return HX__NO_MEMORY; /* no row is ready that can compute it */
  /* From here on a and b are the operands of the launched product, which may be the transposed one. */
  hx__cl_view a = p.transposed ? f->b : f->a, b = p.transposed ? f->a : f->b;
  const hx__gemm_operand al = p.transposed ? (hx__gemm_operand){bs.cs, bs.rs, false} : ao;
  const hx__gemm_operand bl = p.transposed ? (hx__gemm_operand){as.cs, as.rs, false} : bo;
  const size_t m = p.transposed ? size->n : size->m, n = p.transposed ? size->m : size->n;
  const size_t partials = (p.partials ? p.partials : 1) * sizeof(float);
  hx__outcome outcome = hx__cl_buffer_reserve(stream->device, &stream->scratch.partials, partials, CL_MEM_READ_WRITE);
  if (outcome == HX__DONE) outcome = hx__cl_tickets_ready(stream);
  size_t a_step = p.transposed ? f->b_step : f->a_step, b_step = p.transposed ? f->a_step : f->b_step;
  const copied ca = {al, m, size->k, p.lines_a, p.pitch_a, f->products, &a_step};
  const copied cb = {bl, size->k, n, size->k, p.pitch_b, f->products, &b_step};
  if (outcome == HX__DONE && p.copy_a) outcome = copy_operand(stream, &ca, &a, &stream->scratch.packed_a);
  if (outcome == HX__DONE && p.copy_b) outcome = copy_operand(stream, &cb, &b, &stream->scratch.packed_b);
  args x = {.stream = stream};
  if (outcome == HX__DONE)
    x.kernel = hx__cl_stream_kernel(stream, &stream->kernels.compute[program], program, "hx_matmul", &a, &b, &outcome);
  if (outcome != HX__DONE) return outcome;
  x.values = stream->kernels.compute[program].values;
  const bool a_by_k = in_place ? p.layout & HX__A_BY_K : layout == HX__LAYOUT_TN;
  const bool b_by_k = in_place ? p.layout & HX__B_BY_K : layout != HX__LAYOUT_NT;
  arg_view(&x, &a);
  arg_size(&x, p.copy_a ? p.pitch_a : a_by_k ? al.cs : al.rs);
  arg_view(&x, &b);
  arg_size(&x, p.copy_b ? p.pitch_b : b_by_k ? bl.rs : bl.cs);
  arg_result(&x, &p, size, t);
  const cl_uint joins = p.joins;
  if (few_rows && (stream->backwards = !stream->backwards)) p.layout |= HX__B_BACKWARDS;
  if (in_place) arg(&x, sizeof p.layout, &p.layout);
  arg(&x, sizeof joins, &joins);
  arg_mem(&x, stream->scratch.tickets.mem);
  if (!few_rows) {
    arg_size(&x, a_step);
    arg_size(&x, b_step);
    arg_size(&x, t->step);
  }
  const size_t groups[2] = {p.groups, f->products};
  outcome = launch(&x, f->products > 1 && row->shape != HX__SHAPE_BATCH ? 2 : 1, groups, row->local);
  if (outcome != HX__DONE || few_rows || p.full_tiles == p.tiles || p.joins) return outcome;
  return launch_join(stream, row, layout, &p, size, t);
}
