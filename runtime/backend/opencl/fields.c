/* SPDX-License-Identifier: Apache-2.0
 * Several fields of a chunk in one launch. Each list of operations and types is a program. It is built in the
 * background when a chunk first needs it; until it is ready, and if its bits are wrong, each field has a launch of its
 * own. */
#include "runtime/backend/opencl/arguments.h"
#include "runtime/backend/registry.h"

/* Every HX__SAME_ARRAY of a program. */
#define SAME_ARRAYS (0x0101010101010101u * (uint64_t)HX__SAME_ARRAY)

/* The row of the device for several fields; NULL: it has none. */
static const hx__kernel_row *row_of(const hx__cl_device *d) {
  static const uint32_t none[3] = {0, 0, 0};
  return hx__kernel_row_for(HX__KERNEL_FIELDS, HX_F32, d->families, none, d->max_local);
}

/* The fields from number `first` on that one launch can compute. */
static hx__kernel_fields fields_of(const hx__kernel_row *row, const hx__work *w, size_t first, size_t *count) {
  hx__kernel_fields fields = 0;
  *count = w->nfields - first < row->fields ? w->nfields - first : row->fields;
  for (size_t i = 0; i < *count; i++) {
    const hx_field *const f = &w->fields[first + i];
    const bool same = i && f->x == f[-1].x;
    fields |= (uint64_t)((hx__reduction_index(f->op, f->type) + 1) | (same ? HX__SAME_ARRAY : 0)) << 8 * i;
  }
  return fields;
}

/* Asks for the program of an entry that was added. */
static void ask_for_program(hx__cl_device *d) {
  atomic_fetch_and(&d->base.ready, ~HX__NEED_TILES); /* the preparing thread looks at the entries again */
  hx__prepare(&d->base, HX__NEED_TILES);
}

/* The index of the program if it is ready, else 0. A program that no chunk has needed so far is asked for, unless there
 * are too many. */
static unsigned program_of(hx__cl_stream *stream, hx__kernel_fields fields) {
  hx__cl_device *const d = stream->device;
  if (stream->self_test.active) {
    stream->self_test.reached = stream->self_test.program != 0;
    return stream->self_test.program;
  }
  for (unsigned i = 0; i < HX__CL_FIELDS; i++) {
    hx__kernel_fields entry = atomic_load_explicit(&d->fields[i], memory_order_acquire);
    if (!entry && atomic_compare_exchange_strong(&d->fields[i], &entry, fields)) {
      ask_for_program(d);
      return 0;
    }
    if (entry == fields)
      return atomic_load_explicit(&d->fields_ready, memory_order_acquire) >> i & 1 ? HX__FIRST_FIELDS + i : 0;
  }
  return 0;
}

bool hx__cl_fields_fuse(hx__cl_stream *stream, const hx__work *w, bool joins) {
  const hx__kernel_row *const row = w->nfields > 1 && !w->kernel ? row_of(stream->device) : NULL;
  bool fuse = false;
  if (!row) return false;
  for (size_t f = 0, count; f < w->nfields; f += count) {
    const hx__kernel_fields fields = fields_of(row, w, f, &count);
    /* A device that joins leaves returns one slot of each field. If slots are transferred, that is worth more than a
     * launch, but not more than reading an array again. */
    if (count > 1 && (!joins || stream->device->unified || fields & SAME_ARRAYS))
      fuse = program_of(stream, fields) != 0 || fuse;
  }
  return fuse;
}

/* The arrays of the fields. kinds: as hx__cl_stream_kernel_of wants them. */
static hx__outcome views_of(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, size_t first, size_t count,
                            hx__cl_view views[2 * HX__MOST_FIELDS], uint64_t *kinds) {
  const hx__cl_region region = {0, 1, chunk.first * HX__LEAF, hx__chunk_elements(w, chunk)};
  hx__outcome outcome = HX__DONE;
  *kinds = 0;
  for (size_t i = 0; i < 2 * count && outcome == HX__DONE; i++) {
    if (i % 2 == 0 || w->fields[first + i / 2].op == HX_DOT)
      outcome = hx__cl_view_of(stream, &stream->operand[2 * first + i], region, &views[i]);
    else
      views[i] = views[i - 1];
    if (outcome == HX__DONE) *kinds |= hx__cl_kind_of(&views[i]) << 4 * i;
  }
  return outcome == HX__DONE ? hx__cl_await_uploads(stream) : outcome;
}

hx__outcome hx__cl_launch_fields(hx__cl_stream *stream, const hx__request *request, hx__chunk chunk, size_t first,
                                 const hx__cl_inflight *to, size_t *fields) {
  const hx__work *const w = request->work;
  size_t count;
  const hx__kernel_fields wanted = fields_of(row_of(stream->device), w, first, &count);
  const unsigned program = count > 1 ? program_of(stream, wanted) : 0;
  if (!program) return HX__DONE;
  const hx__kernel_row *const row = stream->device->program[program].row;
  hx__cl_view views[2 * HX__MOST_FIELDS];
  uint64_t kinds;
  *fields = count;
  hx__outcome outcome = views_of(stream, w, chunk, first, count, views, &kinds);
  args a = {.stream = stream};
  if (outcome == HX__DONE)
    a.kernel = hx__cl_stream_kernel_of(stream, &stream->kernels.compute[program], program, "hx_reduce_fields", kinds,
                                       &outcome);
  if (outcome != HX__DONE) return outcome;
  for (size_t i = 0; i < 2 * count; i++) arg_view(&a, &views[i]);
  arg_size(&a, hx__chunk_elements(w, chunk));
  arg_mem(&a, to->out.mem);
  arg_size(&a, first);
  arg_size(&a, chunk.count);
  const size_t groups = hx__kernel_groups(row, wanted, chunk.count);
  return launch(&a, 1, &groups, row->local);
}
