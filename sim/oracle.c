/* SPDX-License-Identifier: Apache-2.0
 * The best fixed split. A policy cannot do better reliably, because it does not know the future. */
#include <math.h>
#include <string.h>

#include "sim/sim.h"

#define CUTS 64

typedef struct fixed {
  size_t part[SIM_DEVICES], cpu_left;
} fixed;

static size_t take_part(void *self, const sim_world *w, unsigned d) {
  (void)w;
  fixed *const f = self;
  const size_t n = f->part[d];
  f->part[d] = 0;
  return n;
}

/* The CPU's threads take its share in small pieces. */
static size_t take_rest(void *self, const sim_world *w, unsigned thread) {
  fixed *const f = self;
  (void)thread;
  size_t want = f->cpu_left / (8 * (w->machine->cpu.threads + 1)) + 1;
  if (want > f->cpu_left) want = f->cpu_left;
  f->cpu_left -= want;
  return want;
}

static double time_of(const sim_machine *m, size_t slices, const double share[SIM_DEVICES]) {
  static const sim_policy policy = {.name = "fixed", .device = take_part, .cpu = take_rest};
  fixed f = {.cpu_left = slices};
  uint64_t random = 1;
  for (unsigned d = 0; d < m->devices; d++) {
    f.part[d] = (size_t)(share[d] * (double)slices + 0.5);
    if (f.part[d] > f.cpu_left) f.part[d] = f.cpu_left;
    f.cpu_left -= f.part[d];
  }
  const sim_result r = sim_run(m, slices, &policy, &f, 0, &random, NULL);
  return r.stuck ? INFINITY : r.ns;
}

/* Tries shares of device d around the present one, `step` apart, and sets the best. */
static void refine(const sim_machine *m, size_t slices, double share[SIM_DEVICES], unsigned d, double from, double step,
                   double *best) {
  double best_share = share[d];
  for (int i = 0; i <= CUTS; i++) {
    double sum = 0.0;
    share[d] = from + i * step;
    for (unsigned e = 0; e < m->devices; e++) sum += share[e];
    const double t = share[d] >= 0.0 && sum <= 1.0 ? time_of(m, slices, share) : INFINITY;
    if (t >= *best) continue;
    *best = t;
    best_share = share[d];
  }
  share[d] = best_share;
}

/* The first split, by the rates. */
static void proportional(const sim_machine *m, size_t slices, double share[SIM_DEVICES]) {
  hx__participant participant[SIM_DEVICES + 1] = {{m->cpu.rate, 0.0}};
  for (unsigned d = 0; d < m->devices; d++)
    participant[d + 1] = (hx__participant){m->device[d].rate, m->device[d].latency_ns + m->device[d].once_ns};
  const double end = hx__finish_ns((double)slices, participant, m->devices + 1);
  for (unsigned d = 0; d < m->devices; d++)
    share[d] = fmax(participant[d + 1].rate * (end - participant[d + 1].ready_ns), 0.0) / (double)slices;
}

double sim_oracle(const sim_machine *machine, size_t slices, double share[SIM_DEVICES]) {
  sim_machine m = *machine;
  m.cpu.noise = 0.0;
  for (unsigned d = 0; d < m.devices; d++) m.device[d].noise = 0.0;
  memset(share, 0, SIM_DEVICES * sizeof *share);
  if (m.devices > 1) proportional(&m, slices, share);
  double best = time_of(&m, slices, share);
  if (m.devices == 1) refine(&m, slices, share, 0, 0.0, 1.0 / CUTS, &best);
  // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): the number of steps need not be exact
  for (double step = 1.0 / CUTS; step > 1e-4; step /= 8.0)
    for (unsigned d = 0; d < m.devices; d++) refine(&m, slices, share, d, share[d] - CUTS / 2 * step, step, &best);
  return best;
}
