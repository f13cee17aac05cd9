/* SPDX-License-Identifier: Apache-2.0
 * A decision without its run. */
#include "runtime/api/explain.h"

#include <string.h>

#include "runtime/api/context.h"
#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/base/guard.h"
#include "runtime/base/status.h"
#include "runtime/plan/planner.h"

static void make_ready(hx_context *hx, const hx__work *w) {
  const uint32_t tile[3] = {hx->config.tile_m, hx->config.tile_n, hx->config.tile_k};
  if (hx->wants_devices) hx__registry_start();
  if (!hx__context_add_devices(hx, UINT64_MAX, HX__PATIENT_HANG_NS)) return;
  for (size_t i = 0; i < hx->team.seats; i++) {
    const hx__device_entry *const seat = &hx->team.seat[i];
    if (seat->owned || !hx__device_entry_may_become_usable(&hx->team, seat, w)) continue;
    hx__prepare_wait(seat->device, hx__device_needs(seat->device, w->needs, tile), UINT64_MAX, HX__PATIENT_HANG_NS);
  }
}

/* A numeric share, by the task or by settings: what a call's plan cuts. */
static void by_share(const hx_context *hx, const hx__work *w, double share, hx__plan *plan, hx__explanation *out) {
  hx__plan_make(&hx->team, w, share, out->threads, plan);
  hx__cost_inputs_of_cpu(&hx->team, w, out->threads, &out->prospect);
  hx__cost_inputs_of_devices(&hx->team, w, plan, &out->prospect);
  out->ruling = plan->devices || share == 0.0 ? HX__DECIDED_SHARE : HX__DECIDED_NO_DEVICE;
  out->decision.choice = (unsigned)(plan->cpu_fixed.count || !plan->devices ? plan->devices : 2 * plan->devices);
  for (size_t i = 0; i < plan->devices; i++) out->part[i] = (double)plan->device[i].fixed.count / (double)w->slices;
}

hx_status hx__explain(hx_context *hx, const hx_task *task, hx__explanation *out) {
  hx__work work;
  hx__plan plan;
  HX__GUARD;
  const hx_status s = hx__task_check(task, &work);
  if (s != HX_OK) return s;
  memset(out, 0, sizeof *out);
  make_ready(hx, &work);
  work.placement = hx__memory_placement(&hx->memory, &work);
  out->threads = hx__threads_for(&work, hx__cpu_threads(&hx->config));
  const double share = hx__share_of(&hx->config, &work);
  if (share == HX__SHARE_AUTO)
    out->ruling = hx__plan_consider(&hx->team, &work, out->threads, &plan, &out->prospect, &out->decision);
  else
    by_share(hx, &work, share, &plan, out);
  for (size_t i = 0; i < plan.devices; i++) out->seat[i] = plan.device[i].seat;
  return HX_OK;
}
