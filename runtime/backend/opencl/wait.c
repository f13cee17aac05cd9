/* SPDX-License-Identifier: Apache-2.0
 * Waits for a device: the host sleeps until a deadline, a queue waits for uploads, and a marker shows the end of what
 * was launched. */
#define _GNU_SOURCE
#include <sys/prctl.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/base/clock.h"

#define LEAST_POLL_NS 20000u
#define MOST_POLL_NS 250000u

cl_int hx__cl_state_of(cl_event event) {
  cl_int state = CL_QUEUED;
  const cl_int code = clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  return code == CL_SUCCESS ? state : code;
}

/* How long to sleep before the event is checked again: longer if its expected end is farther from now. expected 0:
 * unknown; a quarter of the time waited so far is used instead. */
static uint64_t poll_interval_ns(uint64_t from, uint64_t now, uint64_t expected) {
  const uint64_t far = expected == 0 ? (now - from) / 4 : expected > now ? expected - now : now - expected;
  return far < 8 * LEAST_POLL_NS ? LEAST_POLL_NS : far > 8 * MOST_POLL_NS ? MOST_POLL_NS : far / 8;
}

cl_int hx__cl_wait_until(cl_event event, uint64_t expected, const _Atomic uint64_t *deadline_ns) {
  const uint64_t from = hx__now_ns();
  const int slack_ns = prctl(PR_GET_TIMERSLACK, 0ul, 0ul, 0ul, 0ul); /* restored below: the thread may be the
                                                                      * caller's */
  cl_int state;
  prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul); /* so that a sleep of 20 us does not take 70 */
  for (;;) {
    state = hx__cl_state_of(event);
    const uint64_t now = hx__now_ns();
    if (state <= CL_COMPLETE || now >= atomic_load(deadline_ns)) break;
    hx__sleep_ns(poll_interval_ns(from, now, expected));
  }
  if (slack_ns > 0) prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns, 0ul, 0ul, 0ul);
  return state;
}

hx__outcome hx__cl_await(hx__cl_stream *stream, cl_event event) {
  const _Atomic uint64_t till = stream->limit_ns == UINT64_MAX ? UINT64_MAX : hx__now_ns() + stream->limit_ns;
  cl_int state = CL_COMPLETE;
  if (till == UINT64_MAX) {
    const cl_int code = clWaitForEvents(1, &event);
    if (code != CL_SUCCESS) state = code;
  } else {
    state = hx__cl_wait_until(event, 0, &till);
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
  if (outcome != HX__NO_MEMORY && outcome != HX__SUPERSEDED) return outcome;
  hx__outcome end = hx__cl_await_uploads(stream);
  if (end == HX__DONE) end = hx__cl_mark_end(stream, &stream->leftover);
  if (end == HX__DONE) end = hx__cl_await(stream, stream->leftover);
  if (end == HX__TIMED_OUT) return end;
  if (end == HX__NO_MEMORY) finish_all(stream); /* no memory even for an event; the wait is limited by the gate */
  cl_event const mark = stream->leftover;
  stream->leftover = NULL;
  if (mark) clReleaseEvent(mark);
  return end == HX__FAILED ? end : outcome;
}
