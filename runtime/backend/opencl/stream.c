/* SPDX-License-Identifier: Apache-2.0
 * A stream: one context's queues, kernel objects and buffers on a device, and its chunks in flight. No OpenCL call is
 * made on a lost device, so what its streams own is leaked. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/maps.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/trace.h"

#define BLIND_LIMIT_NS 5000000000u
#define CPU_GRAIN 16u /* leaves: enough for a few cores with one work-item for each leaf */

static const hx__cl_program *product_of(const hx__cl_stream *stream) {
  return &stream->device->program[stream->product];
}

size_t hx__cl_grain(const hx__stream *base, const hx__work *work) {
  const hx__cl_stream *const stream = (const hx__cl_stream *)base;
  if (!work->matmul) return CPU_GRAIN;
  const hx__cl_program *const p = product_of(stream);
  if (work->by_products) return 1;
  const size_t tile = work->by_columns ? p->tile_n : p->tile_m;
  return tile ? tile : 1;
}

size_t hx__cl_most_slices(const hx__stream *base, const hx__request *request) {
  return hx__cl_cut_of((const hx__cl_stream *)base, request->work, request->resident).slices;
}

hx__stream *hx__cl_stream_open(hx__device *device, const hx__config *config) {
  hx__cl_device *const d = (hx__cl_device *)device;
  if (!hx__cl_device_open(d)) return NULL;
  hx__cl_stream *const stream = calloc(1, sizeof *stream);
  cl_int code = CL_OUT_OF_HOST_MEMORY;
  if (stream) stream->queue = clCreateCommandQueue(d->context, d->id, 0, &code);
  if (!stream || !stream->queue) {
    free(stream);
    hx__cl_failed(d, "clCreateCommandQueue", code);
    return NULL;
  }
  /* If the other queues cannot be created, the stream uses only the first one. */
  stream->uploads = clCreateCommandQueue(d->context, d->id, 0, &code);
  stream->results = clCreateCommandQueue(d->context, d->id, 0, &code);
  const uint32_t tile[3] = {config->tile_m, config->tile_n, config->tile_k};
  stream->base = (hx__stream){.device = device, .depth = HX__DEPTH};
  stream->device = d;
  stream->joins = true;
  stream->most_alloc = (size_t)device->max_alloc;
  stream->product = hx__need_index(hx__device_needs(device, HX__NEED_MATMUL, tile));
  const bool unlimited =
      config->timeout_ms == HX__TIMEOUT_OFF || (config->timeout_ms == HX__TIMEOUT_AUTO && device->never_times_out);
  stream->limit_ns = unlimited                                ? UINT64_MAX
                     : config->timeout_ms == HX__TIMEOUT_AUTO ? BLIND_LIMIT_NS
                                                              : config->timeout_ms * UINT64_C(1000000);
  stream->copy_inputs = device->never_times_out && config->timeout_ms < HX__TIMEOUT_OFF;
  return &stream->base;
}

/* Whether the host has mapped a buffer of the stream, so that closing it enqueues an unmap. */
static bool has_maps(const hx__cl_stream *stream) {
  bool has = stream->staging.host[0] || stream->staging.host[1];
  for (unsigned i = 0; i < HX__MAX_INFLIGHT; i++) has = has || stream->inflight[i].mapped;
  return has;
}

void hx__cl_stream_close(hx__stream *base) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  if (base->timed_out && !hx__cl_recovered(base)) return; /* the device may still use its memory: leaked */
  const bool lost = hx__cl_is_lost(stream), unmaps = has_maps(stream);
  hx__cl_release_kernels(stream->kernels.compute, lost);
  hx__cl_release_kernels(stream->kernels.pack_a, lost);
  hx__cl_release_kernels(stream->kernels.pack_b, lost);
  hx__cl_release_kernels(stream->kernels.join, lost);
  hx__cl_release_kernels(stream->kernels.copy, lost);
  hx__cl_release_kernels(stream->kernels.store, lost);
  if (!lost) {
    hx__cl_results_unmap_all(stream);
    hx__cl_stage_close(stream);
    if (unmaps) clFinish(stream->queue); /* They must not still be on the queue when the program exits. */
    hx__cl_results_close(stream);
    hx__cl_buffer_release(&stream->scratch.tickets);
    hx__cl_buffer_release(&stream->scratch.partials);
    hx__cl_buffer_release(&stream->scratch.part);
    hx__cl_buffer_release(&stream->scratch.packed_a);
    hx__cl_buffer_release(&stream->scratch.packed_b);
    for (size_t i = 0; i < stream->operand_room; i++) hx__cl_buffer_release(&stream->operand[i].copy);
    hx__cl_completions_close(stream);
    for (unsigned i = 0; i < HX__CL_MAPS; i++)
      if (stream->maps[i].kernel) clReleaseKernel(stream->maps[i].kernel);
    if (stream->uploaded) clReleaseEvent(stream->uploaded);
    if (stream->leftover) clReleaseEvent(stream->leftover);
    if (stream->uploads) clReleaseCommandQueue(stream->uploads);
    if (stream->results) clReleaseCommandQueue(stream->results);
    clReleaseCommandQueue(stream->queue);
  }
  free(stream->operand);
  free(stream);
}

hx__outcome hx__cl_submit(hx__stream *base, const hx__request *request, hx__chunk chunk, hx__inflight **ticket) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  hx__cl_inflight *const f = &stream->inflight[stream->next];
  *ticket = NULL;
  if (hx__cl_is_lost(stream)) return HX__FAILED;
  const uint64_t before = stream->run.copied;
  f->chunk = chunk;
  f->product = request->work->matmul;
  f->map = request->work->map;
  f->event = f->computed = NULL;
  f->readback = NULL;
  f->completed = NULL;
  f->compared = !stream->self_test.active && hx__spot_check_is_possible(request, base->device);
  hx__outcome outcome = hx__cl_results_unmap(stream, f);
  if (outcome == HX__DONE)
    outcome = (f->product                ? hx__cl_launch_matmul
               : f->map                  ? hx__cl_launch_map
               : request->work->by_lines ? hx__cl_launch_lines
                                         : hx__cl_launch_reduce)(stream, request, chunk, f);
  if (outcome == HX__DONE && stream->run.resident) outcome = hx__cl_resident_store_chunk(stream, request->work, f);
  if (outcome == HX__DONE) outcome = hx__cl_results_begin(stream, f, request->work);
  if (outcome == HX__DONE) hx__cl_prefetch(stream, request->work, chunk, request->upcoming);
  if (outcome == HX__DONE) {
    if (f->compared) hx__spot_check_expect(&f->spot, request, chunk); /* while the device computes the chunk */
    f->unmaps = hx__gate_unmaps_so_far();
    stream->next = (stream->next + 1) % HX__MAX_INFLIGHT;
    *ticket = (hx__inflight *)f;
  }
  if (outcome == HX__TIMED_OUT) /* commands that were launched behind the upload that timed out will end at some time */
    return hx__cl_mark_end(stream, &f->event) == HX__FAILED ? HX__FAILED : HX__TIMED_OUT;
  const uint64_t sent = stream->run.copied - before;
  if (outcome == HX__SUPERSEDED) base->sent_fraction = (double)sent / (double)(sent + stream->run.unsent);
  outcome = hx__cl_quiesce(stream, outcome);
  if (outcome != HX__DONE && outcome != HX__TIMED_OUT) hx__cl_results_end(stream, f, false);
  return outcome;
}

/* Whether the chunk's completion arrives. If not in time, sets its event to one behind all that was launched. */
static bool completion_arrives(hx__cl_stream *stream, hx__cl_inflight *f, const _Atomic uint64_t *deadline_ns,
                               hx__outcome *outcome) {
  if (hx__cl_completion_await(stream, stream->base.expected_end_ns, deadline_ns)) return true;
  *outcome = hx__cl_mark_end(stream, &f->event);
  return false;
}

hx__outcome hx__cl_wait(hx__stream *base, hx__inflight *ticket, const _Atomic uint64_t *deadline_ns) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  hx__cl_inflight *const f = (hx__cl_inflight *)ticket;
  cl_int state = CL_COMPLETE;
  if (hx__cl_is_lost(stream)) return HX__FAILED;
  hx__outcome outcome = HX__DONE;
  const bool arrived = f->completed && completion_arrives(stream, f, deadline_ns, &outcome);
  if (!f->completed) outcome = hx__cl_results_start_waiting(stream, f);
  if (outcome != HX__DONE || arrived) {
    state = CL_COMPLETE;
  } else if (!f->event) {
    state = CL_SUBMITTED; /* earlier chunks have not been delivered, so no readback buffer is free */
  } else if (atomic_load(deadline_ns) == UINT64_MAX) {
    const cl_int code = clWaitForEvents(1, &f->event);
    hx__log(HX__LOG_TRACE, "clWaitForEvents: %d", code);
    if (code != CL_SUCCESS) state = code;
  } else {
    state = hx__cl_wait_until(stream, f->event, base->expected_end_ns, deadline_ns);
  }
  if (state > CL_COMPLETE) {
    base->timed_out = true;
    return HX__TIMED_OUT;
  }
  if (state < 0) outcome = hx__cl_failed(stream->device, "a command", state);
  if (outcome == HX__DONE && f->completed && !hx__cl_completion_arrived(stream)) {
    hx__device_lost(base->device, "it reported success for a launch that did not bring its result");
    return HX__FAILED;
  }
  if (outcome == HX__DONE) hx__gate_has_waited(f->unmaps);
  outcome = hx__cl_quiesce(stream, outcome);
  if (outcome == HX__TIMED_OUT) return outcome;
  if (outcome != HX__DONE) hx__cl_results_end(stream, f, false);
  return outcome;
}

/* Whether all uploads have ended. */
static bool uploads_ended(const hx__cl_stream *stream) {
  const cl_event events[] = {stream->staging.event[0], stream->staging.event[1], stream->uploaded, stream->leftover};
  for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
    if (events[i] && hx__cl_state_of(events[i]) > CL_COMPLETE) return false;
  return true;
}

bool hx__cl_recovered(hx__stream *base) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  if (!base->timed_out) return true;
  if (hx__cl_is_lost(stream)) return false;
  for (unsigned i = 0; i < HX__MAX_INFLIGHT; i++) {
    hx__cl_inflight *const f = &stream->inflight[i];
    const cl_event end = f->event ? f->event : f->computed;
    const cl_int state = end ? hx__cl_state_of(end) : CL_COMPLETE;
    if (state > CL_COMPLETE) return false;
    if (state < 0 && hx__cl_failed(stream->device, "a command that timed out", state) == HX__FAILED) return false;
    if (end) hx__cl_results_end(stream, f, state == CL_COMPLETE);
  }
  if (!uploads_ended(stream)) return false;
  cl_event const mark = stream->leftover;
  stream->leftover = NULL;
  if (mark) clReleaseEvent(mark);
  for (unsigned i = 0; i < HX__MAX_INFLIGHT; i++) /* a completion for which there was no event */
    if (stream->inflight[i].completed) hx__cl_results_end(stream, &stream->inflight[i], false);
  base->timed_out = false;
  hx__cl_unbind(stream);
  hx__log(HX__LOG_INFO, "%s is back: its chunk that timed out has ended", stream->device->base.name);
  return !hx__cl_is_lost(stream);
}
