/* SPDX-License-Identifier: Apache-2.0
 * Makes a part of an array accessible to a kernel: in place, or as a copy. */
#include "runtime/backend/opencl/stream.h"

#define SEARCHED_OPERANDS 16 /* how many preceding operands are searched for the same array */

static bool same_region(hx__cl_region a, hx__cl_region b) {
  return a.row == b.row && a.rows == b.rows && a.col == b.col && a.cols == b.cols;
}

/* An operand shortly before this one that holds a copy of the same part of the same array, because fields may share
 * arrays. NULL: none. */
static const hx__cl_operand *equal_copy_before(const hx__cl_stream *stream, const hx__cl_operand *o, hx__cl_region r) {
  for (const hx__cl_operand *other = o; other > stream->operand && o - other < SEARCHED_OPERANDS;) {
    other--;
    if (other->mode == HX__MEMORY_COPY && other->holds && other->array->p == o->array->p &&
        other->array->ld == o->array->ld && same_region(other->region, r))
      return other;
  }
  return NULL;
}

static hx__outcome view_copy(hx__cl_stream *stream, hx__cl_operand *o, hx__cl_region r, hx__cl_view *v) {
  *v = (hx__cl_view){.mode = HX__MEMORY_COPY, .ld = r.cols};
  hx__outcome outcome = HX__DONE;
  const hx__cl_operand *const equal = equal_copy_before(stream, o, r);
  if (equal) {
    v->mem = equal->copy.mem;
    return outcome;
  }
  if (!o->holds || !same_region(o->region, r)) {
    o->holds = false;
    outcome = hx__cl_buffer_reserve(stream->device, &o->copy, r.rows * r.cols * 4, CL_MEM_READ_ONLY);
    if (outcome == HX__DONE) outcome = hx__cl_upload_rows(stream, o, r, o->copy.mem, 0, r.cols * 4);
    o->holds = outcome == HX__DONE;
    o->region = r;
  }
  v->mem = o->copy.mem;
  return outcome;
}

hx__outcome hx__cl_view_of(hx__cl_stream *stream, hx__cl_operand *o, hx__cl_region r, hx__cl_view *v) {
  const hx__array *const a = o->array;
  if (o->mode == HX__MEMORY_COPY) return o->mirror ? hx__cl_view_mirror(stream, o, r, v) : view_copy(stream, o, r, v);
  *v = (hx__cl_view){.mode = o->mode, .p = a->p, .first = r.row * a->ld + r.col, .ld = a->ld};
  if (a->block) { /* relative to the start of the block, because one driver refuses pointers into a block */
    v->p = ((const hx__cl_block *)a->block)->p;
    v->first += ((uintptr_t)a->p - (uintptr_t)v->p) / 4;
  }
  if (o->mode == HX__MEMORY_HOSTPTR) {
    v->mem = atomic_load(&o->hostptr->mem);
    v->first += ((uintptr_t)a->p - o->hostptr->first) / 4;
  }
  return HX__DONE;
}
