/* SPDX-License-Identifier: Apache-2.0
 * A participant's course within one run: nothing here outlives it. */
#include "runtime/sched/progress.h"

#include <math.h>

#define BELIEF 0.8      /* in what this run has shown, over what was expected, */
#define NOISE 0.2       /* but all of it where that is off by more: no noise is so loud */
#define SEEN_SIGMA 0.06 /* of a rate that this run has shown */
#define SURPRISE 0.3    /* of what it was off by, which stays as doubt */
#define MOST_SIGMA 0.5
#define REDO_NS 20e3 /* what the CPU is to gain by doing a chunk once more */
#define SOON_NS 10e3 /* after that it is asked again */
#define CPU_NS 5e4   /* the CPU's rate is believed after so long, over the variance of the model's */
#define LEAST_CPU_NS 2e5
#define MOST_CPU_NS 3e6

void hx__progress_begin(hx__progress *c, const hx__estimate *e, double slices_per_unit, bool idle) {
  const double rate = e->ns_per_unit > 0.0 ? slices_per_unit / e->ns_per_unit : 0.0;
  *c = (hx__progress){.rate = isfinite(rate) ? rate : 0.0,
                      .sigma = e->sigma,
                      .latency_ns = e->latency_ns + (idle ? e->idle_ns : 0.0),
                      .idle_ns = idle ? e->idle_ns : 0.0,
                      .gap_ns = e->gap_ns};
}

double hx__progress_chunk_ns(const hx__progress *c, double slices) {
  return c->rate > 0.0 ? c->latency_ns + slices / c->rate : 0.0;
}

double hx__launch_shown(double latency_ns, double overlap_ns) {
  return !(overlap_ns > 0.0) ? 1.0 : overlap_ns < latency_ns ? 1.0 - overlap_ns / latency_ns : 0.0;
}

void hx__progress_launched(hx__progress *c, double slices, double now_ns) {
  const double begins = now_ns + hx__progress_ready_ns(c, now_ns);
  c->queued++;
  c->in_flight += slices;
  c->ends_ns = c->rate > 0.0 ? begins + slices / c->rate : now_ns;
}

double hx__progress_ready_ns(const hx__progress *c, double now_ns) {
  const double left = c->queued ? fabs(c->ends_ns - now_ns) + c->gap_ns : 0.0;
  return left > c->latency_ns ? left : c->latency_ns;
}

bool hx__redo_pays(double slices, double rate, double left_ns) {
  return rate > 0.0 && REDO_NS + slices / rate < fabs(left_ns); /* overdue: as in hx__progress_ready_ns */
}

double hx__redo_look_ns(double slices, double rate, double ends_ns) {
  return ends_ns + slices / rate + REDO_NS + SOON_NS;
}

void hx__progress_observe(hx__progress *c, double slices, double ns, double shown) {
  const double work = ns - shown * c->latency_ns - (1.0 - shown) * c->gap_ns,
               seen = slices / (work > 0.25 * ns ? work : 0.25 * ns);
  if (c->launches++ == 0) {
    c->latency_ns -= c->idle_ns;
    c->idle_ns = 0.0;
  }
  if (!(ns > 0.0) || !(slices > 0.0) || !isfinite(seen)) return;
  const double off = c->rate > 0.0 ? log(seen / c->rate) : MOST_SIGMA;
  c->rate = c->rate > 0.0 ? c->rate * exp((fabs(off) > NOISE ? 1.0 : BELIEF) * off) : seen;
  c->sigma = fmin(SEEN_SIGMA + SURPRISE * fabs(off), MOST_SIGMA);
}

void hx__progress_chunk_done(hx__progress *c, double slices, double now_ns) {
  c->queued -= c->queued > 0;
  c->in_flight = c->queued ? c->in_flight - slices : 0.0;
  c->ends_ns = now_ns + (c->queued && c->rate > 0.0 ? c->in_flight / c->rate : 0.0);
}

hx__observation hx__observation_add(hx__observation *last, const hx__observation *now, bool found,
                                    hx__observation *ripe) {
  *ripe = *last;
  *last = *now;
  if (!found || !(ripe->slices > 0.0)) return *now;
  ripe->units += now->units;
  ripe->slices += now->slices;
  ripe->ns += now->ns;
  *last = (hx__observation){0};
  return *ripe;
}

bool hx__tells(const hx__estimate *e, double units, bool idle, double ns, bool has_ended) {
  return has_ended || !(ns < hx__estimate_ns(e, units, idle));
}

/* What is in progress is taken to go on at the rate so far, and to be late when it would have ended. */
double hx__progress_cpu_rate(const hx__progress *c, hx__cpu_shown s, double elapsed_ns) {
  if (!(s.busy_ns > 0.0) || !(s.done > 0.0)) return c->rate;
  const double since_ns = s.in_progress > 0.0 ? fmax(elapsed_ns - s.busy_ns, 0.0) : 0.0, rate = s.done / s.busy_ns;
  const double seen = (s.done + fmin(s.in_progress, rate * since_ns)) / (s.busy_ns + since_ns);
  if (!(c->rate > 0.0)) return seen;
  const double patience = fmin(fmax(CPU_NS / (c->sigma * c->sigma + 1e-4), LEAST_CPU_NS), MOST_CPU_NS);
  const double weight = s.busy_ns / (s.busy_ns + patience);
  return c->rate * exp(weight * log(seen / c->rate));
}
