/* SPDX-License-Identifier: Apache-2.0
 * Who takes part, and with which slices. */
#include "runtime/dispatch/dispatch.h"

#include <string.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/dispatch/arms.h"
#include "runtime/run/run.h"

/* Units of a thread's part: of a reduction, what one thread reads while another wakes; of a product, likewise, and
 * where the team is awake. */
#define THREAD_ELEMENTS (32u << 10)
#define THREAD_UNITS (1u << 20)
#define AWAKE_UNITS (1u << 18)
#define CROWDED_ELEMENTS (1u << 26) /* work that one thread has done before a taken core is given back: some 10 ms */
#define CROWDED_UNITS (1u << 28)
#define GUESS_REDUCE 8.0    /* units a nanosecond, before anything is measured */
#define GUESS_MATMUL 40.0   /* likewise, a thread */
#define BREAK_EVEN_NS 250e3 /* what the CPU does faster is never offered to a device */

double hx__share_of(const hx__config *config, const hx__work *work) {
  if (config->offload == HX__OFFLOAD_DISABLED || work->needs == 0) return 0.0;
  const bool cpu = (config->device_words & (HX__DEV_CPU | HX__DEV_ALL)) != 0 || (config->device_indices & 1u);
  if (config->offload == HX__OFFLOAD_MANDATORY || !cpu) return 1.0;
  if (work->gpu_share >= 0.0f) return (double)work->gpu_share;
  double sum = 0.0;
  for (uint32_t i = 0; i < config->splits; i++) sum += (double)config->split[i];
  return config->splits ? sum : HX__SHARE_AUTO;
}

unsigned hx__threads_for(const hx__work *w, unsigned most) {
  const uint64_t least = w->matmul ? AWAKE_UNITS : THREAD_ELEMENTS;
  if (most < 2 || w->slices < 2 || w->units < 2 * least) return 1;
  const hx__team_mood mood = hx__cpu_team_mood();
  if (mood == HX__TEAM_CROWDED && w->units <= (w->matmul ? CROWDED_UNITS : CROWDED_ELEMENTS)) return 1;
  const uint64_t parts = w->units / (w->matmul && mood != HX__TEAM_AWAKE ? THREAD_UNITS : least);
  const uint64_t useful = parts < w->slices ? parts : w->slices;
  return useful < 1 ? 1 : useful < most ? (unsigned)useful : most;
}

double hx__predict_cpu_ns(const hx__work *w, unsigned threads) {
  const hx__rate_key key = hx__call_key(w, threads, 1u);
  const hx__rate r = hx__model_get(&key);
  const double guess = w->matmul ? GUESS_MATMUL * threads : GUESS_REDUCE;
  return (double)w->units / (r.samples ? r.units_per_ns : guess);
}

static uint64_t needs_of(const hx__team *team, const hx__seat *seat, uint64_t needs) {
  const uint32_t tile[3] = {team->config->tile_m, team->config->tile_n, team->config->tile_k};
  return hx__device_needs(seat->device, needs, tile);
}

bool hx__seat_hopeful(const hx__team *team, const hx__seat *seat, const hx__work *work) {
  const hx__device *const d = seat->device;
  const uint64_t needs = work->needs;
  return d->kind != HX_CPU && seat->selected && !atomic_load(&d->lost) &&
         !(needs_of(team, seat, needs) & atomic_load(&d->refused));
}

bool hx__seat_usable(const hx__team *team, const hx__seat *seat, const hx__work *work) {
  return hx__seat_hopeful(team, seat, work) &&
         !(needs_of(team, seat, work->needs) & ~atomic_load(&seat->device->ready));
}

/* Before anything is measured: the self-test's small launch, of the slowest kernel among several. */
static double seed_rate(const hx__device *d, uint64_t needs) {
  double rate = 0.0;
  for (; needs; needs &= needs - 1) {
    const double r = (double)d->seed[__builtin_ctzll(needs)];
    if (rate == 0.0 || r < rate) rate = r;
  }
  return rate;
}

/* A device's rate in slices a nanosecond. */
static double slice_rate(const hx__work *w, const hx__rate *r) {
  return w->units ? r->units_per_ns * (double)w->slices / (double)w->units : 0.0;
}

static void find_devices(const hx__team *team, const hx__work *w, bool beside_cpu, hx__plan *plan) {
  size_t selected = 0;
  for (size_t i = 0; i < team->seats; i++) {
    const size_t ordinal = selected;
    selected += team->seat[i].selected && team->seat[i].device->kind != HX_CPU;
    if (!hx__seat_usable(team, &team->seat[i], w)) continue;
    const hx__rate_key key = hx__device_key(team->seat[i].device, w, beside_cpu);
    hx__rate r = hx__model_get(&key);
    if (r.samples == 0) r.units_per_ns = seed_rate(team->seat[i].device, needs_of(team, &team->seat[i], w->needs));
    plan->device[plan->devices++] = (hx__plan_device){.seat = i, .ordinal = ordinal, .rate = slice_rate(w, &r)};
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
  if (config->splits > 1 && w->gpu_share < 0.0f && share != 1.0) { /* the part of a missing device is the CPU's */
    share = 0.0;
    for (size_t i = 0; i < plan->devices; i++) share += listed(config, plan, i);
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

static void alone(hx__plan *plan) { plan->devices = 0; }

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

static void follow(const hx__team *team, const hx__work *w, hx__plan *plan) {
  const hx__arm arm = hx__arm_for(w, plan);
  if (arm == HX__ARM_CPU) alone(plan);
  if (arm != HX__ARM_DEVICES) return;
  plan->cpu_works = false;
  plan->devices = 0;
  find_devices(team, w, false, plan); /* with the rates they have by themselves */
}

/* hx decides: nothing under the break-even goes to a device; above it what was measured to end first. */
static void choose(const hx__team *team, const hx__work *w, hx__plan *plan) {
  const hx__config *const config = team->config;
  const double cpu_ns = hx__predict_cpu_ns(w, plan->threads);
  const bool limited = config->min_offload != UINT64_MAX;
  plan->policy = hx__policy_of(config->schedule);
  plan->chunk = config->chunk ? (w->matmul ? config->chunk : (config->chunk + HX__LEAF - 1) / HX__LEAF) : 0;
  plan->cpu_rate = (double)w->slices / cpu_ns;
  if (limited ? w->units < config->min_offload : cpu_ns < BREAK_EVEN_NS)
    alone(plan);
  else if (plan->devices && config->schedule == HX__SCHEDULE_ADAPTIVE && !limited)
    follow(team, w, plan);
  plan->measure = cpu_ns >= BREAK_EVEN_NS;
  share_by_rates(plan);
}

void hx__plan_make(const hx__team *team, const hx__work *w, double share, unsigned threads, hx__plan *plan) {
  memset(plan, 0, sizeof *plan);
  plan->threads = threads;
  plan->mandatory = team->config->offload == HX__OFFLOAD_MANDATORY && w->needs != 0;
  plan->cpu_works = share != 1.0;
  if (share != 0.0) find_devices(team, w, plan->cpu_works, plan);
  if (share == HX__SHARE_AUTO)
    choose(team, w, plan);
  else
    cut(team->config, w, share, plan);
  plan->cpu_works = plan->cpu_works || plan->devices == 0;
}
