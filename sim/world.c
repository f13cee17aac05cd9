/* SPDX-License-Identifier: Apache-2.0
 * The event loop: between two events every worker goes on at a constant speed. */
#include <math.h>
#include <string.h>

#include "sim/sim.h"

/* A chunk in flight on a device, or in progress on a thread of the CPU. */
typedef struct sim_launch {
  double wait, work;  /* what is left of the launch, and of the chunk in slices */
  double from, since; /* when it was launched; when it became the oldest */
  hx__chunk chunk;
  bool fails;
  bool again; /* A thread of the CPU computes part of an overdue chunk again. */
} sim_launch;

typedef struct worker {
  const sim_unit *unit;
  double rate; /* alone, without steps */
  sim_launch
      launch[SIM_DEPTH]; /* The first one is computed; the launch latencies of the others pass at the same time. */
  const _Atomic uint64_t *deadline; /* of the first one, on hx's clock; NULL: none */
  unsigned in_flight, launches;
  bool out;
} worker;

typedef struct state {
  sim_world w; /* the first member: sim_launch and others find the state by it */
  const sim_policy *policy;
  void *self;
  worker worker[SIM_WORKERS]; /* devices first */
  unsigned devices, workers;
  hx__chunk returned[SIM_WORKERS * SIM_DEPTH];
  unsigned returns;
  double check_ns; /* when an idle CPU checks again whether a device is overdue */
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

/* A device's first chunk in flight is the one that it computes from now on. */
static void promote(state *s, worker *k) {
  sim_launch *const l = &k->launch[0];
  const unsigned d = (unsigned)(k - s->worker);
  l->since = s->w.now;
  if (l->from < s->w.now) l->wait = fmax(l->wait, k->unit->gap_ns);
  k->deadline = d < s->devices && s->policy->await ? s->policy->await(s->self, d) : NULL;
}

static void start_chunk(state *s, worker *k, hx__chunk chunk, bool again) {
  const sim_unit *const u = k->unit;
  const double noise = u->noise > 0.0 ? exp(u->noise * sim_gaussian(s->w.random)) : 1.0;
  const unsigned d = (unsigned)(k - s->worker);
  const bool is_device = d < s->devices;
  sim_launch *const l = &k->launch[k->in_flight++];
  k->launches++;
  *l = (sim_launch){.wait = is_device ? u->latency_ns : 0.0,
                    .work = fmax((double)chunk.count, is_device ? u->elbow : 0.0) * noise,
                    .from = s->w.now,
                    .chunk = chunk,
                    .again = again};
  if (is_device) {
    if (k->launches == 1) l->wait += u->once_ns + (s->w.idle >> d & 1u ? u->idle_ns : 0.0);
    l->fails = k->launches == u->fail_at;
    if (k->launches == u->hang_at) l->wait = INFINITY;
    s->result.launches++;
  }
  if (k->in_flight == 1) promote(s, k);
}

void sim_launch_chunk(sim_world *w, unsigned d, hx__chunk chunk) {
  state *const s = (state *)w;
  start_chunk(s, &s->worker[d], chunk, false);
}

void sim_give_back(sim_world *w, hx__chunk chunk) {
  state *const s = (state *)w;
  if (chunk.count == 0) return;
  s->returned[s->returns++] = chunk;
  s->result.recovered++;
}

/* Slices are in the caller's memory. */
static void deliver(state *s, hx__chunk chunk) {
  for (size_t c = 0; s->w.seen && c < chunk.count; c++) s->w.seen[chunk.first + c]++;
}

void sim_deliver(sim_world *w, unsigned d, hx__chunk chunk) {
  state *const s = (state *)w;
  s->result.device_slices[d] += chunk.count;
  deliver(s, chunk);
}

/* An idle thread of the CPU computes an overdue chunk again, if no thread has anything else to do. */
static bool start_redo(state *s, worker *k) {
  double check_ns = INFINITY;
  for (unsigned i = s->devices; i < s->workers; i++)
    if (s->worker[i].in_flight && !s->worker[i].launch[0].again) return false;
  const hx__chunk chunk = s->policy->redo ? s->policy->redo(s->self, &check_ns) : (hx__chunk){0, 0};
  if (chunk.count)
    start_chunk(s, k, chunk, true);
  else if (check_ns > s->w.now)
    s->check_ns = fmin(s->check_ns, check_ns);
  return chunk.count != 0;
}

/* Gives an idle device a chunk. False if it gets none. */
static bool start_device(state *s, unsigned d) {
  worker *const k = &s->worker[d];
  const unsigned before = k->in_flight;
  if (k->out || before >= (s->policy->fill ? SIM_DEPTH : 1u)) return false;
  if (s->policy->fill) {
    s->policy->fill(s->self, d);
  } else {
    const size_t want = hx__work_range_left(&s->w.ends) ? s->policy->device(s->self, &s->w, d) : 0;
    const hx__chunk chunk = want ? hx__work_range_take_back(&s->w.ends, want) : (hx__chunk){0, 0};
    if (chunk.count) start_chunk(s, k, chunk, false);
  }
  k->out = k->in_flight == 0;
  return k->in_flight > before;
}

/* The same for a thread of the CPU: new slices, then chunks that devices gave back, then overdue ones. */
static bool start_thread(state *s, unsigned thread) {
  worker *const k = &s->worker[s->devices + thread];
  if (k->in_flight) return false;
  const size_t want = hx__work_range_left(&s->w.ends) ? s->policy->cpu(s->self, &s->w, thread) : 0;
  const hx__chunk chunk = want         ? hx__work_range_take_front(&s->w.ends, want)
                          : s->returns ? s->returned[--s->returns]
                                       : (hx__chunk){0, 0};
  if (chunk.count == 0) return start_redo(s, k);
  start_chunk(s, k, chunk, false);
  return true;
}

/* The worker's first chunk has ended. */
static sim_launch remove_first(worker *k) {
  const sim_launch first = k->launch[0];
  k->in_flight--;
  memmove(k->launch, k->launch + 1, k->in_flight * sizeof *k->launch);
  return first;
}

static void end_on_device(state *s, unsigned d, hx__outcome outcome) {
  worker *const k = &s->worker[d];
  const sim_launch l = remove_first(k);
  if (s->policy->ended)
    s->policy->ended(s->self, d, outcome);
  else if (outcome == HX__DONE)
    sim_deliver(&s->w, d, l.chunk);
  else
    sim_give_back(&s->w, l.chunk);
  if (s->policy->done) s->policy->done(s->self, &s->w, l.chunk.count, s->w.now - l.since);
  k->out = outcome != HX__DONE;
  if (k->out) k->in_flight = 0; /* The results of its other chunks are discarded. */
  if (k->in_flight) promote(s, k);
}

static void end_on_cpu(state *s, worker *k) {
  const sim_launch l = remove_first(k);
  const double ns = s->w.now - l.since;
  s->w.cpu_done += l.chunk.count;
  if (s->policy->cpu_done) s->policy->cpu_done(s->self, l.chunk.count, ns);
  deliver(s, l.chunk);
  s->result.cpu_slices += l.chunk.count;
  if (!l.again) s->result.cpu_ns = s->w.now;
}

/* When the first chunk of a device is given up. */
static double give_up_ns(const worker *k) {
  return k->deadline ? (double)atomic_load(k->deadline) - SIM_BEGAN_NS : INFINITY;
}

static bool is_computing(const worker *k) { return k->in_flight && !(k->launch[0].wait > 0.0); }

/* Speeds of all workers now. */
static void speeds_now(const state *s, double speed[SIM_WORKERS]) {
  bool cpu = false, device = false;
  double demand = 0.0;
  for (unsigned i = 0; i < s->workers; i++)
    if (is_computing(&s->worker[i])) *(i < s->devices ? &device : &cpu) = true;
  for (unsigned i = 0; i < s->workers; i++) {
    const worker *const k = &s->worker[i];
    speed[i] = is_computing(k) ? k->rate * factor_at(k->unit, s->w.now) : 0.0;
    if (cpu && device && k->unit->corun > 0.0) speed[i] *= k->unit->corun;
    demand += speed[i] * k->unit->bytes;
  }
  if (!(s->w.machine->dram > 0.0) || demand <= s->w.machine->dram) return;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->worker[i].unit->bytes > 0.0) speed[i] *= s->w.machine->dram / demand;
}

/* The power drawn now. A device draws power from its launch on. */
static double total_watts(const state *s) {
  double sum = s->w.machine->watts;
  for (unsigned i = 0; i < s->workers; i++)
    if (s->worker[i].in_flight)
      sum += s->worker[i].unit->watts / (i < s->devices ? 1.0 : (double)(s->workers - s->devices));
  return sum;
}

/* The time until the next event: a launch or a chunk ends, a deadline passes, a rate changes, or the CPU checks again.
 * INFINITY: there is none. */
static double next_event(const state *s, const double speed[SIM_WORKERS]) {
  double dt = s->check_ns - s->w.now;
  for (unsigned i = 0; i < s->workers; i++) {
    const worker *const k = &s->worker[i];
    const sim_launch *const l = k->launch;
    if (!k->in_flight) continue;
    const double own = l->wait > 0.0 ? l->wait : speed[i] > 0.0 ? l->work / speed[i] : INFINITY;
    dt = fmin(dt, fmin(fmin(own, give_up_ns(k) - s->w.now), next_step(k->unit, s->w.now) - s->w.now));
  }
  return fmax(dt, 0.0);
}

/* A worker goes on for dt from the time `was`. Returns whether its first chunk is computed. */
static bool work_on(worker *k, double speed, double dt, double was) {
  sim_launch *const l = k->launch;
  if (l->wait > 0.0) {
    l->wait -= dt;
    if (l->wait <= 1e-9 || was + l->wait == was) l->wait = 0.0;
  } else {
    l->work -= dt * speed;
  }
  for (unsigned q = 1; q < k->in_flight; q++) k->launch[q].wait = fmax(k->launch[q].wait - dt, 0.0);
  return !(l->wait > 0.0) && l->work <= 1e-9 * (double)l->chunk.count;
}

/* Goes on to the next event. False if no worker has anything in flight. */
static bool advance(state *s) {
  double speed[SIM_WORKERS] = {0};
  bool any = false;
  for (unsigned i = 0; i < s->workers; i++) any = any || s->worker[i].in_flight;
  if (!any) return false;
  speeds_now(s, speed);
  const double dt = next_event(s, speed), was = s->w.now;
  if (isinf(dt)) {
    s->result.stuck = true;
    return false;
  }
  s->result.joules += dt * 1e-9 * total_watts(s);
  s->w.now += dt;
  for (unsigned i = 0; i < s->workers; i++) {
    worker *const k = &s->worker[i];
    if (!k->in_flight) continue;
    const bool computed = work_on(k, speed[i], dt, was), timed_out = s->w.now >= give_up_ns(k);
    if (!computed && !timed_out) continue;
    if (i < s->devices)
      end_on_device(s, i, k->launch[0].fails ? HX__FAILED : timed_out ? HX__TIMED_OUT : HX__DONE);
    else
      end_on_cpu(s, k);
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
  if (policy->begin) policy->begin(self, &s.w);
  do {
    s.check_ns = INFINITY;
    for (unsigned d = 0; d < s.devices; d++)
      while (start_device(&s, d)) continue;
    for (unsigned t = 0; t < s.workers - s.devices; t++)
      while (start_thread(&s, t)) continue;
  } while (advance(&s));
  s.result.ns = s.w.now;
  return s.result;
}
