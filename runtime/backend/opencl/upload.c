/* SPDX-License-Identifier: Apache-2.0
 * Fills buffers of a stream. If the memory is pinned, the device copies from it directly. Otherwise threads of hx copy
 * it through the staging ring, so that no driver call gets a pointer to memory of the caller that is not registered. */
#include <string.h>

#include "runtime/backend/copy_pool.h"
#include "runtime/backend/opencl/stream.h"
#include "runtime/base/clock.h"
#include "runtime/base/trace.h"

#define FILL_BYTES ((size_t)256 << 10) /* of the ring, for one thread at a time */

/* Allocates and maps the staging ring, if that has not been done. A half can be filled once the event of its map has
 * completed. */
static hx__outcome stage_open(hx__cl_stream *stream) {
  const size_t bytes = hx__cl_stage_bytes(stream->device);
  cl_int code = CL_SUCCESS;
  for (int i = 0; i < 2; i++) { /* separately, because there may have been no room for the second half */
    if (stream->staging.host[i]) continue;
    cl_mem *const half = &stream->staging.half[i];
    if (!*half)
      *half = clCreateBuffer(stream->device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, NULL, &code);
    if (!*half) return hx__cl_failed(stream->device, "clCreateBuffer", code);
    void *const mapped = clEnqueueMapBuffer(stream->queue, *half, CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0,
                                            NULL, &stream->staging.event[i], &code);
    if (code != CL_SUCCESS) stream->staging.event[i] = NULL;
    if (code != CL_SUCCESS) return hx__cl_failed(stream->device, "clEnqueueMapBuffer", code);
    stream->staging.host[i] = mapped;
    stream->base.grew_pinned_memory = true;
    code = clFlush(stream->queue);
    if (code != CL_SUCCESS) return hx__cl_failed(stream->device, "clFlush", code);
  }
  return HX__DONE;
}

void hx__cl_stage_close(hx__cl_stream *stream) {
  for (int i = 0; i < 2; i++) {
    if (stream->staging.event[i]) clReleaseEvent(stream->staging.event[i]);
    if (stream->staging.host[i])
      clEnqueueUnmapMemObject(stream->queue, stream->staging.half[i], stream->staging.host[i], 0, NULL, NULL);
    if (stream->staging.half[i]) clReleaseMemObject(stream->staging.half[i]);
  }
}

/* Waits until the device has read the half of the ring that is to be filled next, and returns its index in *half. */
static hx__outcome stage_half(hx__cl_stream *stream, unsigned *half) {
  *half = stream->staging.next++ & 1u;
  cl_event *const event = &stream->staging.event[*half];
  if (!*event) return HX__DONE;
  const hx__outcome outcome = hx__cl_await(stream, *event);
  if (outcome == HX__TIMED_OUT) return outcome; /* the device may still read it */
  cl_event const ended = *event;
  *event = NULL;
  clReleaseEvent(ended);
  return outcome;
}

/* The queue on which a buffer is written. Mirrors are written on the queue for uploads, while kernels run, because no
 * kernel reads the blocks that are missing. */
static cl_command_queue queue_to(const hx__cl_stream *stream, cl_mem to) {
  for (size_t i = 0; i < stream->run.operands && stream->uploads; i++)
    if (stream->operand[i].mirror && ((const hx__cl_mirror *)stream->operand[i].mirror)->mem == to)
      return stream->uploads;
  return stream->queue;
}

/* Remembers the event of the last write on the queue for uploads. */
static hx__outcome note_upload(hx__cl_stream *stream, cl_command_queue queue, cl_event event) {
  if (queue != stream->uploads || !event) return HX__DONE;
  const cl_int code = clRetainEvent(event);
  if (code != CL_SUCCESS) return hx__cl_failed(stream->device, "clRetainEvent", code);
  cl_event const before = stream->uploaded;
  stream->uploaded = event;
  if (before) clReleaseEvent(before);
  return HX__DONE;
}

/* A copy of rows of `bytes` bytes each: `pitch` bytes apart on the host, and to_pitch bytes apart in a buffer, from
 * byte `at` on. */
typedef struct move {
  const char *from;
  size_t rows, bytes, pitch;
  cl_mem to;
  size_t at, to_pitch;
} move;

/* Enqueues a copy from pinned memory. */
static hx__outcome write_rows(hx__cl_stream *stream, const move *r, cl_event *event) {
  const cl_command_queue queue = queue_to(stream, r->to);
  const bool contiguous = r->rows == 1 || (r->pitch == r->bytes && r->to_pitch == r->bytes);
  const size_t to[3] = {r->at % r->to_pitch, r->at / r->to_pitch, 0}, from[3] = {0, 0, 0};
  const size_t region[3] = {r->bytes, r->rows, 1};
  const cl_int code =
      contiguous ? clEnqueueWriteBuffer(queue, r->to, CL_FALSE, r->at, r->rows * r->bytes, r->from, 0, NULL, event)
                 : clEnqueueWriteBufferRect(queue, r->to, CL_FALSE, to, from, region, r->to_pitch, 0, r->pitch, 0,
                                            r->from, 0, NULL, event);
  hx__log(HX__LOG_TRACE, "clEnqueueWriteBuffer%s: %zu x %zu bytes at %zu: %d", contiguous ? "" : "Rect", r->rows,
          r->bytes, r->at, code);
  if (code != CL_SUCCESS) *event = NULL;
  if (code != CL_SUCCESS) return hx__cl_failed(stream->device, "clEnqueueWriteBuffer", code);
  stream->run.copied += r->rows * r->bytes;
  return note_upload(stream, queue, *event);
}

/* The part of the rows that fits into a half of the ring. */
typedef struct filling {
  const char *from;
  char *to;
  size_t bytes, pitch, at, count; /* at, count: a range of the rows, counted without gaps */
} filling;

static void fill_part(void *arg, size_t index) {
  const filling *const f = arg;
  const size_t first = index * FILL_BYTES, end = first + FILL_BYTES < f->count ? first + FILL_BYTES : f->count;
  for (size_t done = first; done < end;) {
    const size_t row = (f->at + done) / f->bytes, col = (f->at + done) % f->bytes;
    const size_t left = f->bytes - col, room = end - done, part = left < room ? left : room;
    memcpy(f->to + done, f->from + row * f->pitch + col, part);
    done += part;
  }
}

static bool is_unwanted(const hx__cl_stream *stream) {
  return stream->base.still_wanted && atomic_load_explicit(stream->base.still_wanted, memory_order_relaxed) == 0;
}

/* Copies the rows through the staging ring. Stops with HX__SUPERSEDED if the chunk is superseded. */
static hx__outcome copy_by_ring(hx__cl_stream *stream, move r) {
  hx__outcome outcome = stage_open(stream);
  const uint64_t from_ns = stream->base.trace ? hx__now_ns() : 0;
  const bool contiguous = r.to_pitch == r.bytes;
  const size_t half_bytes = hx__cl_stage_bytes(stream->device);
  const size_t all = r.rows * r.bytes, most = contiguous ? half_bytes : half_bytes / r.bytes * r.bytes;
  filling f = {.from = r.from, .bytes = r.pitch == r.bytes ? all : r.bytes, .pitch = r.pitch};
  for (; outcome == HX__DONE && f.at < all; f.at += f.count) {
    unsigned half;
    outcome = stage_half(stream, &half);
    if (outcome != HX__DONE) break;
    f.to = stream->staging.host[half];
    f.count = all - f.at < most ? all - f.at : most;
    const size_t parts = (f.count + FILL_BYTES - 1) / FILL_BYTES;
    if (stream->run.copiers != HX__COPY_BY_WORKER)
      hx__copy_pool_run(stream->run.copiers, fill_part, &f, parts);
    else
      for (size_t i = 0; i < parts && !is_unwanted(stream); i++) fill_part(&f, i);
    if (is_unwanted(stream)) {
      stream->run.unsent = all - f.at;
      outcome = HX__SUPERSEDED;
      break;
    }
    const size_t row = contiguous ? f.count : r.bytes;
    const move part = {.from = f.to,
                       .rows = f.count / row,
                       .bytes = row,
                       .pitch = row,
                       .to = r.to,
                       .at = r.at + f.at / r.bytes * r.to_pitch + f.at % r.bytes,
                       .to_pitch = contiguous ? row : r.to_pitch};
    outcome = write_rows(stream, &part, &stream->staging.event[half]);
    if (outcome == HX__DONE) clFlush(queue_to(stream, r.to));
  }
  if (stream->base.trace && f.at)
    hx__trace_transfer(stream->base.trace, stream->base.trace_row, from_ns, hx__now_ns(), f.at, "to the device");
  return outcome;
}

/* Copies the rows from a pinned block. */
static hx__outcome copy_pinned(hx__cl_stream *stream, move r) {
  cl_event event = NULL;
  const hx__outcome outcome = write_rows(stream, &r, &event);
  if (event) clReleaseEvent(event);
  return outcome;
}

/* Copies the rows: directly those parts that the block (NULL: none) has pinned, and the rest through the staging
 * ring. */
static hx__outcome copy_rows(hx__cl_stream *stream, const hx__cl_block *block, move r) {
  hx__outcome outcome = HX__DONE;
  if (r.pitch == r.bytes && r.to_pitch == r.bytes) {
    r.bytes *= r.rows;
    r.pitch = r.to_pitch = r.bytes;
    r.rows = r.rows != 0;
  }
  while (outcome == HX__DONE && r.rows) {
    bool direct = false;
    const size_t reach = block ? hx__cl_direct_bytes(block, r.from, &direct) : SIZE_MAX;
    move part = r;
    if (reach < r.bytes) {
      part = (move){r.from, 1, reach, reach, r.to, r.at, reach};
    } else {
      const size_t rows = (reach - r.bytes) / r.pitch + 1;
      if (rows < r.rows) part.rows = rows;
    }
    /* A half of the ring holds whole rows of a rectangle; a longer row goes by itself. */
    if (!direct && r.bytes > hx__cl_stage_bytes(stream->device))
      part = (move){part.from, 1, part.bytes, part.bytes, part.to, part.at, part.bytes};
    outcome = (direct ? copy_pinned : copy_by_ring)(stream, part);
    if (reach < r.bytes && outcome == HX__DONE) {
      const size_t rest = r.bytes - reach;
      outcome = copy_rows(stream, block, (move){r.from + reach, 1, rest, rest, r.to, r.at + reach, rest});
    }
    r.from += part.rows * r.pitch;
    r.at += part.rows * r.to_pitch;
    r.rows -= part.rows;
  }
  return outcome;
}

hx__outcome hx__cl_upload(hx__cl_stream *stream, const void *from, size_t bytes, const hx__cl_block *block, cl_mem to,
                          size_t at) {
  return copy_rows(stream, block, (move){from, 1, bytes, bytes, to, at, bytes});
}

hx__outcome hx__cl_upload_rows(hx__cl_stream *stream, const hx__cl_operand *o, hx__cl_region r, cl_mem to, size_t at,
                               size_t to_pitch) {
  const hx__array *const a = o->array;
  const char *const from = (const char *)a->p + (r.row * a->ld + r.col) * 4;
  return copy_rows(stream, o->block, (move){from, r.rows, r.cols * 4, a->ld * 4, to, at, to_pitch});
}
