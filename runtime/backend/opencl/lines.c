/* SPDX-License-Identifier: Apache-2.0
 * The launches of a chunk of lines. Each computes a rectangle: some lines, and of each the same elements. */
#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/opencl/maps.h"

#define MOST_RECTANGLES 3u

/* Slots from `first` on, in the order of hx__lines; lines and elements [line, line_end) x [from, end). */
typedef struct rectangle {
  size_t first, slots, line, line_end, from, end;
} rectangle;

static rectangle rectangle_of(const hx__work *w, size_t first, size_t slots) {
  const hx__line_leaf a = hx__leaf_of_slot(w, first), z = hx__leaf_of_slot(w, first + slots - 1);
  return (rectangle){first, slots, a.line, z.line + 1, a.first, z.first + z.count};
}

/* Cuts a chunk into rectangles: the rest of the first line, whole lines, and a part of the last line; or the same of
 * leaves if slots are counted leaf by leaf. */
static unsigned cut_rectangles(const hx__work *w, hx__chunk chunk, rectangle r[MOST_RECTANGLES]) {
  const hx__lines *const l = &w->lines;
  const size_t each = l->leaves == 1 ? SIZE_MAX
                      : l->across    ? l->count
                                     : l->leaves,
               end = hx__first_slot(w, chunk.first + chunk.count);
  unsigned count = 0;
  for (size_t at = hx__first_slot(w, chunk.first); at < end;) {
    const size_t left = end - at, in_line = each - at % each;
    const size_t slots = left <= in_line ? left : at % each ? in_line : left / each * each;
    r[count++] = rectangle_of(w, at, slots);
    at += slots;
  }
  return count;
}

/* Where a kernel finds an array, so that element i of line l is first + l * line + i * stride. */
typedef struct place {
  hx__cl_view view;
  size_t line, stride;
} place;

/* The elements of a chunk that a user kernel has written one after the other. */
static place place_of_elements(const hx__work *w, hx__chunk chunk, hx__cl_view elements) {
  elements.first -= hx__elements_of(w, chunk).first;
  return (place){elements, w->lines.line_stride, w->lines.stride};
}

/* The elements of a rectangle. Offsets are computed modulo 2^64: that of element 0 of line 0 may be negative. */
static hx__outcome place_of(hx__cl_stream *stream, const hx__work *w, bool of_y, const rectangle *r, place *p) {
  const hx__lines *const l = &w->lines;
  hx__cl_operand *const o = &stream->operand[of_y];
  p->line = of_y ? l->y_line_stride : l->line_stride;
  p->stride = of_y ? l->y_stride : l->stride;
  const bool matrix = o->array->rows > 1; /* its rows are elements, and its columns are lines */
  const size_t from = r->line * p->line + r->from * p->stride,
               last = (r->line_end - 1) * p->line + (r->end - 1) * p->stride;
  const hx__cl_region region = matrix ? (hx__cl_region){r->from, r->end - r->from, r->line, r->line_end - r->line}
                                      : (hx__cl_region){0, 1, from, last + 1 - from};
  const hx__outcome outcome = hx__cl_view_of(stream, o, region, &p->view);
  if (matrix) p->stride = p->view.ld;
  p->view.first -= matrix ? r->from * p->stride + r->line : from;
  return outcome;
}

static void arg_place(args *a, const place *p) {
  arg_view(a, &p->view);
  arg_size(a, p->line);
  arg_size(a, p->stride);
}

/* elements: of a user kernel; NULL: there is none. */
static hx__outcome launch_rectangle(hx__cl_stream *stream, const hx__work *w, const place *elements, const rectangle *r,
                                    size_t to, cl_mem slots) {
  const hx__lines *const l = &w->lines;
  const unsigned need = hx__need_index(hx__need_of(w, w->fields));
  const hx__kernel_row *const row = stream->device->program[need].row;
  place x, y;
  hx__outcome outcome = HX__DONE;
  if (elements)
    x = *elements;
  else
    outcome = place_of(stream, w, false, r, &x);
  y = x;
  if (outcome == HX__DONE && w->fields->op == HX_DOT) outcome = place_of(stream, w, true, r, &y);
  if (outcome == HX__DONE) outcome = hx__cl_await_uploads(stream);
  args a = {.stream = stream};
  if (outcome == HX__DONE)
    a.kernel = hx__cl_stream_kernel(stream, &stream->kernels.compute[need], need, "hx_reduce_lines", &x.view, &y.view,
                                    &outcome);
  if (outcome != HX__DONE) return outcome;
  arg_place(&a, &x);
  arg_place(&a, &y);
  arg_size(&a, w->n);
  arg_size(&a, l->leaves);
  arg_size(&a, l->across ? l->count : 0);
  arg_size(&a, r->first);
  arg_size(&a, r->slots);
  arg_mem(&a, slots);
  arg_size(&a, to);
  const bool by_item = row->local[0] > 1 && (x.stride != 1 || y.stride != 1);
  const size_t groups = hx__ceiling(r->slots, by_item ? row->local[0] : row->leaves);
  return launch(&a, 1, &groups, row->local);
}

hx__outcome hx__cl_launch_lines(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk,
                                hx__cl_inflight *to) {
  const hx__work *const w = request->work;
  rectangle r[MOST_RECTANGLES];
  const unsigned count = cut_rectangles(w, chunk, r);
  to->joined = false;
  to->bytes = hx__chunk_slots(w, chunk) * sizeof(uint64_t);
  hx__outcome outcome =
      hx__cl_buffer_reserve(stream->device, &to->out, to->bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  place elements;
  if (w->kernel && outcome == HX__DONE) {
    outcome = hx__cl_map_to_view(stream, request, chunk, true, &elements.view);
    elements = place_of_elements(w, chunk, elements.view);
  }
  for (unsigned i = 0; i < count && outcome == HX__DONE; i++)
    outcome = launch_rectangle(stream, w, w->kernel ? &elements : NULL, &r[i], r[i].first - r[0].first, to->out.mem);
  return outcome;
}
