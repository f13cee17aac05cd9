/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/here.h"

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"

/* The whole task as one chunk. slots: of a reduction. */
static void compute_chunk(const hx_context *hx, const hx__work *w, uint64_t *slots) {
  hx__stream *const stream = hx->table.cpu;
  const hx__request request = {.work = w, .kernels = hx->table.kernels, .slots = slots};
  const hx__chunk all = {0, w->slices};
  hx__inflight *submitted;
  stream->device->backend->submit(stream, &request, all, &submitted);
}

/* slots also has room for those of one line. */
static void reduce_lines_on_this_thread(const hx_context *hx, const hx__work *w) {
  uint64_t slots[2 * HX__STACK_SLOTS];
  const bool direct = hx__slots_are_values(w);
  compute_chunk(hx, w, direct ? (uint64_t *)(void *)w->out : slots);
  if (!direct) hx__join_lines(w, slots, slots + HX__STACK_SLOTS);
}

/* A reduction on the calling thread: no lock, no allocation, no clock. */
static void reduce_on_this_thread(const hx_context *hx, const hx__work *w) {
  const hx__locality reach = hx__cpu_locality(hx->table.cpu, w);
  uint64_t slots[HX__STACK_SLOTS];
  for (size_t f = 0; f < w->nfields; f++) {
    const hx_field *const field = &w->fields[f];
    hx->table.kernels->leaf[field->op][field->type](field->x, field->y, w->n, reach, slots);
    w->out[f] = hx__join(field->op, field->type, slots, w->slices);
  }
}

static void reduce_map_on_this_thread(const hx_context *hx, const hx__work *w) {
  uint64_t slots[HX__STACK_SLOTS];
  compute_chunk(hx, w, slots);
  for (size_t f = 0; f < w->nfields; f++)
    w->out[f] = hx__join(w->fields[f].op, w->fields[f].type, slots + f * w->slices, w->slices);
}

void hx__compute_claimed(hx_context *hx, const hx__work *w) {
  if (w->matmul || w->map)
    compute_chunk(hx, w, NULL);
  else if (w->kernel && !w->by_lines)
    reduce_map_on_this_thread(hx, w);
  else
    (w->by_lines ? reduce_lines_on_this_thread : reduce_on_this_thread)(hx, w);
}

void hx__compute_here(hx_context *hx, const hx__work *w) {
  hx__memory_claim_outputs(&hx->memory, w);
  hx__compute_claimed(hx, w);
  hx__memory_release_outputs(&hx->memory, w, true);
}

void hx__note_late_advice(hx_context *hx, const hx_task *task) {
  hx__work w;
  if (hx__task_check(task, &w) == HX_OK) hx__memory_release_outputs(&hx->memory, &w, true);
}

bool hx__finish_if_empty(const hx__work *w) {
  if (w->slices) return false;
  const hx_field *field = w->fields;
  for (size_t i = 0, n = hx__work_values(w); i < n; i++, field += !w->by_lines)
    w->out[i] = hx__empty_value(field->op, field->type);
  return true;
}

void hx__trace_work(const hx_context *hx, const hx__work *w, uint64_t from_ns, hx_status s) {
  if (!hx->table.trace) return;
  hx__trace_call(hx->table.trace, &(hx__trace_slice){.task = hx__work_trace(w),
                                                     .from_ns = from_ns,
                                                     .to_ns = hx__now_ns(),
                                                     .units = w->units,
                                                     .outcome = hx_status_string(s)});
}
