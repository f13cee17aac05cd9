/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/announce.h"

#include "runtime/base/log.h"

static const char *const reasons[] = {
    [HX__REASON_BEST] = "best", [HX__REASON_TRY] = "tried", [HX__REASON_RECHECK] = "checked again"};
static const char *const sources[] = {
    [HX__DECIDED_NO_DEVICE] = "no device", [HX__DECIDED_SMALL] = "small", [HX__DECIDED_SETTING] = "set"};

static void log_candidates(const hx__decision *d, unsigned devices) {
  if (!hx__logs(HX__LOG_DEBUG)) return;
  for (unsigned i = 0; i < d->choices; i++) {
    const hx__choice c = hx__choice_of(i, devices);
    const hx__candidate *const o = &d->candidate[i];
    hx__log(HX__LOG_DEBUG,
            "choice %u, %s%u devices: %.3f ms expected (sigma %.2f), %.3f by its parts, %.1f W, %u calls%s%s", i,
            c.cpu ? "CPU and " : "", c.devices, o->ns * 1e-6, o->sigma, o->parts_ns * 1e-6, o->watts, o->samples,
            i == d->choice ? ": " : "", i == d->choice ? reasons[d->reason] : "");
  }
}

static void trace_plan(hx__trace *trace, const hx__plan_snapshot *s, const hx__plan *plan, const hx__decision *d) {
  const bool by_share = s->share != HX__SHARE_AUTO, by_cost = plan->source == HX__DECIDED_BY_COST;
  hx__trace_choice c = {.task = hx__work_trace(s->work),
                        .reason = by_share  ? "asked"
                                  : by_cost ? reasons[d->reason]
                                            : sources[plan->source],
                        .devices = (unsigned)plan->devices,
                        .cpu = plan->cpu_works,
                        .units = s->work->units,
                        .cpu_ns = hx__estimate_ns(&s->inputs.cpu_alone, s->inputs.units, false)};
  c.expected_ns = by_cost ? d->candidate[d->choice].ns : by_share || plan->devices ? 0.0 : c.cpu_ns;
  hx__trace_decision(trace, &c);
}

/* Warns once in a process that HX_OBJECTIVE cannot be followed. */
static void warn_time_decides(const char *why, const char *name) {
  static _Atomic bool said;
  if (!atomic_exchange(&said, true)) hx__log(HX__LOG_WARN, "HX_OBJECTIVE: %s%s; time decides", name, why);
}

static void warn_of_energy(const hx__device_table *table, const hx__plan_snapshot *s) {
  if (s->energy == HX__ENERGY_UNREADABLE)
    warn_time_decides("the counters of energy cannot be read any more, or do not move", "");
  for (size_t i = 0; s->energy == HX__ENERGY_UNMETERED && i < s->usable; i++)
    if (s->device[i].unmetered)
      warn_time_decides(" draws power that the processor's counters do not include",
                        table->entry[s->device[i].entry].device->name);
}

void hx__announce_plan(const hx__device_table *table, const hx__plan_snapshot *s, const hx__plan *plan,
                       const hx__decision *decision) {
  warn_of_energy(table, s);
  if (plan->source == HX__DECIDED_BY_COST) log_candidates(decision, s->inputs.devices);
  if (table->trace) trace_plan(table->trace, s, plan, decision);
}
