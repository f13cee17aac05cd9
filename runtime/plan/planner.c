/* SPDX-License-Identifier: Apache-2.0
 * Who takes part, and with which slices. */
#include "runtime/plan/planner.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/base/energy.h"
#include "runtime/base/log.h"
#include "runtime/plan/cost_inputs.h"
#include "runtime/run/run.h"

/* Units of a thread's part: what one thread does while another wakes, and where the team is awake. */
#define ASLEEP_ELEMENTS (1u << 19)
#define ASLEEP_UNITS (1u << 20)
#define AWAKE_ELEMENTS (1u << 16)
#define AWAKE_UNITS (1u << 16)
#define READ_UNITS 4u               /* multiply-adds that take as long as to read an element of A or B from afar */
#define CROWDED_ELEMENTS (1u << 26) /* work that one thread has done before a taken core is given back: some 10 ms */
#define CROWDED_UNITS (1u << 28)

/* HX_DEVICES and HX_OFFLOAD leave the CPU a part. */
static bool leaves_cpu(const hx__config *config) {
  const bool named = (config->device_words & (HX__DEV_CPU | HX__DEV_ALL)) != 0 || (config->device_indices & 1u);
  return named && config->offload != HX__OFFLOAD_MANDATORY;
}

double hx__share_of(const hx__config *config, const hx__work *work) {
  if (config->offload == HX__OFFLOAD_DISABLED || work->needs == 0) return 0.0;
  if (!leaves_cpu(config)) return 1.0;
  if (work->gpu_share >= 0.0f) return (double)work->gpu_share;
  double sum = 0.0;
  for (uint32_t i = 0; i < config->splits; i++) sum += (double)config->split[i];
  return config->splits ? sum : HX__SHARE_AUTO;
}

/* Units, and for a product what reading its operands is worth: all that there is to a product with a vector. */
static uint64_t effort(const hx__work *w) {
  if (!w->matmul) return w->units;
  return w->units + READ_UNITS * ((uint64_t)w->gemm.m * w->gemm.k + (uint64_t)w->gemm.k * w->gemm.n);
}

unsigned hx__threads_for(const hx__work *w, unsigned most) {
  const uint64_t least = w->matmul ? AWAKE_UNITS : AWAKE_ELEMENTS;
  const uint64_t all = effort(w);
  if (most < 2 || w->slices < 2 || all < 2 * least) return 1;
  const hx__pool_state mood = hx__cpu_pool_state();
  if (mood == HX__POOL_CROWDED && all <= (w->matmul ? CROWDED_UNITS : CROWDED_ELEMENTS)) return 1;
  const uint64_t parts = all / (mood == HX__POOL_AWAKE ? least : w->matmul ? ASLEEP_UNITS : ASLEEP_ELEMENTS);
  const uint64_t useful = parts < w->slices ? parts : w->slices;
  return useful < 1 ? 1 : useful < most ? (unsigned)useful : most;
}

static uint64_t needs_of(const hx__device_table *team, const hx__device_entry *seat, uint64_t needs) {
  const uint32_t tile[3] = {team->config->tile_m, team->config->tile_n, team->config->tile_k};
  return hx__device_needs(seat->device, needs, tile);
}

bool hx__device_entry_may_become_usable(const hx__device_table *team, const hx__device_entry *seat,
                                        const hx__work *work) {
  const hx__device *const d = seat->device;
  const uint64_t needs = work->needs;
  return !d->is_host_cpu && seat->selected && !atomic_load(&d->lost) &&
         !(needs_of(team, seat, needs) & atomic_load(&d->refused));
}

bool hx__device_entry_is_usable(const hx__device_table *team, const hx__device_entry *seat, const hx__work *work) {
  return hx__device_entry_may_become_usable(team, seat, work) &&
         !(needs_of(team, seat, work->needs) & ~atomic_load(&seat->device->ready)) &&
         !atomic_load(&seat->device->stuck_threads);
}

static void find_devices(const hx__device_table *team, const hx__work *w, hx__plan *plan) {
  size_t selected = 0;
  for (size_t i = 0; i < team->seats; i++) {
    const size_t ordinal = selected;
    selected += team->seat[i].selected && !team->seat[i].device->is_host_cpu;
    if (hx__device_entry_is_usable(team, &team->seat[i], w))
      plan->device[plan->devices++] = (hx__plan_device){.seat = i, .ordinal = ordinal};
  }
}

/* What HX_SPLIT's list says for a device. */
static double listed(const hx__config *config, const hx__plan *plan, size_t device) {
  const size_t ordinal = plan->device[device].ordinal;
  return ordinal < config->splits ? (double)config->split[ordinal] : 0.0;
}

/* Parts of the devices' share: HX_SPLIT's list, else by measured rates, else equal. They sum to one. */
static void divide(const hx__config *config, const hx__plan *plan, double part[HX_MAX_DEVICES]) {
  double sum = 0.0, rates = 0.0;
  for (size_t i = 0; i < plan->devices; i++)
    rates = plan->device[i].rate > 0.0 && rates >= 0.0 ? rates + plan->device[i].rate : -1.0;
  for (size_t i = 0; i < plan->devices; i++) {
    part[i] = config->splits > 1 ? listed(config, plan, i) : rates > 0.0 ? plan->device[i].rate : 1.0;
    sum += part[i];
  }
  for (size_t i = 0; i < plan->devices; i++) part[i] = sum > 0.0 ? part[i] / sum : 1.0 / (double)plan->devices;
}

/* A numeric share: the CPU's slices first, then each device's, all fixed. */
static void cut(const hx__config *config, const hx__work *w, double share, hx__plan *plan) {
  double part[HX_MAX_DEVICES], before = 0.0;
  if (config->splits > 1 && w->gpu_share < 0.0f && leaves_cpu(config)) { /* the part of a missing device is the CPU's */
    share = 0.0;
    for (size_t i = 0; i < plan->devices; i++) share += listed(config, plan, i);
    plan->cpu_works = share != 1.0;
  }
  const size_t theirs = plan->devices ? hx__share_slices(w, share) : 0, cpu = w->slices - theirs;
  plan->policy = NULL;
  plan->cpu_fixed = (hx__chunk){0, cpu};
  plan->wait_for_lane = true;
  divide(config, plan, part);
  size_t first = cpu, kept = 0;
  for (size_t i = 0; i < plan->devices; i++) {
    before += part[i];
    const double exact = before * (double)theirs + 0.5;
    const size_t end = i + 1 == plan->devices || exact >= (double)theirs ? w->slices : cpu + (size_t)exact;
    if (end <= first) continue;
    plan->device[kept] = plan->device[i];
    plan->device[kept++].fixed = (hx__chunk){first, end - first};
    first = end;
  }
  plan->devices = kept;
}

/* HX_SCHEDULE=static without a number: parts by measured rates, else equal, the CPU counted as one. */
static void share_by_rates(hx__plan *plan) {
  double sum = plan->cpu_works ? plan->cpu_rate : 0.0;
  bool known = !plan->cpu_works || plan->cpu_rate > 0.0;
  for (size_t i = 0; i < plan->devices; i++) {
    sum += plan->device[i].rate;
    known = known && plan->device[i].rate > 0.0;
  }
  const double equal = 1.0 / (double)(plan->devices + plan->cpu_works);
  for (size_t i = 0; i < plan->devices; i++) plan->device[i].share = known ? plan->device[i].rate / sum : equal;
}

static const char *const reasons[] = {
    [HX__REASON_BEST] = "best", [HX__REASON_TRY] = "tried", [HX__REASON_RECHECK] = "checked again"};

static void trace_decision(hx__trace *trace, hx__decision_source ruling, const hx__cost_inputs *p,
                           const hx__decision *d) {
  static const char *const rulings[] = {
      [HX__DECIDED_NO_DEVICE] = "no device", [HX__DECIDED_SMALL] = "small", [HX__DECIDED_SETTING] = "set"};
  const bool expected = ruling == HX__DECIDED_BY_COST;
  const hx__choice c = hx__choice_of(d->choice, p->devices);
  const double cpu_ns = hx__estimate_ns(&p->cpu_alone, p->units, false);
  hx__trace_decision(trace, &(hx__trace_choice){.reason = expected ? reasons[d->reason] : rulings[ruling],
                                                .devices = c.devices,
                                                .cpu = c.cpu,
                                                .units = (uint64_t)p->units,
                                                .expected_ns = expected    ? d->outlook[d->choice].ns
                                                               : c.devices ? 0.0
                                                                           : cpu_ns,
                                                .cpu_ns = cpu_ns});
}

/* A share that was asked for. */
static void trace_asked(hx__trace *trace, const hx__work *w, const hx__plan *plan) {
  hx__trace_decision(trace, &(hx__trace_choice){.reason = "asked",
                                                .devices = (unsigned)plan->devices,
                                                .cpu = plan->cpu_works,
                                                .units = w->units,
                                                .cpu_ns = hx__predict_cpu(w, plan->threads).ns});
}

static void log_decision(const hx__decision *d, unsigned devices) {
  if (!hx__logs(HX__LOG_DEBUG)) return;
  for (unsigned i = 0; i < d->choices; i++) {
    const hx__choice c = hx__choice_of(i, devices);
    const hx__candidate *const o = &d->outlook[i];
    hx__log(HX__LOG_DEBUG,
            "choice %u, %s%u devices: %.3f ms expected (sigma %.2f), %.3f by its parts, %.1f W, %u calls%s%s", i,
            c.cpu ? "CPU and " : "", c.devices, o->ns * 1e-6, o->sigma, o->parts_ns * 1e-6, o->watts, o->samples,
            i == d->choice ? ": " : "", i == d->choice ? reasons[d->reason] : "");
  }
}

static void say_time_decides(const char *why, const char *name) {
  static _Atomic bool said;
  if (!atomic_exchange(&said, true)) hx__log(HX__LOG_WARN, "HX_OBJECTIVE: %s%s; time decides", name, why);
}

/* What the decision makes small, and what the counters show before. They do not see a card in a slot, whose energy
 * would seem to be free. */
static hx__objective objective_for(const hx__device_table *team, hx__plan *plan) {
  const hx__objective wanted = team->config->objective;
  if (wanted == HX__OBJECTIVE_TIME || !hx__energy_of_process()) return HX__OBJECTIVE_TIME;
  for (size_t i = 0; i < plan->devices; i++) {
    const hx__device *const d = team->seat[plan->device[i].seat].device;
    if (!d->is_discrete) continue;
    say_time_decides(" draws what the processor's counters do not show", d->name);
    return HX__OBJECTIVE_TIME;
  }
  plan->joules = hx__energy_joules(hx__energy_of_process());
  if (!isnan(plan->joules)) return wanted;
  say_time_decides("the counters of energy cannot be read any more, or do not move", "");
  return HX__OBJECTIVE_TIME;
}

hx__decision_source hx__plan_consider(const hx__device_table *team, const hx__work *w, unsigned threads, hx__plan *plan,
                                      hx__cost_inputs *prospect, hx__decision *decision) {
  const hx__config *const config = team->config;
  hx__cost_inputs_of_cpu(team, w, threads, prospect);
  const hx__cpu_time cpu = hx__cpu_time_of(w, threads, &prospect->cpu_alone);
  const bool limited = config->min_offload != UINT64_MAX;
  memset(plan, 0, offsetof(hx__plan, device));
  plan->threads = threads;
  plan->joules = NAN;
  plan->cpu_works = true;
  plan->measure = cpu.measure;
  find_devices(team, w, plan);
  const bool none = plan->devices == 0;
  const bool small = limited ? w->units < config->min_offload : cpu.ns < HX__BREAK_EVEN_NS;
  if (small) plan->devices = 0;
  hx__cost_inputs_of_devices(team, w, plan, prospect);
  *decision = (hx__decision){.choice = (unsigned)plan->devices};
  if (none) return HX__DECIDED_NO_DEVICE;
  if (small) return HX__DECIDED_SMALL;
  if (config->schedule != HX__SCHEDULE_ADAPTIVE || limited) return HX__DECIDED_SETTING;
  prospect->objective = objective_for(team, plan);
  hx__decide(prospect, decision);
  plan->turn = decision->turn;
  plan->best = decision->choice == decision->best;
  plan->promise_ns = decision->outlook[decision->choice].parts_ns;
  return HX__DECIDED_BY_COST;
}

/* hx decides: nothing under the break-even goes to a device; above it what is expected to end first. */
static void choose(const hx__device_table *team, const hx__work *w, unsigned threads, hx__plan *plan) {
  const hx__config *const config = team->config;
  const bool mandatory = plan->mandatory;
  hx__cost_inputs prospect;
  hx__decision decision;
  const hx__decision_source ruling = hx__plan_consider(team, w, threads, plan, &prospect, &decision);
  if (ruling == HX__DECIDED_BY_COST) log_decision(&decision, prospect.devices);
  if (team->trace) trace_decision(team->trace, ruling, &prospect, &decision);
  plan->mandatory = mandatory;
  plan->policy = hx__policy_of(config->schedule);
  plan->chunk = config->chunk ? (w->matmul ? config->chunk : (config->chunk + HX__LEAF - 1) / HX__LEAF) : 0;
  hx__plan_apply_choice(w, &prospect, hx__choice_of(decision.choice, (unsigned)prospect.devices), plan);
  share_by_rates(plan);
}

void hx__plan_make(const hx__device_table *team, const hx__work *w, double share, unsigned threads, hx__plan *plan) {
  memset(plan, 0, offsetof(hx__plan, device));
  plan->threads = threads;
  plan->joules = NAN;
  plan->mandatory = team->config->offload == HX__OFFLOAD_MANDATORY && w->needs != 0;
  plan->cpu_works = share != 1.0;
  if (share == HX__SHARE_AUTO) {
    choose(team, w, threads, plan);
  } else {
    if (share != 0.0) find_devices(team, w, plan);
    hx__cost_inputs prospect;
    if (plan->devices) {
      hx__cost_inputs_of_cpu(team, w, threads, &prospect);
      hx__cost_inputs_of_devices(team, w, plan, &prospect);
      hx__plan_apply_choice(w, &prospect, (hx__choice){(unsigned)plan->devices, plan->cpu_works}, plan);
    }
    cut(team->config, w, share, plan);
  }
  plan->cpu_works = plan->cpu_works || plan->devices == 0;
  if (team->trace && share != HX__SHARE_AUTO) trace_asked(team->trace, w, plan);
}
