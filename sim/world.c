/* SPDX-License-Identifier: Apache-2.0
 * The event loop: between two events every worker goes on at a constant speed. */
#include <math.h>
#include <string.h>

#include "sim/sim.h"

typedef struct flight {
  double wait, work;           /* what is left of the launch, and of the chunk in slices */
  double from, since, give_up; /* when it was launched; when it came first; when it is given up */
  hx__chunk chunk;
  hx__work_range rest; /* of the chunk: what the CPU has not done meanwhile */
  bool fails;
} flight;

typedef struct worker {
  const sim_unit *unit;
  double rate;              /* alone, without steps */
  flight flight[SIM_DEPTH]; /* the first one is computed; launches of the others pass meanwhile */
  unsigned flights, launches;
  bool out;
} worker;

typedef struct state {
  sim_world w;
  const sim_policy *policy;
  void *self;
  worker worker[SIM_WORKERS]; /* devices first */
  unsigned devices, workers;
  hx__chunk redo[SIM_WORKERS * SIM_DEPTH];
  unsigned redos;
  double look_ns; /* when an idle thread of the CPU is to be asked again whether it should do once more what is late */
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

/* The worker's first chunk in flight is its next. */
static void promote(state *s, worker *k) {
  flight *const f = &k->flight[0];
  const unsigned d = (unsigned)(k - s->worker);
  f->since = s->w.now;
  if (f->from < s->w.now) f->wait = fmax(f->wait, k->unit->gap_ns);
  f->give_up = d < s->devices && s->policy->patience_ns ? s->w.now + s->policy->patience_ns(s->self, d, f->chunk.count)
                                                        : INFINITY;
}

static void start(state *s, worker *k, hx__chunk chunk, bool is_device) {
  const sim_unit *const u = k->unit;
  const double noise = u->noise > 0.0 ? exp(u->noise * sim_gaussian(s->w.random)) : 1.0;
  const unsigned d = (unsigned)(k - s->worker);
  flight *const f = &k->flight[k->flights++];
  k->launches++;
  *f = (flight){.wait = is_device ? u->latency_ns : 0.0,
                .work = fmax((double)chunk.count, is_device ? u->elbow : 0.0) * noise,
                .from = s->w.now,
                .chunk = chunk};
  hx__work_range_init(&f->rest, chunk);
  if (is_device) {
    if (k->launches == 1 && (s->w.idle >> d & 1u)) f->wait += u->idle_ns;
    f->fails = k->launches == u->fail_at;
    if (k->launches == u->hang_at) f->wait = INFINITY;
    s->result.launches++;
  }
  if (k->flights == 1) promote(s, k);
}

/* An idle thread of the CPU does once more what a device is late with. */
static bool redo(state *s, worker *k) {
  for (unsigned d = 0; s->policy->redo && d < s->devices; d++) {
    worker *const late = &s->worker[d];
    if (!late->flights) continue;
    hx__work_range *const rest = &late->flight[late->flights - 1].rest;
    double look_ns = INFINITY;
    const size_t left = hx__work_range_left(rest), want = left ? s->policy->redo(s->self, &s->w, d, left, &look_ns) : 0;
    const hx__chunk chunk = want ? hx__work_range_take_front(rest, want) : (hx__chunk){0, 0};
    if (!chunk.count && look_ns > s->w.now) s->look_ns = fmin(s->look_ns, look_ns);
    if (!chunk.count) continue;
    start(s, k, chunk, false);
    if (hx__work_range_left(rest)) return true;
    s->result.redone++;
    const flight f = late->flight[--late->flights];
    if (late->flights) return true;
    late->out = true; /* it is at work still, and nobody waits for it */
    if (s->policy->done)
      s->policy->done(s->self, &s->w, d, f.chunk.count, s->w.now - f.since, f.since - f.from, SIM_REDONE);
    return true;
  }
  return false;
}

/* Gives an idle worker something to do; false where it has nothing. */
static bool feed(state *s, unsigned i) {
  worker *const k = &s->worker[i];
  const bool is_device = i < s->devices;
  if (k->out || k->flights >= (is_device && s->policy->depth ? s->policy->depth : 1u)) return false;
  const size_t left = hx__work_range_left(&s->w.ends);
  size_t want = 0;
  if (left) want = is_device ? s->policy->device(s->self, &s->w, i) : s->policy->cpu(s->self, &s->w, i - s->devices);
  const hx__chunk chunk = want == 0   ? (hx__chunk){0, 0}
                          : is_device ? hx__work_range_take_back(&s->w.ends, want)
                                      : hx__work_range_take_front(&s->w.ends, want);
  if (chunk.count) {
    start(s, k, chunk, is_device);
  } else if (!is_device && s->redos) {
    start(s, k, s->redo[--s->redos], false);
  } else if (!is_device && redo(s, k)) {
    return true;
  } else if (is_device && k->flights == 0) {
    k->out = true;
  } else {
    return false;
  }
  return true;
}

static hx__chunk all_of(hx__work_range *rest) { return hx__work_range_take_back(rest, SIZE_MAX); }

static void finish(state *s, unsigned i) {
  worker *const k = &s->worker[i];
  flight f = k->flight[0];
  const double ns = s->w.now - f.since, overlap = f.since - f.from;
  if (i < s->devices && (f.fails || s->w.now >= f.give_up)) {
    for (; k->flights; k->flights--) {
      s->redo[s->redos++] = all_of(&k->flight[k->flights - 1].rest);
      s->result.recovered++;
    }
    k->out = true;
    const sim_end how = f.fails ? SIM_FAILED : SIM_LATE;
    if (s->policy->done) s->policy->done(s->self, &s->w, i, f.chunk.count, ns, overlap, how);
    return;
  }
  k->flights--;
  memmove(k->flight, k->flight + 1, k->flights * sizeof *k->flight);
  if (k->flights) promote(s, k);
  const hx__chunk mine = all_of(&f.rest);
  if (s->w.seen)
    for (size_t c = 0; c < mine.count; c++) s->w.seen[mine.first + c]++;
  if (i < s->devices) {
    s->result.device_slices[i] += mine.count;
    if (s->policy->done) s->policy->done(s->self, &s->w, i, f.chunk.count, ns, overlap, SIM_DONE);
  } else {
    s->w.cpu_done += f.chunk.count;
    s->w.cpu_ns += ns;
    s->result.cpu_slices += f.chunk.count;
    s->result.cpu_ns = s->w.now;
  }
}

static bool computes(const worker *k) { return k->flights && !(k->flight[0].wait > 0.0); }

/* Speeds of all workers now. */
static void speeds(const state *s, double speed[SIM_WORKERS]) {
  bool cpu = false, device = false;
  double demand = 0.0;
  for (unsigned i = 0; i < s->workers; i++)
    if (computes(&s->worker[i])) *(i < s->devices ? &device : &cpu) = true;
  for (unsigned i = 0; i < s->workers; i++) {
    const worker *const k = &s->worker[i];
    speed[i] = computes(k) ? k->rate * factor_at(k->unit, s->w.now) : 0.0;
    if (cpu && device && k->unit->corun > 0.0) speed[i] *= k->unit->corun;
    demand += speed[i] * k->unit->bytes;
  }
  if (!(s->w.machine->dram > 0.0) || demand <= s->w.machine->dram) return;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->worker[i].unit->bytes > 0.0) speed[i] *= s->w.machine->dram / demand;
}

/* What all draw now. A device that is launched draws already. */
static double watts(const state *s) {
  double sum = s->w.machine->watts;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->worker[i].flights)
      sum += s->worker[i].unit->watts / (i < s->devices ? 1.0 : (double)(s->workers - s->devices));
  return sum;
}

/* To the next event; false where nobody works. */
static bool advance(state *s) {
  double speed[SIM_WORKERS], dt = INFINITY;
  bool any = false;
  speeds(s, speed);
  for (unsigned i = 0; i < s->workers; i++) {
    const worker *const k = &s->worker[i];
    const flight *const f = k->flight;
    if (!k->flights) continue;
    any = true;
    const double own = f->wait > 0.0 ? f->wait : speed[i] > 0.0 ? f->work / speed[i] : INFINITY;
    dt = fmin(dt, fmin(fmin(own, f->give_up - s->w.now), next_step(k->unit, s->w.now) - s->w.now));
  }
  if (!any) return false;
  dt = fmin(dt, s->look_ns - s->w.now);
  if (isinf(dt)) {
    s->result.stuck = true;
    return false;
  }
  if (dt < 0.0) dt = 0.0;
  s->result.joules += dt * 1e-9 * watts(s);
  const double was = s->w.now;
  s->w.now += dt;
  for (unsigned i = 0; i < s->workers; i++) {
    worker *const k = &s->worker[i];
    flight *const f = k->flight;
    if (!k->flights) continue;
    if (f->wait > 0.0) {
      f->wait -= dt;
      if (f->wait <= 1e-9 || was + f->wait == was) f->wait = 0.0;
    } else {
      f->work -= dt * speed[i];
    }
    for (unsigned q = 1; q < k->flights; q++) k->flight[q].wait = fmax(k->flight[q].wait - dt, 0.0);
    if ((!(f->wait > 0.0) && f->work <= 1e-9 * (double)f->chunk.count) || s->w.now >= f->give_up) finish(s, i);
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
  hx__work_range_init(&s.w.ends, (hx__chunk){0, slices});
  add_workers(&s, m);
  do {
    s.look_ns = INFINITY;
    for (unsigned i = 0; i < s.workers; i++)
      while (feed(&s, i)) continue;
  } while (advance(&s));
  s.result.ns = s.w.now;
  return s.result;
}
