/* SPDX-License-Identifier: Apache-2.0
 * Asking the model. What was measured in the same company comes first, then beside the CPU, then alone, then with
 * operands that came in another way, then what the self-test and the link have shown. */
#include "runtime/plan/cost_inputs.h"

#include <math.h>
#include <string.h>

#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/run/run.h"

#define GUESS_REDUCE 8.0  /* units a nanosecond of the CPU, before anything is measured */
#define GUESS_MATMUL 40.0 /* likewise, a thread */
#define SURE 3u           /* samples of a product that stand for themselves */
#define GUESSED_PART 0.25
#define OTHER_COMPANY 0.2 /* of sigma, for what was measured in another company */
#define IDLE_NS 100000000u
#define FETCH_NS 0.1      /* a byte of a result that only a device has, on its way to the host */
#define STAGED_NS 0.16    /* a byte that a thread brings into pinned memory (docs/MEMORY.md), before that is measured */
#define STAGED_TIMES 20.0 /* as long as in its own memory takes a reduction what lies in that of the host */
#define CORES_A_FEEDER 4u /* at least, of the team */
#define OTHER_WAY 0.3     /* of sigma, for what was measured with operands that reached the device in another way */

static hx__estimate guess_of(const hx__work *w, unsigned threads) {
  hx__estimate e = hx__prior_cpu;
  e.latency_ns = 0.0;
  e.ns_per_unit = 1.0 / (w->matmul ? GUESS_MATMUL * threads : GUESS_REDUCE);
  return e;
}

/* The CPU alone. */
static hx__estimate cpu_alone(const hx__work *w, unsigned threads) {
  const hx__rate_key key = hx__key_of(w, HX__CPU_IDENTITY, HX__CPU_IDENTITY, threads);
  const hx__estimate e = hx__model_estimate(hx__model_of_process(), &key, hx__date_s());
  return e.samples ? e : guess_of(w, threads);
}

/* A guess that many threads share a small product well may be several times too short: it is measured from a part of
 * the break-even on. It stands until that was done a few times, for the first call wakes threads. */
hx__cpu_time hx__cpu_time_of(const hx__work *w, unsigned threads, const hx__estimate *e) {
  const double units = (double)w->units, ns = hx__estimate_ns(e, units, false);
  const bool sure = !w->matmul || (e->samples >= SURE && !e->borrowed);
  if (sure) return (hx__cpu_time){ns, ns >= HX__BREAK_EVEN_NS};
  const hx__estimate guess = guess_of(w, threads);
  const double guessed = hx__estimate_ns(&guess, units, false), longer = fmax(guessed, GUESSED_PART * ns);
  return (hx__cpu_time){guessed < HX__BREAK_EVEN_NS ? guessed : ns, longer >= GUESSED_PART * HX__BREAK_EVEN_NS};
}

hx__cpu_time hx__predict_cpu(const hx__work *w, unsigned threads) {
  const hx__estimate e = cpu_alone(w, threads);
  return hx__cpu_time_of(w, threads, &e);
}

/* What the way to a device costs: of the operand that every chunk needs, and of what belongs to a slice. */
typedef struct way {
  double once_ns, ns_per_unit;
} way;

static double byte_ns(const hx__device *d, uint32_t residence) {
  static const double staged[] = {STAGED_NS, 0.0, 0.0}, moved[] = {1.0, 1.0, 0.0};
  const uint32_t how = residence & 3u;
  return fmax(staged[how], moved[how] * (double)d->link_ns);
}

/* Whether operands reach it through a ring that threads of the CPU fill. */
static bool goes_by_ring(const hx__device *d, const hx__work *w) {
  const bool second = w->matmul || w->fields[0].op == HX_DOT;
  return d->link_ns > 0.0f && ((w->placement & 3u) == 0 || (second && (w->placement >> 2 & 3u) == 0));
}

static way way_to(const hx__device *d, const hx__work *w) {
  if (!(d->link_ns > 0.0f) || w->units == 0) return (way){0.0, 0.0};
  const double word = sizeof(float), units = (double)w->units;
  const double a_ns = byte_ns(d, w->placement) * word, b_ns = byte_ns(d, w->placement >> 2) * word;
  if (!w->matmul) return (way){0.0, w->fields[0].op == HX_DOT ? a_ns + b_ns : a_ns};
  const double m = (double)w->gemm.m, n = (double)w->gemm.n, k = (double)w->gemm.k;
  const double c_ns = (w->placement & HX__RESIDENT_C) ? 0.0 : (double)d->link_ns * word;
  const double shared = w->by_columns ? m * k * a_ns : k * n * b_ns, own = w->by_columns ? k * n * b_ns : m * k * a_ns;
  return (way){shared, (own + m * n * c_ns) / units};
}

/* Before anything is measured: the self-test's launch, of the slowest kernel among several, and the way there. */
static hx__estimate seed_of(const hx__device_table *team, const hx__device_entry *seat, const hx__work *w) {
  hx__device *const d = seat->device;
  const uint32_t tile[3] = {team->config->tile_m, team->config->tile_n, team->config->tile_k};
  float rate = 0.0f;
  for (uint64_t needs = hx__device_needs(d, w->needs, tile); needs; needs &= needs - 1) {
    const float r = d->seed_rate[__builtin_ctzll(needs)];
    if (rate == 0.0f || r < rate) rate = r;
  }
  hx__estimate e = hx__prior_of((double)d->launch_ns, 1.0 / (double)rate);
  const way there = way_to(d, w);
  if (e.ns_per_unit > 0.0) {
    e.latency_ns += there.once_ns;
    if (d->link_ns > 0.0f && !w->matmul) e.ns_per_unit /= STAGED_TIMES;
    e.ns_per_unit += there.ns_per_unit;
  }
  return e;
}

/* What was measured with operands that reached the device in another way, by what the two ways cost. */
static hx__estimate by_another_way(const hx__device_table *team, const hx__device_entry *seat, const hx__work *w,
                                   uint64_t who, unsigned threads, uint64_t date) {
  const hx__estimate here = seed_of(team, seat, w);
  const uint32_t ways = seat->device->link_ns > 0.0f ? HX__PLACEMENTS : 1; /* else as if everything had to be copied */
  hx__work other = *w;
  for (other.placement = 0; other.placement < ways; other.placement++) {
    if (other.placement == w->placement || (other.placement & 3u) == 3u || (other.placement >> 2 & 3u) == 3u) continue;
    const hx__rate_key key = hx__key_of(&other, seat->identity, who, threads);
    hx__estimate e = hx__model_estimate(hx__model_of_process(), &key, date);
    if (!e.samples) continue;
    const hx__estimate there = seed_of(team, seat, &other);
    const double units = (double)w->units;
    const double ratio = hx__estimate_ns(&here, units, false) / hx__estimate_ns(&there, units, false);
    if (ratio > 0.0 && isfinite(ratio)) {
      e.ns_per_unit *= ratio;
      e.latency_ns *= ratio;
    }
    e.sigma += OTHER_WAY;
    return e;
  }
  return (hx__estimate){.samples = 0};
}

/* Of one device while `who` work. */
static hx__estimate device_in(const hx__device_table *team, const hx__device_entry *seat, const hx__work *w,
                              uint64_t who, unsigned threads, uint64_t date) {
  const hx__rate_key key = hx__key_of(w, seat->identity, who, threads);
  const hx__rate_key pair = hx__key_of(w, seat->identity, seat->identity + HX__CPU_IDENTITY, threads);
  const hx__rate_key alone = hx__key_of(w, seat->identity, seat->identity, 0);
  hx__estimate e = hx__model_estimate(hx__model_of_process(), &key, date);
  if (e.samples) return e;
  if (threads && who != pair.who) e = hx__model_estimate(hx__model_of_process(), &pair, date);
  if (!e.samples && who != seat->identity) e = hx__model_estimate(hx__model_of_process(), &alone, date);
  if (!e.samples) e = by_another_way(team, seat, w, who, threads, date);
  if (!e.samples && who != seat->identity) e = by_another_way(team, seat, w, seat->identity, 0, date);
  if (!e.samples) return seed_of(team, seat, w);
  e.sigma += OTHER_COMPANY;
  e.borrowed = true;
  return e;
}

static bool has_slept(const hx__device_entry *seat) {
  const uint64_t used = atomic_load_explicit(&seat->used_ns, memory_order_relaxed);
  return used == 0 || hx__now_ns() - used > IDLE_NS;
}

static void sort(hx__plan *plan) {
  for (size_t i = 1; i < plan->devices; i++)
    for (size_t j = i; j > 0 && plan->device[j].rate > plan->device[j - 1].rate; j--) {
      const hx__plan_device t = plan->device[j];
      plan->device[j] = plan->device[j - 1];
      plan->device[j - 1] = t;
    }
}

static double rate_of(const hx__estimate *e, const hx__work *w) {
  return e->ns_per_unit > 0.0 && w->units ? (double)w->slices / (double)w->units / e->ns_per_unit : 0.0;
}

void hx__cost_inputs_of_cpu(const hx__device_table *team, const hx__work *w, unsigned threads, hx__cost_inputs *p) {
  memset(p, 0, sizeof *p);
  p->units = (double)w->units;
  p->cpu_alone = p->cpu_beside = team->seats ? cpu_alone(w, threads) : guess_of(w, threads);
}

/* Cores that the CPU's team leaves to those who copy for devices: beside a team on all of them a worker that stores
 * results waits for one (an H200 with sixteen Xeon cores was five to twenty times slower so). */
static unsigned feeders_of(const hx__device_table *team, const hx__plan *plan) {
  unsigned workers = 0;
  for (size_t i = 0; i < plan->devices; i++) {
    const hx__device *const d = team->seat[plan->device[i].seat].device;
    workers += hx__device_copies_over_link(d);
  }
  return workers < plan->threads / CORES_A_FEEDER ? workers : plan->threads / CORES_A_FEEDER;
}

void hx__cost_inputs_of_devices(const hx__device_table *team, const hx__work *w, hx__plan *plan, hx__cost_inputs *p) {
  const uint64_t date = hx__date_s();
  uint64_t devices = 0;
  p->devices = (unsigned)plan->devices;
  if (!plan->devices) return;
  for (size_t i = 0; i < plan->devices; i++) devices += team->seat[plan->device[i].seat].identity;
  const uint64_t all = devices + HX__CPU_IDENTITY;
  p->apart = hx__cpu_by_panels(w, plan->threads);
  plan->workers = feeders_of(team, plan);
  const unsigned threads = plan->threads - plan->workers;
  for (size_t i = 0; i < plan->devices; i++) {
    plan->device[i].expected = device_in(team, &team->seat[plan->device[i].seat], w, all, threads, date);
    plan->device[i].rate = rate_of(&plan->device[i].expected, w);
    plan->device[i].idle = has_slept(&team->seat[plan->device[i].seat]);
  }
  sort(plan);
  for (size_t i = 0; i < plan->devices; i++) {
    p->device[i].beside = plan->device[i].expected;
    const hx__device_entry *const seat = &team->seat[plan->device[i].seat];
    p->device[i].alone = device_in(team, seat, w, devices, 0, date);
    /* Copies make a device slower beside the CPU by more than anybody can guess; else that tells more than the seed. */
    if (!p->device[i].alone.samples && !(seat->device->link_ns > 0.0f)) {
      p->device[i].alone = p->device[i].beside;
      p->device[i].alone.borrowed = true;
    }
    hx__reconcile(&p->device[i].alone, &p->device[i].beside);
    p->device[i].idle = plan->device[i].idle;
    p->device[i].by_ring = goes_by_ring(seat->device, w);
    p->device[i].by_link = w->matmul && seat->device->link_ns > 0.0f;
  }
  const hx__rate_key beside = hx__key_of(w, HX__CPU_IDENTITY, all, threads);
  const hx__estimate e = hx__model_estimate(hx__model_of_process(), &beside, date);
  if (e.samples)
    p->cpu_beside = e;
  else
    p->cpu_beside.ns_per_unit *= (double)plan->threads / (double)threads;
  hx__reconcile(&p->cpu_alone, &p->cpu_beside);
  for (unsigned i = 1; i < 2 * p->devices + 1; i++) {
    const hx__choice c = hx__choice_of(i, p->devices);
    uint64_t who = c.cpu ? HX__CPU_IDENTITY : 0;
    for (unsigned d = 0; d < c.devices; d++) who += team->seat[plan->device[d].seat].identity;
    const hx__rate_key key = hx__key_of(w, 0, who, c.cpu ? threads : 0);
    p->whole[i] = hx__model_estimate_exact(hx__model_of_process(), &key, date);
    const hx__rate_key call = hx__key_of(w, HX__CALL_IDENTITY, who, c.cpu ? threads : 0);
    p->took[i] = hx__model_estimate_exact(hx__model_of_process(), &call, date);
    if (!c.cpu && hx__model_consecutive_calls(hx__model_of_process(), &key) == 1) p->just_done = i;
  }
  const hx__device *owner = NULL;
  p->fetch_ns = FETCH_NS * (double)hx__memory_device_only_bytes(team->memory, w, &owner);
  p->fetch_spared = owner == team->seat[plan->device[0].seat].device;
}

static void by_seats(hx__plan *plan) {
  for (size_t i = 1; i < plan->devices; i++)
    for (size_t j = i; j > 0 && plan->device[j].seat < plan->device[j - 1].seat; j--) {
      const hx__plan_device t = plan->device[j];
      plan->device[j] = plan->device[j - 1];
      plan->device[j - 1] = t;
    }
}

void hx__plan_apply_choice(const hx__work *w, const hx__cost_inputs *p, hx__choice choice, hx__plan *plan) {
  plan->cpu = choice.devices ? p->cpu_beside : p->cpu_alone;
  plan->cpu_rate = rate_of(&plan->cpu, w);
  plan->cpu_works = choice.cpu;
  if (choice.cpu && choice.devices) plan->threads -= plan->workers;
  plan->devices = choice.devices;
  plan->informed = true;
  for (size_t i = 0; i < plan->devices; i++) {
    hx__plan_device *const d = &plan->device[i];
    d->expected = choice.cpu ? p->device[i].beside : p->device[i].alone;
    d->rate = rate_of(&d->expected, w);
    const double part = choice.cpu ? hx__first_trial_fraction(p, (unsigned)i) : 1.0;
    d->trial = part < 1.0 ? (size_t)ceil(part * (double)w->slices) : 0;
    plan->informed = plan->informed && d->expected.samples && !d->expected.borrowed;
  }
  by_seats(plan);
}
