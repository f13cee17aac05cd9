/* SPDX-License-Identifier: Apache-2.0
 * A call in which devices may take part: they are found and prepared, then the call is planned and run. */
#include "runtime/api/announce.h"
#include "runtime/api/bring_up.h"
#include "runtime/api/gather.h"
#include "runtime/api/report.h"
#include "runtime/backend/registry.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/run/fetch.h"
#include "runtime/run/run.h"

#define LONG_NS 10e9 /* A shorter call ends before a device that is prepared beside it is ready. */
#define PIECE_NS 0.5e9
#define PIECE_MULTIPLE 192u /* slices: full register tiles of every variant, and enough rows for packing to pay */

/* Snapshots take 10 KB of the caller's stack. Functions that have one return before the run begins, which takes 16. */
#define NEVER_INLINED __attribute__((noinline))

static void make_plan(hx_context *hx, hx__plan_snapshot *snapshot, hx__plan *plan) {
  hx__decision decision;
  hx__gather_devices(hx, snapshot);
  hx__plan_make(snapshot, plan, &decision);
  hx__announce_plan(&hx->table, snapshot, plan, &decision);
}

static hx_status run_plan(hx_context *hx, const hx__plan *plan, const hx__work *w, hx_report *report) {
  if (plan->mandatory && plan->devices == 0)
    return hx__fail(HX_DEVICE_FAILED, "HX_OFFLOAD=mandatory and no device can do this task: see hx-bench info");
  return hx__run(&hx->table, plan, w, report);
}

/* Slices of the next piece: as many as the CPU alone computes in PIECE_NS, by the rate of earlier pieces. All that are
 * left if no device is pending. */
static NEVER_INLINED size_t next_piece(const hx_context *hx, const hx__work *w, size_t done, unsigned threads) {
  const size_t left = w->slices - done;
  if (!hx__devices_are_pending(hx, w)) return left;
  hx__plan_snapshot s;
  hx__gather_cpu(hx, w, HX__SHARE_AUTO, threads, true, &s);
  const double slices = (double)w->slices * PIECE_NS / s.cpu.ns;
  const size_t count = (slices < 1.0 ? 1 : (size_t)slices) / PIECE_MULTIPLE * PIECE_MULTIPLE + PIECE_MULTIPLE;
  return count < left && left - count > PIECE_MULTIPLE ? count : left;
}

static NEVER_INLINED void plan_piece(hx_context *hx, const hx__work *piece, unsigned threads, hx__plan *plan) {
  hx__plan_snapshot s;
  hx__gather_cpu(hx, piece, HX__SHARE_AUTO, threads, true, &s);
  hx__bring_up_devices(hx, piece, HX__SHARE_AUTO, s.cpu.ns);
  make_plan(hx, &s, plan);
}

/* A long product whose devices are still being found or built: half a second at a time, so that a device joins as soon
 * as it is ready. Rows (columns) of C do not depend on one another, so the bits are the same. Device-only results are
 * fetched before the first piece: if a later piece failed to fetch one, the pieces before it would have changed C.
 * Not inlined, so that other calls do not need the stack for its work and report. */
static NEVER_INLINED hx_status run_in_pieces(hx_context *hx, const hx__work *w, unsigned threads, hx_report *report) {
  uint64_t fetched = 0;
  const hx_status ready = hx__fetch_for(&hx->table, w, NULL, false, &fetched);
  if (ready != HX_OK) return ready;
  if (report) report->bytes_copied += fetched;
  for (size_t done = 0, count; done < w->slices; done += count) {
    count = next_piece(hx, w, done, threads);
    const hx__chunk chunk = {done, count};
    hx__plan plan;
    hx__work piece = *w;
    hx_report part = {.chunks = 0};
    piece.gemm = hx__chunk_gemm(w, chunk);
    piece.slices = count;
    piece.units = hx__chunk_units(w, chunk);
    plan_piece(hx, &piece, threads, &plan);
    const hx_status status = run_plan(hx, &plan, &piece, report ? &part : NULL);
    if (status != HX_OK) return status;
    if (report) hx__report_add(report, &part, (double)count / (double)w->slices);
  }
  return HX_OK;
}

/* What follows from the facts about a call. */
typedef struct next_steps {
  bool in_pieces;   /* The plan is not made: each piece has its own. */
  bool start_after; /* Devices are brought up after the call. */
} next_steps;

static NEVER_INLINED next_steps plan_call(hx_context *hx, const hx__work *w, double share, unsigned threads,
                                          hx__plan *plan) {
  const bool wanted = hx->wants_devices && share != 0.0 && !hx__in_forked_child(), open = share == HX__SHARE_AUTO;
  hx__plan_snapshot s;
  hx__gather_cpu(hx, w, hx__in_forked_child() ? 0.0 : share, threads, wanted || hx->table.trace, &s);
  const bool start_after = wanted && hx__bring_up_devices(hx, w, share, s.cpu.ns);
  const bool learned = open && hx->config.min_offload == UINT64_MAX;
  if (learned && s.cpu.ns < s.break_even_ns && !s.cpu.measure && !hx->table.trace)
    s.share = 0.0; /* As the plan would decide. With a trace it is made, so that the trace shows the decision. */
  const bool in_pieces = wanted && open && s.share != 0.0 && !start_after && w->matmul && !w->by_products &&
                         s.cpu.ns >= LONG_NS && hx__devices_are_pending(hx, w);
  if (!in_pieces) make_plan(hx, &s, plan);
  return (next_steps){in_pieces, start_after};
}

hx_status hx__offload_planned(hx_context *hx, const hx__work *w, double share, unsigned threads, hx_report *report) {
  hx__plan plan;
  const next_steps next = plan_call(hx, w, share, threads, &plan);
  const hx_status status = next.in_pieces ? run_in_pieces(hx, w, threads, report) : run_plan(hx, &plan, w, report);
  if (next.start_after) hx__registry_start();
  return status;
}
