/* SPDX-License-Identifier: Apache-2.0
 * hx on a simulated machine: what run/ and plan/ do around runtime/sched, in virtual time. */
#include <math.h>
#include <string.h>

#include "runtime/sched/progress.h"
#include "runtime/sched/policy.h"
#include "sim/sim.h"

#define CALL 4u /* as HX__CALL_IDENTITY */
#define TIMEOUT_NS 100e6
#define TIMEOUT_FACTOR 8.0

typedef struct call {
  sim_hx *hx;
  const sim_machine *m;
  unsigned order[SIM_DEVICES], place[SIM_DEVICES]; /* the prospect's i-th device, and back */
  hx__choice choice;
  hx__progress course[SIM_DEVICES], cpu;
  hx__estimate prior[SIM_DEVICES];
  unsigned working; /* bit d: takes part still */
  bool surprised;   /* a chunk took much more or less than expected */
  size_t taken[SIM_DEVICES], trial[SIM_DEVICES];
  double beside, beside_ns; /* what the CPU had done, in so long, when a trial ended; 0: none was made */
} call;

static uint64_t id_of(unsigned d) { return hx__identity("simulated", (const char[]){(char)('a' + d), 0}); }

static hx__rate_key key_of(uint64_t device, uint64_t who, size_t slices) {
  return (hx__rate_key){.device = device, .needs = 1, .who = who, .size_class = hx__size_class(slices), .threads = 1};
}

static uint64_t who_of(const call *c, hx__choice choice) {
  uint64_t who = choice.cpu ? id_of(SIM_DEVICES) : 0;
  for (unsigned i = 0; i < choice.devices; i++) who += id_of(c->order[i]);
  return who;
}

static unsigned others_of(const call *c, const sim_world *w, unsigned self, hx__participant *party) {
  unsigned n = 0;
  for (unsigned d = 0; d < c->m->devices; d++)
    if (d != self && (c->working >> d & 1u))
      party[n++] = (hx__participant){c->course[d].rate, hx__progress_ready_ns(&c->course[d], w->now)};
  return n;
}

static double cpu_rate(const call *c, const sim_world *w) {
  if (!c->choice.cpu) return 0.0;
  const double threads = c->m->cpu.threads ? c->m->cpu.threads : 1.0, done = (double)w->cpu_done;
  const hx__cpu_shown shown = {done, w->cpu_ns / threads,
                               fmax((double)hx__work_range_taken_front(&w->ends) - done, 0.0)};
  return hx__progress_cpu_rate(&c->cpu, shown, w->now);
}

static size_t device_takes(void *self, const sim_world *w, unsigned d) {
  call *const c = self;
  if (!(c->working >> d & 1u)) return 0;
  hx__view v = {.total = w->total,
                .left = hx__work_range_left(&w->ends),
                .grain = c->m->device[d].grain ? c->m->device[d].grain : 1,
                .most = w->total,
                .rate = c->course[d].rate,
                .sigma = c->course[d].sigma,
                .in_flight = c->course[d].in_flight,
                .ready_ns = hx__progress_ready_ns(&c->course[d], w->now),
                .launch_ns = c->course[d].gap_ns,
                .devices = c->choice.devices,
                .launches = c->course[d].launches};
  v.taken = c->taken[d];
  v.trial = c->trial[d];
  v.others = others_of(c, w, d, v.party);
  if (c->choice.cpu) v.party[v.others++] = (hx__participant){cpu_rate(c, w), 0.0};
  const size_t take = hx__policy_adaptive(&v);
  c->taken[d] += take;
  if (take) hx__progress_launched(&c->course[d], (double)take, w->now);
  if (take == 0 && c->course[d].queued == 0) c->working &= ~(1u << d);
  return take;
}

static size_t cpu_takes(void *self, const sim_world *w, unsigned thread) {
  call *const c = self;
  (void)thread;
  if (!c->choice.cpu && c->working) return 0;
  hx__cpu_chunk_view v = {.left = hx__work_range_left(&w->ends),
                          .grain = 1,
                          .least = 1,
                          .most = c->m->cpu.most ? c->m->cpu.most : w->total,
                          .threads = c->m->cpu.threads,
                          .rate = cpu_rate(c, w)};
  v.others = others_of(c, w, SIM_DEVICES, v.party);
  return hx__cpu_chunk_size(&v);
}

static size_t cpu_redoes(void *self, const sim_world *w, unsigned d, size_t slices, double *look_ns) {
  const call *const c = self;
  const double rate = cpu_rate(c, w);
  if (!(rate > 0.0)) return 0;
  *look_ns = hx__redo_look_ns((double)slices, rate, c->course[d].ends_ns);
  if (!hx__redo_pays((double)slices, rate, c->course[d].ends_ns - w->now)) return 0;
  const hx__cpu_chunk_view v = {
      .left = slices, .grain = 1, .least = 1, .most = slices, .threads = c->m->cpu.threads, .rate = rate};
  return hx__cpu_chunk_size(&v);
}

static void chunk_done(void *self, const sim_world *w, unsigned d, size_t slices, double ns, double overlap_ns,
                       sim_end how) {
  call *const c = self;
  const double shown = hx__launch_shown(c->course[d].latency_ns, overlap_ns);
  const bool idle = c->course[d].launches == 0 && (w->idle >> d & 1u);
  const hx__rate_key key = key_of(id_of(d), who_of(c, c->choice), w->total);
  if (how != SIM_DONE) c->working &= ~(1u << d);
  if (how == SIM_FAILED) return;
  if (c->trial[d]) {
    c->beside = (double)w->cpu_done;
    c->beside_ns = w->cpu_ns / (c->m->cpu.threads ? c->m->cpu.threads : 1);
  }
  const double all_ns = ns + (1.0 - shown) * c->prior[d].latency_ns;
  c->surprised = c->surprised || how == SIM_REDONE || hx__surprising(&c->prior[d], (double)slices, idle, all_ns);
  hx__progress_observe(&c->course[d], (double)slices, ns, shown);
  hx__progress_chunk_done(&c->course[d], (double)slices, w->now);
  if (!hx__tells(&c->prior[d], (double)slices, idle, all_ns, how == SIM_DONE)) return;
  hx__model_learn(c->hx->model, &key, &c->prior[d],
                  (hx__sample){.units = (double)slices, .ns = ns, .idle = idle, .hidden = 1.0 - shown}, c->hx->now_s);
}

static double patience(void *self, unsigned d, size_t slices) {
  const call *const c = self;
  return fmax(TIMEOUT_NS, TIMEOUT_FACTOR * hx__progress_chunk_ns(&c->course[d], (double)slices));
}

/* The estimate under `who`, else the one alone, less trusted. */
static hx__estimate part_of(const sim_hx *hx, uint64_t id, uint64_t who, size_t slices) {
  const hx__rate_key key = key_of(id, who, slices), alone = key_of(id, id, slices);
  hx__estimate e = hx__model_estimate(hx->model, &key, hx->now_s);
  if (e.samples) return e;
  e = hx__model_estimate(hx->model, &alone, hx->now_s);
  e.sigma += 0.2;
  e.borrowed = true;
  return e;
}

static hx__estimate guess_of(const sim_guess *guess, unsigned d) {
  return hx__prior_of(guess->latency_ns[d], 1.0 / guess->rate[d]);
}

static void look_ahead(call *c, size_t slices, const sim_guess *guess, hx__cost_inputs *p) {
  const sim_machine *const m = c->m;
  memset(p, 0, sizeof *p);
  p->objective = c->hx->objective;
  p->units = (double)slices;
  p->devices = m->devices;
  for (unsigned d = 0; d < m->devices; d++) c->order[d] = d;
  for (unsigned i = 1; i < m->devices; i++) /* the fastest first: here by the guess */
    for (unsigned j = i; j > 0 && guess->rate[c->order[j]] > guess->rate[c->order[j - 1]]; j--) {
      const unsigned t = c->order[j];
      c->order[j] = c->order[j - 1];
      c->order[j - 1] = t;
    }
  const uint64_t all = who_of(c, (hx__choice){m->devices, true}), cpu = id_of(SIM_DEVICES);
  p->cpu_alone = part_of(c->hx, cpu, cpu, slices);
  if (!p->cpu_alone.samples) {
    p->cpu_alone = hx__prior_cpu;
    p->cpu_alone.latency_ns = 0.0;
    p->cpu_alone.ns_per_unit = guess->rate[SIM_DEVICES] > 0.0 ? 1.0 / guess->rate[SIM_DEVICES] : 0.0;
  }
  p->cpu_beside = part_of(c->hx, cpu, all, slices);
  if (!p->cpu_beside.samples) p->cpu_beside = p->cpu_alone;
  hx__reconcile(&p->cpu_alone, &p->cpu_beside);
  for (unsigned i = 0; i < m->devices; i++) {
    const unsigned d = c->order[i];
    const uint64_t devices = who_of(c, (hx__choice){m->devices, false});
    hx__estimate e = part_of(c->hx, id_of(d), all, slices);
    if (!e.samples) e = guess_of(guess, d);
    p->device[i].beside = e;
    p->device[i].alone = part_of(c->hx, id_of(d), devices, slices);
    if (!p->device[i].alone.samples) {
      p->device[i].alone = c->hx->copies ? guess_of(guess, d) : e;
      p->device[i].alone.borrowed = true;
    }
    hx__reconcile(&p->device[i].alone, &p->device[i].beside);
    p->device[i].idle = c->hx->idle >> d & 1u;
    p->device[i].by_ring = c->hx->copies;
  }
  for (unsigned i = 0; i < 2u * m->devices + 1u; i++) {
    const hx__rate_key key = key_of(0, who_of(c, hx__choice_of(i, m->devices)), slices);
    p->whole[i] = hx__model_estimate_exact(c->hx->model, &key, c->hx->now_s);
    const hx__rate_key call = key_of(CALL, who_of(c, hx__choice_of(i, m->devices)), slices);
    p->took[i] = hx__model_estimate_exact(c->hx->model, &call, c->hx->now_s);
    if (i > m->devices && hx__model_consecutive_calls(c->hx->model, &key) == 1) p->just_done = i;
  }
}

/* What the counters show of a call that draws evenly. */
static double metered(sim_meter *meter, const sim_result *r) {
  const double from = meter->now_ns, before = meter->joules;
  if (!(meter->tick_ns > 0.0)) return r->joules;
  meter->now_ns += r->ns;
  const double last = floor(meter->now_ns / meter->tick_ns) * meter->tick_ns;
  if (last > from) {
    meter->joules += meter->pending + r->joules * (last - from) / r->ns;
    meter->pending = r->joules * (meter->now_ns - last) / r->ns;
  } else {
    meter->pending += r->joules;
  }
  return meter->joules - before;
}

static bool in_vain(const sim_result *r) {
  size_t slices = 0;
  for (unsigned d = 0; d < SIM_DEVICES; d++) slices += r->device_slices[d];
  return slices == 0;
}

double sim_hx_call(sim_hx *hx, const sim_machine *m, size_t slices, const sim_guess *guess, uint64_t *random,
                   unsigned char *seen) {
  static const sim_policy policy = {"hx", device_takes, cpu_takes, chunk_done, SIM_DEPTH, cpu_redoes, patience};
  call c = {.hx = hx, .m = m};
  hx__cost_inputs p;
  look_ahead(&c, slices, guess, &p);
  hx__decide(&p, &hx->decision);
  c.choice = hx__choice_of(hx->decision.choice, m->devices);
  bool known = true, tries = false;
  for (unsigned i = 0; i < c.choice.devices; i++) {
    const unsigned d = c.order[i];
    const hx__estimate *const e = c.choice.cpu ? &p.device[i].beside : &p.device[i].alone;
    hx__progress_begin(&c.course[d], e, 1.0, p.device[i].idle);
    c.prior[d] = *e;
    c.working |= 1u << d;
    const double part = c.choice.cpu ? hx__first_trial_fraction(&p, i) : 1.0;
    c.trial[d] = part < 1.0 ? (size_t)ceil(part * (double)slices) : 0;
    tries = tries || c.trial[d];
    known = known && e->samples && !e->borrowed;
  }
  hx__progress_begin(&c.cpu, c.choice.devices ? &p.cpu_beside : &p.cpu_alone, 1.0, false);
  hx->result = sim_run(m, slices, &policy, &c, hx->idle, random, seen);
  const sim_result *const r = &hx->result;
  const double joules = metered(&hx->meter, r);
  if (r->recovered || r->stuck) return r->ns;
  const uint64_t who = who_of(&c, c.choice), cpu = id_of(SIM_DEVICES);
  const hx__candidate *const o = &hx->decision.outlook[hx->decision.choice];
  const hx__rate_key whole = key_of(0, who, slices);
  hx__model_note_call_end(hx->model, &whole);
  if (c.choice.cpu && r->cpu_slices) {
    const hx__rate_key key = key_of(cpu, who, slices);
    const hx__estimate *const prior = c.choice.devices ? &p.cpu_beside : &p.cpu_alone;
    const hx__sample sample = {.units = c.beside > 0.0 ? c.beside : (double)r->cpu_slices,
                               .ns = c.beside > 0.0 ? c.beside_ns : r->cpu_ns,
                               .turn = hx->decision.turn,
                               .best = hx->decision.choice == hx->decision.best};
    c.surprised = c.surprised || hx__surprising(prior, sample.units, false, sample.ns);
    hx__model_learn(hx->model, &key, prior, sample, hx->now_s);
    if (!c.choice.devices) hx__model_learn_power(hx->model, &key, joules, r->ns);
  }
  const bool alone = c.choice.devices + c.choice.cpu == 1;
  if (c.choice.devices && !tries) {
    const hx__rate_key call = key_of(CALL, who, slices);
    const hx__sample took = {.units = (double)slices, .ns = r->ns, .turn = hx->decision.turn};
    hx__model_learn(hx->model, &call, &hx__prior_call_factor, took, hx->now_s);
  }
  if (c.choice.devices && (known || alone)) {
    const hx__rate_key key = key_of(0, who, slices);
    if (!known)
      hx__model_count_call(hx->model, &key, &hx__prior_call, hx->decision.turn, hx->now_s);
    else
      hx__model_learn(hx->model, &key, &hx__prior_call,
                      (hx__sample){.units = o->parts_ns,
                                   .ns = hx__whole_ns(r->ns, o->parts_ns, c.surprised && !alone, in_vain(r)),
                                   .turn = hx->decision.turn,
                                   .best = hx->decision.choice == hx->decision.best},
                      hx->now_s);
    hx__model_learn_power(hx->model, &key, joules, r->ns);
  }
  return r->ns;
}

sim_guess sim_guess_of(const sim_machine *m, double factor) {
  sim_guess guess = {.rate[SIM_DEVICES] = m->cpu.rate};
  for (unsigned d = 0; d < m->devices; d++) {
    guess.rate[d] = factor * m->device[d].rate;
    guess.latency_ns[d] = 1.3 * m->device[d].latency_ns;
  }
  return guess;
}

void sim_hx_warm(sim_hx *hx, const sim_machine *m, size_t slices, unsigned calls, uint64_t *random) {
  const sim_guess guess = sim_guess_of(m, 1.0);
  for (unsigned i = 0; i < calls; i++) sim_hx_call(hx, m, slices, &guess, random, NULL);
}
