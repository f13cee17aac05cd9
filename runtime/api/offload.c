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
#include "runtime/plan/share.h"
#include "runtime/run/fetch.h"
#include "runtime/task/quick.h"

#define SMALL_ELEMENTS 32768u        /* of all fields: up to here a second thread does not pay */
#define SMALL_SLOTS 256u             /* on the stack */
#define SMALL_UNITS ((1u << 17) - 1) /* multiply-adds: two threads share more (plan/threads.c) */
#define SERIAL_UNITS (1u << 22)
#define QUICK_ELEMENTS (1u << 18) /* 250 us at 4 GB/s */
#define QUICK_UNITS (1u << 21)    /* 250 us at 8 multiply-adds a nanosecond */

/* A reduction on the calling thread: no lock, no allocation, no clock. */
static void reduce_here(const hx_context *hx, const hx__work *w) {
  const hx__locality reach = hx__cpu_locality(hx->team.cpu, w);
  uint64_t slots[SMALL_SLOTS];
  for (size_t f = 0; f < w->nfields; f++) {
    const hx_field *const field = &w->fields[f];
    hx->team.kernels->leaf[field->op][field->type](field->x, field->y, w->n, reach, slots);
    w->out[f] = hx__join(field->op, field->type, slots, w->slices);
  }
}

static void compute_here(hx_context *hx, const hx__work *w) {
  if (!w->matmul) {
    reduce_here(hx, w);
    return;
  }
  hx__stream *const stream = hx->team.cpu;
  const hx__request request = {.work = w, .kernels = hx->team.kernels};
  const hx__chunk all = {0, w->slices};
  hx__inflight *ticket;
  stream->device->backend->submit(stream, &request, all, &ticket);
}

/* The whole call by the CPU in one piece. */
static void report_here(const hx__work *w, hx_report *r) {
  if (!w->slices) return;
  r->chunks = r->device_count = 1;
  r->device[0] = (hx_device_report){.index = 0, .chunks = 1, .units = w->units};
}

static hx_status in_one(hx_context *hx, const hx__work *w, hx_report *report) {
  uint64_t copied = 0;
  const hx_status s = hx__fetch_for(&hx->team, w, NULL, false, &copied);
  if (s != HX_OK) return s;
  if (report) report_here(w, report);
  if (report) report->bytes_copied = copied;
  hx__memory_claim_outputs(&hx->memory, w);
  compute_here(hx, w);
  hx__memory_release_outputs(&hx->memory, w, true);
  return HX_OK;
}

/* Nothing to add up and nothing to store. */
static bool nothing(const hx__work *w) {
  if (w->slices) return false;
  for (size_t f = 0; f < w->nfields; f++) w->out[f] = hx__empty_value(w->fields[f].op, w->fields[f].type);
  return true;
}

static bool is_small(const hx__work *w) {
  if (w->matmul) return w->units <= SMALL_UNITS && w->slices <= SMALL_UNITS;
  return w->units <= SMALL_ELEMENTS && w->slices <= SMALL_SLOTS;
}

/* What any CPU has done before a device would be asked, so that no rate has to be looked up. */
static bool is_quick(const hx_context *hx, const hx__work *w) {
  return hx->config.min_offload == UINT64_MAX && w->units <= (w->matmul ? QUICK_UNITS : QUICK_ELEMENTS);
}

/* What one thread does and no device would be asked for: also on the calling thread. */
static bool is_serial(const hx__work *w, unsigned threads) {
  const bool fits = w->matmul ? w->units <= SERIAL_UNITS && w->slices <= SERIAL_UNITS
                              : w->slices <= SMALL_SLOTS && w->units <= (uint64_t)SMALL_SLOTS * HX__LEAF;
  return fits && threads == 1;
}

static void log_call(const hx__work *w, const hx_report *r) {
  if (w->matmul)
    hx__log(HX__LOG_INFO,
            "matmul %zux%zux%zu: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied", w->gemm.m,
            w->gemm.n, w->gemm.k, r->seconds * 1e3, r->gpu_share, r->chunks, r->recovered, r->bytes_copied);
  else
    hx__log(HX__LOG_INFO,
            "reduce %zu x %zu: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied", w->nfields,
            w->n, r->seconds * 1e3, r->gpu_share, r->chunks, r->recovered, r->bytes_copied);
}

static hx_status compute(hx_context *hx, hx__work *w, hx_report *report) {
  if (nothing(w)) return HX_OK;
  const double share = hx__share_of(&hx->config, w);
  const bool stays = share == 0.0 || (hx->small_stay && !(w->gpu_share > 0.0f));
  const bool small = stays && is_small(w);
  const unsigned threads = small ? 1 : hx__gather_threads(hx, w);
  if (small || (stays && is_serial(w, threads))) return in_one(hx, w, report);
  w->placement = hx__memory_placement(&hx->memory, w);
  return hx__offload_planned(hx, w, share == HX__SHARE_AUTO && is_quick(hx, w) ? 0.0 : share, threads, report);
}

/* Of a call that was long enough for counters that move once a millisecond, and in which no card took part, for what
 * one draws is not in them. */
static double joules_of(const hx_context *hx, const hx_report *r, double before) {
  for (uint32_t i = 0; i < r->device_count; i++)
    if (hx->team.seats && hx->team.seat[r->device[i].index].device->is_discrete) return NAN;
  if (isnan(before) || r->seconds * 1e9 < HX__ENERGY_LEAST_NS) return NAN;
  const double joules = hx__energy_joules(hx__energy_of_process()) - before;
  return joules > 0.0 ? joules : NAN;
}

hx_status hx__offload_work(hx_context *hx, hx__work *w, hx_report *report) {
  const bool logs = hx__logs(HX__LOG_INFO);
  if (!report && !logs) return compute(hx, w, NULL);
  hx_report r;
  memset(&r, 0, sizeof r);
  const bool asked = report && w->units > (w->matmul ? QUICK_UNITS : QUICK_ELEMENTS); /* others are too short */
  const double before = asked ? hx__energy_joules(hx__energy_of_process()) : NAN;
  const uint64_t from = hx__now_ns();
  const hx_status s = compute(hx, w, &r);
  r.seconds = (double)(hx__now_ns() - from) * 1e-9;
  if (s != HX_OK) return s;
  r.joules = joules_of(hx, &r, before);
  if (r.device_count == 1 && r.device[0].index == 0 && r.device[0].busy_seconds == 0.0)
    r.device[0].busy_seconds = r.seconds;
  if (logs) log_call(w, &r);
  if (report) *report = r;
  return HX_OK;
}

/* The usual small calls, one reduction of few elements or a small product that hx or the task itself keeps on the CPU:
 * done here, with nothing looked at that they do not need. False where it is anything else, or wrong: then nothing is
 * done. */
static inline bool at_once(const hx_context *hx, const hx_task *task) {
  if (!task || !hx->small_stay || !hx__task_is_plain(task)) return false;
  if (atomic_load_explicit(&hx->memory.watched_ranges, memory_order_relaxed)) return false;
  if (task->kind == HX_MATMUL) {
    hx__gemm g;
    return hx__quick_product_is_valid(&task->matmul, SMALL_UNITS, &g) && hx->team.kernels->gemm_direct(&g);
  }
  const struct hx_reduce_args *const r = &task->reduce;
  if (task->kind != HX_REDUCE || r->n - 1 >= SMALL_ELEMENTS || !hx__quick_reduce_is_valid(r)) return false;
  if (r->n <= HX__LEAF) {
    *r->out = hx__join_one(r->op, r->type, hx->team.kernels->one_leaf[r->op][r->type](r->x, r->y, r->n));
    return true;
  }
  uint64_t slots[SMALL_ELEMENTS / HX__LEAF];
  hx->team.kernels->leaf[r->op][r->type](r->x, r->y, r->n, HX__IN_L2, slots);
  *r->out = hx__join(r->op, r->type, slots, (r->n + HX__LEAF - 1) / HX__LEAF);
  return true;
}

static __attribute__((noinline)) hx_status in_full(hx_context *hx, const hx_task *task, hx_report *report) {
  hx__work work;
  int cancel;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* guard.h, whose other half hx_offload has done */
  hx_status s = hx__task_check(task, &work);
  if (s == HX_OK) s = hx__offload_work(hx, &work, report);
  pthread_setcancelstate(cancel, NULL);
  return s;
}

/* The caller's floating-point state holds from here to the end only for the caller: with DAZ a denormal alpha would
 * already pass for 0 in the check. What is done at once has no cancellation point, so that only in_full sees to
 * cancellation; a thread that was cancelled meanwhile ends here, for its own loop may have no point where it could. */
hx_status hx_offload(hx_context *hx, const hx_task *task, hx_report *report) {
  if (!hx) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
  hx__caller *const caller = hx__caller_enter(hx);
  const hx__fpenv was = hx__fpenv_enter();
  const bool silent = !report && !hx__logs(HX__LOG_INFO);
  const bool done = silent && at_once(hx, task);
  const hx_status s = done ? HX_OK : in_full(hx, task, report);
  hx__fpenv_leave(was);
  hx__caller_leave(hx, caller);
  if (!done) pthread_testcancel();
  return s;
}
