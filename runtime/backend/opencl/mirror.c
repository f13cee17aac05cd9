/* SPDX-License-Identifier: Apache-2.0
 * Mirrors: copies of inputs that stay on a device between calls and are completed as runs need them, and the C of a
 * product that stays on the device. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/opencl/arguments.h"
#include "runtime/base/clock.h"
#include "runtime/base/thresholds.h"

#define MOST_SPARE_BYTES ((size_t)512 << 20)
#define STORE_ITEMS 64u
#define STORE_GROUPS 256u /* work-groups along a row, at most */
#define STORE_ROWS 4096u

void hx__cl_spares_release(hx__cl_device *d) {
  hx__cl_buffer spare[HX__CL_SPARES];
  pthread_mutex_lock(&d->lock);
  memcpy(spare, d->spare, sizeof spare);
  memset(d->spare, 0, sizeof d->spare);
  pthread_mutex_unlock(&d->lock);
  for (unsigned i = 0; i < HX__CL_SPARES; i++) hx__cl_buffer_release(&spare[i]);
}

/* Returns a spare buffer of exactly this size. NULL: there is none, and all spare buffers were released to make room
 * for a new one. */
static cl_mem take_spare(hx__cl_device *d, size_t bytes) {
  cl_mem found = NULL;
  pthread_mutex_lock(&d->lock);
  for (unsigned i = 0; i < HX__CL_SPARES && !found; i++)
    if (d->spare[i].mem && d->spare[i].bytes == bytes) {
      found = d->spare[i].mem;
      d->spare[i].mem = NULL;
    }
  pthread_mutex_unlock(&d->lock);
  if (!found) hx__cl_spares_release(d);
  return found;
}

/* Keeps a buffer as a spare one. False if there are enough, memory is short or the buffer is too large: spare buffers
 * are kept until the end of the process. */
static bool put_spare(hx__cl_device *d, cl_mem mem, size_t bytes) {
  bool put = false;
  const uint64_t short_ns = atomic_load(&d->short_ns);
  if (short_ns && hx__now_ns() - short_ns < HX__SHORTAGE_NS) return false;
  if (bytes > MOST_SPARE_BYTES && bytes > hx__cl_most_retained_bytes(d)) return false;
  pthread_mutex_lock(&d->lock);
  for (unsigned i = 0; i < HX__CL_SPARES && !put; i++)
    if (!d->spare[i].mem) {
      d->spare[i] = (hx__cl_buffer){mem, bytes};
      put = true;
    }
  pthread_mutex_unlock(&d->lock);
  return put;
}

hx__mirror *hx__cl_mirror_create(hx__device *device, const void *first, size_t bytes) {
  hx__cl_device *const d = (hx__cl_device *)device;
  hx__cl_mirror *const h = bytes <= d->base.max_alloc ? calloc(1, sizeof *h) : NULL;
  if (h && hx__mirror_init(&h->base, first, bytes)) return &h->base;
  free(h);
  return NULL;
}

hx__outcome hx__cl_mirror_allocate(hx__cl_device *d, hx__mirror *mirror) {
  hx__cl_mirror *const h = (hx__cl_mirror *)mirror;
  cl_int code = CL_SUCCESS;
  if (h->mem) return HX__DONE;
  h->mem = take_spare(d, mirror->bytes);
  if (!h->mem) h->mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE, mirror->bytes, NULL, &code);
  hx__log(HX__LOG_TRACE, "clCreateBuffer: %zu bytes of a mirror: %d", mirror->bytes, code);
  return h->mem ? HX__DONE : hx__cl_failed(d, "clCreateBuffer", code);
}

void hx__cl_mirror_destroy(hx__device *device, hx__mirror *mirror) {
  hx__cl_mirror *const h = (hx__cl_mirror *)mirror;
  /* The driver keeps a released buffer until commands that use it have ended. */
  const bool spared = h->mem && !h->in_use_after_timeout && put_spare((hx__cl_device *)device, h->mem, mirror->bytes);
  if (h->mem && !spared) clReleaseMemObject(h->mem);
  hx__mirror_free(mirror);
  free(mirror);
}

static void run_destroy_job(hx__memory_job *job) {
  hx__cl_mirror *const h = (hx__cl_mirror *)((char *)job - offsetof(hx__cl_mirror, job));
  hx__cl_mirror_destroy(h->device, &h->base);
}

/* Makes no driver call on the calling thread, because that thread may hold locks that threads of the program need. */
void hx__cl_job_mirror_destroy(hx__device *device, hx__mirror *mirror) {
  hx__cl_mirror *const h = (hx__cl_mirror *)mirror;
  if (h->mem && !h->in_use_after_timeout && put_spare((hx__cl_device *)device, h->mem, mirror->bytes)) h->mem = NULL;
  if (!h->mem) {
    hx__cl_mirror_destroy(device, mirror);
    return;
  }
  h->device = device;
  h->job.run = run_destroy_job;
  hx__memory_jobs_post(&((hx__cl_device *)device)->jobs, &h->job);
}

static cl_mem mem_of(const hx__mirror *mirror) { return ((const hx__cl_mirror *)mirror)->mem; }

static hx__outcome complete(hx__cl_stream *stream, hx__cl_operand *o, size_t at, size_t bytes) {
  hx__outcome outcome = HX__DONE;
  size_t gap, gap_bytes;
  while (outcome == HX__DONE && hx__mirror_next_gap(o->mirror, at, bytes, &gap, &gap_bytes))
    outcome = hx__cl_upload(stream, (const char *)o->mirror->first + gap, gap_bytes, o->block, mem_of(o->mirror), gap);
  if (outcome != HX__DONE) hx__mirror_invalidate(o->mirror);
  return outcome;
}

/* Whether rectangles can be copied to the mirror: it has nothing that was copied otherwise, and is exactly this array,
 * without gaps between rows: one driver refuses rectangles whose last row, with its gap, would end beyond the buffer.
 */
static bool takes_rectangles(const hx__cl_operand *o) {
  const hx__array *const a = o->array;
  return o->mirror->filled == 0 && a->ld == a->cols && o->mirror->first == (uintptr_t)a->p &&
         o->mirror->bytes == a->rows * a->ld * 4;
}

static hx__outcome upload_columns(hx__cl_stream *stream, const hx__cl_operand *o, size_t first, size_t end) {
  const size_t rows = o->array->rows, pitch = o->array->ld * 4;
  if (first >= end) return HX__DONE;
  return hx__cl_upload_rows(stream, o, (hx__cl_region){0, rows, first, end - first}, mem_of(o->mirror), first * 4,
                            pitch);
}

/* Whether rectangles have filled these columns of a mirror of this run, all rows of them. */
static bool has_columns(const hx__cl_operand *o, size_t first, size_t end) {
  return o->of_run && o->region.cols && o->region.col <= first && end <= o->region.col + o->region.cols;
}

/* Completes columns of a mirror that is filled by columns alone. The chunks of a run follow one another, so the columns
 * that are there are one range. */
static hx__outcome complete_columns(hx__cl_stream *stream, hx__cl_operand *o, size_t first, size_t end) {
  const size_t there = o->region.col, there_end = there + o->region.cols;
  const bool joins = o->region.cols && first <= there_end && there <= end;
  const size_t before = joins && first < there ? there : joins ? first : end;
  const size_t after = joins && end > there_end ? there_end : end;
  hx__outcome outcome = upload_columns(stream, o, first, before);
  if (outcome == HX__DONE) outcome = upload_columns(stream, o, after, end);
  const size_t from = joins && there < first ? there : first, to = joins && there_end > end ? there_end : end;
  o->region = outcome == HX__DONE ? (hx__cl_region){0, o->array->rows, from, to - from} : (hx__cl_region){0, 0, 0, 0};
  return outcome;
}

hx__outcome hx__cl_view_mirror(hx__cl_stream *stream, hx__cl_operand *o, hx__cl_region r, hx__cl_view *v) {
  const hx__array *const a = o->array;
  const size_t base = (uintptr_t)a->p - o->mirror->first, first = base + (r.row * a->ld + r.col) * 4;
  const size_t row = r.cols * 4, pitch = a->ld * 4;
  *v = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = mem_of(o->mirror), .first = first / 4, .ld = a->ld};
  if (has_columns(o, r.col, r.col + r.cols)) return HX__DONE;
  if (o->of_run && r.rows == a->rows && r.cols < a->cols && r.rows > 1 && takes_rectangles(o))
    return complete_columns(stream, o, r.col, r.col + r.cols);
  /* If the gaps between rows are longer than the rows, and may contain whole blocks, each row is completed separately.
   */
  if (r.rows <= 1 || pitch - row <= row || pitch - row < HX__MIRROR_BLOCK)
    return complete(stream, o, first, r.rows ? (r.rows - 1) * pitch + row : 0);
  hx__outcome outcome = HX__DONE;
  for (size_t i = 0; i < r.rows && outcome == HX__DONE; i++) outcome = complete(stream, o, first + i * pitch, row);
  return outcome;
}

bool hx__cl_operand_arrives_in_parts(const hx__cl_operand *o) {
  return o->mirror && o->region.cols == 0 && takes_rectangles(o);
}

hx__outcome hx__cl_view_part(hx__cl_stream *stream, hx__cl_operand *o, hx__cl_region r, hx__cl_view *v) {
  const hx__array *const a = o->array;
  if (r.cols == a->cols) return hx__cl_view_mirror(stream, o, r, v);
  *v = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = mem_of(o->mirror), .first = r.row * a->ld + r.col, .ld = a->ld};
  return hx__cl_upload_rows(stream, o, r, v->mem, v->first * 4, v->ld * 4);
}

void hx__cl_operand_parts_done(hx__cl_operand *o, bool there) {
  size_t at, bytes;
  if (!there) hx__mirror_invalidate(o->mirror);
  while (there && hx__mirror_next_gap(o->mirror, 0, o->mirror->bytes, &at, &bytes)) continue;
}

void hx__cl_prefetch(hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, hx__chunk reach) {
  hx__cl_operand *const o = &stream->operand[w->by_columns];
  if (w->by_products) return; /* both operands of the next chunk are uploaded when it is submitted */
  const bool up =
      chunk.first == reach.first || (stream->run.previous != SIZE_MAX && chunk.first > stream->run.previous);
  const size_t end = chunk.first + chunk.count, left = up ? reach.first + reach.count - end : chunk.first - reach.first;
  stream->run.previous = chunk.first;
  if (!w->matmul || reach.count == 0 || !stream->uploads || stream->run.copiers == HX__COPY_BY_WORKER || !o->mirror ||
      left == 0)
    return;
  const size_t count = chunk.count < left ? chunk.count : left, first = up ? end : chunk.first - count;
  const bool slices_are_columns = w->by_columns ? !w->trans_b : w->trans_a; /* of the array as it is stored */
  const hx__cl_region region =
      slices_are_columns ? (hx__cl_region){0, w->gemm.k, first, count} : (hx__cl_region){first, count, 0, w->gemm.k};
  hx__cl_view unused;
  if (hx__cl_view_mirror(stream, o, region, &unused) == HX__DONE) clFlush(stream->uploads);
}

hx__outcome hx__cl_resident_begin(hx__cl_stream *stream, const hx__work *w) {
  hx__mirror *const to = stream->run.resident->mirror;
  size_t at, bytes;
  if (!hx__mirror_next_gap(to, 0, to->bytes, &at, &bytes) || w->map || w->gemm.beta == 0.0f) return HX__DONE;
  const hx__mirror *const from = stream->run.resident->old_mirror;
  if (!from) return hx__cl_upload(stream, w->gemm.c, to->bytes, NULL, mem_of(to), 0);
  const cl_int code = clEnqueueCopyBuffer(stream->queue, mem_of(from), mem_of(to), (uintptr_t)w->gemm.c - from->first,
                                          0, to->bytes, 0, NULL, NULL);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(stream->device, "clEnqueueCopyBuffer", code);
}

cl_mem hx__cl_resident_mem(const hx__cl_stream *stream) { return mem_of(stream->run.resident->mirror); }

hx__cl_target hx__cl_resident_target(const hx__cl_stream *stream, const hx__work *w, hx__chunk chunk, bool in_parts) {
  static const hx__cl_target none = {.mem = NULL};
  const bool of_set = hx__kernel_of_set(stream->device->program[stream->product].row);
  if (!stream->run.resident || chunk.count != stream->run.slices || (w->gemm.ldc % 16 != 0 && !of_set)) return none;
  /* Only the kernels of a set apply beta, and a product in parts is first written to another buffer. Writing to the
   * mirror directly is safe: nothing reads it before the run has completed it. */
  if (w->gemm.beta != 0.0f && (!of_set || in_parts)) return none;
  return (hx__cl_target){.mem = hx__cl_resident_mem(stream), .ldt = w->gemm.ldc, .beta = w->gemm.beta};
}

/* The part of C that a chunk computes. The products of a batch are rows of one matrix, because such a C has no gaps. */
static hx__cl_region place_in_c(const hx__work *w, hx__chunk chunk) {
  const size_t m = w->gemm.m, n = w->gemm.n;
  if (w->by_products) return (hx__cl_region){chunk.first * m, chunk.count * m, 0, n};
  return w->by_columns ? (hx__cl_region){0, m, chunk.first, chunk.count}
                       : (hx__cl_region){chunk.first, chunk.count, 0, n};
}

hx__outcome hx__cl_resident_store_chunk(hx__cl_stream *stream, const hx__work *w, const hx__cl_inflight *f) {
  const hx__chunk chunk = f->chunk;
  const hx__cl_region c = place_in_c(w, chunk);
  const cl_float beta = w->gemm.beta;
  hx__outcome outcome;
  if (f->stored) return HX__DONE;
  args a = {.stream = stream};
  a.kernel = hx__cl_stream_kernel(stream, &stream->kernels.store[stream->product], stream->product, "hx_matmul_store",
                                  NULL, NULL, &outcome);
  if (outcome != HX__DONE) return outcome;
  arg_mem(&a, f->out.mem);
  arg_size(&a, f->ldt);
  arg_mem(&a, hx__cl_resident_mem(stream));
  arg_size(&a, c.row * w->gemm.ldc + c.col);
  arg_size(&a, w->gemm.ldc);
  arg_size(&a, c.rows);
  arg_size(&a, c.cols);
  arg(&a, sizeof beta, &beta);
  const uint32_t local[2] = {
      stream->device->max_local < STORE_ITEMS ? (uint32_t)stream->device->max_local : STORE_ITEMS, 1};
  const size_t groups = hx__ceiling(c.cols, local[0]);
  return launch(&a, 2,
                (size_t[2]){groups < STORE_GROUPS ? groups : STORE_GROUPS, c.rows < STORE_ROWS ? c.rows : STORE_ROWS},
                local);
}

/* The byte offset, in the mirror of C or of a map's result, of the first element of the chunk, or of the last one. */
static size_t end_in_c(const hx__work *w, hx__chunk chunk, bool last) {
  if (w->map) {
    const size_t element = chunk.first * HX__LEAF + (last ? hx__chunk_elements(w, chunk) - 1 : 0);
    return (element / w->cols * w->ld_out + element % w->cols) * sizeof(uint32_t);
  }
  const hx__cl_region c = place_in_c(w, chunk);
  const size_t row = c.row + (last ? c.rows - 1 : 0), col = c.col + (last ? c.cols - 1 : 0);
  return (row * w->gemm.ldc + col) * sizeof(float);
}

hx__outcome hx__cl_resident_read_ends(hx__cl_stream *stream, hx__cl_inflight *f, const hx__work *w) {
  const size_t first = end_in_c(w, f->chunk, false), last = end_in_c(w, f->chunk, true);
  cl_mem const mem = hx__cl_resident_mem(stream);
  cl_int code = clEnqueueReadBuffer(stream->queue, mem, CL_FALSE, first, sizeof(float), &f->ends[0], 0, NULL, NULL);
  if (code == CL_SUCCESS)
    code = clEnqueueReadBuffer(stream->queue, mem, CL_FALSE, last, sizeof(float), &f->ends[1], 0, NULL, &f->event);
  if (code != CL_SUCCESS) {
    f->event = NULL;
    return hx__cl_failed(stream->device, "clEnqueueReadBuffer", code);
  }
  code = clFlush(stream->queue);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(stream->device, "clFlush", code);
}
