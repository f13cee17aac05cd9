/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/api/gather.h"

#include <math.h>

#include "runtime/api/bring_up.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "runtime/plan/expected.h"
#include "runtime/plan/key.h"
#include "runtime/plan/threads.h"
#include "runtime/sched/store.h"

#define IDLE_NS 100000000u /* A device that has been idle for this long is slower at first. */

static hx__estimate ask_model(const hx__plan_snapshot *s, const hx__rate_key *key) {
  return hx__model_estimate(hx__model_of_process(), key, s->date_s);
}

unsigned hx__gather_threads(const hx_context *hx, const hx__work *w) {
  const unsigned most = hx__cpu_threads(&hx->config);
  return hx__may_use_threads(w, most) ? hx__threads_for(w, most, hx__cpu_pool_state()) : 1;
}

void hx__gather_cpu(const hx_context *hx, const hx__work *w, double share, unsigned threads, bool measured,
                    hx__plan_snapshot *s) {
  const hx__estimate none = {.samples = 0};
  s->config = &hx->config;
  s->work = w;
  s->share = share;
  s->threads = threads;
  s->copy_threads = 0;
  s->learns = hx->wants_devices;
  s->date_s = measured ? hx__date_s() : 0;
  s->key = measured ? hx__task_key(w, hx__power_source()) : (hx__rate_key){.device = 0};
  s->energy = HX__ENERGY_UNUSED;
  s->joules = NAN;
  s->usable = s->inputs.devices = 0;
  s->inputs.units = (double)w->units;
  const hx__rate_key key = hx__key_in_company(&s->key, HX__CPU_IDENTITY, HX__CPU_IDENTITY, threads);
  const hx__estimate known = measured ? ask_model(s, &key) : none;
  s->inputs.cpu_alone = s->inputs.cpu_beside = known.samples ? known : hx__guess_cpu(w, threads);
  s->break_even_ns = measured ? hx__break_even_of(hx) : HX__BREAK_EVEN_NS;
  s->cpu = measured ? hx__cpu_time_of(w, threads, &s->inputs.cpu_alone, s->break_even_ns) : (hx__cpu_time){0.0, false};
}

/* The rate that the self-test measured for the slowest of the kernels. */
static double seed_rate_of(const hx__device *d, uint64_t needs) {
  float rate = 0.0f;
  for (; needs; needs &= needs - 1) {
    const float r = d->seed_rate[__builtin_ctzll(needs)];
    if (rate == 0.0f || r < rate) rate = r;
  }
  return (double)rate;
}

/* The rate that the self-test measured for what the work needs. */
static double first_rate_of(hx__device *d, const hx__work *w, uint64_t needs) {
  float rate = 0.0f;
  if (!w->kernel) return seed_rate_of(d, needs);
  d->backend->map(d, w, false, &rate);
  return (double)rate;
}

static hx__device_facts facts_of(const hx__device_entry *entry, const hx__work *w, uint64_t needs) {
  hx__device *const d = entry->device;
  const uint64_t used_ns = atomic_load_explicit(&entry->used_ns, memory_order_relaxed);
  return (hx__device_facts){.identity = entry->identity,
                            .seed_rate = first_rate_of(d, w, needs),
                            .launch_ns = (double)d->launch_ns,
                            .link_ns = (double)d->link_ns,
                            .unmetered = d->is_discrete,
                            .idle = used_ns == 0 || hx__now_ns() - used_ns > IDLE_NS};
}

static void find_devices(const hx_context *hx, hx__plan_snapshot *s) {
  size_t selected = 0;
  for (size_t i = 0; i < hx->table.entries; i++) {
    const hx__device_entry *const entry = &hx->table.entry[i];
    const size_t ordinal = selected;
    uint64_t needs;
    selected += entry->selected && !entry->device->is_host_cpu;
    if (hx__usability_of(hx, entry, s->work, &needs) != HX__USABLE_NOW) continue;
    hx__device_facts *const facts = &s->device[s->usable++];
    *facts = facts_of(entry, s->work, needs);
    facts->entry = i;
    facts->ordinal = ordinal;
  }
}

/* The rate measured for a device in a company while its operands had another placement. Without a link only one other
 * placement is tried: all operands copied. */
static hx__nearest find_other_placement(const hx__plan_snapshot *s, const hx__device_facts *d, uint64_t company,
                                        unsigned threads) {
  const hx__rate_key here = hx__key_in_company(&s->key, d->identity, company, threads);
  const uint32_t placements = d->link_ns > 0.0 ? HX__PLACEMENTS : 1;
  hx__nearest n = {.rate = {.samples = 0}, .elsewhere = true};
  for (n.placement = 0; n.placement < placements; n.placement++) {
    if (n.placement == s->work->placement || (n.placement & 3u) == 3u || (n.placement >> 2 & 3u) == 3u) continue;
    const hx__rate_key key = hx__key_with_placement(&here, n.placement);
    n.rate = ask_model(s, &key);
    if (n.rate.samples) break;
  }
  return n;
}

/* The rate measured for a device in a company; else beside the CPU only; else alone; else with another placement in
 * that company, or alone. threads: of the CPU's part in that company. */
static hx__nearest find_nearest(const hx__plan_snapshot *s, const hx__device_facts *d, uint64_t company,
                                unsigned threads) {
  const uint64_t alone = d->identity, pair = d->identity + HX__CPU_IDENTITY;
  const hx__rate_key key = hx__key_in_company(&s->key, d->identity, company, threads);
  hx__nearest n = {.rate = ask_model(s, &key), .placement = s->work->placement};
  if (n.rate.samples) return n;
  n.elsewhere = true;
  if (threads && company != pair) {
    const hx__rate_key beside_cpu = hx__key_in_company(&s->key, d->identity, pair, threads);
    n.rate = ask_model(s, &beside_cpu);
  }
  if (!n.rate.samples && company != alone) {
    const hx__rate_key by_itself = hx__key_in_company(&s->key, d->identity, alone, 0);
    n.rate = ask_model(s, &by_itself);
  }
  if (!n.rate.samples) n = find_other_placement(s, d, company, threads);
  if (!n.rate.samples && company != alone) n = find_other_placement(s, d, alone, 0);
  return n;
}

/* The measured times of whole calls, for each candidate with devices. */
static void gather_calls(hx__plan_snapshot *s, unsigned threads) {
  hx__model *const model = hx__model_of_process();
  hx__cost_inputs *const p = &s->inputs;
  for (unsigned i = 1; i < 2 * p->devices + 1; i++) {
    const hx__choice c = hx__choice_of(i, p->devices);
    const uint64_t company = hx__company_of(s, c);
    const hx__rate_key call = hx__key_in_company(&s->key, 0, company, c.cpu ? threads : 0);
    p->call[i] = hx__model_estimate_exact(model, &call, s->date_s);
    if (!c.cpu && hx__model_consecutive_calls(model, &call) == 1) p->first_of_pair = i;
  }
}

static void gather_rates(hx__plan_snapshot *s) {
  hx__cost_inputs *const p = &s->inputs;
  p->objective = HX__OBJECTIVE_TIME;
  p->first_of_pair = 0;
  p->devices = (unsigned)s->usable;
  s->copy_threads = hx__copy_threads_of(s);
  const unsigned threads = s->threads - s->copy_threads;
  const uint64_t devices = hx__company_of(s, (hx__choice){p->devices, false}), all = devices + HX__CPU_IDENTITY;
  for (size_t i = 0; i < s->usable; i++) {
    const hx__nearest beside = find_nearest(s, &s->device[i], all, threads);
    const hx__nearest alone = find_nearest(s, &s->device[i], devices, 0);
    hx__expect_device(s, i, &beside, &alone);
  }
  const hx__rate_key key = hx__key_in_company(&s->key, HX__CPU_IDENTITY, all, threads);
  const hx__estimate cpu_beside = ask_model(s, &key);
  hx__expect_company(s, &cpu_beside);
  gather_calls(s, threads);
}

/* Device-only results that this task reads. */
static void gather_results(hx_context *hx, hx__plan_snapshot *s) {
  const hx__device *owner = NULL;
  s->inputs.fetch_ns = hx__fetch_ns(hx__memory_device_only_bytes(&hx->memory, s->work, &owner));
  s->inputs.fetch_spared = owner == hx->table.entry[s->device[0].entry].device;
}

/* The counters are read only if the decision may use them. */
static void gather_energy(hx__plan_snapshot *s) {
  const bool decides = s->share == HX__SHARE_AUTO && s->config->schedule == HX__SCHEDULE_ADAPTIVE &&
                       s->config->min_offload == UINT64_MAX && s->config->objective != HX__OBJECTIVE_TIME;
  if (!decides) return;
  hx__energy *const counters = hx__energy_of_process();
  s->energy = hx__energy_use_of(s, counters != NULL);
  if (s->energy != HX__ENERGY_USED) return;
  s->joules = hx__energy_joules(counters);
  if (isnan(s->joules))
    s->energy = HX__ENERGY_UNREADABLE;
  else
    s->inputs.objective = s->config->objective;
}

void hx__gather_devices(hx_context *hx, hx__plan_snapshot *s) {
  if (s->share == 0.0) return;
  find_devices(hx, s);
  if (!s->usable || (s->share == HX__SHARE_AUTO && hx__is_below_break_even(s))) return;
  gather_rates(s);
  gather_results(hx, s);
  gather_energy(s);
}
