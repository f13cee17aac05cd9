/* SPDX-License-Identifier: Apache-2.0
 * What stays on a device between calls: copies of inputs, completed as runs need them, and a product's C. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/crew.h"
#include "runtime/backend/opencl/arguments.h"

#define MOST_SPARE_BYTES ((size_t)512 << 20)
#define STORE_ITEMS 64u
#define STORE_GROUPS 256u /* at most, along a row */
#define STORE_ROWS 4096u

/* A spare buffer of that size; NULL: there is none, and all were given back to make room for a new one. */
static cl_mem take_spare(hx__cl_device *d, size_t bytes) {
  hx__cl_buffer spare[HX__CL_SPARES];
  cl_mem found = NULL;
  pthread_mutex_lock(&d->lock);
  for (unsigned i = 0; i < HX__CL_SPARES && !found; i++)
    if (d->spare[i].mem && d->spare[i].bytes == bytes) {
      found = d->spare[i].mem;
      d->spare[i].mem = NULL;
    }
  memcpy(spare, d->spare, sizeof spare);
  if (!found) memset(d->spare, 0, sizeof d->spare);
  pthread_mutex_unlock(&d->lock);
  for (unsigned i = 0; i < HX__CL_SPARES && !found; i++) hx__cl_buffer_release(&spare[i]);
  return found;
}

/* Keeps it as a spare one; false where there are enough, or it is large: spares stay to the end of the process. */
static bool put_spare(hx__cl_device *d, cl_mem mem, size_t bytes) {
  bool put = false;
  if (bytes > MOST_SPARE_BYTES) return false;
  pthread_mutex_lock(&d->lock);
  for (unsigned i = 0; i < HX__CL_SPARES && !put; i++)
    if (!d->spare[i].mem) {
      d->spare[i] = (hx__cl_buffer){mem, bytes};
      put = true;
    }
  pthread_mutex_unlock(&d->lock);
  return put;
}

hx__held *hx__cl_hold(hx__device *device, const void *first, size_t bytes) {
  hx__cl_device *const d = (hx__cl_device *)device;
  hx__cl_held *const h = bytes <= d->base.max_alloc ? calloc(1, sizeof *h) : NULL;
  if (h && hx__held_init(&h->base, first, bytes)) return &h->base;
  free(h);
  return NULL;
}

hx__outcome hx__cl_held_make(hx__cl_device *d, hx__held *held) {
  hx__cl_held *const h = (hx__cl_held *)held;
  cl_int code = CL_SUCCESS;
  if (h->mem) return HX__DONE;
  h->mem = take_spare(d, held->bytes);
  if (!h->mem) h->mem = clCreateBuffer(d->context, CL_MEM_READ_WRITE, held->bytes, NULL, &code);
  hx__log(HX__LOG_TRACE, "clCreateBuffer: %zu bytes to keep: %d", held->bytes, code);
  return h->mem ? HX__DONE : hx__cl_failed(d, "clCreateBuffer", code);
}

void hx__cl_drop(hx__device *device, hx__held *held) {
  hx__cl_held *const h = (hx__cl_held *)held;
  /* The driver keeps a buffer until commands that use it have ended. */
  const bool spared = h->mem && !h->late && put_spare((hx__cl_device *)device, h->mem, held->bytes);
  if (h->mem && !spared) clReleaseMemObject(h->mem);
  hx__held_free(held);
  free(held);
}

static void drop_errand(hx__errand *errand) {
  hx__cl_held *const h = (hx__cl_held *)((char *)errand - offsetof(hx__cl_held, errand));
  hx__cl_drop(h->device, &h->base);
}

/* Called under locks that threads of the program want, by threads of hx, too: so it makes no driver call itself. */
void hx__cl_errand_drop(hx__device *device, hx__held *held) {
  hx__cl_held *const h = (hx__cl_held *)held;
  if (h->mem && !h->late && put_spare((hx__cl_device *)device, h->mem, held->bytes)) h->mem = NULL;
  if (!h->mem) {
    hx__cl_drop(device, held);
    return;
  }
  h->device = device;
  h->errand.work = drop_errand;
  hx__errands_post(&((hx__cl_device *)device)->errands, &h->errand);
}

static cl_mem mem_of(const hx__held *held) { return ((const hx__cl_held *)held)->mem; }

static hx__outcome complete(hx__cl_lane *lane, hx__cl_operand *o, size_t at, size_t bytes) {
  hx__outcome outcome = HX__DONE;
  size_t gap, gap_bytes;
  while (outcome == HX__DONE && hx__held_gap(o->held, at, bytes, &gap, &gap_bytes))
    outcome = hx__cl_upload(lane, (const char *)o->held->first + gap, gap_bytes, o->block, mem_of(o->held), gap);
  if (outcome != HX__DONE) hx__held_forget(o->held);
  return outcome;
}

hx__outcome hx__cl_view_held(hx__cl_lane *lane, hx__cl_operand *o, hx__cl_region r, hx__cl_view *v) {
  const hx__array *const a = o->array;
  const size_t base = (uintptr_t)a->p - o->held->first, first = base + (r.row * a->ld + r.col) * 4;
  const size_t row = r.cols * 4, pitch = a->ld * 4;
  *v = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = mem_of(o->held), .first = first / 4, .ld = a->ld};
  /* Rows that leave out more than they have one by one. */
  if (r.rows <= 1 || pitch - row <= row) return complete(lane, o, first, r.rows ? (r.rows - 1) * pitch + row : 0);
  hx__outcome outcome = HX__DONE;
  for (size_t i = 0; i < r.rows && outcome == HX__DONE; i++) outcome = complete(lane, o, first + i * pitch, row);
  return outcome;
}

/* Nothing of it is there, and it is of nothing else. Without gaps: a driver refuses rectangles whose last row, with its
 * gap, ends behind the buffer. */
bool hx__cl_comes_in_parts(const hx__cl_operand *o) {
  const hx__array *const a = o->array;
  return o->held && o->held->filled == 0 && a->ld == a->cols && o->held->first == (uintptr_t)a->p &&
         o->held->bytes == a->rows * a->ld * 4;
}

hx__outcome hx__cl_view_part(hx__cl_lane *lane, hx__cl_operand *o, hx__cl_region r, hx__cl_view *v) {
  const hx__array *const a = o->array;
  if (r.cols == a->cols) return hx__cl_view_held(lane, o, r, v);
  *v = (hx__cl_view){.mode = HX__MEMORY_COPY, .mem = mem_of(o->held), .first = r.row * a->ld + r.col, .ld = a->ld};
  return hx__cl_upload_rows(lane, o, r, v->mem, v->first * 4, v->ld * 4);
}

void hx__cl_all_parts(hx__cl_operand *o, bool there) {
  size_t at, bytes;
  if (!there) hx__held_forget(o->held);
  while (there && hx__held_gap(o->held, 0, o->held->bytes, &at, &bytes)) continue;
}

hx__outcome hx__cl_await_uploads(hx__cl_lane *lane) {
  if (!lane->uploaded) return HX__DONE;
  cl_int code = clFlush(lane->uploads);
  if (code == CL_SUCCESS) code = clEnqueueBarrierWithWaitList(lane->queue, 1, &lane->uploaded, NULL);
  clReleaseEvent(lane->uploaded);
  lane->uploaded = NULL;
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(lane->device, "clEnqueueBarrierWithWaitList", code);
}

void hx__cl_prefetch(hx__cl_lane *lane, const hx__work *w, hx__chunk chunk, hx__chunk reach) {
  hx__cl_operand *const o = &lane->operand[w->by_columns];
  const bool up = chunk.first == reach.first || (lane->previous != SIZE_MAX && chunk.first > lane->previous);
  const size_t end = chunk.first + chunk.count, left = up ? reach.first + reach.count - end : chunk.first - reach.first;
  lane->previous = chunk.first;
  if (!w->matmul || reach.count == 0 || !lane->uploads || lane->copiers == HX__COPIER_FEEDER || !o->held || left == 0)
    return;
  const size_t count = chunk.count < left ? chunk.count : left, first = up ? end : chunk.first - count;
  const bool across = w->by_columns ? !w->trans_b : w->trans_a; /* slices are columns of what is stored */
  const hx__cl_region region =
      across ? (hx__cl_region){0, w->gemm.k, first, count} : (hx__cl_region){first, count, 0, w->gemm.k};
  hx__cl_view unused;
  if (hx__cl_view_held(lane, o, region, &unused) == HX__DONE) clFlush(lane->uploads);
}

hx__outcome hx__cl_keep_begin(hx__cl_lane *lane, const hx__work *w) {
  hx__held *const to = lane->keep->to;
  size_t at, bytes;
  if (!hx__held_gap(to, 0, to->bytes, &at, &bytes) || w->gemm.beta == 0.0f) return HX__DONE;
  const hx__held *const from = lane->keep->from;
  if (!from) return hx__cl_upload(lane, w->gemm.c, to->bytes, NULL, mem_of(to), 0);
  const cl_int code = clEnqueueCopyBuffer(lane->queue, mem_of(from), mem_of(to), (uintptr_t)w->gemm.c - from->first, 0,
                                          to->bytes, 0, NULL, NULL);
  return code == CL_SUCCESS ? HX__DONE : hx__cl_failed(lane->device, "clEnqueueCopyBuffer", code);
}

bool hx__cl_keep_directly(hx__cl_lane *lane, const hx__work *w, hx__chunk chunk, bool in_parts) {
  const bool of_set = hx__kernel_of_set(lane->device->program[lane->product].row);
  if (!lane->keep || chunk.count != lane->slices || (w->gemm.ldc % 16 != 0 && !of_set)) return false;
  /* Not by rows that know no beta, nor a part at a time, which begins elsewhere. What the run does not end, nobody
   * reads. */
  if (w->gemm.beta != 0.0f && (!of_set || in_parts)) return false;
  lane->t = mem_of(lane->keep->to);
  lane->ldt = w->gemm.ldc;
  lane->beta = w->gemm.beta;
  return true;
}

hx__outcome hx__cl_keep_chunk(hx__cl_lane *lane, const hx__work *w, hx__chunk chunk) {
  const size_t m = w->by_columns ? w->gemm.m : chunk.count, n = w->by_columns ? chunk.count : w->gemm.n;
  const cl_float beta = w->gemm.beta;
  hx__outcome outcome;
  if (lane->t == mem_of(lane->keep->to)) return HX__DONE;
  args a = {.lane = lane};
  a.kernel =
      hx__cl_lane_kernel(lane, &lane->store[lane->product], lane->product, "hx_matmul_store", NULL, NULL, &outcome);
  if (outcome != HX__DONE) return outcome;
  arg_mem(&a, lane->out.mem);
  arg_size(&a, lane->ldt);
  arg_mem(&a, mem_of(lane->keep->to));
  arg_size(&a, w->by_columns ? chunk.first : chunk.first * w->gemm.ldc);
  arg_size(&a, w->gemm.ldc);
  arg_size(&a, m);
  arg_size(&a, n);
  arg(&a, sizeof beta, &beta);
  const uint32_t local[2] = {lane->device->max_local < STORE_ITEMS ? (uint32_t)lane->device->max_local : STORE_ITEMS,
                             1};
  const size_t groups = hx__ceiling(n, local[0]);
  return launch(&a, 2, (size_t[2]){groups < STORE_GROUPS ? groups : STORE_GROUPS, m < STORE_ROWS ? m : STORE_ROWS},
                local);
}

/* A part of a held array in a result block of the lane, which the host can map: hx's own memory, as for any result. The
 * flight is the lane's first, for nothing else is under way: a part that comes too late is its late chunk. */
static hx__outcome map_part(hx__cl_lane *lane, hx__cl_flight *f, cl_mem from, size_t at, size_t bytes) {
  const hx__outcome outcome =
      hx__cl_buffer_reserve(lane->device, &f->out, bytes, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR);
  if (outcome != HX__DONE) return outcome;
  cl_int code = clEnqueueCopyBuffer(lane->queue, from, f->out.mem, at, 0, bytes, 0, NULL, NULL);
  if (code != CL_SUCCESS) return hx__cl_failed(lane->device, "clEnqueueCopyBuffer", code);
  f->mapped = clEnqueueMapBuffer(lane->queue, f->out.mem, CL_FALSE, CL_MAP_READ, 0, bytes, 0, NULL, &f->event, &code);
  if (code != CL_SUCCESS) return hx__cl_failed(lane->device, "clEnqueueMapBuffer", code);
  code = clFlush(lane->queue);
  return code == CL_SUCCESS ? hx__cl_await(lane, f->event) : hx__cl_failed(lane->device, "clFlush", code);
}

hx__outcome hx__cl_fetch(hx__lane *base, const hx__array *array) {
  hx__cl_lane *const lane = (hx__cl_lane *)base;
  hx__cl_flight *const f = &lane->flight[0];
  const size_t row = array->cols * 4, pitch = array->ld * 4, from = (uintptr_t)array->p - array->held->first;
  const size_t extent = (array->rows - 1) * pitch + row;
  const size_t step = pitch > HX__CL_STAGE_BYTES ? 1 : HX__CL_KEPT_BYTES / pitch;
  hx__outcome outcome = hx__cl_is_lost(lane) ? HX__FAILED : HX__DONE;
  for (size_t i = 0; i < array->rows && outcome == HX__DONE; i += step) {
    const size_t at = i * pitch, left = extent - at, bytes = left < step * pitch ? left : step * pitch;
    char *const to = (char *)(uintptr_t)array->p + at;
    outcome = map_part(lane, f, mem_of(array->held), from + at, bytes);
    if (outcome == HX__LATE) return outcome;
    const char *const mapped = outcome == HX__DONE ? f->mapped : NULL;
    for (size_t r = 0; mapped && r * pitch < bytes && row != pitch; r++)
      memcpy(to + r * pitch, mapped + r * pitch, row);
    if (mapped && row == pitch) hx__crew_copy(HX__COPIERS_CREW, to, mapped, bytes);
    hx__cl_results_end(lane, f, mapped);
  }
  return outcome;
}
