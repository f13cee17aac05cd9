/* SPDX-License-Identifier: Apache-2.0
 * A participant's progress in one run; nothing here outlives the run. */
#include "runtime/sched/progress.h"

#include <math.h>

#define OBSERVED_WEIGHT 0.8 /* weight of an observation relative to the expected rate */
#define NOISE 0.2           /* if the logarithms differ by more than this, the weight is 1, because noise is smaller */
#define OBSERVED_SIGMA 0.06 /* sigma of a rate that was observed as expected */
#define SURPRISE_SIGMA 0.3  /* added to it for each unit by which the logarithm was off */
#define MOST_SIGMA 0.5
#define REDO_NS 20e3    /* what the CPU must gain by computing a chunk again */
#define RECHECK_NS 10e3 /* added to the time when that would pay, so that the next check finds that it does */
#define CPU_NS 5e4 /* divided by the variance of the model's rate: how long the CPU works until its own counts half */
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

double hx__launch_exposed(double latency_ns, double overlap_ns) {
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

double hx__redo_check_ns(double slices, double rate, double ends_ns) {
  return ends_ns + slices / rate + REDO_NS + RECHECK_NS;
}

void hx__progress_observe(hx__progress *c, double slices, double ns, double exposed) {
  const double work = ns - exposed * c->latency_ns - (1.0 - exposed) * c->gap_ns,
               seen = slices / (work > 0.25 * ns ? work : 0.25 * ns);
  if (c->launches++ == 0) {
    c->latency_ns -= c->idle_ns;
    c->idle_ns = 0.0;
  }
  if (!(ns > 0.0) || !(slices > 0.0) || !isfinite(seen)) return;
  const double off = c->rate > 0.0 ? log(seen / c->rate) : MOST_SIGMA;
  c->rate = c->rate > 0.0 ? c->rate * exp((fabs(off) > NOISE ? 1.0 : OBSERVED_WEIGHT) * off) : seen;
  c->sigma = fmin(OBSERVED_SIGMA + SURPRISE_SIGMA * fabs(off), MOST_SIGMA);
}

void hx__progress_chunk_done(hx__progress *c, double slices, double now_ns) {
  c->queued -= c->queued > 0;
  c->in_flight = c->queued ? c->in_flight - slices : 0.0;
  c->ends_ns = now_ns + (c->queued && c->rate > 0.0 ? c->in_flight / c->rate : 0.0);
}

hx__observation hx__observation_add(hx__observation *pending, const hx__observation *now, bool found,
                                    hx__observation *complete) {
  *complete = *pending;
  *pending = *now;
  if (!found || !(complete->slices > 0.0)) return *now;
  complete->units += now->units;
  complete->slices += now->slices;
  complete->ns += now->ns;
  *pending = (hx__observation){0};
  return *complete;
}

bool hx__is_informative(const hx__estimate *e, double units, bool idle, double ns, bool has_ended) {
  return has_ended || !(ns < hx__estimate_ns(e, units, idle));
}

/* Slices in progress are assumed to go on at the rate so far; if they take longer, the rate falls. */
double hx__progress_cpu_rate(const hx__progress *c, hx__cpu_observation s, double elapsed_ns) {
  if (!(s.busy_ns > 0.0) || !(s.done > 0.0)) return c->rate;
  const double since_ns = s.in_progress > 0.0 ? fmax(elapsed_ns - s.busy_ns, 0.0) : 0.0, rate = s.done / s.busy_ns;
  const double seen = (s.done + fmin(s.in_progress, rate * since_ns)) / (s.busy_ns + since_ns);
  if (!(c->rate > 0.0)) return seen;
  const double half_ns = fmin(fmax(CPU_NS / (c->sigma * c->sigma + 1e-4), LEAST_CPU_NS), MOST_CPU_NS);
  const double weight = s.busy_ns / (s.busy_ns + half_ns);
  return c->rate * exp(weight * log(seen / c->rate));
}
