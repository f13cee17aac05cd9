/* SPDX-License-Identifier: Apache-2.0
 * hx_offload: check, small enough?, plan, run, report. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/api/batch.h"
#include "runtime/api/caller.h"
#include "runtime/api/gather.h"
#include "runtime/api/here.h"
#include "runtime/api/report.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "runtime/base/fpenv.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/base/thresholds.h"
#include "runtime/plan/share.h"
#include "runtime/run/fetch.h"

/* The report of a call that this thread computed as one chunk. */
static void report_one_chunk(const hx__work *w, hx_report *r) {
  if (!w->slices) return;
  r->chunks = r->device_count = 1;
  r->device[0] = (hx_device_report){.index = 0, .chunks = 1, .units = w->units};
}

static hx_status offload_to_this_thread(hx_context *hx, const hx__work *w, hx_report *report) {
  uint64_t copied = 0;
  if (report) report_one_chunk(w, report);
  const hx_status s = hx__fetch_for(&hx->table, w, NULL, false, &copied);
  if (s != HX_OK) return s;
  if (report) report->bytes_copied = copied;
  hx__compute_here(hx, w);
  return HX_OK;
}

static bool is_small(const hx__work *w) {
  if (w->matmul) return w->units <= HX__ONE_THREAD_UNITS && w->slices <= HX__ONE_THREAD_UNITS;
  return w->units <= HX__ONE_THREAD_ELEMENTS && hx__fits_stack(w);
}

/* Whether any CPU finishes the task before a device would have begun, so that no rate has to be looked up. */
static bool is_quick(const hx_context *hx, const hx__work *w) {
  return hx->config.min_offload == UINT64_MAX && w->units <= (w->matmul ? HX__QUICK_UNITS : HX__QUICK_ELEMENTS);
}

/* Whether a task for one thread can run on the calling thread: it is too small for a device, or none may take part. If
 * other programs use the cores, one thread also gets tasks for which a device would be better. */
static bool is_serial(const hx_context *hx, const hx__work *w, double share, unsigned threads) {
  const bool fits = w->matmul ? w->units <= HX__SERIAL_UNITS && w->slices <= HX__SERIAL_UNITS
                              : hx__fits_stack(w) && w->units <= (uint64_t)HX__STACK_SLOTS * HX__LEAF;
  return fits && threads == 1 && (share == 0.0 || !hx->wants_devices || is_quick(hx, w));
}

/* "matmul" or "matmul of 1000 times". */
typedef struct words {
  char text[48];
} words;

static words matmul_words(const hx__work *w) {
  words t = {"matmul"};
  if (w->batch.count) snprintf(t.text, sizeof t.text, "matmul of %zu times", w->batch.count);
  return t;
}

static void log_call(const hx__work *w, const hx_report *r) {
  if (w->matmul)
    hx__log(HX__LOG_INFO, "%s %zux%zux%zu: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied",
            matmul_words(w).text, w->gemm.m, w->gemm.n, w->gemm.k, r->seconds * 1e3, r->gpu_share, r->chunks,
            r->recovered, r->bytes_copied);
  else if (w->map)
    hx__log(HX__LOG_INFO, "map %zu: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied", w->n,
            r->seconds * 1e3, r->gpu_share, r->chunks, r->recovered, r->bytes_copied);
  else
    hx__log(HX__LOG_INFO, "%s %zu x %zu: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied",
            w->kernel     ? "map and reduce"
            : w->by_lines ? "reduce lines"
                          : "reduce",
            hx__work_values(w), w->n, r->seconds * 1e3, r->gpu_share, r->chunks, r->recovered, r->bytes_copied);
}

hx_status hx__offload_checked(hx_context *hx, hx__work *w, hx_report *report) {
  if (hx__finish_if_empty(w)) return HX_OK;
  if (w->batch.count) return hx__offload_batch(hx, w, report);
  const bool small = is_small(w);
  const double share = hx__share_of(&hx->config, w);
  const bool stays = share == 0.0 || (hx->small_stay && !(w->gpu_share > 0.0f));
  const unsigned threads = stays && small ? 1 : hx__gather_threads(hx, w);
  if (stays && (small || is_serial(hx, w, share, threads))) return offload_to_this_thread(hx, w, report);
  w->placement = hx__memory_placement(&hx->memory, w);
  return hx__offload_planned(hx, w, share == HX__SHARE_AUTO && is_quick(hx, w) ? 0.0 : share, threads, report);
}

static hx_status offload_measured(hx_context *hx, hx__work *w, hx_report *report) {
  const bool logs = hx__logs(HX__LOG_INFO);
  if (!report && !logs) return hx__offload_checked(hx, w, NULL);
  hx_report r;
  memset(&r, 0, sizeof r);
  const bool metered =
      report && w->units > (w->matmul ? HX__QUICK_UNITS : HX__QUICK_ELEMENTS); /* Shorter calls are not measured. */
  const double before = metered ? hx__energy_joules(hx__energy_of_process()) : NAN;
  const uint64_t from = hx__now_ns();
  const hx_status s = hx__offload_checked(hx, w, &r);
  r.seconds = (double)(hx__now_ns() - from) * 1e-9;
  if (s != HX_OK) return s;
  hx__report_finish(hx, &r, before);
  if (logs) log_call(w, &r);
  if (report) *report = r;
  return HX_OK;
}

hx_status hx__offload_work(hx_context *hx, hx__work *w, hx_report *report) {
  if (!hx->table.trace) return offload_measured(hx, w, report);
  const uint64_t from_ns = hx__now_ns();
  const hx_status s = offload_measured(hx, w, report);
  hx__trace_work(hx, w, from_ns, s);
  return s;
}

static __attribute__((noinline)) hx_status offload_any(hx_context *hx, const hx_task *task, hx_report *report) {
  hx__work work;
  int cancel;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* The other half of guard.h is done by hx_offload. */
  hx_status s = hx__task_check(task, &work);
  if (s == HX_OK) s = hx__offload_work(hx, &work, report);
  pthread_setcancelstate(cancel, NULL);
  return s;
}

/* The floating-point state is replaced before the check, because with the caller's DAZ a denormal alpha would count as
 * 0. Small calls have no cancellation point, so only offload_any disables cancellation. A thread that was cancelled
 * during the call ends here, because the caller's own loop may have no cancellation point. */
hx_status hx_offload(hx_context *hx, const hx_task *task, hx_report *report) {
  if (!hx) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
  hx__caller *const caller = hx__caller_enter(hx);
  const hx__fpenv was = hx__fpenv_enter();
  const bool silent = !report && !hx__logs(HX__LOG_INFO);
  const bool done = silent && hx__offload_small(hx, task, NULL);
  const hx_status s = done ? HX_OK : offload_any(hx, task, report);
  hx__fpenv_leave(was);
  hx__caller_leave(hx, caller);
  if (!done) pthread_testcancel();
  return s;
}
