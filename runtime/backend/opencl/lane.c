/* SPDX-License-Identifier: Apache-2.0
 * A lane: one context's queue, kernel objects and blocks on a device, and the chunks in flight. Once a device is lost
 * no OpenCL call is made on it any more; what a lane holds is then leaked. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "runtime/backend/opencl/cl.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/trace.h"

#define LARGE_BLOCK_BYTES ((size_t)1 << 30) /* of a C that stays: not fetched */
#define MAX_GRID 32768u                     /* PoCL compiles anew for grids of 65536 items a dimension */
#define MAX_LEAVES 16384u                   /* of a reduction's chunk: 256 MiB a field */
#define CPU_GRAIN 16u                       /* leaves: enough work for one item a leaf on a few cores */

static const hx__cl_program *product_of(const hx__cl_lane *lane) { return &lane->device->program[lane->product]; }

static size_t grain(const hx__lane *base, const hx__work *work) {
  const hx__cl_lane *const lane = (const hx__cl_lane *)base;
  if (!work->matmul) return CPU_GRAIN;
  const hx__cl_program *const p = product_of(lane);
  const size_t tile = work->by_columns ? p->tile_n : p->tile_m;
  return tile ? tile : 1;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static size_t most(const hx__lane *base, const hx__work *work) {
  const hx__cl_lane *const lane = (const hx__cl_lane *)base;
  const size_t alloc = lane->device->max_alloc ? (size_t)lane->device->max_alloc : HX__CL_KEPT_BYTES;
  const size_t block = least(alloc, (work->residence & HX__RESIDENT_C) ? LARGE_BLOCK_BYTES : HX__CL_KEPT_BYTES);
  size_t slices;
  if (work->matmul) {
    const size_t across = work->by_columns ? work->gemm.m : (work->gemm.n + 15) & ~(size_t)15;
    slices = block / sizeof(float) / (across ? across : 1);
    slices = least(slices, (size_t)MAX_GRID * grain(base, work));
  } else {
    slices = least(alloc / (HX__LEAF * 4u), MAX_LEAVES);
    slices = least(slices, block / sizeof(uint64_t) / work->nfields);
  }
  return slices ? slices : 1;
}

hx__lane *hx__cl_lane_open(hx__device *device, const hx__config *config) {
  hx__cl_device *const d = (hx__cl_device *)device;
  if (!hx__cl_device_open(d)) {
    hx__fail(HX_DEVICE_FAILED, "%s: %s", device->name, device->why);
    return NULL;
  }
  hx__cl_lane *const lane = calloc(1, sizeof *lane);
  cl_int code = CL_OUT_OF_HOST_MEMORY;
  if (lane) lane->queue = clCreateCommandQueue(d->context, d->id, 0, &code);
  if (!lane || !lane->queue) {
    free(lane);
    hx__cl_failed(d, "clCreateCommandQueue", code);
    hx__fail(HX_DEVICE_FAILED, "%s has no queue: %s", device->name, hx__cl_code_name(code));
    return NULL;
  }
  /* Where there is but one, the lane does with it. */
  lane->uploads = clCreateCommandQueue(d->context, d->id, 0, &code);
  const uint32_t tile[3] = {config->tile_m, config->tile_n, config->tile_k};
  lane->base =
      (hx__lane){.device = device, .depth = HX__DEPTH, .recovered = hx__cl_recovered, .grain = grain, .most = most};
  lane->device = d;
  lane->joins = true;
  lane->product = hx__need_index(hx__device_needs(device, HX__NEED_MATMUL, tile));
  lane->copy_inputs = device->waits_for_ever && config->timeout_ms < HX__TIMEOUT_OFF;
  return &lane->base;
}

static void release_kernels(const hx__cl_kernel *kernels) {
  for (unsigned i = 0; i < HX__PROGRAMS; i++)
    if (kernels[i].kernel) clReleaseKernel(kernels[i].kernel);
}

void hx__cl_lane_close(hx__lane *base) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  if (base->late && !hx__cl_recovered(base)) return; /* the device still works on its blocks: leaked whole */
  if (!hx__cl_is_lost(lane)) {
    for (unsigned i = 0; i < HX__DEPTH; i++) hx__cl_buffer_release(&lane->flight[i].out);
    hx__cl_buffer_release(&lane->out);
    hx__cl_buffer_release(&lane->ticket);
    hx__cl_buffer_release(&lane->partials);
    hx__cl_buffer_release(&lane->packed_a);
    hx__cl_buffer_release(&lane->packed_b);
    for (size_t i = 0; i < lane->operand_room; i++) hx__cl_buffer_release(&lane->operand[i].copy);
    hx__cl_stage_close(lane);
    release_kernels(lane->kernel);
    release_kernels(lane->pack_a);
    release_kernels(lane->pack_b);
    release_kernels(lane->large);
    release_kernels(lane->join);
    release_kernels(lane->copy);
    release_kernels(lane->store);
    if (lane->uploaded) clReleaseEvent(lane->uploaded);
    if (lane->uploads) clReleaseCommandQueue(lane->uploads);
    clReleaseCommandQueue(lane->queue);
  }
  free(lane->operand);
  free(lane);
}

static hx__memory_mode kind_of(const hx__cl_view *view) { return !view || view->mem ? HX__MEMORY_COPY : view->mode; }

cl_kernel hx__cl_lane_kernel(hx__cl_lane *lane, hx__cl_kernel *slot, unsigned need, const char *name,
                             const hx__cl_view *x, const hx__cl_view *y, hx__outcome *outcome) {
  cl_int code = CL_SUCCESS;
  *outcome = HX__DONE;
  if (slot->kernel && (slot->x != kind_of(x) || slot->y != kind_of(y))) {
    clReleaseKernel(slot->kernel);
    slot->kernel = NULL;
  }
  if (!slot->kernel) {
    slot->kernel = clCreateKernel(lane->device->program[need].program, name, &code);
    slot->x = kind_of(x);
    slot->y = kind_of(y);
  }
  if (!slot->kernel) *outcome = hx__cl_failed(lane->device, "clCreateKernel", code);
  return slot->kernel;
}

hx__outcome hx__cl_quiesce(hx__cl_lane *lane, hx__outcome outcome) {
  const bool running = outcome == HX__NO_MEMORY || (outcome != HX__DONE && lane->device->base.waits_for_ever);
  if (running && lane->uploads) clFinish(lane->uploads);
  if (running) clFinish(lane->queue);
  return outcome;
}

/* Maps the results of what was launched, so that the event tells when they are there. */
static hx__outcome map_results(hx__cl_lane *lane, hx__cl_flight *f) {
  cl_int code;
  f->mapped =
      clEnqueueMapBuffer(lane->queue, lane->out.mem, CL_FALSE, CL_MAP_READ, 0, lane->bytes, 0, NULL, &f->event, &code);
  hx__log(HX__LOG_TRACE, "clEnqueueMapBuffer: %zu bytes of results: %d", lane->bytes, code);
  if (code == CL_SUCCESS && (code = clFlush(lane->queue)) != CL_SUCCESS) clReleaseEvent(f->event);
  if (code != CL_SUCCESS) f->event = NULL;
  if (!lane->device->unified) lane->copied += lane->bytes;
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(lane->device, "clEnqueueMapBuffer", code);
}

/* Where nothing is mapped, for results stay. */
static hx__outcome mark_end(hx__cl_lane *lane, hx__cl_flight *f) {
  f->mapped = NULL;
  cl_int code = clEnqueueMarkerWithWaitList(lane->queue, 0, NULL, &f->event);
  if (code == CL_SUCCESS && (code = clFlush(lane->queue)) != CL_SUCCESS) clReleaseEvent(f->event);
  if (code != CL_SUCCESS) f->event = NULL;
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(lane->device, "clEnqueueMarkerWithWaitList", code);
}

hx__outcome hx__cl_submit(hx__lane *base, const hx__request *request, hx__chunk chunk, hx__ticket **ticket) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  hx__cl_flight *const f = &lane->flight[lane->next];
  *ticket = NULL;
  if (hx__cl_is_lost(lane)) return HX__FAILED;
  const hx__cl_buffer kept = lane->out;
  lane->out = f->out;
  hx__outcome outcome =
      request->work->matmul ? hx__cl_launch_matmul(lane, request, chunk) : hx__cl_launch_reduce(lane, request, chunk);
  f->out = lane->out; /* it may have grown */
  f->chunk = chunk;
  f->joined = lane->joined;
  f->ldt = lane->ldt;
  f->bytes = lane->bytes;
  if (outcome == HX__DONE && lane->keep) outcome = hx__cl_keep_chunk(lane, request->work, chunk);
  if (outcome == HX__DONE) outcome = lane->keep ? mark_end(lane, f) : map_results(lane, f);
  if (outcome == HX__DONE) hx__cl_prefetch(lane, request->work, chunk);
  if (outcome == HX__DONE) {
    lane->next = (lane->next + 1) % HX__DEPTH;
    *ticket = (hx__ticket *)f;
  }
  lane->out = kept;
  return hx__cl_quiesce(lane, outcome);
}

/* The event's state without waiting: CL_COMPLETE, a positive state, or a negative error. */
static cl_int state_of(cl_event event) {
  cl_int state = CL_QUEUED;
  const cl_int code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  return code == CL_SUCCESS ? state : code;
}

/* Sleeps between looks: a part of the time waited so far, so that the end is seen within that part of it. */
static cl_int wait_until(cl_event event, const _Atomic uint64_t *deadline_ns) {
  const uint64_t from = hx__now_ns();
  prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul); /* of this feeder thread: sleeps of 20 us, not of 70 */
  for (;;) {
    const cl_int state = state_of(event);
    const uint64_t now = hx__now_ns();
    if (state <= CL_COMPLETE || now >= atomic_load(deadline_ns)) return state;
    uint64_t nap = (now - from) / 32;
    nap = nap < 20000 ? 20000 : nap > 250000 ? 250000 : nap;
    hx__sleep_ns(nap);
  }
}

/* A slot of no element: joined to another it changes nothing. */
static uint64_t nothing(hx_op op, hx_type type) {
  switch (op) {
    case HX_MIN:
    case HX_MAX:
      return UINT32_MAX;
    case HX_ARGMIN:
    case HX_ARGMAX:
      return (uint64_t)UINT32_MAX << 32;
    case HX_PROD:
      return type == HX_F32 ? 0x3f800000u : 1u;
    default:
      return type == HX_F32 ? 0x80000000u : 0u;
  }
}

/* A chunk's slot stands for its first leaf: its leaves are an aligned block of the tree (docs/ARITHMETIC.md). */
static void deliver_joined(const hx__request *request, hx__chunk chunk, const uint64_t *from) {
  const hx__work *const w = request->work;
  const bool whole = request->whole && chunk.count == w->slices;
  if (whole) *request->whole = true;
  for (size_t f = 0; f < w->nfields; f++) {
    uint64_t *const slots = request->slots + f * w->slices + chunk.first;
    const uint64_t none = nothing(w->fields[f].op, w->fields[f].type);
    slots[0] = from[f];
    for (size_t l = 1; !whole && l < chunk.count; l++) slots[l] = none;
  }
}

hx__outcome hx__cl_wait(hx__lane *base, hx__ticket *ticket, const _Atomic uint64_t *deadline_ns) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  hx__cl_flight *const f = (hx__cl_flight *)ticket;
  cl_int state = CL_COMPLETE;
  if (hx__cl_is_lost(lane)) return HX__FAILED;
  if (atomic_load(deadline_ns) == UINT64_MAX) {
    const cl_int code = clWaitForEvents(1, &f->event);
    hx__log(HX__LOG_TRACE, "clWaitForEvents: %d", code);
    if (code != CL_SUCCESS) state = code;
  } else {
    state = wait_until(f->event, deadline_ns);
  }
  if (state > CL_COMPLETE) {
    base->late = true;
    return HX__LATE;
  }
  return state < 0 ? hx__cl_quiesce(lane, hx__cl_failed(lane->device, "a command", state)) : HX__DONE;
}

/* What a chunk whose event has completed holds. */
static void let_go(hx__cl_lane *lane, hx__cl_flight *f) {
  if (hx__cl_is_lost(lane)) return;
  clReleaseEvent(f->event);
  f->event = NULL;
  if (!f->mapped) return;
  const cl_int code = clEnqueueUnmapMemObject(lane->queue, f->out.mem, f->mapped, 0, NULL, NULL);
  f->mapped = NULL;
  if (code != CL_SUCCESS)
    hx__cl_failed(lane->device, "clEnqueueUnmapMemObject", code); /* this chunk's result is there */
}

bool hx__cl_deliver(hx__lane *base, const hx__request *request, hx__ticket *ticket, hx__chunk part) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  hx__cl_flight *const f = (hx__cl_flight *)ticket;
  if (lane->keep) {
    lane->kept += part.count;
    let_go(lane, f);
    return true;
  }
  const bool joined = !request->work->matmul && f->joined, able = !joined || part.count == f->chunk.count;
  const uint64_t from_ns = base->trace ? hx__now_ns() : 0;
  if (joined && able)
    deliver_joined(request, f->chunk, f->mapped);
  else if (able)
    hx__deliver(request, f->chunk, part, f->mapped, f->ldt);
  if (base->trace && able)
    hx__trace_transfer(base->trace, base->row, from_ns, hx__now_ns(), f->bytes, "from the device");
  let_go(lane, f);
  return able;
}

bool hx__cl_recovered(hx__lane *base) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  if (!base->late) return true;
  if (hx__cl_is_lost(lane)) return false;
  for (unsigned i = 0; i < HX__DEPTH; i++) {
    hx__cl_flight *const f = &lane->flight[i];
    const cl_int state = f->event ? state_of(f->event) : CL_COMPLETE;
    if (state > CL_COMPLETE) return false;
    if (state < 0) {
      hx__cl_failed(lane->device, "a late command", state);
      return false;
    }
    if (f->event) let_go(lane, f);
  }
  base->late = false;
  hx__cl_unbind(lane);
  hx__log(HX__LOG_INFO, "%s is back: its late chunk has ended", lane->device->base.name);
  return !hx__cl_is_lost(lane);
}
