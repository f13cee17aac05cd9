/* SPDX-License-Identifier: Apache-2.0
 * A decision without its run. */
#include "runtime/api/explain.h"

#include <string.h>

#include "runtime/api/bring_up.h"
#include "runtime/api/gather.h"
#include "runtime/backend/registry.h"
#include "runtime/base/guard.h"
#include "runtime/base/status.h"
#include "runtime/plan/share.h"

static void make_ready(hx_context *hx, const hx__work *w) {
  if (hx->wants_devices) hx__registry_start();
  if (!hx__context_add_devices(hx, UINT64_MAX, HX__LONG_HANG_NS)) return;
  for (size_t i = 0; i < hx->table.entries; i++) {
    const hx__device_entry *const entry = &hx->table.entry[i];
    uint64_t needs;
    if (entry->owned || hx__usability_of(hx, entry, w, &needs) == HX__NEVER_USABLE) continue;
    if (w->kernel) entry->device->backend->map(entry->device, w, true, NULL);
    hx__prepare_wait(entry->device, needs, UINT64_MAX, HX__LONG_HANG_NS);
  }
}

/* The part of the task that a device gets by a numeric share. */
static double numeric_share_of(const hx__plan *plan, size_t entry, size_t slices) {
  for (size_t i = 0; i < plan->devices; i++)
    if (plan->device[i].entry == entry) return (double)plan->device[i].fixed.count / (double)slices;
  return 0.0;
}

hx_status hx__explain(hx_context *hx, const hx_task *task, hx__explanation *out) {
  hx__work work;
  hx__plan_snapshot s;
  hx__plan plan;
  HX__GUARD;
  const hx_status status = hx__task_check(task, &work);
  if (status != HX_OK) return status;
  memset(out, 0, sizeof *out);
  make_ready(hx, &work);
  work.placement = hx__memory_placement(&hx->memory, &work);
  s.inputs = (hx__cost_inputs){.objective = HX__OBJECTIVE_TIME}; /* a task that is not weighed has no others */
  out->threads = hx__gather_threads(hx, &work);
  hx__gather_cpu(hx, &work, hx__share_of(&hx->config, &work), out->threads, true, &s);
  hx__gather_devices(hx, &s);
  hx__plan_make(&s, &plan, &out->decision);
  out->source = plan.source;
  out->inputs = s.inputs;
  if (s.share != HX__SHARE_AUTO)
    out->decision.choice = plan.cpu_fixed.count || !plan.devices ? s.inputs.devices : 2 * s.inputs.devices;
  for (size_t i = 0; i < s.inputs.devices; i++) {
    out->index[i] = s.device[i].entry;
    out->part[i] = numeric_share_of(&plan, s.device[i].entry, work.slices);
  }
  return HX_OK;
}
