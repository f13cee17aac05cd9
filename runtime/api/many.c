/* SPDX-License-Identifier: Apache-2.0
 * hx_offload_many: all tasks are checked; then threads compute the small ones whole, and the others are offloaded one
 * by one. Neighbours are done together if one task stands for them, which a device may get (alike.h), or if they read
 * the same arrays (pass.h). */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/api/alike.h"
#include "runtime/api/caller.h"
#include "runtime/api/here.h"
#include "runtime/api/pass.h"
#include "runtime/api/pieces.h"
#include "runtime/api/report.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/run/fetch.h"

#define NONE SIZE_MAX
#define CHECK_EFFORT 512u /* of the check of a task */

/* A list of tasks while it is checked, and then while it is done. */
typedef struct list {
  hx__pieces pieces;
  const hx_task *tasks;
  size_t first;          /* the number of tasks[0] in the caller's list */
  hx__piece_limits most; /* of a piece */

  /* Found by the check. */
  _Atomic size_t wrong;      /* the first task that is refused; NONE: there is none */
  _Atomic uint64_t units;    /* of all pieces */
  _Atomic uint64_t elements; /* of the operands of all products that are not very small */
  _Atomic size_t others;     /* tasks that are no pieces */
  _Atomic bool reduces_many; /* there is a task that may be part of a pass */
} list;

static void lower(_Atomic size_t *least, size_t i) {
  size_t was = atomic_load_explicit(least, memory_order_relaxed);
  while (i < was &&
         !atomic_compare_exchange_weak_explicit(least, &was, i, memory_order_relaxed, memory_order_relaxed)) {
  }
}

static bool is_worth_prefetching(const struct hx_matmul_args *t) {
  return hx__product_looks_ahead(&(hx__gemm){.m = t->m, .n = t->n, .k = t->k});
}

/* Elements of the operands of a product, if they may be prefetched. */
static uint64_t elements_of(const hx_task *t) {
  const struct hx_matmul_args *const p = &t->matmul;
  return t->kind == HX_MATMUL && is_worth_prefetching(p) ? p->m * p->k + p->k * p->n + p->m * p->n : 0;
}

/* Whether the task is one of the usual small ones, and valid, without a trace to write. *units: its units. */
static bool is_quick(const list *l, const hx_task *t, uint64_t *units) {
  hx__gemm g;
  const struct hx_matmul_args *const p = &t->matmul;
  if (!l->pieces.hx->small_silent || !hx__task_is_plain(t)) return false;
  *units = t->kind == HX_MATMUL ? p->m * p->n * p->k : t->reduce.n;
  return (t->kind == HX_MATMUL && hx__quick_product_is_valid(p, l->most.units, &g)) ||
         (t->kind == HX_REDUCE && t->reduce.n - 1 < l->most.elements && hx__quick_reduce_is_valid(&t->reduce));
}

static void check_tasks(hx__pieces *pieces, hx__chunk chunk) {
  list *const l = (list *)pieces;
  uint64_t units = 0, elements = 0, own;
  size_t others = 0;
  bool reduces_many = false;
  for (size_t i = chunk.first; i < chunk.first + chunk.count; i++) {
    hx__work w;
    reduces_many = reduces_many || hx__may_join_pass(&l->tasks[i]);
    elements += elements_of(&l->tasks[i]);
    if (is_quick(l, &l->tasks[i], &own)) {
      units += own;
    } else if (hx__task_check(&l->tasks[i], &w) != HX_OK) {
      lower(&l->wrong, i);
    } else if (hx__is_piece(pieces->hx, &l->most, &w)) {
      units += w.units;
    } else {
      others++;
    }
  }
  atomic_fetch_add_explicit(&l->units, units, memory_order_relaxed);
  atomic_fetch_add_explicit(&l->elements, elements, memory_order_relaxed);
  atomic_fetch_add_explicit(&l->others, others, memory_order_relaxed);
  if (reduces_many) atomic_store_explicit(&l->reduces_many, true, memory_order_relaxed);
}

/* The detail of a failure, for the task to which it belongs. */
static hx_status fail_of(const list *l, size_t index, hx_status s) {
  char detail[HX__DETAIL_BYTES];
  snprintf(detail, sizeof detail, "%s", hx_error_detail());
  return hx__fail(s, "task %zu: %s", l->first + index, detail);
}

/* Checks all tasks. Details belong to the thread that has failed, so the first wrong task is checked again here. */
static hx_status check_list(list *l) {
  hx__work w;
  hx__pieces *const p = &l->pieces;
  p->effort = (uint64_t)p->count * CHECK_EFFORT;
  p->compute = check_tasks;
  hx__pieces_run(p);
  atomic_store_explicit(&p->chunks, 0, memory_order_relaxed); /* nothing has been computed */
  const size_t wrong = atomic_load(&l->wrong);
  if (wrong == NONE) return HX_OK;
  const hx_status s = hx__task_check(&l->tasks[wrong], &w);
  return s == HX_OK ? s : fail_of(l, wrong, s);
}

/* Whether a task prefetches the matrices of the next one, as the products of a batch do. */
static bool looks_ahead(const hx_task *t, const hx_task *next) {
  const struct hx_matmul_args *const p = &t->matmul;
  return next && t->kind == HX_MATMUL && next->kind == HX_MATMUL && is_worth_prefetching(p) &&
         hx__products_are_alike(p, &next->matmul);
}

static hx__gemm_operands operands_ahead(const hx_task *task, const hx_task *upcoming) {
  if (!looks_ahead(task, upcoming)) return (hx__gemm_operands){NULL, NULL, NULL};
  const struct hx_matmul_args *const t = &task->matmul, *const next = &upcoming->matmul;
  return (hx__gemm_operands){next->a == t->a ? NULL : next->a, next->b == t->b ? NULL : next->b, next->c};
}

/* A task that is no longer valid is left out: another one has written it. next: the one to prefetch for, or NULL. */
static void compute_task(const list *l, const hx_task *t, const hx_task *next) {
  hx_context *const hx = l->pieces.hx;
  const hx__gemm_operands ahead = operands_ahead(t, next);
  hx__work w;
  if (hx__offload_small(hx, t, &ahead) || hx__task_check(t, &w) != HX_OK || !hx__is_piece(hx, &l->most, &w)) return;
  w.gemm.next = ahead;
  const uint64_t from_ns = hx->table.trace ? hx__now_ns() : 0;
  if (!hx__finish_if_empty(&w)) hx__compute_here(hx, &w);
  hx__trace_work(hx, &w, from_ns, HX_OK);
}

static void compute_tasks(hx__pieces *p, hx__chunk chunk) {
  const list *const l = (const list *)p;
  const size_t end = chunk.first + chunk.count, ahead = p->looks_ahead ? end - 1 : chunk.first;
  for (size_t i = chunk.first; i < end; i++) compute_task(l, &l->tasks[i], i < ahead ? &l->tasks[i + 1] : NULL);
}

/* Before anything is computed: brings results of earlier calls that only a device has to the host. */
static hx_status fetch_operands(const list *l, uint64_t *copied) {
  hx_context *const hx = l->pieces.hx;
  hx_status s = HX_OK;
  if (atomic_load_explicit(&hx->memory.watched_ranges, memory_order_relaxed) == 0) return s;
  for (size_t i = 0; i < l->pieces.count && s == HX_OK; i++) {
    hx__work w;
    s = hx__task_check(&l->tasks[i], &w);
    if (s == HX_OK && w.slices && hx__is_piece(hx, &l->most, &w))
      s = hx__fetch_for(&hx->table, &w, NULL, false, copied);
    if (s != HX_OK) return fail_of(l, i, s);
  }
  return s;
}

/* The tasks that are no pieces. */
static hx_status offload_others(const list *l, hx_report *report) {
  hx_context *const hx = l->pieces.hx;
  size_t left = atomic_load(&l->others);
  for (size_t i = 0; left; i++) {
    hx__work w;
    hx_report part = {.chunks = 0};
    if (i == l->pieces.count) break; /* One was written by another task. */
    hx_status s = hx__task_check(&l->tasks[i], &w);
    if (s == HX_OK && hx__is_piece(hx, &l->most, &w)) continue;
    left--;
    if (s == HX_OK) s = hx__offload_work(hx, &w, report ? &part : NULL);
    if (s != HX_OK) return fail_of(l, i, s);
    if (report) hx__report_add(report, &part, 0.0);
  }
  return HX_OK;
}

/* The part of the units that devices other than the CPU have done. */
static double share_of_devices(const hx_report *r) {
  double all = 0.0, devices = 0.0;
  for (uint32_t i = 0; i < r->device_count; i++) {
    all += (double)r->device[i].units;
    if (r->device[i].index != 0) devices += (double)r->device[i].units;
  }
  return all > 0.0 ? devices / all : 0.0;
}

/* The tasks of a list that has been checked, each by itself. */
static hx_status offload_list(list *l, hx_report *report) {
  hx__pieces *const p = &l->pieces;
  uint64_t copied = 0;
  const hx_status s = fetch_operands(l, &copied);
  if (s != HX_OK) return s;
  p->effort = atomic_load(&l->units) + (uint64_t)p->count * HX__PIECE_EFFORT;
  p->elements = atomic_load(&l->elements);
  p->compute = compute_tasks;
  if (atomic_load(&l->others) < p->count) hx__pieces_run(p);
  if (report) {
    hx__pieces_report(p, atomic_load(&l->units), report);
    report->bytes_copied = copied;
  }
  return offload_others(l, report);
}

static list list_of(hx_context *hx, const hx_task *tasks, size_t first, size_t n) {
  return (list){.pieces = {.hx = hx, .count = n},
                .tasks = tasks + first,
                .first = first,
                .most = hx__piece_limits_of(hx, n),
                .wrong = NONE};
}

/* The tasks from number `first` on and before `end`, none of which is done together with others. */
static hx_status offload_each(const list *l, size_t first, size_t end, hx_report *report) {
  hx_report own = {.chunks = 0};
  if (first == end) return HX_OK;
  list part = list_of(l->pieces.hx, l->tasks, first, end - first);
  hx_status s = check_list(&part);
  if (s == HX_OK) s = offload_list(&part, report ? &own : NULL);
  if (report && s == HX_OK) hx__report_add(report, &own, 0.0);
  return s;
}

static hx_status offload_pass(const list *l, const hx__pass *pass, hx_report *report) {
  hx_report own = {.chunks = 0};
  size_t failed;
  const hx_status s = hx__offload_pass(l->pieces.hx, l->tasks, pass, &failed, report ? &own : NULL);
  if (report && s == HX_OK) hx__report_add(report, &own, 0.0);
  return s == HX_OK ? s : fail_of(l, failed, s);
}

/* The tasks from number `first` on and before `end`, none of which another task stands for. */
static hx_status offload_part(const list *l, size_t first, size_t end, hx_report *report) {
  hx_status s = HX_OK;
  hx__pass pass;
  while (s == HX_OK && hx__find_pass(l->pieces.hx, l->tasks, end, first, &pass)) {
    s = offload_each(l, first, pass.first, report);
    if (s == HX_OK) s = offload_pass(l, &pass, report);
    first = pass.first + pass.count;
  }
  return s == HX_OK ? offload_each(l, first, end, report) : s;
}

static hx_status offload_alike(const list *l, hx__alike *alike, hx_report *report) {
  hx_report own = {.chunks = 0};
  const hx_status s = hx__offload_work(l->pieces.hx, &alike->work, report ? &own : NULL);
  if (report && s == HX_OK) hx__report_add(report, &own, 0.0);
  return s == HX_OK ? s : fail_of(l, alike->first, s);
}

static hx_status offload_all(list *l, hx_report *report) {
  hx_context *const hx = l->pieces.hx;
  const size_t n = l->pieces.count;
  hx__alike alike;
  hx__pass pass;
  size_t done = 0;
  bool found = hx__find_alike(hx, l->tasks, n, done, &alike);
  hx_status s = check_list(l);
  if (s == HX_OK && !found && !(atomic_load(&l->reduces_many) && hx__find_pass(hx, l->tasks, n, done, &pass)))
    return offload_list(l, report);
  for (; s == HX_OK && found; found = hx__find_alike(hx, l->tasks, n, done, &alike)) {
    s = offload_part(l, done, alike.first, report);
    if (s == HX_OK) s = offload_alike(l, &alike, report);
    done = alike.first + alike.count;
  }
  return s == HX_OK ? offload_part(l, done, n, report) : s;
}

static hx_status offload_measured(list *l, hx_report *report) {
  const bool logs = hx__logs(HX__LOG_INFO);
  if (!report && !logs) return offload_all(l, NULL);
  hx_report r;
  memset(&r, 0, sizeof r);
  const double before = report ? hx__energy_joules(hx__energy_of_process()) : NAN;
  const uint64_t from_ns = hx__now_ns();
  const hx_status s = offload_all(l, &r);
  r.seconds = (double)(hx__now_ns() - from_ns) * 1e-9;
  if (s != HX_OK) return s;
  r.gpu_share = share_of_devices(&r);
  hx__report_finish(l->pieces.hx, &r, before);
  if (logs)
    hx__log(HX__LOG_INFO, "%zu tasks: %.3f ms, gpu share %.2f, %u chunks, %u recovered, %" PRIu64 " bytes copied",
            l->pieces.count, r.seconds * 1e3, r.gpu_share, r.chunks, r.recovered, r.bytes_copied);
  if (report) *report = r;
  return HX_OK;
}

static hx_status offload_many(hx_context *hx, const hx_task *tasks, size_t n, hx_report *report) {
  HX__CALL_SCOPE(hx);
  list l = list_of(hx, tasks, 0, n);
  return offload_measured(&l, report);
}

/* A thread that was cancelled during the call ends here, as in hx_offload. */
hx_status hx_offload_many(hx_context *hx, const hx_task *tasks, size_t n, hx_report *report) {
  if (!hx) return hx__fail(HX_INVALID_ARGUMENT, "hx is NULL");
  if (!tasks && n) return hx__fail(HX_INVALID_ARGUMENT, "tasks is NULL with n = %zu", n);
  const hx_status s = offload_many(hx, tasks, n, report);
  pthread_testcancel();
  return s;
}
