/* SPDX-License-Identifier: Apache-2.0
 * Writes results of a device to the caller's memory. No other code does. */
#include <string.h>

#include "runtime/backend/backend.h"
#include "runtime/backend/copy_pool.h"

#define PART_BYTES ((size_t)256 << 10)   /* of C, for each thread */
#define DISTANT_BYTES ((size_t)32 << 20) /* if C is larger, it is written without being read into the caches */

/* A block that is stored into C, some rows at a time. */
typedef struct store {
  const hx__request *request;
  hx__gemm gemm;
  const float *from;
  size_t ldt, rows;
  bool distant;
} store;

static void store_part(void *arg, size_t index) {
  const store *const s = arg;
  const hx__gemm *const g = &s->gemm;
  const size_t first = index * s->rows, left = g->m - first, rows = left < s->rows ? left : s->rows;
  s->request->kernels->store(s->from + first * s->ldt, s->ldt, rows, g->n, g->c + first * g->ldc, g->ldc, g->beta,
                             s->distant);
}

static void deliver_map(const hx__request *request, hx__chunk part, const uint32_t *from) {
  const hx__work *const w = request->work;
  size_t at = part.first * HX__LEAF, left = hx__chunk_elements(w, part);
  while (left) {
    hx__map_part p = hx__map_part_at(w, at, left);
    if (w->ld_out != w->cols) p.rows = 1;
    const size_t n = p.rows * p.cols;
    hx__copy_pool_copy(request->copy_threads, (uint32_t *)w->map_out + p.row * w->ld_out + p.col, from,
                       n * sizeof(uint32_t));
    from += n;
    at += n;
    left -= n;
  }
}

void hx__deliver(const hx__request *request, hx__chunk chunk, hx__chunk part, const void *from, size_t ldt) {
  const hx__work *const w = request->work;
  if (part.count == 0) return; /* the CPU has computed the whole chunk after it timed out */
  if (w->matmul) {
    const size_t skipped = part.first - chunk.first;
    store s = {.request = request,
               .gemm = hx__chunk_gemm(w, part),
               .from = (const float *)from + (w->by_columns ? skipped : skipped * ldt),
               .ldt = ldt,
               .distant = w->gemm.m * w->gemm.n >= DISTANT_BYTES / sizeof(float)};
    const size_t rows = PART_BYTES / (s.gemm.n * sizeof(float)) + 1;
    s.rows = request->copy_threads == HX__COPY_BY_WORKER ? s.gemm.m : rows;
    hx__copy_pool_run(request->copy_threads, store_part, &s, (s.gemm.m + s.rows - 1) / s.rows);
    return;
  }
  if (w->map) {
    deliver_map(request, part, (const uint32_t *)from + (part.first - chunk.first) * HX__LEAF);
    return;
  }
  const size_t first = hx__first_slot(w, part.first), skipped = first - hx__first_slot(w, chunk.first);
  const uint64_t *slots = (const uint64_t *)from + skipped;
  for (size_t f = 0; f < w->nfields; f++, slots += hx__chunk_slots(w, chunk))
    memcpy(request->slots + f * hx__work_slots(w) + first, slots, hx__chunk_slots(w, part) * sizeof *slots);
  if (hx__slots_are_values(w))
    hx__join_ones(w->fields->op, w->fields->type, request->slots + first, hx__chunk_slots(w, part));
}
