/* SPDX-License-Identifier: Apache-2.0
 * hx on a simulated machine: the device runs, the learning and the decisions of runtime/sched in virtual time. This
 * file has only the run host (clock, launches, results) and the cost inputs, which the library makes from tasks,
 * devices and drivers. */
#include <math.h>
#include <string.h>

#include "runtime/sched/learn.h"
#include "sim/sim.h"

typedef struct call call;

/* The `self` argument of the run host. */
typedef struct sim_device {
  call *call;
  unsigned d;
  hx__device_run run;
} sim_device;

struct call {
  sim_hx *hx;
  sim_world *world;
  const sim_machine *m;
  unsigned order[SIM_DEVICES]; /* the i-th device of the cost inputs */
  hx__choice choice;
  hx__work work;
  hx__run_progress run;
  sim_device device[SIM_DEVICES];
  size_t cpu_slices; /* what the CPU had finished before it computed anything again, */
  double cpu_ns;     /* and when */
  bool redoes;
};

static uint64_t identity_of(unsigned d) { return hx__identity("simulated", (const char[]){(char)('a' + d), 0}); }

static hx__rate_key key_of(uint64_t device, uint64_t company, size_t slices) {
  return (hx__rate_key){
      .device = device, .needs = 1, .company = company, .size_class = hx__size_class(slices), .threads = 1};
}

static uint64_t company_of(const call *c, hx__choice choice) {
  uint64_t company = choice.cpu ? identity_of(SIM_DEVICES) : 0;
  for (unsigned i = 0; i < choice.devices; i++) company += identity_of(c->order[i]);
  return company;
}

static double clock_ns(const call *c) { return SIM_BEGAN_NS + c->world->now; }

/* The host of a device run. */
static double host_now_ns(void *self) { return clock_ns(((sim_device *)self)->call); }

static uint64_t host_date_s(void *self) { return ((sim_device *)self)->call->hx->now_s; }

static hx__outcome host_launch(void *self, hx__launched_chunk *chunk) {
  const sim_device *const device = self;
  sim_launch_chunk(device->call->world, device->d, chunk->chunk);
  return HX__DONE;
}

static void host_give_back(void *self, hx__chunk chunk) { sim_give_back(((sim_device *)self)->call->world, chunk); }

static const hx__run_host host = {
    .now_ns = host_now_ns, .date_s = host_date_s, .launch = host_launch, .give_back = host_give_back};

/* The functions that the world calls. */
static void begin_in_world(void *self, sim_world *w) {
  call *const c = self;
  c->world = w;
  c->run.range = &w->ends;
}

static bool is_working(const sim_device *device) { return device->call && atomic_load(&device->run.working); }

static void device_fill(void *self, unsigned d) {
  call *const c = self;
  sim_device *const device = &c->device[d];
  if (!is_working(device)) return;
  hx__device_run_fill(&device->run, &c->run, &host, device);
  if (device->run.in_flight) return;
  hx__device_run_finish(&device->run, &c->run);
  hx__device_run_learn_last(&device->run, &c->run, host.date_s(device));
  hx__device_run_set_working(&device->run, &c->run, false);
}

static const _Atomic uint64_t *device_await(void *self, unsigned d) {
  call *const c = self;
  hx__device_run_await(&c->device[d].run, &c->run, clock_ns(c));
  return &c->device[d].run.launched[0].deadline_ns;
}

/* If the device is given up, all its chunks in flight end. */
static void device_ended(void *self, unsigned d, hx__outcome outcome) {
  call *const c = self;
  sim_device *const device = &c->device[d];
  const double since_ns = -INFINITY; /* The worker does nothing else, so it sees every end. */
  hx__launched_chunk chunk;
  do {
    hx__device_run_chunk_ended(&device->run, &c->run, &host, device, outcome, since_ns, &chunk);
    if (outcome != HX__DONE) continue;
    sim_deliver(c->world, d, chunk.rest);
    hx__device_run_delivered(&device->run, &c->run, chunk.rest);
  } while (outcome != HX__DONE && device->run.in_flight);
  if (outcome != HX__DONE) device_fill(self, d);
}

static size_t cpu_takes(void *self, const sim_world *w, unsigned thread) {
  call *const c = self;
  (void)thread;
  for (unsigned d = 0; !c->choice.cpu && d < c->m->devices; d++)
    if (is_working(&c->device[d])) return 0;
  const hx__cpu_chunk_view view = {.grain = 1, .least = 1, .most = c->m->cpu.most ? c->m->cpu.most : w->total};
  return hx__run_cpu_chunk(&c->run, view, clock_ns(c));
}

static void cpu_done(void *self, size_t slices, double ns) {
  call *const c = self;
  hx__run_cpu_done(&c->run, slices, ns);
  if (c->redoes) return;
  c->cpu_slices += slices;
  c->cpu_ns = c->world->now;
}

static hx__chunk cpu_redoes(void *self, double *check_ns) {
  call *const c = self;
  const double now_ns = clock_ns(c), rate = hx__run_cpu_rate(&c->run, now_ns);
  if (!(rate > 0.0)) return (hx__chunk){0, 0};
  double check;
  hx__device_run *const overdue = hx__find_overdue(&c->run, rate, now_ns, 0, &check);
  if (check > 0.0) *check_ns = check - SIM_BEGAN_NS;
  if (!overdue) return (hx__chunk){0, 0};
  c->redoes = true;
  return hx__redo_next_part(&c->run, overdue, 1, now_ns);
}

/* The estimate in company `company`; else the one alone, with a greater sigma. */
static hx__estimate part_of(const sim_hx *hx, uint64_t id, uint64_t company, size_t slices) {
  const hx__rate_key key = key_of(id, company, slices), alone = key_of(id, id, slices);
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

static void fill_cost_inputs(call *c, size_t slices, const sim_guess *guess, hx__cost_inputs *p) {
  const sim_machine *const m = c->m;
  memset(p, 0, sizeof *p);
  p->objective = c->hx->objective;
  p->units = (double)slices;
  p->devices = m->devices;
  for (unsigned d = 0; d < m->devices; d++) c->order[d] = d;
  for (unsigned i = 1; i < m->devices; i++) /* the fastest first, by the guess */
    for (unsigned j = i; j > 0 && guess->rate[c->order[j]] > guess->rate[c->order[j - 1]]; j--) {
      const unsigned t = c->order[j];
      c->order[j] = c->order[j - 1];
      c->order[j - 1] = t;
    }
  const uint64_t all = company_of(c, (hx__choice){m->devices, true}), cpu = identity_of(SIM_DEVICES);
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
    const uint64_t devices = company_of(c, (hx__choice){m->devices, false});
    hx__estimate e = part_of(c->hx, identity_of(d), all, slices);
    if (!e.samples) e = guess_of(guess, d);
    p->device[i].beside = e;
    p->device[i].alone = part_of(c->hx, identity_of(d), devices, slices);
    if (!p->device[i].alone.samples) {
      p->device[i].alone = c->hx->copies || m->linked ? guess_of(guess, d) : e;
      p->device[i].alone.borrowed = true;
    }
    hx__reconcile(&p->device[i].alone, &p->device[i].beside);
    p->device[i].idle = c->hx->idle >> d & 1u;
    p->device[i].by_ring = c->hx->copies;
    p->device[i].by_link = m->linked && m->device[d].once_ns > 0.0; /* a product */
  }
  for (unsigned i = 0; i < 2u * m->devices + 1u; i++) {
    const hx__rate_key key = key_of(0, company_of(c, hx__choice_of(i, m->devices)), slices);
    p->call[i] = hx__model_estimate_exact(c->hx->model, &key, c->hx->now_s);
    if (i > m->devices && hx__model_consecutive_calls(c->hx->model, &key) == 1) p->first_of_pair = i;
  }
}

/* What energy counters show of a call with constant power. */
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

/* Sets up all participants, in the order of the cost inputs. */
static void begin_run(call *c, const hx__cost_inputs *p, size_t slices) {
  const sim_machine *const m = c->m;
  /* Each slice is one unit. */
  c->work = (hx__work){.matmul = true, .slices = slices, .units = slices, .gemm = {.m = slices, .n = 1, .k = 1}};
  c->run.work = &c->work;
  c->run.cpu_works = c->choice.cpu;
  c->run.threads = m->cpu.threads ? m->cpu.threads : 1;
  c->run.began_ns = SIM_BEGAN_NS;
  c->run.model = c->hx->model;
  hx__run_progress_begin(&c->run, c->choice.devices ? &p->cpu_beside : &p->cpu_alone);
  for (unsigned i = 0; i < c->choice.devices; i++) {
    const unsigned d = c->order[i];
    const double part = c->choice.cpu ? hx__first_trial_fraction(p, i) : 1.0;
    const hx__device_terms terms = {.policy = hx__policy_of(HX__SCHEDULE_ADAPTIVE),
                                    .trial = part < 1.0 ? (size_t)ceil(part * (double)slices) : 0,
                                    .expected = c->choice.cpu ? p->device[i].beside : p->device[i].alone,
                                    .idle = p->device[i].idle,
                                    .key = key_of(identity_of(d), company_of(c, c->choice), slices),
                                    .may_be_redone = c->choice.cpu,
                                    .grain = m->device[d].grain ? m->device[d].grain : 1,
                                    .most = slices,
                                    .depth = SIM_DEPTH};
    c->device[d].call = c;
    c->device[d].d = d;
    hx__device_run_begin(&c->device[d].run, &c->run, &terms);
  }
}

/* The model learns from the call. */
static void learn_from_call(call *c, const hx__cost_inputs *p, double ns, double joules) {
  const hx__decision *const decision = &c->hx->decision;
  const uint64_t company = company_of(c, c->choice);
  const size_t slices = c->work.slices;
  hx__run_result r = {.cpu = key_of(identity_of(SIM_DEVICES), company, slices),
                      .call = key_of(0, company, slices),
                      .cpu_expected = c->choice.devices ? p->cpu_beside : p->cpu_alone,
                      .call_number = decision->call_number,
                      .best = decision->choice == decision->best,
                      .devices = c->choice.devices,
                      .cpu_units = (double)c->cpu_slices,
                      .cpu_ns = c->cpu_ns,
                      .ns = ns,
                      .joules = joules};
  for (size_t i = 0; i < c->run.devices; i++) r.has_trial = r.has_trial || c->run.device[i]->terms.trial;
  hx__learn_run(&c->run, &r, c->hx->now_s);
}

double sim_hx_call(sim_hx *hx, const sim_machine *m, size_t slices, const sim_guess *guess, uint64_t *random,
                   unsigned char *seen) {
  static const sim_policy policy = {.name = "hx",
                                    .cpu = cpu_takes,
                                    .begin = begin_in_world,
                                    .fill = device_fill,
                                    .await = device_await,
                                    .ended = device_ended,
                                    .cpu_done = cpu_done,
                                    .redo = cpu_redoes};
  call c = {.hx = hx, .m = m};
  hx__cost_inputs p;
  fill_cost_inputs(&c, slices, guess, &p);
  hx__decide(&p, &hx->decision);
  c.choice = hx__choice_of(hx->decision.choice, m->devices);
  begin_run(&c, &p, slices);
  hx->result = sim_run(m, slices, &policy, &c, hx->idle, random, seen);
  hx->result.redone = c.run.redone;
  const sim_result *const r = &hx->result;
  const double joules = metered(&hx->meter, r);
  if (!r->recovered && !r->stuck) learn_from_call(&c, &p, r->ns, joules);
  hx__run_progress_end(&c.run);
  return r->ns;
}

sim_guess sim_guess_of(const sim_machine *m, double factor) {
  sim_guess guess = {.rate[SIM_DEVICES] = m->cpu.rate};
  for (unsigned d = 0; d < m->devices; d++) {
    guess.rate[d] = factor * m->device[d].rate;
    guess.latency_ns[d] = 1.3 * m->device[d].latency_ns + m->device[d].once_ns;
  }
  return guess;
}

void sim_hx_warm(sim_hx *hx, const sim_machine *m, size_t slices, unsigned calls, uint64_t *random) {
  const sim_guess guess = sim_guess_of(m, 1.0);
  for (unsigned i = 0; i < calls; i++) sim_hx_call(hx, m, slices, &guess, random, NULL);
}
