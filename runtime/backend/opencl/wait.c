/* SPDX-License-Identifier: Apache-2.0
 * Waits for a device: the host sleeps until a deadline, a queue waits for uploads, and a marker shows the end of what
 * was launched. */
#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/poll.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/topo/topo.h"

#define PAUSES 16 /* between two looks, about half a microsecond: a look takes locks that the driver needs, too */

cl_int hx__cl_state_of(cl_event event) {
  cl_int state = CL_QUEUED;
  const cl_int code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  return code == CL_SUCCESS ? state : code;
}

cl_int hx__cl_wait_until(const hx__cl_stream *stream, cl_event event, uint64_t expected_ns,
                         const _Atomic uint64_t *deadline_ns) {
  const bool may_spin = !stream->device->base.uses_cpu_cores && hx__topo_get()->hardware_threads > 1;
  hx__cl_poll poll = hx__cl_poll_begin(hx__now_ns(), expected_ns, may_spin);
  for (;;) {
    const cl_int state = hx__cl_state_of(event);
    const uint64_t now_ns = hx__now_ns();
    if (state <= CL_COMPLETE || now_ns >= atomic_load(deadline_ns)) return state;
    const uint64_t sleep_ns = hx__cl_poll_next(&poll, now_ns);
    if (sleep_ns) hx__sleep_ns(sleep_ns);
    for (int i = 0; i < PAUSES && !sleep_ns; i++) hx__spin_pause();
  }
}

hx__outcome hx__cl_await(hx__cl_stream *stream, cl_event event) {
  const _Atomic uint64_t till = stream->limit_ns == UINT64_MAX ? UINT64_MAX : hx__now_ns() + stream->limit_ns;
  cl_int state = CL_COMPLETE;
  if (till == UINT64_MAX) {
    const cl_int code = clWaitForEvents(1, &event);
    if (code != CL_SUCCESS) state = code;
  } else {
    state = hx__cl_wait_until(stream, event, 0, &till);
  }
  stream->base.timed_out = stream->base.timed_out || state > CL_COMPLETE;
  if (state > CL_COMPLETE) return HX__TIMED_OUT;
  return state == CL_COMPLETE ? HX__DONE : hx__cl_failed(stream->device, "a command", state);
}

hx__outcome hx__cl_await_uploads(hx__cl_stream *stream) {
  if (!stream->uploaded) return HX__DONE;
  cl_int code = clFlush(stream->uploads);
  if (code == CL_SUCCESS) code = clEnqueueBarrierWithWaitList(stream->queue, 1, &stream->uploaded, NULL);
  clReleaseEvent(stream->uploaded);
  stream->uploaded = NULL;
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(stream->device, "clEnqueueBarrierWithWaitList", code);
}

hx__outcome hx__cl_mark_end(hx__cl_stream *stream, cl_event *end) {
  *end = NULL;
  cl_int code = clEnqueueMarkerWithWaitList(stream->queue, 0, NULL, end);
  if (code == CL_SUCCESS) code = clFlush(stream->queue);
  if (code == CL_SUCCESS) return HX__DONE;
  cl_event const unused = *end;
  *end = NULL;
  if (unused) clReleaseEvent(unused);
  return hx__cl_failed(stream->device, "clEnqueueMarkerWithWaitList", code);
}

static void finish_all(hx__cl_stream *stream) {
  if (stream->uploads) clFinish(stream->uploads);
  clFinish(stream->queue);
  if (stream->results) clFinish(stream->results);
}

/* A device that never times out may still read the caller's pages although it is lost. Waits once until it has
 * finished. */
static void finish_lost(hx__cl_stream *stream) {
  hx__gate *const gate = hx__gate_of_this_thread();
  if (gate) gate->settling = true;
  finish_all(stream);
  if (gate) gate->settling = false;
}

hx__outcome hx__cl_quiesce(hx__cl_stream *stream, hx__outcome outcome) {
  if (outcome == HX__FAILED && stream->limit_ns == UINT64_MAX && stream->device->base.never_times_out)
    finish_lost(stream);
  if (outcome == HX__NO_MEMORY && atomic_load(&stream->device->shortages) != stream->run.shortages)
    stream->base.lacked_memory = true;
  if (outcome != HX__NO_MEMORY && outcome != HX__SUPERSEDED) return outcome;
  hx__outcome end = hx__cl_await_uploads(stream);
  if (end == HX__DONE) end = hx__cl_mark_end(stream, &stream->leftover);
  if (end == HX__DONE) end = hx__cl_await(stream, stream->leftover);
  if (end == HX__DONE) hx__gate_has_finished(stream->queue);
  if (end == HX__TIMED_OUT) return end;
  if (end == HX__NO_MEMORY) finish_all(stream); /* no memory even for an event; the wait is limited by the gate */
  cl_event const mark = stream->leftover;
  stream->leftover = NULL;
  if (mark) clReleaseEvent(mark);
  return end == HX__FAILED ? end : outcome;
}
