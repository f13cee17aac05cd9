/* SPDX-License-Identifier: Apache-2.0
 * Transfers the results of a chunk to the host. Results of devices that work in place are mapped on the queue that
 * computed them. Devices that copy read results into pinned blocks of the stream: small results, and those of a run of
 * one chunk, on the queue that computed them; others on a queue of their own, so that the device computes the next
 * chunk, or receives its operands, at the same time. A small result of such a run is not read if a completion can bring
 * it. Maps on another queue would be slow: one driver pins memory again for each map unless it is as large as the one
 * before. On the same queue a map and its unmap take 2 us longer than a read: docs/measurements/resident-calls.tsv. */
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/gate.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/base/clock.h"
#include "runtime/base/trace.h"

#define LEAST_APART_BYTES ((size_t)256 << 10)
#define LEAST_READ_BYTES ((size_t)4 << 20)
#define NOT_A_RESULT 0x7fa53a5au /* a NaN that no kernel writes: products have one pattern for all NaNs */

/* Enqueues a map of the results, after f->computed if that is not NULL. */
static hx__outcome map_results(hx__cl_stream *stream, hx__cl_inflight *f, cl_command_queue queue) {
  const cl_uint waits = f->computed != NULL;
  cl_int code;
  f->mapped = clEnqueueMapBuffer(queue, f->out.mem, CL_FALSE, CL_MAP_READ, 0, f->bytes, waits,
                                 waits ? &f->computed : NULL, &f->event, &code);
  hx__log(HX__LOG_TRACE, "clEnqueueMapBuffer: %zu bytes of results: %d", f->bytes, code);
  if (code != CL_SUCCESS) {
    f->event = NULL;
    f->mapped = NULL;
    return hx__cl_failed(stream->device, "clEnqueueMapBuffer", code);
  }
  if (!stream->device->unified) stream->run.copied += f->bytes;
  code = clFlush(queue);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(stream->device, "clFlush", code);
}

static bool reserve_readback(hx__cl_stream *stream, hx__cl_readback_buffer *l, size_t bytes) {
  if (l->bytes >= bytes) return true;
  const size_t room =
      bytes > stream->run.most_bytes ? bytes : stream->run.most_bytes; /* a map takes 0.5 ms per MiB with one driver */
  if (l->block) hx__cl_free(&stream->device->base, l->block);
  void *block = NULL;
  void *const p = hx__cl_alloc(&stream->device->base, room, HX__MEMORY_COPY, &block);
  *l = (hx__cl_readback_buffer){.p = p, .block = block, .bytes = p ? room : 0};
  stream->base.grew_pinned_memory = stream->base.grew_pinned_memory || l->p;
  return l->p;
}

/* Enqueues a read of f->bytes of a buffer, after f->computed if that is not NULL. */
static hx__outcome read_into(hx__cl_stream *stream, hx__cl_inflight *f, hx__cl_readback_buffer *l,
                             cl_command_queue queue, cl_mem from, size_t at) {
  const cl_uint waits = f->computed != NULL;
  cl_int code =
      clEnqueueReadBuffer(queue, from, CL_FALSE, at, f->bytes, l->p, waits, waits ? &f->computed : NULL, &f->event);
  hx__log(HX__LOG_TRACE, "clEnqueueReadBuffer: %zu bytes of results: %d", f->bytes, code);
  if (code != CL_SUCCESS) f->event = NULL;
  if (code != CL_SUCCESS) return hx__cl_failed(stream->device, "clEnqueueReadBuffer", code);
  f->readback = l;
  l->busy = true;
  stream->run.copied += f->bytes;
  code = clFlush(queue);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(stream->device, "clFlush", code);
}

static void put_word(void *to, size_t word, uint32_t bits) { memcpy((char *)to + word * 4, &bits, 4); }

static uint32_t word_of(const void *from, size_t word) {
  uint32_t bits;
  memcpy(&bits, (const char *)from + word * 4, 4);
  return bits;
}

/* Enqueues the transfer of the results: a read if there is memory for it, else a map. Does nothing if no readback
 * buffer is free. */
static hx__outcome start_transfer(hx__cl_stream *stream, hx__cl_inflight *f, cl_command_queue queue) {
  for (unsigned i = 0; i < HX__CL_READBACK_BUFFERS; i++) {
    hx__cl_readback_buffer *const l = &stream->readback[i];
    if (l->busy) continue;
    return reserve_readback(stream, l, f->bytes) ? read_into(stream, f, l, queue, f->out.mem, 0)
                                                 : map_results(stream, f, queue);
  }
  return HX__DONE;
}

hx__outcome hx__cl_results_start_waiting(hx__cl_stream *stream, hx__cl_inflight *f) {
  return f->event ? HX__DONE : start_transfer(stream, f, stream->results);
}

/* Whether the results are large enough for a queue of their own: on the kernels' queue they would delay the next
 * commands, or be delayed by them. (With an H200's driver a map waits for the next chunk's operands if these are on the
 * queue already.) */
static bool pays_own_queue(const hx__cl_stream *stream, const hx__cl_inflight *f) {
  if (!stream->results || f->chunk.count == stream->run.slices) return false;
  return f->product || f->map ? f->bytes >= LEAST_APART_BYTES
                              : f->chunk.count >= LEAST_READ_BYTES / sizeof(float) / HX__LEAF;
}

hx__outcome hx__cl_results_begin(hx__cl_stream *stream, hx__cl_inflight *f, const hx__work *work) {
  if (f->completed || hx__cl_completion_is_possible(stream, f)) return hx__cl_completion_begin(stream, f);
  if (f->host && !stream->device->unified) stream->run.copied += f->bytes;
  if (stream->run.resident && f->compared) return hx__cl_resident_read_ends(stream, f, work);
  if (stream->run.resident || f->host) return hx__cl_mark_end(stream, &f->event);
  if (!hx__cl_run_copies(stream)) return map_results(stream, f, stream->queue);
  if (pays_own_queue(stream, f)) {
    const hx__outcome outcome = hx__cl_mark_end(stream, &f->computed);
    return outcome == HX__DONE ? hx__cl_results_start_waiting(stream, f) : outcome;
  }
  const hx__outcome outcome = start_transfer(stream, f, stream->queue);
  return outcome == HX__DONE && !f->event ? map_results(stream, f, stream->queue) : outcome;
}

static void release_event(cl_event *event) {
  cl_event const one = *event;
  *event = NULL;
  if (one) clReleaseEvent(one);
}

static cl_int enqueue_unmap(hx__cl_stream *stream, hx__cl_inflight *f) {
  void *const mapped = f->mapped;
  f->mapped = NULL;
  return mapped ? clEnqueueUnmapMemObject(stream->queue, f->out.mem, mapped, 0, NULL, NULL) : CL_SUCCESS;
}

hx__outcome hx__cl_results_unmap(hx__cl_stream *stream, hx__cl_inflight *f) {
  const cl_int code = enqueue_unmap(stream, f);
  if (code == CL_SUCCESS) return HX__DONE;
  hx__cl_buffer_release(&f->out); /* no kernel may write it */
  return hx__cl_failed(stream->device, "clEnqueueUnmapMemObject", code);
}

/* The results of a chunk that has ended stay mapped until the buffer is used again: if a run ended with an unmap, that
 * might still be on the queue when the program exits, and one driver crashes then. */
void hx__cl_results_end(hx__cl_stream *stream, hx__cl_inflight *f, bool right) {
  if (hx__cl_is_lost(stream)) return;
  if (f->mapped && !right) { /* no kernel writes this buffer again, so it does not matter whether the unmap fails */
    enqueue_unmap(stream, f);
    hx__cl_buffer_release(&f->out);
  }
  release_event(&f->event);
  release_event(&f->computed);
  if (f->readback) f->readback->busy = false;
  f->readback = NULL;
  f->completed = NULL;
  free(f->host);
  f->host = NULL;
  for (unsigned i = 0; i < HX__MAX_INFLIGHT && !stream->base.timed_out; i++)
    if (stream->inflight[i].computed)
      hx__cl_results_start_waiting(stream, &stream->inflight[i]); /* an error is seen when the chunk is waited for */
}

/* Reads part of a result without a pinned block: copies it to a result buffer of the stream, which the host maps. */
static hx__outcome map_result(hx__cl_stream *stream, hx__cl_inflight *f, cl_mem from, size_t at) {
  hx__outcome outcome = hx__cl_results_unmap(stream, f);
  if (outcome == HX__DONE)
    outcome = hx__cl_buffer_reserve(stream->device, &f->out, f->bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  if (outcome != HX__DONE) return outcome;
  const cl_int code = clEnqueueCopyBuffer(stream->queue, from, f->out.mem, at, 0, f->bytes, 0, NULL, NULL);
  if (code != CL_SUCCESS) return hx__cl_failed(stream->device, "clEnqueueCopyBuffer", code);
  outcome = map_results(stream, f, stream->queue);
  if (outcome == HX__DONE) outcome = hx__cl_await(stream, f->event);
  if (outcome == HX__DONE) hx__gate_has_waited(hx__gate_unmaps_so_far());
  return outcome;
}

hx__outcome hx__cl_read_result(hx__cl_stream *stream, hx__cl_inflight *f, cl_mem from, size_t at, size_t bytes) {
  hx__cl_readback_buffer *const l = &stream->readback[0];
  const size_t last = bytes / 4 - 1;
  f->bytes = bytes;
  f->computed = NULL;
  f->completed = NULL;
  if (!reserve_readback(stream, l, bytes)) return map_result(stream, f, from, at);
  for (unsigned tries = 0; tries < 2; tries++) {
    put_word(l->p, 0, NOT_A_RESULT);
    put_word(l->p, last, NOT_A_RESULT);
    hx__outcome outcome = read_into(stream, f, l, stream->queue, from, at);
    if (outcome == HX__DONE) outcome = hx__cl_await(stream, f->event);
    if (outcome != HX__DONE) return outcome;
    if (word_of(l->p, 0) != NOT_A_RESULT && word_of(l->p, last) != NOT_A_RESULT) return HX__DONE;
    hx__cl_results_end(stream, f, false);
  }
  hx__device_lost(&stream->device->base, "it reported success for reads of a result that did not arrive");
  return HX__FAILED;
}

void hx__cl_results_unmap_all(hx__cl_stream *stream) {
  for (unsigned i = 0; i < HX__MAX_INFLIGHT; i++) enqueue_unmap(stream, &stream->inflight[i]);
}

void hx__cl_results_close(hx__cl_stream *stream) {
  for (unsigned i = 0; i < HX__MAX_INFLIGHT; i++) hx__cl_buffer_release(&stream->inflight[i].out);
  for (unsigned i = 0; i < HX__CL_READBACK_BUFFERS; i++)
    if (stream->readback[i].block) hx__cl_free(&stream->device->base, stream->readback[i].block);
}

const void *hx__cl_results_of(const hx__cl_inflight *f) {
  if (f->host) return f->host;
  return f->completed ? f->completed : f->readback ? f->readback->p : f->mapped;
}

/* The slot of an empty leaf: joining it to another slot does not change that slot. */
static uint64_t empty_slot(hx_op op, hx_type type) {
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

/* Stores the joined slot of each field as the slot of the chunk's first leaf, which is right because the leaves are an
 * aligned block of the tree (docs/ARITHMETIC.md). The other slots become those of empty leaves. */
static void deliver_joined(const hx__request *request, hx__chunk chunk, const uint64_t *from) {
  const hx__work *const w = request->work;
  const bool all_leaves = request->joined && chunk.count == w->slices;
  if (all_leaves) *request->joined = true;
  for (size_t f = 0; f < w->nfields; f++) {
    uint64_t *const slots = request->slots + f * w->slices + chunk.first;
    const uint64_t none = empty_slot(w->fields[f].op, w->fields[f].type);
    slots[0] = from[f * HX__JOINED_SLOTS];
    for (size_t l = 1; !all_leaves && l < chunk.count; l++) slots[l] = none;
  }
}

/* Whether the launches of a joined chunk have stored their number, which is the last thing that they do. */
static bool has_joined(const hx__request *request, const hx__cl_inflight *f) {
  const uint64_t *const slots = hx__cl_results_of(f);
  for (size_t i = 0; i < request->work->nfields; i++)
    if (slots[i * HX__JOINED_SLOTS + HX__JOINED_SLOTS - 1] != f->join) return false;
  return true;
}

/* Compares a few results with the CPU's. part: what the CPU has not computed again in the meantime. */
static bool is_right(const hx__request *request, const hx__cl_inflight *f, hx__chunk part) {
  if (!request->work->matmul && f->joined && !has_joined(request, f)) return false;
  if (!f->compared) return true;
  if (request->resident) return hx__spot_check_ends(&f->spot, f->ends);
  if (f->product) return hx__spot_check_product(&f->spot, request, f->chunk, hx__cl_results_of(f), f->ldt);
  if (f->map) { /* elsewhere a map in place may have overwritten its inputs */
    const uint32_t *const results = hx__cl_results_of(f);
    return hx__spot_check_map(request, part, results + (part.first - f->chunk.first) * HX__LEAF,
                              hx__chunk_elements(request->work, f->chunk));
  }
  return hx__spot_check_slots(request, f->chunk, hx__cl_results_of(f), f->joined);
}

/* Handles wrong results. If an operand was read from a mirror, the program may have changed the host's array without
 * hx_modified. Then the device is not at fault, and the operands are copied again. Otherwise the device is lost. */
static void handle_wrong_results(hx__cl_stream *stream) {
  hx__cl_buffer_release(&stream->scratch.tickets); /* a launch that did not end leaves tickets that are not zero */
  const hx__device *const device = &stream->device->base;
  bool mirrored = stream->run.resident && stream->run.resident->old_mirror;
  for (size_t i = 0; i < stream->run.operands; i++) {
    hx__cl_operand *const o = &stream->operand[i];
    if (!o->mirror || o->of_run) continue;
    hx__mirror_invalidate(o->mirror);
    mirrored = true;
  }
  if (mirrored)
    hx__log(HX__LOG_WARN,
            "%s: results differ from the CPU's, which goes on with them: an array with advice was changed without "
            "hx_modified, or the driver did not do what it reported",
            device->name);
  else
    hx__device_lost(&stream->device->base, "it reported success for a chunk whose results are not there");
}

bool hx__cl_deliver(hx__stream *base, const hx__request *request, hx__inflight *ticket, hx__chunk part) {
  hx__cl_stream *const stream = (hx__cl_stream *)base;
  hx__cl_inflight *const f = (hx__cl_inflight *)ticket;
  if (part.count && !is_right(request, f, part)) {
    if (!stream->self_test.active) handle_wrong_results(stream); /* a self-test refuses the program, not the device */
    return false;
  }
  if (stream->run.resident) {
    stream->run.resident_slices += part.count;
    return true;
  }
  const bool joined = !request->work->matmul && f->joined, able = !joined || part.count == f->chunk.count;
  const uint64_t from_ns = base->trace ? hx__now_ns() : 0;
  if (joined && able)
    deliver_joined(request, f->chunk, hx__cl_results_of(f));
  else if (able)
    hx__deliver(request, f->chunk, part, hx__cl_results_of(f), f->ldt);
  if (base->trace && able)
    hx__trace_transfer(base->trace, base->trace_row, from_ns, hx__now_ns(), f->bytes, "from the device");
  return able;
}

void hx__cl_retire(hx__stream *stream, hx__inflight *ticket) {
  hx__cl_results_end((hx__cl_stream *)stream, (hx__cl_inflight *)ticket, true);
}
