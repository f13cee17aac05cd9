/* SPDX-License-Identifier: Apache-2.0
 * A batch of products. It is one task if a device may do it, and each device gets some products in one launch. Else,
 * and if the batch is small, threads compute small products whole; large ones are offloaded one by one. */
#include "runtime/api/batch.h"

#include "runtime/api/bring_up.h"
#include "runtime/api/gather.h"
#include "runtime/api/here.h"
#include "runtime/api/pieces.h"
#include "runtime/api/report.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"
#include "runtime/base/thresholds.h"
#include "runtime/plan/share.h"
#include "runtime/run/fetch.h"

typedef struct products {
  hx__pieces pieces;
  const hx__work *work;
  bool claimed; /* The operands are here, and the outputs are claimed, or the program has given no memory advice. */
} products;

static void compute_chunk(const products *b, hx__chunk chunk) {
  hx_context *const hx = b->pieces.hx;
  const bool direct = b->claimed && b->work->gemm.k && b->work->gemm.alpha != 0.0f;
  const size_t end = chunk.first + chunk.count, ahead = b->pieces.looks_ahead ? end - 1 : chunk.first;
  for (size_t i = chunk.first; i < end; i++) {
    const hx__gemm g = (i < ahead ? hx__batch_gemm_ahead : hx__batch_gemm)(b->work, i);
    if (direct && hx->table.kernels->gemm_direct(&g)) continue;
    hx__work product = hx__batch_product(b->work, i);
    product.gemm.next = g.next;
    (b->claimed ? hx__compute_claimed : hx__compute_here)(hx, &product);
  }
}

static void compute_products(hx__pieces *p, hx__chunk chunk) {
  const products *const b = (const products *)p;
  hx__trace *const trace = p->hx->table.trace;
  const uint64_t from_ns = trace ? hx__now_ns() : 0, units = b->work->units / p->count * chunk.count;
  compute_chunk(b, chunk);
  if (trace)
    hx__trace_chunk(trace, &(hx__trace_slice){hx__work_trace(b->work), 0, from_ns, hx__now_ns(), chunk.first,
                                              chunk.count, units, 0.0, "done"});
}

/* Before the first product is computed, so that none is if the results of an earlier call cannot be brought here. */
static hx_status fetch_operands(hx_context *hx, const hx__work *w, uint64_t *copied) {
  hx_status s = HX_OK;
  for (size_t i = 0; i < w->batch.count && s == HX_OK; i++) {
    const hx__work product = hx__batch_product(w, i);
    s = hx__fetch_for(&hx->table, &product, NULL, false, copied);
  }
  return s;
}

/* The products were written without a claim. If another thread gave the first advice in that time, a device may have
 * copied what they have replaced. */
static void release_if_watched(hx_context *hx, const hx__work *w) {
  if (!hx__is_watched(hx)) return;
  for (size_t i = 0; i < w->batch.count; i++) {
    const hx__work product = hx__batch_product(w, i);
    hx__memory_release_outputs(&hx->memory, &product, true);
  }
}

/* If the program has given memory advice, the memory of all products is looked up at once if their matrices are near
 * one another: a lookup takes longer than a small product. Not if C has gaps, where another thread's task may put a
 * result while this one has claimed it all. */
static hx_status compute_whole(hx_context *hx, const hx__work *w, hx_report *report) {
  const size_t count = w->batch.count;
  const bool watched = atomic_load_explicit(&hx->memory.watched_ranges, memory_order_relaxed) != 0;
  hx__work all;
  const bool at_once = watched && hx__batch_as_one(w, &all) && !hx__c_has_gaps(&all);
  const uint64_t one = w->units / count + w->gemm.m * w->gemm.n + HX__PIECE_EFFORT;
  products b = {.pieces = {.hx = hx,
                           .count = count,
                           .effort = one * count,
                           .elements = hx__product_looks_ahead(&w->gemm) ? hx__batch_elements(w) : 0,
                           .compute = compute_products},
                .work = w,
                .claimed = !watched || at_once};
  uint64_t copied = 0;
  const hx_status s = at_once   ? hx__fetch_for(&hx->table, &all, NULL, false, &copied)
                      : watched ? fetch_operands(hx, w, &copied)
                                : HX_OK;
  if (s != HX_OK) return s;
  if (at_once) hx__memory_claim_outputs(&hx->memory, &all);
  hx__pieces_run(&b.pieces);
  if (at_once) hx__memory_release_outputs(&hx->memory, &all, true);
  if (!watched) release_if_watched(hx, w);
  if (report) {
    hx__pieces_report(&b.pieces, w->units, report);
    report->bytes_copied = copied;
  }
  return HX_OK;
}

static hx_status offload_one_by_one(hx_context *hx, const hx__work *w, hx_report *report) {
  const size_t count = w->batch.count;
  for (size_t i = 0; i < count; i++) {
    hx__work product = hx__batch_product(w, i);
    hx_report part = {.chunks = 0};
    const hx_status s = hx__offload_checked(hx, &product, report ? &part : NULL);
    if (s != HX_OK) return s;
    if (report) hx__report_add(report, &part, 1.0 / (double)count);
  }
  return HX_OK;
}

/* The elements of the largest matrix of a product; a device's block of C has at least 16 for each row. */
static size_t largest_matrix(const hx__gemm *g) {
  const size_t a = g->m * g->k, b = g->k * g->n, c = g->m * (g->n < 16 ? 16 : g->n), most = a > b ? a : b;
  return most > c ? most : c;
}

/* Whether devices may take part. A small batch stays on the CPU, as other small tasks do. Large products are offloaded
 * one by one, so that each can be cut. */
static bool may_use_devices(const hx_context *hx, const hx__work *w, const hx__work *product, double share) {
  const bool stays = share == 0.0 || (hx->small_stay && !(w->gpu_share > 0.0f) && w->units <= HX__QUICK_UNITS);
  return hx->wants_devices && !stays && product->units <= HX__LARGEST_OF_BATCH &&
         largest_matrix(&product->gemm) <= HX__LARGEST_MATRIX;
}

/* Whether the CPU's threads share whole products well; rows of a few large ones are shared more evenly. */
static bool shares_well(const hx_context *hx, const hx__work *w, bool are_pieces) {
  return are_pieces || w->batch.count >= hx__cpu_threads(&hx->config) / 2;
}

hx_status hx__offload_batch(hx_context *hx, const hx__work *w, hx_report *report) {
  const hx__work product = hx__batch_product(w, 0);
  const double share = hx__share_of(&hx->config, w);
  const hx__piece_limits most = hx__piece_limits_of(hx, w->batch.count);
  const bool are_pieces = hx__is_piece(hx, &most, &product);
  hx__work one;
  if (may_use_devices(hx, w, &product, share) && hx__batch_as_one(w, &one) &&
      (share > 0.0 || hx__devices_may_do(hx, &one))) {
    const unsigned threads = hx__gather_threads(hx, &one);
    if (share > 0.0 || shares_well(hx, w, are_pieces)) {
      one.placement = hx__memory_placement(&hx->memory, &one);
      return hx__offload_planned(hx, &one, share, threads, report);
    }
  }
  return (are_pieces ? compute_whole : offload_one_by_one)(hx, w, report);
}
