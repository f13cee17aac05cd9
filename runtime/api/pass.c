/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/pass.h"

#include <stdlib.h>

#include "runtime/api/bring_up.h"
#include "runtime/api/here.h"
#include "runtime/api/pieces.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/plan/share.h"
#include "runtime/plan/threads.h"
#include "runtime/run/fetch.h"

#define MOST_TASKS 64u                  /* of a pass */
#define NEAR_ELEMENTS ((size_t)1 << 18) /* of all inputs of a user kernel: 1 MiB */
#define MOST_FIELDS 8u                  /* of a task: more are a pass of their own */
/* Leaves that a thread computes of one task before it does those of the next, at most: 64 KiB of each array. */
#define MOST_LEAVES 4u

/* The arrays of a task, or as many of them as are compared with those of another. */
typedef struct arrays {
  const void *p[HX__EXPR_INPUTS];
  size_t count;
} arrays;

static void add_array(arrays *a, const void *p) {
  if (a->count < HX__EXPR_INPUTS) a->p[a->count++] = p;
}

static arrays arrays_of(const hx__work *w) {
  arrays a = {.count = 0};
  for (unsigned i = 0; w->kernel && i < w->kernel->expr.inputs; i++)
    if (!w->kernel->expr.per_row[i]) add_array(&a, w->input[i]);
  for (size_t f = 0; !w->kernel && f < w->nfields && a.count < HX__EXPR_INPUTS; f++) {
    add_array(&a, w->fields[f].x);
    if (w->fields[f].op == HX_DOT) add_array(&a, w->fields[f].y);
  }
  return a;
}

static bool share_one(const arrays *a, const arrays *b) {
  for (size_t i = 0; i < a->count; i++)
    for (size_t j = 0; j < b->count; j++)
      if (a->p[i] == b->p[j]) return true;
  return false;
}

/* Whether only the CPU is to compute a task. */
static bool stays_on_cpu(const hx_context *hx, const hx__work *w) {
  const double share = hx__share_of(&hx->config, w);
  if (share == 0.0) return true;
  if (hx->config.offload == HX__OFFLOAD_MANDATORY) return false;
  if (!hx->wants_devices || hx__in_forked_child()) return true;
  return share == HX__SHARE_AUTO && !hx__devices_may_do(hx, w);
}

/* Whether the arrays of a reduction do not fit in the second cache, so that each task would read them again from beyond
 * it. */
static bool is_far(const hx_context *hx, const hx__work *w) {
  const size_t inputs = w->kernel ? hx__expr_element_inputs(&w->kernel->expr) : 0;
  return hx__cpu_locality(hx->table.cpu, w) != HX__IN_L2 || (inputs && w->n > NEAR_ELEMENTS / inputs);
}

/* Whether a task may be part of a pass. */
static bool may_join(const hx_context *hx, const hx_task *t, hx__work *w) {
  if (!hx__may_join_pass(t) || hx__task_check(t, w) != HX_OK) return false;
  const bool reduces = !w->map && !w->by_lines && w->slices && w->nfields <= MOST_FIELDS;
  return reduces && is_far(hx, w) && stays_on_cpu(hx, w);
}

/* How many tasks from the first on are a pass. */
static size_t count_pass(const hx_context *hx, const hx_task *tasks, size_t n) {
  hx__work w;
  if (!may_join(hx, tasks, &w)) return 0;
  const arrays first = arrays_of(&w);
  const size_t slices = w.slices;
  size_t count = 1;
  for (; count < n && count < MOST_TASKS && may_join(hx, &tasks[count], &w) && w.slices == slices; count++) {
    const arrays own = arrays_of(&w);
    if (!share_one(&first, &own)) break;
  }
  return count;
}

bool hx__find_pass(const hx_context *hx, const hx_task *tasks, size_t n, size_t from, hx__pass *found) {
  for (size_t at = from; at < n; at++) {
    *found = (hx__pass){at, count_pass(hx, &tasks[at], n - at)};
    if (found->count > 1) return true;
  }
  return false;
}

/* A task of a pass while it is computed. */
typedef struct part {
  hx__work work;
  uint64_t *slots; /* of its fields */
} part;

typedef struct parts {
  hx__pieces pieces; /* a piece is the same `leaves` leaves of all parts, or what is left of them */
  size_t slices, leaves, count;
  part *part;
} parts;

static void compute_pieces(hx__pieces *p, hx__chunk chunk) {
  const parts *const all = (const parts *)p;
  hx__stream *const stream = p->hx->table.cpu;
  for (size_t i = chunk.first; i < chunk.first + chunk.count; i++) {
    const size_t first = i * all->leaves, left = all->slices - first;
    const hx__chunk leaves = {first, left < all->leaves ? left : all->leaves};
    for (size_t k = 0; k < all->count; k++) {
      const hx__request request = {.work = &all->part[k].work,
                                   .kernels = p->hx->table.kernels,
                                   .slots = all->part[k].slots,
                                   .heap_scratch = true};
      hx__inflight *submitted;
      stream->device->backend->submit(stream, &request, leaves, &submitted);
    }
  }
}

static void join_part(const part *p) {
  const hx__work *const w = &p->work;
  for (size_t f = 0; f < w->nfields; f++)
    w->out[f] = hx__join(w->fields[f].op, w->fields[f].type, p->slots + f * w->slices, w->slices);
}

static void compute_parts(parts *all) {
  hx_context *const hx = all->pieces.hx;
  const uint64_t from_ns = hx->table.trace ? hx__now_ns() : 0;
  for (size_t i = 0; i < all->count; i++) hx__memory_claim_outputs(&hx->memory, &all->part[i].work);
  hx__pieces_run(&all->pieces);
  for (size_t i = 0; i < all->count; i++) {
    join_part(&all->part[i]);
    hx__memory_release_outputs(&hx->memory, &all->part[i].work, true);
    hx__trace_work(hx, &all->part[i].work, from_ns, HX_OK);
  }
}

/* The tasks are checked again, because one that was done before may have written into another. */
static hx_status set_part(const parts *all, const hx_task *t, part *p, uint64_t *copied) {
  hx_context *const hx = all->pieces.hx;
  if (!may_join(hx, t, &p->work) || (all->slices && p->work.slices != all->slices))
    return hx__fail(HX_INVALID_ARGUMENT, "it was changed during the call");
  return hx__fetch_for(&hx->table, &p->work, NULL, false, copied);
}

/* Pieces are smaller if there would be too few for all threads. */
static void cut_into_pieces(parts *all, uint64_t effort) {
  const size_t wanted = (size_t)HX__PIECES_PER_THREAD * hx__cpu_threads(&all->pieces.hx->config);
  const size_t leaves = all->slices / wanted;
  all->leaves = leaves < 1 ? 1 : leaves < MOST_LEAVES ? leaves : MOST_LEAVES;
  all->pieces.count = (all->slices + all->leaves - 1) / all->leaves;
  all->pieces.effort = effort * (HX__ASLEEP_UNITS / HX__ASLEEP_ELEMENTS); /* in multiply-adds */
}

static hx_status offload_parts(parts *all, const hx_task *tasks, size_t *failed, hx_report *report) {
  uint64_t units = 0, effort = 0, copied = 0;
  size_t fields = 0;
  for (size_t i = 0; i < all->count; i++) {
    const hx__work *const w = &all->part[i].work;
    const hx_status s = set_part(all, &tasks[i], &all->part[i], &copied);
    *failed = i;
    if (s != HX_OK) return s;
    all->slices = w->slices;
    units += w->units;
    effort += hx__effort_of(w);
    fields += w->nfields;
  }
  uint64_t *const slots = malloc(fields * all->slices * sizeof *slots), *next = slots;
  if (!slots) return hx__fail(HX_OUT_OF_MEMORY, "no memory for the partials of %zu fields", fields);
  for (size_t i = 0; i < all->count; i++) {
    all->part[i].slots = next;
    next += all->part[i].work.nfields * all->slices;
  }
  cut_into_pieces(all, effort);
  compute_parts(all);
  free(slots);
  if (!report) return HX_OK;
  hx__pieces_report(&all->pieces, units, report);
  report->bytes_copied = copied;
  return HX_OK;
}

hx_status hx__offload_pass(hx_context *hx, const hx_task *tasks, const hx__pass *pass, size_t *failed,
                           hx_report *report) {
  parts all = {.pieces = {.hx = hx, .compute = compute_pieces}, .count = pass->count};
  *failed = 0;
  all.part = calloc(all.count, sizeof *all.part);
  const hx_status s = all.part ? offload_parts(&all, tasks + pass->first, failed, report)
                               : hx__fail(HX_OUT_OF_MEMORY, "no memory for %zu tasks", all.count);
  *failed += pass->first;
  free(all.part);
  return s;
}
