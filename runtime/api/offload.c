/* SPDX-License-Identifier: Apache-2.0
 * hx_offload: check, small enough?, plan, run, report. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "runtime/api/caller.h"
#include "runtime/api/gather.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "runtime/base/fpenv.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/base/thresholds.h"
#include "runtime/plan/share.h"
#include "runtime/run/fetch.h"
#include "runtime/task/quick.h"

/* slots also has room for those of one line. */
static void reduce_lines_on_this_thread(const hx_context *hx, const hx__work *w) {
  uint64_t slots[2 * HX__STACK_SLOTS];
  const bool direct = hx__slots_are_values(w);
  hx__stream *const stream = hx->table.cpu;
  const hx__request request = {
      .work = w, .kernels = hx->table.kernels, .slots = direct ? (uint64_t *)(void *)w->out : slots};
  hx__inflight *submitted;
  stream->device->backend->submit(stream, &request, (hx__chunk){0, w->slices}, &submitted);
  if (!direct) hx__join_lines(w, slots, slots + HX__STACK_SLOTS);
}

/* A reduction on the calling thread: no lock, no allocation, no clock. */
static void reduce_on_this_thread(const hx_context *hx, const hx__work *w) {
  const hx__locality reach = hx__cpu_locality(hx->table.cpu, w);
  uint64_t slots[HX__STACK_SLOTS];
  for (size_t f = 0; f < w->nfields; f++) {
    const hx_field *const field = &w->fields[f];
    hx->table.kernels->leaf[field->op][field->type](field->x, field->y, w->n, reach, slots);
    w->out[f] = hx__join(field->op, field->type, slots, w->slices);
  }
}

static void compute_on_this_thread(hx_context *hx, const hx__work *w) {
  if (!w->matmul) {
    (w->by_lines ? reduce_lines_on_this_thread : reduce_on_this_thread)(hx, w);
    return;
  }
  hx__stream *const stream = hx->table.cpu;
  const hx__request request = {.work = w, .kernels = hx->table.kernels};
  const hx__chunk all = {0, w->slices};
  hx__inflight *submitted;
  stream->device->backend->submit(stream, &request, all, &submitted);
}

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
  hx__memory_claim_outputs(&hx->memory, w);
  compute_on_this_thread(hx, w);
  hx__memory_release_outputs(&hx->memory, w, true);
  return HX_OK;
}

/* Whether there is nothing to compute; then sets the results of empty reductions. */
static bool finish_if_empty(const hx__work *w) {
  if (w->slices) return false;
  const hx_field *field = w->fields;
  for (size_t i = 0, n = hx__work_values(w); i < n; i++, field += !w->by_lines)
    w->out[i] = hx__empty_value(field->op, field->type);
  return true;
}

/* Whether the slots of a reduction fit on the stack of the calling thread. */
static bool fits_stack(const hx__work *w) { return hx__slots_are_values(w) || hx__work_slots(w) <= HX__STACK_SLOTS; }

static bool is_small(const hx__work *w) {
  if (w->matmul) return w->units <= HX__ONE_THREAD_UNITS && w->slices <= HX__ONE_THREAD_UNITS;
  return w->units <= HX__ONE_THREAD_ELEMENTS && fits_stack(w);
}

/* Whether any CPU finishes the task before a device would have begun, so that no rate has to be looked up. */
static bool is_quick(const hx_context *hx, const hx__work *w) {
  return hx->config.min_offload == UINT64_MAX && w->units <= (w->matmul ? HX__QUICK_UNITS : HX__QUICK_ELEMENTS);
}

/* Whether a task for one thread is too small for a device, so that it can run on the calling thread. */
static bool is_serial(const hx__work *w, unsigned threads) {
  const bool fits = w->matmul ? w->units <= HX__SERIAL_UNITS && w->slices <= HX__SERIAL_UNITS
                              : fits_stack(w) && w->units <= (uint64_t)HX__STACK_SLOTS * HX__LEAF;
  return fits && threads == 1;
}

static void log_call(const hx__work *w, const hx_report *r) {
  if (w->matmul)
    hx__log(HX__LOG_INFO,
            "matmul %zux%zux%zu: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied", w->gemm.m,
            w->gemm.n, w->gemm.k, r->seconds * 1e3, r->gpu_share, r->chunks, r->recovered, r->bytes_copied);
  else
    hx__log(HX__LOG_INFO, "%s %zu x %zu: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied",
            w->by_lines ? "reduce lines" : "reduce", hx__work_values(w), w->n, r->seconds * 1e3, r->gpu_share,
            r->chunks, r->recovered, r->bytes_copied);
}

static hx_status offload_checked(hx_context *hx, hx__work *w, hx_report *report) {
  if (finish_if_empty(w)) return HX_OK;
  const bool small = is_small(w);
  const double share = hx__share_of(&hx->config, w);
  const bool stays = share == 0.0 || (hx->small_stay && !(w->gpu_share > 0.0f));
  const unsigned threads = stays && small ? 1 : hx__gather_threads(hx, w);
  if (stays && (small || is_serial(w, threads))) return offload_to_this_thread(hx, w, report);
  w->placement = hx__memory_placement(&hx->memory, w);
  return hx__offload_planned(hx, w, share == HX__SHARE_AUTO && is_quick(hx, w) ? 0.0 : share, threads, report);
}

/* The energy of a call. NaN if the call was too short for counters that are updated once a millisecond, or if a
 * discrete GPU took part, whose energy they do not include. */
static double joules_of(const hx_context *hx, const hx_report *r, double before) {
  for (uint32_t i = 0; i < r->device_count; i++)
    if (hx->table.entries && hx->table.entry[r->device[i].index].device->is_discrete) return NAN;
  if (isnan(before) || r->seconds * 1e9 < HX__ENERGY_LEAST_NS) return NAN;
  const double joules = hx__energy_joules(hx__energy_of_process()) - before;
  return joules > 0.0 ? joules : NAN;
}

static hx_status offload_measured(hx_context *hx, hx__work *w, hx_report *report) {
  const bool logs = hx__logs(HX__LOG_INFO);
  if (!report && !logs) return offload_checked(hx, w, NULL);
  hx_report r;
  memset(&r, 0, sizeof r);
  const bool metered =
      report && w->units > (w->matmul ? HX__QUICK_UNITS : HX__QUICK_ELEMENTS); /* Shorter calls are not measured. */
  const double before = metered ? hx__energy_joules(hx__energy_of_process()) : NAN;
  const uint64_t from = hx__now_ns();
  const hx_status s = offload_checked(hx, w, &r);
  r.seconds = (double)(hx__now_ns() - from) * 1e-9;
  if (s != HX_OK) return s;
  r.joules = joules_of(hx, &r, before);
  if (r.device_count == 1 && r.device[0].index == 0 && r.device[0].busy_seconds == 0.0)
    r.device[0].busy_seconds = r.seconds;
  if (logs) log_call(w, &r);
  if (report) *report = r;
  return HX_OK;
}

hx_status hx__offload_work(hx_context *hx, hx__work *w, hx_report *report) {
  if (!hx->table.trace) return offload_measured(hx, w, report);
  const uint64_t from_ns = hx__now_ns();
  const hx_status s = offload_measured(hx, w, report);
  hx__trace_call(hx->table.trace, &(hx__trace_slice){.task = hx__work_trace(w),
                                                     .from_ns = from_ns,
                                                     .to_ns = hx__now_ns(),
                                                     .units = w->units,
                                                     .outcome = hx_status_string(s)});
  return s;
}

/* The usual small calls: one reduction of few elements, or a small product, for which no device may be used. They are
 * computed here without reading anything that they do not need. False for any other task and for an invalid one, and
 * then nothing has been done. */
static inline bool offload_small(const hx_context *hx, const hx_task *task) {
  if (!task || !hx->small_silent || !hx__task_is_plain(task)) return false;
  if (atomic_load_explicit(&hx->memory.watched_ranges, memory_order_relaxed)) return false;
  if (task->kind == HX_MATMUL) {
    hx__gemm g;
    return hx__quick_product_is_valid(&task->matmul, HX__ONE_THREAD_UNITS, &g) && hx->table.kernels->gemm_direct(&g);
  }
  const struct hx_reduce_args *const r = &task->reduce;
  if (task->kind != HX_REDUCE || r->n - 1 >= HX__ONE_THREAD_ELEMENTS || !hx__quick_reduce_is_valid(r)) return false;
  if (r->n <= HX__LEAF) {
    *r->out = hx__join_one(r->op, r->type, hx->table.kernels->one_leaf[r->op][r->type](r->x, r->y, r->n));
    return true;
  }
  uint64_t slots[HX__ONE_THREAD_ELEMENTS / HX__LEAF];
  hx->table.kernels->leaf[r->op][r->type](r->x, r->y, r->n, HX__IN_L2, slots);
  *r->out = hx__join(r->op, r->type, slots, (r->n + HX__LEAF - 1) / HX__LEAF);
  return true;
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
  const bool done = silent && offload_small(hx, task);
  const hx_status s = done ? HX_OK : offload_any(hx, task, report);
  hx__fpenv_leave(was);
  hx__caller_leave(hx, caller);
  if (!done) pthread_testcancel();
  return s;
}
