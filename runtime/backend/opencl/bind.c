/* SPDX-License-Identifier: Apache-2.0
 * Binds the arrays of a run to a stream, each by its mode, and releases them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/maps.h"
#include "runtime/base/status.h"

#define LEAST_HELD_BYTES ((size_t)256 << 10)
#define MOST_PART 8u /* the most for one operand of one run is the device's memory divided by this */

/* The whole pages that contain one of the caller's arrays. */
typedef struct span {
  uintptr_t first, end;
  size_t operand;
} span;

static int compare_addresses(const void *a, const void *b) {
  const uintptr_t x = ((const span *)a)->first, y = ((const span *)b)->first;
  return x < y ? -1 : x > y;
}

static size_t array_bytes(const hx__array *a) { return a->rows ? ((a->rows - 1) * a->ld + a->cols) * 4 : 0; }

/* Makes one buffer over each group of arrays that overlap in a page, because live buffers must not overlap. */
static void bind_hostptrs(hx__cl_stream *stream) {
  span *const spans = malloc(stream->run.operands * sizeof *spans);
  size_t count = 0;
  for (size_t i = 0; i < stream->run.operands; i++) {
    hx__cl_operand *const o = &stream->operand[i];
    if (o->mode != HX__MEMORY_HOSTPTR) continue;
    if (!spans) {
      o->mode = HX__MEMORY_COPY;
      continue;
    }
    const uintptr_t p = (uintptr_t)o->array->p;
    spans[count++] = (span){p & ~(uintptr_t)4095, (p + array_bytes(o->array) + 4095) & ~(uintptr_t)4095, i};
  }
  if (spans) qsort(spans, count, sizeof *spans, compare_addresses);
  for (size_t i = 0, j; i < count; i = j) {
    uintptr_t end = spans[i].end;
    for (j = i + 1; j < count && spans[j].first < end; j++)
      if (spans[j].end > end) end = spans[j].end;
    for (size_t s = i; s < j; s++) {
      hx__cl_operand *const o = &stream->operand[spans[s].operand];
      if (s == i)
        o->hostptr = hx__cl_hostptr_get(stream->device, (const void *)spans[i].first, end - spans[i].first);
      else
        o->hostptr = stream->operand[spans[i].operand].hostptr;
      if (s != i && o->hostptr) hx__cl_hostptr_share(stream->device, o->hostptr);
      if (!o->hostptr)
        o->mode = HX__MEMORY_COPY;
      else if (s == i && !(stream->device->base.zero_copy & 1u << HX__MEMORY_HOSTPTR))
        stream->run.copied += end - spans[i].first;
    }
  }
  free(spans);
}

/* Gives a product's operand a buffer for the whole array, for this run, so that the next part can be uploaded while
 * kernels read the current one. */
static void mirror_for_run(hx__cl_stream *stream, hx__cl_operand *o) {
  const size_t bytes = array_bytes(o->array), row = o->array->cols, gap = o->array->ld - row;
  if (!stream->uploads || bytes < LEAST_HELD_BYTES || gap > row ||
      bytes > stream->device->base.memory_bytes / MOST_PART || bytes > stream->most_alloc)
    return;
  o->mirror = hx__cl_mirror_create(&stream->device->base, o->array->p, bytes);
  o->of_run = o->mirror;
}

static hx__memory_mode mode_of(const hx__cl_stream *stream, const hx__array *a) {
  const bool broken =
      a->mode == HX__MEMORY_SVM_COARSE && a->block && atomic_load(&((const hx__cl_block *)a->block)->broken);
  return stream->copy_inputs || broken ? HX__MEMORY_COPY : a->mode;
}

/* The block if the device can read it directly when the array is copied. NULL: the array is copied through the staging
 * ring. */
static const hx__cl_block *pinned_block(const hx__cl_block *b) { return b && b->mode == HX__MEMORY_COPY ? b : NULL; }

/* Allocates the buffer of the operand's mirror, if it has one. If the device has no room, the operand goes without its
 * mirror, and each chunk copies its own part. */
static hx__outcome make_mirror(hx__cl_stream *stream, hx__cl_operand *o) {
  if (!o->mirror) return HX__DONE;
  const hx__outcome outcome = hx__cl_mirror_allocate(stream->device, o->mirror);
  if (outcome != HX__NO_MEMORY) return outcome;
  if (o->of_run) hx__cl_mirror_destroy(&stream->device->base, o->mirror);
  o->mirror = NULL;
  o->of_run = false;
  return HX__DONE;
}

static void clear_operand(hx__cl_operand *o) {
  o->hostptr = NULL;
  o->coarse = NULL;
  o->mirror = NULL;
  o->block = NULL;
  o->of_run = o->holds = false;
  o->region = (hx__cl_region){0, 0, 0, 0};
}

static bool reserve_operands(hx__cl_stream *stream, size_t operands) {
  if (operands <= stream->operand_room) return true;
  hx__cl_operand *const more = realloc(stream->operand, operands * sizeof *more);
  if (!more) return false;
  memset(more + stream->operand_room, 0, (operands - stream->operand_room) * sizeof *more);
  stream->operand = more;
  stream->operand_room = operands;
  return true;
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* The block of a whole product, or of all products of a batch; SIZE_MAX if those overflow. */
static size_t block_bytes(const hx__work *w) {
  const size_t one = w->gemm.m * ((w->gemm.n + 15) & ~(size_t)15) * sizeof(float);
  size_t all = one;
  return w->by_products && __builtin_mul_overflow(one, w->slices, &all) ? SIZE_MAX : all;
}

static size_t largest_result_bytes(const hx__work *w, size_t max_alloc) {
  const size_t slots = w->matmul ? 0 : hx__work_slots(w);
  const size_t leaves = w->by_lines ? slots : min_size(slots, hx__cl_most_leaves(w));
  const size_t bytes = w->map      ? hx__work_outputs(w) * leaves * HX__LEAF * sizeof(uint32_t)
                       : w->matmul ? block_bytes(w)
                                   : w->nfields * leaves * sizeof(uint64_t);
  return min_size(bytes,
                  min_size(HX__CL_RETAINED_BYTES, max_alloc - HX__CL_PAGE)); /* a pinned block is one page larger */
}

/* Whether every program that the run uses has been built. A launch of a missing one would crash. */
static bool programs_are_built(const hx__cl_stream *stream, const hx__work *work) {
  const hx__cl_program *const programs = stream->device->program;
  if (work->matmul) return programs[stream->product].program != NULL;
  if (work->kernel && stream->run.map == HX__CL_MAPS) return false;
  if (work->kernel && stream->device->map[stream->run.map]->op) return true;
  for (size_t f = 0; f < work->nfields; f++)
    if (!programs[hx__need_index(hx__need_of(work, &work->fields[f]))].program) return false;
  return true;
}

hx__outcome hx__cl_begin(hx__stream *base, const hx__request *request) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  stream->run = (hx__cl_run){
      .copiers = request->copy_threads,
      .resident = request->resident,
      .slices = request->work->slices,
      .most_bytes = largest_result_bytes(request->work, stream->most_alloc),
      .previous = SIZE_MAX,
      .shortages = atomic_load(&stream->device->shortages),
      .map = request->work->kernel ? hx__cl_map_index(stream->device, request->work) : HX__CL_MAPS,
  };
  if (hx__cl_is_lost(stream)) return HX__FAILED;
  if (!programs_are_built(stream, request->work)) {
    hx__fail(HX_INTERNAL, "%s has no kernel for this task: none was requested", stream->device->base.name);
    return HX__FAILED;
  }
  const struct hx_kernel *const kernel = request->work->kernel;
  const size_t operands = kernel ? kernel->expr.inputs : request->work->matmul ? 2 : 2 * request->work->nfields;
  if (!reserve_operands(stream, operands)) return HX__NO_MEMORY;
  for (size_t i = 0; i < operands; i++) clear_operand(&stream->operand[i]);
  stream->run.operands = operands;
  hx__outcome outcome =
      stream->run.resident ? hx__cl_mirror_allocate(stream->device, stream->run.resident->mirror) : HX__DONE;
  if (outcome != HX__DONE) return hx__cl_quiesce(stream, outcome);
  for (size_t i = 0; i < operands; i++) {
    hx__cl_operand *const o = &stream->operand[i];
    o->array = &request->arrays[i];
    o->mode = mode_of(stream, o->array);
    o->mirror = o->mode == HX__MEMORY_COPY ? o->array->mirror : NULL;
    o->block = o->mode == HX__MEMORY_COPY ? pinned_block(o->array->block) : NULL;
    if (o->mode == HX__MEMORY_COPY && !o->mirror && request->work->matmul) mirror_for_run(stream, o);
    outcome = make_mirror(stream, o);
    if (outcome != HX__DONE) return hx__cl_quiesce(stream, outcome);
  }
  for (size_t i = 0; i < operands && outcome == HX__DONE; i++) {
    hx__cl_operand *const o = &stream->operand[i];
    if (o->mode != HX__MEMORY_SVM_COARSE) continue;
    outcome = hx__cl_block_begin(stream->device, o->array->block, stream->queue);
    if (outcome == HX__DONE) o->coarse = o->array->block;
  }
  if (outcome == HX__DONE) bind_hostptrs(stream);
  if (outcome == HX__DONE && stream->run.resident) outcome = hx__cl_resident_begin(stream, request->work);
  return hx__cl_quiesce(stream, outcome);
}

void hx__cl_unbind(hx__cl_stream *stream) {
  const size_t most = hx__cl_most_retained_bytes(stream->device);
  size_t retained = 0;
  if (hx__cl_is_lost(stream)) return;
  if (stream->uploaded) { /* an upload for a chunk that was not submitted may still read memory of the caller */
    if (hx__cl_await(stream, stream->uploaded) == HX__TIMED_OUT) return;
    cl_event const uploaded = stream->uploaded;
    stream->uploaded = NULL;
    clReleaseEvent(uploaded);
  }
  for (size_t i = 0; i < stream->run.operands; i++) {
    hx__cl_operand *const o = &stream->operand[i];
    const hx__cl_operand was = *o;
    clear_operand(o);
    if (was.hostptr) hx__cl_hostptr_put(stream->device, was.hostptr);
    if (was.coarse && hx__cl_block_end(stream->device, was.coarse, stream->queue) != HX__DONE) return;
    if (was.of_run) hx__cl_mirror_destroy(&stream->device->base, was.mirror);
    if (retained + o->copy.bytes > most) hx__cl_buffer_release(&o->copy);
    retained += o->copy.bytes;
  }
  if (stream->scratch.packed_a.bytes > most) hx__cl_buffer_release(&stream->scratch.packed_a);
  if (stream->scratch.packed_b.bytes > most) hx__cl_buffer_release(&stream->scratch.packed_b);
  if (stream->scratch.partials.bytes > most) hx__cl_buffer_release(&stream->scratch.partials);
  stream->run.operands = 0;
}

/* Commands that have not ended yet may still use these: they are not reused. Nor is it known what has arrived in a copy
 * of the host's memory: a later run, perhaps on another stream, uploads it again. */
static void mark_timed_out(hx__cl_stream *stream) {
  if (stream->run.resident) ((hx__cl_mirror *)stream->run.resident->mirror)->in_use_after_timeout = true;
  if (stream->run.resident && stream->run.resident->old_mirror)
    ((hx__cl_mirror *)stream->run.resident->old_mirror)->in_use_after_timeout = true;
  for (size_t i = 0; i < stream->run.operands; i++) {
    hx__cl_operand *const o = &stream->operand[i];
    if (o->mirror && !o->of_run) ((hx__cl_mirror *)o->mirror)->in_use_after_timeout = true;
    if (o->mirror && !o->of_run && !o->array->device_only) hx__mirror_invalidate(o->mirror);
    if (o->hostptr) hx__cl_hostptr_timed_out(stream->device, o->hostptr);
    if (o->block) hx__cl_pin_timed_out(stream->device, o->block);
  }
}

void hx__cl_end(hx__stream *base, uint64_t *copied) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  *copied = stream->run.copied;
  if (stream->run.resident) stream->run.resident->complete = stream->run.resident_slices == stream->run.slices;
  if (!base->timed_out) hx__cl_unbind(stream);
  if (base->timed_out) /* perhaps an upload for which unbind has waited */
    mark_timed_out(stream);
  else if (!hx__cl_is_lost(stream))
    hx__cl_adapt_to_room(stream);
}

void hx__cl_abandon(hx__stream *base) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  mark_timed_out(stream);
  for (size_t i = 0; i < stream->run.operands; i++)
    if (stream->operand[i].coarse) atomic_store(&stream->operand[i].coarse->broken, true);
}
