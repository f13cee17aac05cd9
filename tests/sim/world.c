/* SPDX-License-Identifier: Apache-2.0
 * The event loop: between two events every worker goes on at a constant speed. */
#include <math.h>
#include <string.h>

#include "tests/sim/sim.h"

typedef struct worker {
  const sim_unit *unit;
  double rate;          /* alone, without steps */
  double wait, work;    /* what is left of the launch, and of the chunk in slices */
  double from, give_up; /* of the chunk in flight */
  hx__chunk chunk;
  bool busy, out, fails, redoing;
  unsigned launches;
} worker;

typedef struct state {
  sim_world w;
  const sim_policy *policy;
  void *self;
  worker worker[SIM_WORKERS]; /* devices first */
  unsigned devices, workers;
  hx__chunk redo[SIM_WORKERS];
  unsigned redos;
  sim_result result;
} state;

double sim_uniform(uint64_t *random) {
  uint64_t z = *random += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

double sim_gaussian(uint64_t *random) {
  const double u = 1.0 - sim_uniform(random), v = sim_uniform(random);
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static double factor_at(const sim_unit *u, double now) {
  double factor = 1.0;
  for (unsigned i = 0; i < u->steps && u->step[i].at_ns <= now; i++) factor = u->step[i].factor;
  return factor;
}

static double next_step(const sim_unit *u, double now) {
  for (unsigned i = 0; i < u->steps; i++)
    if (u->step[i].at_ns > now) return u->step[i].at_ns;
  return INFINITY;
}

static void start(state *s, worker *k, hx__chunk chunk, bool is_device) {
  const sim_unit *const u = k->unit;
  const double noise = u->noise > 0.0 ? exp(u->noise * sim_gaussian(s->w.random)) : 1.0;
  const unsigned d = (unsigned)(k - s->worker);
  k->chunk = chunk;
  k->busy = true;
  k->from = s->w.now;
  k->launches++;
  k->work = fmax((double)chunk.count, is_device ? u->elbow : 0.0) * noise;
  k->wait = is_device ? u->latency_ns : 0.0;
  k->give_up = INFINITY;
  if (!is_device) return;
  if (k->launches == 1 && (s->w.idle >> d & 1u)) k->wait += u->idle_ns;
  k->fails = k->launches == u->fail_at;
  if (k->launches == u->hang_at) k->wait = INFINITY;
  if (s->policy->patience_ns) k->give_up = s->w.now + s->policy->patience_ns(s->self, d, chunk.count);
  s->result.launches++;
}

/* Gives an idle worker something to do; false where it has nothing. */
static bool feed(state *s, unsigned i) {
  worker *const k = &s->worker[i];
  if (k->busy || k->out) return false;
  const bool is_device = i < s->devices;
  const size_t left = hx__ends_left(&s->w.ends);
  size_t want = 0;
  if (left) want = is_device ? s->policy->device(s->self, &s->w, i) : s->policy->cpu(s->self, &s->w, i - s->devices);
  const hx__chunk chunk = want == 0   ? (hx__chunk){0, 0}
                          : is_device ? hx__ends_back(&s->w.ends, want)
                                      : hx__ends_front(&s->w.ends, want);
  if (chunk.count) {
    start(s, k, chunk, is_device);
  } else if (!is_device && s->redos) {
    start(s, k, s->redo[--s->redos], false);
  } else if (is_device) {
    k->out = true;
  } else {
    return false;
  }
  return true;
}

static void finish(state *s, unsigned i) {
  worker *const k = &s->worker[i];
  const double ns = s->w.now - k->from;
  k->busy = false;
  if (i < s->devices && (k->fails || s->w.now >= k->give_up)) {
    k->out = true;
    s->redo[s->redos++] = k->chunk;
    s->result.recovered++;
    if (s->policy->done) s->policy->done(s->self, &s->w, i, 0, ns);
    return;
  }
  if (s->w.seen)
    for (size_t c = 0; c < k->chunk.count; c++) s->w.seen[k->chunk.first + c]++;
  if (i < s->devices) {
    s->result.device_slices[i] += k->chunk.count;
    if (s->policy->done) s->policy->done(s->self, &s->w, i, k->chunk.count, ns);
  } else {
    s->w.cpu_done += k->chunk.count;
    s->result.cpu_slices += k->chunk.count;
    s->result.cpu_ns = s->w.now;
  }
}

/* Speeds of all workers now. */
static void speeds(const state *s, double speed[SIM_WORKERS]) {
  bool cpu = false, device = false;
  double demand = 0.0;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->worker[i].busy && !(s->worker[i].wait > 0.0)) *(i < s->devices ? &device : &cpu) = true;
  for (unsigned i = 0; i < s->workers; i++) {
    const worker *const k = &s->worker[i];
    speed[i] = k->busy && !(k->wait > 0.0) ? k->rate * factor_at(k->unit, s->w.now) : 0.0;
    if (cpu && device && k->unit->corun > 0.0) speed[i] *= k->unit->corun;
    demand += speed[i] * k->unit->bytes;
  }
  if (!(s->w.machine->dram > 0.0) || demand <= s->w.machine->dram) return;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->worker[i].unit->bytes > 0.0) speed[i] *= s->w.machine->dram / demand;
}

/* To the next event; false where nobody works. */
static bool advance(state *s) {
  double speed[SIM_WORKERS], dt = INFINITY;
  bool any = false;
  speeds(s, speed);
  for (unsigned i = 0; i < s->workers; i++) {
    const worker *const k = &s->worker[i];
    if (!k->busy) continue;
    any = true;
    const double own = k->wait > 0.0 ? k->wait : speed[i] > 0.0 ? k->work / speed[i] : INFINITY;
    dt = fmin(dt, fmin(fmin(own, k->give_up - s->w.now), next_step(k->unit, s->w.now) - s->w.now));
  }
  if (!any) return false;
  if (isinf(dt)) {
    s->result.stuck = true;
    return false;
  }
  if (dt < 0.0) dt = 0.0;
  const double was = s->w.now;
  s->w.now += dt;
  for (unsigned i = 0; i < s->workers; i++) {
    worker *const k = &s->worker[i];
    if (!k->busy) continue;
    if (k->wait > 0.0) {
      k->wait -= dt;
      if (k->wait <= 1e-9 || was + k->wait == was) k->wait = 0.0;
      if (k->wait == 0.0 && k->work <= 0.0) finish(s, i);
    } else {
      k->work -= dt * speed[i];
    }
    if (k->busy && ((!(k->wait > 0.0) && k->work <= 1e-9 * (double)k->chunk.count) || s->w.now >= k->give_up))
      finish(s, i);
  }
  return true;
}

static void add_workers(state *s, const sim_machine *m) {
  for (unsigned d = 0; d < m->devices; d++)
    s->worker[s->workers++] = (worker){.unit = &m->device[d], .rate = m->device[d].rate};
  s->devices = s->workers;
  const unsigned threads = m->cpu.threads ? m->cpu.threads : 1, slow = m->cpu.slow;
  const double each = m->cpu.rate / ((double)(threads - slow) + 0.5 * slow);
  for (unsigned t = 0; t < threads; t++)
    s->worker[s->workers++] = (worker){.unit = &m->cpu, .rate = t < threads - slow ? each : 0.5 * each};
}

sim_result sim_run(const sim_machine *m, size_t slices, const sim_policy *policy, void *self, unsigned idle,
                   uint64_t *random, unsigned char *seen) {
  state s = {.w = {.machine = m, .total = slices, .idle = idle, .random = random, .seen = seen},
             .policy = policy,
             .self = self};
  hx__ends_init(&s.w.ends, (hx__chunk){0, slices});
  add_workers(&s, m);
  do {
    for (unsigned i = 0; i < s.workers; i++) feed(&s, i);
  } while (advance(&s));
  s.result.ns = s.w.now;
  return s.result;
}
