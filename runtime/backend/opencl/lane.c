/* SPDX-License-Identifier: Apache-2.0
 * A lane: one context's queue, kernel objects and blocks on a device, and the chunks in flight. Once a device is lost
 * no OpenCL call is made on it any more; what a lane holds is then leaked. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/lane.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/trace.h"

#define BLIND_PATIENCE_NS 5000000000u
#define CPU_GRAIN 16u /* leaves: enough work for one item a leaf on a few cores */

static const hx__cl_program *product_of(const hx__cl_lane *lane) { return &lane->device->program[lane->product]; }

static size_t grain(const hx__lane *base, const hx__work *work) {
  const hx__cl_lane *const lane = (const hx__cl_lane *)base;
  if (!work->matmul) return CPU_GRAIN;
  const hx__cl_program *const p = product_of(lane);
  const size_t tile = work->by_columns ? p->tile_n : p->tile_m;
  return tile ? tile : 1;
}

static size_t most(const hx__lane *base, const hx__work *work) {
  return hx__cl_cut_of((const hx__cl_lane *)base, work).slices;
}

hx__lane *hx__cl_lane_open(hx__device *device, const hx__config *config) {
  hx__cl_device *const d = (hx__cl_device *)device;
  if (!hx__cl_device_open(d)) return NULL;
  hx__cl_lane *const lane = calloc(1, sizeof *lane);
  cl_int code = CL_OUT_OF_HOST_MEMORY;
  if (lane) lane->queue = clCreateCommandQueue(d->context, d->id, 0, &code);
  if (!lane || !lane->queue) {
    free(lane);
    hx__cl_failed(d, "clCreateCommandQueue", code);
    return NULL;
  }
  /* Where there is but one, the lane does with it. */
  lane->uploads = clCreateCommandQueue(d->context, d->id, 0, &code);
  lane->results = clCreateCommandQueue(d->context, d->id, 0, &code);
  const uint32_t tile[3] = {config->tile_m, config->tile_n, config->tile_k};
  lane->base =
      (hx__lane){.device = device, .depth = HX__DEPTH, .recovered = hx__cl_recovered, .grain = grain, .most = most};
  lane->device = d;
  lane->joins = true;
  lane->product = hx__need_index(hx__device_needs(device, HX__NEED_MATMUL, tile));
  const bool unlimited =
      config->timeout_ms == HX__TIMEOUT_OFF || (config->timeout_ms == HX__TIMEOUT_AUTO && device->waits_for_ever);
  lane->patience_ns = unlimited                                ? UINT64_MAX
                      : config->timeout_ms == HX__TIMEOUT_AUTO ? BLIND_PATIENCE_NS
                                                               : config->timeout_ms * UINT64_C(1000000);
  lane->copy_inputs = device->waits_for_ever && config->timeout_ms < HX__TIMEOUT_OFF;
  return &lane->base;
}

void hx__cl_lane_close(hx__lane *base) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  if (base->late && !hx__cl_recovered(base)) return; /* the device still works on its blocks: leaked whole */
  if (!hx__cl_is_lost(lane)) {
    for (unsigned i = 0; i < HX__TICKETS; i++) hx__cl_buffer_release(&lane->flight[i].out);
    hx__cl_buffer_release(&lane->tickets);
    hx__cl_buffer_release(&lane->partials);
    hx__cl_buffer_release(&lane->part);
    hx__cl_buffer_release(&lane->packed_a);
    hx__cl_buffer_release(&lane->packed_b);
    for (size_t i = 0; i < lane->operand_room; i++) hx__cl_buffer_release(&lane->operand[i].copy);
    hx__cl_stage_close(lane);
    hx__cl_results_close(lane);
    hx__cl_release_kernels(lane->kernel);
    hx__cl_release_kernels(lane->pack_a);
    hx__cl_release_kernels(lane->pack_b);
    hx__cl_release_kernels(lane->join);
    hx__cl_release_kernels(lane->copy);
    hx__cl_release_kernels(lane->store);
    if (lane->uploaded) clReleaseEvent(lane->uploaded);
    if (lane->straggler) clReleaseEvent(lane->straggler);
    if (lane->uploads) clReleaseCommandQueue(lane->uploads);
    if (lane->results) clReleaseCommandQueue(lane->results);
    clReleaseCommandQueue(lane->queue);
  }
  free(lane->operand);
  free(lane);
}

hx__outcome hx__cl_submit(hx__lane *base, const hx__request *request, hx__chunk chunk, hx__ticket **ticket) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  hx__cl_flight *const f = &lane->flight[lane->next];
  *ticket = NULL;
  if (hx__cl_is_lost(lane)) return HX__FAILED;
  const uint64_t before = lane->copied;
  lane->out = f->out;
  f->out = (hx__cl_buffer){NULL, 0}; /* one owner at a time */
  hx__outcome outcome =
      request->work->matmul ? hx__cl_launch_matmul(lane, request, chunk) : hx__cl_launch_reduce(lane, request, chunk);
  f->out = lane->out; /* it may have grown */
  f->host = lane->host;
  lane->host = NULL;
  f->chunk = chunk;
  f->product = request->work->matmul;
  f->joined = lane->joined;
  f->ldt = lane->ldt;
  f->bytes = lane->bytes;
  if (outcome == HX__DONE && lane->keep) outcome = hx__cl_keep_chunk(lane, request->work, chunk);
  if (outcome == HX__DONE) outcome = hx__cl_results_begin(lane, f);
  if (outcome == HX__DONE) hx__cl_prefetch(lane, request->work, chunk, request->reach);
  if (outcome == HX__DONE) {
    hx__spot_take(&f->spot, request, chunk); /* while it is computed */
    lane->next = (lane->next + 1) % HX__TICKETS;
    *ticket = (hx__ticket *)f;
  }
  if (outcome == HX__LATE) /* what was launched of it, behind an upload that does not come, ends some time */
    return hx__cl_mark_end(lane, &f->event) == HX__FAILED ? HX__FAILED : HX__LATE;
  const uint64_t sent = lane->copied - before;
  if (outcome == HX__UNWANTED) base->sent = (double)sent / (double)(sent + lane->unsent);
  outcome = hx__cl_quiesce(lane, outcome);
  if (outcome != HX__DONE && outcome != HX__LATE) hx__cl_results_end(lane, f, false);
  return outcome;
}

hx__outcome hx__cl_wait(hx__lane *base, hx__ticket *ticket, const _Atomic uint64_t *deadline_ns) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  hx__cl_flight *const f = (hx__cl_flight *)ticket;
  cl_int state = CL_COMPLETE;
  if (hx__cl_is_lost(lane)) return HX__FAILED;
  hx__outcome outcome = hx__cl_results_come(lane, f);
  if (outcome != HX__DONE) {
    state = CL_COMPLETE;
  } else if (!f->event) {
    state = CL_SUBMITTED; /* those before it are late */
  } else if (atomic_load(deadline_ns) == UINT64_MAX) {
    const cl_int code = clWaitForEvents(1, &f->event);
    hx__log(HX__LOG_TRACE, "clWaitForEvents: %d", code);
    if (code != CL_SUCCESS) state = code;
  } else {
    state = hx__cl_wait_until(f->event, base->expected_ns, deadline_ns);
  }
  if (state > CL_COMPLETE) {
    base->late = true;
    return HX__LATE;
  }
  if (state < 0) outcome = hx__cl_failed(lane->device, "a command", state);
  outcome = hx__cl_quiesce(lane, outcome);
  if (outcome == HX__LATE) return outcome;
  if (outcome != HX__DONE) hx__cl_results_end(lane, f, false);
  return outcome;
}

/* Whether nothing that was on its way to the device is any more. */
static bool uploads_ended(const hx__cl_lane *lane) {
  const cl_event events[] = {lane->stage_event[0], lane->stage_event[1], lane->uploaded, lane->straggler};
  for (unsigned i = 0; i < sizeof events / sizeof events[0]; i++)
    if (events[i] && hx__cl_state_of(events[i]) > CL_COMPLETE) return false;
  return true;
}

bool hx__cl_recovered(hx__lane *base) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  if (!base->late) return true;
  if (hx__cl_is_lost(lane)) return false;
  for (unsigned i = 0; i < HX__TICKETS; i++) {
    hx__cl_flight *const f = &lane->flight[i];
    const cl_event end = f->event ? f->event : f->computed;
    const cl_int state = end ? hx__cl_state_of(end) : CL_COMPLETE;
    if (state > CL_COMPLETE) return false;
    if (state < 0 && hx__cl_failed(lane->device, "a late command", state) == HX__FAILED) return false;
    if (end) hx__cl_results_end(lane, f, state == CL_COMPLETE);
  }
  if (!uploads_ended(lane)) return false;
  cl_event const mark = lane->straggler;
  lane->straggler = NULL;
  if (mark) clReleaseEvent(mark);
  base->late = false;
  hx__cl_unbind(lane);
  hx__log(HX__LOG_INFO, "%s is back: its late chunk has ended", lane->device->base.name);
  return !hx__cl_is_lost(lane);
}
