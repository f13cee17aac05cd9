/* SPDX-License-Identifier: Apache-2.0
 * Writes results of a device to the caller's memory. No other code does. */
#include <string.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/copy_pool.h"
#include "runtime/backend/lines.h"

#define PART_BYTES ((size_t)256 << 10)   /* of C, for each thread */
#define DISTANT_BYTES ((size_t)32 << 20) /* if C is larger, it is written without being read into the caches */

/* A block that is stored into C, some rows at a time; of a batch, some products. */
typedef struct store {
  const hx__request *request;
  hx__gemm gemm;
  const float *from;
  size_t ldt, count, each; /* of rows or products: all, and those that are stored at a time */
  bool distant;
} store;

static size_t part_of(const store *s, size_t first) {
  const size_t left = s->count - first;
  return left < s->each ? left : s->each;
}

static void store_part(void *arg, size_t index) {
  const store *const s = arg;
  const hx__gemm *const g = &s->gemm;
  const size_t first = index * s->each, rows = part_of(s, first);
  s->request->kernels->store(s->from + first * s->ldt, s->ldt, rows, g->n, g->c + first * g->ldc, g->ldc, g->beta,
                             s->distant);
}

/* The products of a block are one after the other. */
static void store_products(void *arg, size_t index) {
  const store *const s = arg;
  const hx__gemm *const g = &s->gemm;
  const size_t first = index * s->each, end = first + part_of(s, first), stride = s->request->work->batch.stride_c;
  for (size_t i = first; i < end; i++)
    s->request->kernels->store(s->from + i * g->m * s->ldt, s->ldt, g->m, g->n, g->c + i * stride, g->ldc, g->beta,
                               s->distant);
}

static void deliver_product(const hx__request *request, hx__chunk part, const float *from, size_t ldt) {
  const hx__work *const w = request->work;
  const bool batch = w->by_products;
  store s = {.request = request,
             .gemm = batch ? hx__batch_gemm(w, part.first) : hx__chunk_gemm(w, part),
             .from = from,
             .ldt = ldt,
             .distant = w->gemm.m * w->gemm.n >= DISTANT_BYTES / sizeof(float) / (batch ? w->slices : 1)};
  const size_t one = sizeof(float) * (batch ? s.gemm.m * s.gemm.n : s.gemm.n);
  s.count = batch ? part.count : s.gemm.m;
  s.each = request->copy_threads == HX__COPY_BY_WORKER ? s.count : PART_BYTES / one + 1;
  hx__copy_pool_run(request->copy_threads, batch ? store_products : store_part, &s, (s.count + s.each - 1) / s.each);
}

static void deliver_map(const hx__request *request, hx__chunk part, uint32_t *to, const uint32_t *from) {
  const hx__work *const w = request->work;
  size_t at = part.first * HX__LEAF, left = hx__chunk_elements(w, part);
  while (left) {
    hx__map_part p = hx__map_part_at(w, at, left);
    if (w->ld_out != w->cols) p.rows = 1;
    const size_t n = p.rows * p.cols;
    hx__copy_pool_copy(request->copy_threads, to + p.row * w->ld_out + p.col, from, n * sizeof(uint32_t));
    from += n;
    at += n;
    left -= n;
  }
}

void hx__deliver(const hx__request *request, hx__chunk chunk, hx__chunk part, const void *from, size_t ldt) {
  const hx__work *const w = request->work;
  if (part.count == 0) return; /* the CPU has computed the whole chunk after it timed out */
  if (w->matmul) {
    const size_t slice = w->by_products ? w->gemm.m * ldt : w->by_columns ? 1 : ldt;
    deliver_product(request, part, (const float *)from + (part.first - chunk.first) * slice, ldt);
    return;
  }
  if (w->map) {
    const uint32_t *elements = (const uint32_t *)from + (part.first - chunk.first) * HX__LEAF;
    for (unsigned o = 0; o < hx__work_outputs(w); o++, elements += hx__chunk_elements(w, chunk))
      deliver_map(request, part, w->output[o], elements);
    return;
  }
  const size_t first = hx__first_slot(w, part.first), skipped = first - hx__first_slot(w, chunk.first);
  const uint64_t *slots = (const uint64_t *)from + skipped;
  for (size_t f = 0; f < w->nfields; f++, slots += hx__chunk_slots(w, chunk))
    memcpy(request->slots + f * hx__work_slots(w) + first, slots, hx__chunk_slots(w, part) * sizeof *slots);
  hx__make_values(request->kernels, w, request->slots + first, hx__chunk_slots(w, part));
}
