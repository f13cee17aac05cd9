/* SPDX-License-Identifier: Apache-2.0
 * The expected time of a candidate. One that was measured twice is expected to take as long as its calls took, because
 * the rates of participants that share cores, memory or power do not add up. Before that, and if a participant has
 * become far slower by its rate, the expected time is the one at which all participants end by their rates (finish.h).
 *
 * The uncertainty of a candidate has two parts. The uncertainty of the rates is common to all candidates with the same
 * devices, so it does not tell which of them is best. The rest is called the doubt of the candidate. */
#include "runtime/sched/estimate.h"

#include <math.h>

/* The doubt of a candidate that was never measured, as a standard deviation of the logarithm of its time; one that was
 * measured has at most half. never_slower_test fails at 0.1 (devices are tried too late), sim_test at 0.4 (too often).
 */
#define PARTS_SIGMA 0.2

static hx__participant participant_of(const hx__estimate *e, bool idle) {
  return (hx__participant){e->ns_per_unit > 0.0 ? 1.0 / e->ns_per_unit : 0.0,
                           e->latency_ns + (idle ? e->idle_ns : 0.0)};
}

/* The CPU beside devices. No participant is faster in company. If the CPU seems to be, its rates were measured at
 * different times, and a device that does nothing would seem to make the CPU faster. */
static hx__estimate cpu_beside(const hx__cost_inputs *p) {
  hx__estimate e = p->cpu_beside;
  if (p->cpu_alone.samples && !p->cpu_alone.borrowed) e.ns_per_unit = fmax(e.ns_per_unit, p->cpu_alone.ns_per_unit);
  return e;
}

/* The time by the participants' rates, and the standard deviation of its logarithm. */
static double time_by_rates(const hx__cost_inputs *p, hx__choice c, double *sigma) {
  hx__participant participant[HX__MAX_CANDIDATE_DEVICES + 1];
  double rates = 0.0, variance = 0.0;
  const unsigned count = c.devices + c.cpu;
  const hx__estimate cpu = c.devices ? cpu_beside(p) : p->cpu_alone;
  for (unsigned i = 0; i < count; i++) {
    const bool is_cpu = i == c.devices;
    const hx__estimate *const e = is_cpu ? &cpu : (c.cpu ? &p->device[i].beside : &p->device[i].alone);
    if (!(e->ns_per_unit > 0.0)) return INFINITY;
    participant[i] = participant_of(e, !is_cpu && p->device[i].idle);
    rates += participant[i].rate;
    variance += participant[i].rate * participant[i].rate * e->sigma * e->sigma;
  }
  *sigma = sqrt(variance) / rates;
  const bool spared = p->fetch_spared && c.devices == 1 && !c.cpu;
  return hx__finish_ns(p->units, participant, count) + (c.devices ? HX__JOIN_NS : 0.0) + (spared ? 0.0 : p->fetch_ns);
}

double hx__device_part(const hx__cost_inputs *p, unsigned i) {
  const double rate = 1.0 / p->device[i].beside.ns_per_unit;
  return rate / (rate + 1.0 / p->cpu_beside.ns_per_unit);
}

/* The least time that a candidate with the CPU could take. No participant is faster in company, and CPU threads that
 * fill a staging ring do not compute. */
static double least_ns(const hx__cost_inputs *p, hx__choice c) {
  hx__participant participant[HX__MAX_CANDIDATE_DEVICES + 1];
  bool fills_ring = false;
  for (unsigned i = 0; i < c.devices; i++) {
    const hx__estimate *const e = &p->device[i].beside;
    participant[i] = participant_of(e, false);
    participant[i].rate *= exp(e->sigma);
    fills_ring = fills_ring || (p->device[i].by_ring && !e->samples);
  }
  participant[c.devices] = participant_of(fills_ring ? &p->cpu_beside : &p->cpu_alone, false);
  return hx__finish_ns(p->units, participant, c.devices + 1);
}

/* Whether trials have measured slow devices behind staging rings, and the CPU beside them. */
static bool trials_are_done(const hx__cost_inputs *p, unsigned devices) {
  bool done = p->cpu_beside.samples != 0;
  for (unsigned i = 0; i < devices; i++) {
    const hx__estimate *const e = &p->device[i].beside;
    done = done && p->device[i].by_ring && e->samples && !e->borrowed && hx__device_part(p, i) < HX__SMALL_PART;
  }
  return done;
}

/* The doubt of a candidate that was never measured. A device may lose as much in company as the CPU does, and be that
 * much faster alone. */
static double untried_doubt(const hx__cost_inputs *p, unsigned choice) {
  const bool with_cpu = choice && choice <= p->devices, other_class = choice == 0 && p->cpu_alone.borrowed;
  if (other_class) return fmax(log(HX__NO_SLOWER), p->cpu_alone.sigma);
  double doubt = PARTS_SIGMA;
  if (!with_cpu && p->cpu_beside.samples && p->objective == HX__OBJECTIVE_TIME)
    doubt += fmax(log(p->cpu_beside.ns_per_unit / p->cpu_alone.ns_per_unit), 0.0);
  doubt = fmin(doubt, log(HX__NO_SLOWER));
  return choice ? doubt : fmax(doubt, p->cpu_alone.sigma);
}

/* The doubt of a candidate that was measured is the error of the mean, not the spread from call to call. */
static double measured_doubt(const hx__estimate *e) { return fmin(e->sigma / sqrt(e->samples), 0.5 * PARTS_SIGMA); }

hx__candidate hx__candidate_of(const hx__cost_inputs *p, unsigned choice) {
  const hx__choice c = hx__choice_of(choice, p->devices);
  const hx__estimate *const measured = choice ? &p->call[choice] : &p->cpu_alone;
  const bool own = !measured->borrowed; /* The CPU's rate may be that of another size class. */
  double rates_sigma = 1.0;
  hx__candidate o = {.parts_ns = time_by_rates(p, c, &rates_sigma),
                     .watts = measured->watts,
                     .metering = p->objective != HX__OBJECTIVE_TIME && measured->metering,
                     .samples = own ? measured->samples : 0,
                     .call_number = own ? measured->call_number : 0,
                     .best_call_number = own ? measured->best_call_number : 0};
  o.ns = o.parts_ns;
  const hx__estimate cpu = cpu_beside(p);
  const double cpu_ns = hx__estimate_ns(&cpu, p->units, false) + p->fetch_ns;
  o.idle = c.cpu && c.devices && isfinite(o.parts_ns) && o.parts_ns >= cpu_ns;
  const double call_ns = hx__estimate_ns(measured, p->units, false);
  const bool is_known = choice == 0 ? o.samples > 0 : o.samples >= HX__LEAST_CALLS && !o.idle;
  if (is_known && (choice == 0 || !(o.parts_ns > HX__FAR * call_ns))) {
    o.sigma = o.doubt = measured_doubt(measured);
    if (choice) o.ns = call_ns;
    return o;
  }
  o.doubt = untried_doubt(p, choice);
  o.sigma = choice ? hypot(rates_sigma, o.doubt) : o.doubt;
  if (c.cpu && c.devices && p->cpu_alone.samples && !p->cpu_alone.borrowed && isfinite(o.ns)) {
    double most = fmax(log(o.ns / least_ns(p, c)), 0.0);
    if (!o.samples && trials_are_done(p, c.devices)) most = fmin(most, 0.5 * PARTS_SIGMA);
    o.sigma = fmin(o.sigma, most);
    o.doubt = fmin(o.doubt, most);
  }
  return o;
}

/* An unknown power may be far lower than that of another candidate: a GPU may draw a fifth of what the CPU draws. */
void hx__candidate_set_cost(hx__objective objective, double usual_watts, hx__candidate *o) {
  o->cost = o->ns;
  if (objective == HX__OBJECTIVE_TIME) return;
  const bool known = o->watts > 0.0, edp = objective == HX__OBJECTIVE_EDP;
  o->cost *= (known ? o->watts : usual_watts) * (edp ? o->ns : 1.0);
  const double times = edp ? 2.0 : 1.0, power_sigma = known ? 0.0 : log(HX__FAR);
  o->sigma = hypot(times * o->sigma, power_sigma);
  o->doubt = hypot(times * o->doubt, power_sigma);
}
