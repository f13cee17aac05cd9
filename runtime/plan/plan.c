/* SPDX-License-Identifier: Apache-2.0
 * A plan from a snapshot. */
#include "runtime/plan/plan.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "runtime/plan/expected.h"
#include "runtime/plan/share.h"
#include "runtime/plan/threads.h"

static double slices_per_ns(const hx__estimate *e, const hx__work *w) {
  return e->ns_per_unit > 0.0 && w->units ? (double)w->slices / (double)w->units / e->ns_per_unit : 0.0;
}

/* Sorts the plan's devices into the order of the device table, which is that of HX_SPLIT's list. */
static void sort_by_entry(hx__plan *plan) {
  for (size_t i = 1; i < plan->devices; i++)
    for (size_t j = i; j > 0 && plan->device[j].entry < plan->device[j - 1].entry; j--) {
      const hx__plan_device t = plan->device[j];
      plan->device[j] = plan->device[j - 1];
      plan->device[j - 1] = t;
    }
}

static hx__plan_device device_of_plan(const hx__plan_snapshot *s, size_t i, bool beside_cpu) {
  hx__plan_device d = {.entry = s->device[i].entry, .ordinal = s->device[i].ordinal, .idle = s->device[i].idle};
  d.key.device = s->device[i].identity;
  d.expected = beside_cpu ? s->inputs.device[i].beside : s->inputs.device[i].alone;
  d.rate = slices_per_ns(&d.expected, s->work);
  const double part = beside_cpu ? hx__first_trial_fraction(&s->inputs, (unsigned)i) : 1.0;
  if (part < 1.0) d.trial = (size_t)ceil(part * (double)s->work->slices);
  return d;
}

/* Enters a choice into the plan: the first devices of the snapshot, with or without the CPU. */
static void apply_choice(const hx__plan_snapshot *s, hx__choice choice, hx__plan *plan) {
  plan->cpu = choice.devices ? s->inputs.cpu_beside : s->inputs.cpu_alone;
  plan->cpu_rate = slices_per_ns(&plan->cpu, s->work);
  plan->cpu_works = choice.cpu;
  plan->threads = s->threads - (choice.cpu && choice.devices ? s->copy_threads : 0);
  plan->devices = choice.devices;
  for (size_t i = 0; i < plan->devices; i++) plan->device[i] = device_of_plan(s, i, choice.cpu);
  sort_by_entry(plan);
}

/* Sets the choice if the share is left to hx. A task below the break-even goes to no device; above it, hx__decide
 * chooses by expected cost. */
static void choose(const hx__plan_snapshot *s, hx__plan *plan, hx__decision *decision) {
  const hx__config *const config = s->config;
  decision->choice = s->inputs.devices;
  if (!s->usable) {
    plan->source = HX__DECIDED_NO_DEVICE;
  } else if (!s->inputs.devices) {
    plan->source = HX__DECIDED_SMALL;
  } else if (config->schedule != HX__SCHEDULE_ADAPTIVE || config->min_offload != UINT64_MAX) {
    plan->source = HX__DECIDED_SETTING;
  } else {
    plan->source = HX__DECIDED_BY_COST;
    hx__decide(&s->inputs, decision);
    plan->call_number = decision->call_number;
    plan->best = decision->choice == decision->best;
    plan->joules = s->joules;
  }
}

static void plan_by_choice(const hx__plan_snapshot *s, hx__plan *plan, hx__decision *decision) {
  const hx__config *const config = s->config;
  choose(s, plan, decision);
  apply_choice(s, hx__choice_of(decision->choice, s->inputs.devices), plan);
  plan->measure = s->cpu.measure && s->learns;
  plan->policy = hx__policy_of(config->schedule);
  plan->chunk = config->chunk ? (s->work->matmul ? config->chunk : (config->chunk + HX__LEAF - 1) / HX__LEAF) : 0;
  hx__share_by_rates(plan);
}

static void plan_by_share(const hx__plan_snapshot *s, hx__plan *plan) {
  plan->source = s->usable || s->share == 0.0 ? HX__DECIDED_SHARE : HX__DECIDED_NO_DEVICE;
  if (s->inputs.devices) apply_choice(s, (hx__choice){s->inputs.devices, s->share != 1.0}, plan);
  hx__cut_by_share(s, plan);
}

/* Sets the keys. The company contains all participants of the plan, even if one of them gets no work in the end. */
static void make_keys(const hx__rate_key *task, hx__plan *plan) {
  const unsigned threads = plan->cpu_works ? plan->threads : 0;
  uint64_t company = plan->cpu_works ? HX__CPU_IDENTITY : 0;
  for (size_t i = 0; i < plan->devices; i++) company += plan->device[i].key.device;
  plan->cpu_key = hx__key_in_company(task, HX__CPU_IDENTITY, company, threads);
  plan->call_key = hx__key_in_company(task, 0, company, threads);
  for (size_t i = 0; i < plan->devices; i++)
    plan->device[i].key = hx__key_in_company(task, plan->device[i].key.device, company, threads);
}

void hx__plan_make(const hx__plan_snapshot *s, hx__plan *plan, hx__decision *decision) {
  memset(plan, 0, offsetof(hx__plan, device));
  plan->threads = s->threads;
  plan->joules = NAN;
  plan->mandatory = s->config->offload == HX__OFFLOAD_MANDATORY && s->work->needs != 0;
  if (s->share == HX__SHARE_AUTO)
    plan_by_choice(s, plan, decision);
  else
    plan_by_share(s, plan);
  plan->cpu_works = plan->cpu_works || plan->devices == 0;
  plan->cpu_by_panels = hx__shares_by_panels(s->work, plan->threads);
  plan->cpu_parts_of_k = hx__parts_of_k(s->work, plan->threads);
  make_keys(&s->key, plan);
}
