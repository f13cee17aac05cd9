/* SPDX-License-Identifier: Apache-2.0
 * Other policies, written from their papers and sources, for comparison in the simulator only. Each starts from nothing
 * with every call and uses the rates that it is given; none knows the latency of a launch. */
#include <math.h>
#include <string.h>

#include "sim/sim.h"

enum { DYNAMIC_CHUNKS = 64, LOGFIT_POINTS = 24 };

typedef struct peer {
  const sim_machine *m;
  const double *rates; /* of devices, then of the CPU at [SIM_DEVICES] */
  size_t part[SIM_DEVICES];
  /* LogFit, one device: chunks and their throughputs, and the fit. */
  double chunk[LOGFIT_POINTS], through[LOGFIT_POINTS], cpu_through, next, slope, elbow;
  unsigned points;
  bool stable, final;
} peer;

static double relative_rate(const peer *p, unsigned d) {
  double sum = p->rates[SIM_DEVICES];
  for (unsigned i = 0; i < p->m->devices; i++) sum += p->rates[i];
  return p->rates[d] / sum;
}

static double cpu_relative_rate(const peer *p) { return relative_rate(p, SIM_DEVICES) / p->m->cpu.threads; }

static size_t at_least_one(double slices) { return slices < 1.0 ? 1 : (size_t)slices; }

/* static: the share by the rates, as one chunk. */
static size_t static_device(void *self, const sim_world *w, unsigned d) {
  peer *const p = self;
  const size_t n = p->part[d] ? 0 : at_least_one((double)w->total * relative_rate(p, d));
  p->part[d] = 1;
  return n;
}
static size_t static_cpu(void *self, const sim_world *w, unsigned thread) {
  const peer *const p = self;
  (void)thread;
  for (unsigned d = 0; d < p->m->devices; d++)
    if (!p->part[d]) return 0; /* Devices take their shares first. */
  return at_least_one((double)hx__work_range_left(&w->ends) / (8.0 * p->m->cpu.threads));
}

/* dynamic: equal chunks; an idle participant takes one. */
static size_t dynamic_device(void *self, const sim_world *w, unsigned d) {
  (void)self;
  (void)d;
  return at_least_one((double)w->total / DYNAMIC_CHUNKS);
}

/* guided: a part of what is left (Polychronopoulos and Kuck, 1987). */
static size_t guided_device(void *self, const sim_world *w, unsigned d) {
  const peer *const p = self;
  (void)d;
  return at_least_one((double)hx__work_range_left(&w->ends) / (2.0 * (p->m->devices + p->m->cpu.threads)));
}

/* HGuided with K = 2 (Maat, EngineCL): guided, weighted by relative rates. */
static size_t hguided_device(void *self, const sim_world *w, unsigned d) {
  return at_least_one((double)hx__work_range_left(&w->ends) * relative_rate(self, d) / 2.0);
}
static size_t hguided_cpu(void *self, const sim_world *w, unsigned thread) {
  (void)thread;
  return at_least_one((double)hx__work_range_left(&w->ends) * cpu_relative_rate(self) / 2.0);
}

/* LogFit (Vilches, Corbera et al., IJPP 2019): doubles the device's chunk until throughput = a ln(chunk) + b is flat,
 * fits, stays with the chunk size at which its slope falls below a threshold, and ends with one proportional split. */
static void logfit_fit(peer *p) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const double n = p->points;
  for (unsigned i = 0; i < p->points; i++) {
    const double x = log(p->chunk[i]), y = p->through[i];
    sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  const double det = n * sxx - sx * sx;
  p->slope = det > 0.0 ? (n * sxy - sx * sy) / det : 0.0;
}
static size_t logfit_device(void *self, const sim_world *w, unsigned d) {
  peer *const p = self;
  const double left = (double)hx__work_range_left(&w->ends);
  if (p->final) return 0;
  if (p->points == 0) p->next = fmax((double)w->total / 1024.0, d);
  const double through = p->points ? p->through[p->points - 1] : 0.0;
  const double factor = through > 0.0 && p->cpu_through > 0.0 ? through / p->cpu_through : 0.0;
  if (factor > 0.0 && p->next / factor > left - p->next) { /* the end: in proportion */
    double x = factor * left / (factor + 1.0);
    p->final = true;
    if (x < p->elbow) x = factor > 1.0 ? left : 0.0;
    if (x > 0.9 * left) x = left;
    return x < 1.0 ? 0 : (size_t)x;
  }
  return at_least_one(p->next);
}
static size_t logfit_cpu(void *self, const sim_world *w, unsigned thread) {
  const peer *const p = self;
  const double left = (double)hx__work_range_left(&w->ends), least = (double)w->total / 4096.0;
  const double through = p->points ? p->through[p->points - 1] : 0.0;
  (void)thread;
  if (p->final) return at_least_one(left / (p->m->cpu.threads + 1.0));
  if (!(through > 0.0) || !(p->cpu_through > 0.0)) return at_least_one(least);
  const double factor = through / (p->cpu_through / p->m->cpu.threads);
  return at_least_one(fmax(least, fmin(p->next / factor, left / (factor + p->m->cpu.threads))));
}
static void logfit_done(void *self, const sim_world *w, size_t slices, double ns) {
  peer *const p = self;
  if (w->now > 0.0 && w->cpu_done) p->cpu_through = (double)w->cpu_done / w->now;
  if (p->points == LOGFIT_POINTS) {
    memmove(p->chunk, p->chunk + 1, (LOGFIT_POINTS - 1) * sizeof *p->chunk);
    memmove(p->through, p->through + 1, (LOGFIT_POINTS - 1) * sizeof *p->through);
    p->points--;
  }
  p->chunk[p->points] = (double)slices;
  p->through[p->points++] = (double)slices / ns;
  if (!p->stable) {
    const unsigned n = p->points;
    const bool flat = n >= 4 && p->through[n - 1] < 1.05 * p->through[n - 3];
    p->stable = flat;
    p->elbow = flat ? p->chunk[n - 3] : 0.0;
    p->next = flat ? p->elbow : 2.0 * (double)slices;
    return;
  }
  logfit_fit(p);
  const double threshold = p->slope > 0.0 ? p->slope / p->elbow : 0.0;
  if (threshold > 0.0) p->next = fmax(p->slope / threshold, p->elbow);
}

static double call_peer(const sim_policy *policy, const sim_machine *m, size_t slices, const double *rates,
                        uint64_t *random) {
  peer p = {.m = m, .rates = rates};
  const sim_result r = sim_run(m, slices, policy, &p, 0, random, NULL);
  return r.stuck ? INFINITY : r.ns;
}

#define PEER(NAME, device_, cpu_, done_)                                                                  \
  static double NAME##_call(const sim_machine *m, size_t slices, const double *rates, uint64_t *random) { \
    static const sim_policy policy = {.name = #NAME, .device = device_, .cpu = cpu_, .done = done_};      \
    return call_peer(&policy, m, slices, rates, random);                                                  \
  }
PEER(static, static_device, static_cpu, NULL)
PEER(dynamic, dynamic_device, dynamic_device, NULL)
PEER(guided, guided_device, guided_device, NULL)
PEER(hguided, hguided_device, hguided_cpu, NULL)
PEER(logfit, logfit_device, logfit_cpu, logfit_done)

const sim_peer sim_peers[] = {{"static", static_call},
                              {"dynamic", dynamic_call},
                              {"guided", guided_call},
                              {"HGuided", hguided_call},
                              {"LogFit", logfit_call}};
const unsigned sim_peer_count = sizeof sim_peers / sizeof *sim_peers;
