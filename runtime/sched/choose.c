/* SPDX-License-Identifier: Apache-2.0
 * The decision. The candidate that is expected to cost least is the best one; within 2 %, the one with fewer
 * participants wins. Other candidates are explored by the rules of one table. Each rule says when it applies, how many
 * calls after the last measurement of the candidate, and which part of the time it may cost. Of the candidates that are
 * due, the most promising one is used. */
#include <math.h>

#include "runtime/base/energy.h"
#include "runtime/sched/estimate.h"

/* A gain that is too small for one more participant, and also the part of the time that exploration may take.
 * objective_test fails at 0.05. */
#define TOLERANCE 0.02
/* The gain that must be expected of a candidate with devices behind a link or a staging ring before it was measured.
 * CPU threads fill the ring, and the CPU finishes the part of a product that it has begun. never_slower_test fails at
 * 0.02: a call takes 1.08 times the CPU alone. */
#define UNSEEN_GAIN 0.1
/* never_slower_test fails at 32: a GPU behind a ring makes calls 1.28 times as long as the CPU alone. It passes at 128.
 */
#define RECHECK_CALLS 64.0
/* never_slower_test fails without that rule. At 0.02, 96.2 % instead of 97.9 % of its runs with bursts of load pass
 * 0.93. */
#define FORMER_BEST_COST 0.1
/* The part of the units in a trial: enough to time a chunk, and no call of never_slower_test takes 1.02 times the CPU
 * alone. */
#define TRIAL_PART (1.0 / 256.0)

/* Whether a candidate that is not the best one is to be explored. */
typedef struct question {
  const hx__cost_inputs *inputs;
  const hx__decision *decision;
  unsigned choice;
  const hx__candidate *candidate, *best;
} question;

static double gain_over_fewer(const hx__cost_inputs *p, unsigned choice, const hx__candidate *o) {
  const hx__choice c = hx__choice_of(choice, p->devices);
  double gain = TOLERANCE;
  for (unsigned i = 0; c.cpu && !o->samples && i < c.devices; i++) {
    if (p->device[i].by_link || p->device[i].by_ring) gain = fmax(gain, UNSEEN_GAIN);
    /* Pinning and filling the ring costs a tenth of a call even for a trial, so the CPU alone is measured first. */
    if (p->device[i].by_ring && !p->cpu_alone.samples && hx__device_part(p, i) < HX__SMALL_PART) gain = INFINITY;
  }
  return gain;
}

/* Whether this is a product by the CPU and devices that are all behind links. */
static bool is_split_over_links(const hx__cost_inputs *p, unsigned choice) {
  const hx__choice c = hx__choice_of(choice, p->devices);
  bool all = c.cpu && c.devices;
  for (unsigned i = 0; all && i < c.devices; i++) all = p->device[i].by_link;
  return all;
}

static bool has_devices_of_best(const question *q) {
  const unsigned devices = q->inputs->devices;
  return hx__choice_of(q->choice, devices).devices <= hx__choice_of(q->decision->best, devices).devices;
}

/* The cost of a candidate if it is one sigma better than expected. A device that is faster than expected improves all
 * candidates that it takes part in, so for a candidate with no other devices than the best one only the doubt counts. A
 * product over links that was never measured is not assumed to be better than the rates of its participants say. */
static double optimistic_cost(const question *q) {
  const hx__candidate *const o = q->candidate;
  if (!isfinite(o->ns)) return 0.0;
  if (!o->samples && is_split_over_links(q->inputs, q->choice)) return o->cost;
  return o->cost * exp(-(has_devices_of_best(q) ? o->doubt : o->sigma));
}

/* How many consecutive calls one measurement takes. */
static double calls_per_measurement(const question *q) {
  if (q->inputs->objective == HX__OBJECTIVE_TIME) return q->choice ? 2.0 : 1.0;
  return q->candidate->ns < HX__ENERGY_LEAST_NS ? HX__ENERGY_LEAST_NS / q->candidate->ns + 1.0 : 1.0;
}

/* How much more it costs to measure the candidate than to use the best one, in calls of the best one. */
static double excess_calls(const question *q) {
  const bool known = isfinite(q->candidate->ns);
  return (known ? fmax(q->candidate->cost / q->best->cost - 1.0, 0.0) : 1.0) * calls_per_measurement(q);
}

/* 8 calls after the second measurement, 32 after the third, ... */
static double backoff(const question *q) {
  return fmin(ldexp(0.5, 2 * (int)fmin(q->candidate->samples, 8)), RECHECK_CALLS);
}

static bool may_be_best(const question *q) {
  const hx__candidate *const o = q->candidate, *const best = q->best;
  if (!isfinite(o->ns)) return true;
  if (o->idle || (has_devices_of_best(q) && best->samples < HX__LEAST_CALLS)) return false;
  /* A candidate that was never measured is compared with the best one by the rates of both. */
  const double least = best->cost * (o->samples ? 1.0 : fmin(best->parts_ns / best->ns, 1.0));
  return optimistic_cost(q) < least * (1.0 - gain_over_fewer(q->inputs, q->choice, o));
}

static bool is_half_measured(const question *q) {
  return q->inputs->objective == HX__OBJECTIVE_TIME && q->choice && q->choice == q->inputs->first_of_pair &&
         q->candidate->ns < HX__FAR * q->best->ns;
}

static bool is_half_metered(const question *q) {
  return q->candidate->metering && q->candidate->call_number + 1 == q->decision->call_number;
}

static bool is_untried(const question *q) { return q->candidate->samples < HX__LEAST_CALLS && may_be_best(q); }

/* Whether the CPU alone was so slow only because another program used one of its cores. */
static bool may_have_lost_a_core(const question *q) {
  const hx__candidate *const o = q->candidate;
  return q->choice == 0 && o->samples && o->ns - q->best->ns < HX__PREEMPTED_NS &&
         (o->samples == 1 || o->ns < HX__FAR * q->best->ns);
}

static bool was_best(const question *q) {
  const hx__candidate *const o = q->candidate;
  return o->best_call_number && o->samples > HX__LEAST_CALLS && o->call_number >= o->best_call_number &&
         q->inputs->objective == HX__OBJECTIVE_TIME;
}

static bool is_always_due(const question *q) {
  (void)q;
  return true;
}

static double no_calls(const question *q) {
  (void)q;
  return 0.0;
}

static double as_long_as_not_best(const question *q) {
  return (double)(q->candidate->call_number - q->candidate->best_call_number);
}

static double recheck_calls(const question *q) {
  (void)q;
  return RECHECK_CALLS;
}

/* Why a candidate that is not the best one is measured. It is due if more than `calls` calls have passed since it was
 * last measured, and enough of them that it costs at most the part `budget` of the time (0: any). */
typedef struct rule {
  hx__reason reason;
  bool goes_first; /* It comes before more promising candidates. */
  bool (*applies)(const question *q);
  double (*calls)(const question *q);
  double budget;
  const char *why;
} rule;

static const rule rules[] = {
    {HX__REASON_TRY, true, is_half_measured, no_calls, 0.0, "a device's first call after the CPU's finds it cold"},
    {HX__REASON_TRY, true, is_half_metered, no_calls, 0.0, "energy counters move once a millisecond"},
    {HX__REASON_TRY, false, is_untried, no_calls, 0.0, "it may be the best, and was not measured twice"},
    {HX__REASON_TRY, false, may_be_best, backoff, TOLERANCE, "it may be the best"},
    {HX__REASON_RECHECK, false, may_have_lost_a_core, backoff, 0.0, "the CPU may have lost a core for a while"},
    {HX__REASON_RECHECK, false, was_best, as_long_as_not_best, FORMER_BEST_COST, "it was the best shortly before"},
    {HX__REASON_RECHECK, false, is_always_due, recheck_calls, TOLERANCE, "a wrong measurement must not last"},
};

/* The first rule by which the candidate is due; NULL: none. */
static const rule *find_due_rule(const question *q) {
  const double passed = (double)(q->decision->call_number - q->candidate->call_number);
  for (const rule *r = rules; r < rules + sizeof rules / sizeof *rules; r++)
    if (r->applies(q) && (r->calls(q) <= 0.0 || passed > r->calls(q)) &&
        (r->budget <= 0.0 || passed > excess_calls(q) / r->budget))
      return r;
  return NULL;
}

static bool is_allowed(const hx__cost_inputs *p, unsigned choice) {
  return !(p->no_split && choice && choice <= p->devices);
}

/* Devices without the CPU cannot adapt during a call, so a candidate without the CPU has to be better by its
 * uncertainty, too. As long as the best candidate was not measured, the error of the rates is common to both, and only
 * the doubt counts. */
static bool is_better(const hx__cost_inputs *p, const hx__decision *d, unsigned choice) {
  const hx__candidate *const o = &d->candidate[choice], *const best = &d->candidate[d->best];
  const bool with_cpu = choice <= p->devices;
  double gain = 0.0;
  if (d->best == 0 || hx__choice_of(d->best, p->devices).devices < hx__choice_of(choice, p->devices).devices ||
      !with_cpu)
    gain = gain_over_fewer(p, choice, o);
  if (!with_cpu && p->objective == HX__OBJECTIVE_TIME) gain += best->samples < HX__LEAST_CALLS ? o->doubt : o->sigma;
  return is_allowed(p, choice) && !o->idle && o->cost * (1.0 + gain) < best->cost;
}

/* The smallest part of a large product can take the CPU longer than all of it takes a discrete GPU, and filling staging
 * rings slows the CPU further. So devices behind links work without the CPU if the CPU would gain little, and until the
 * candidate with the CPU was measured. */
static void prefer_links_alone(const hx__cost_inputs *p, hx__decision *d) {
  if (p->objective != HX__OBJECTIVE_TIME || !is_split_over_links(p, d->best)) return;
  const hx__candidate *const both = &d->candidate[d->best], *const alone = both + p->devices;
  const bool little = both->samples ? alone->ns < (1.0 + UNSEEN_GAIN) * both->ns
                                    : (1.0 - HX__SMALL_PART) * alone->parts_ns < both->parts_ns;
  if (little) d->best += p->devices;
}

static void find_best(const hx__cost_inputs *p, hx__decision *d) {
  double usual_watts = 0.0;
  for (unsigned i = 0; i < d->choices; i++) {
    d->candidate[i] = hx__candidate_of(p, i);
    if (d->candidate[i].call_number > d->call_number) d->call_number = d->candidate[i].call_number;
    if (!(usual_watts > 0.0)) usual_watts = d->candidate[i].watts;
  }
  for (unsigned i = 0; i < d->choices; i++) {
    hx__candidate_set_cost(p->objective, usual_watts > 0.0 ? usual_watts : 1.0, &d->candidate[i]);
    if (i && is_better(p, d, i)) d->best = i;
  }
  prefer_links_alone(p, d);
  d->call_number++;
}

void hx__decide(const hx__cost_inputs *p, hx__decision *d) {
  d->call_number = 0;
  d->choices = 2u * p->devices + 1u;
  d->best = 0;
  find_best(p, d);
  d->choice = d->best;
  d->reason = HX__REASON_BEST;
  d->why = "best";
  double least = INFINITY;
  for (unsigned i = 0; i < d->choices; i++) {
    if (i == d->best || !is_allowed(p, i)) continue;
    const question q = {p, d, i, &d->candidate[i], &d->candidate[d->best]};
    const rule *const r = find_due_rule(&q);
    const double optimistic = r && r->goes_first ? -1.0 : optimistic_cost(&q);
    if (!r || !(optimistic < least)) continue;
    least = optimistic;
    d->choice = i;
    d->reason = r->reason;
    d->why = r->why;
  }
}

double hx__first_trial_fraction(const hx__cost_inputs *p, unsigned i) {
  const hx__estimate *const e = &p->device[i].beside;
  if (!p->device[i].by_ring || (e->samples && !e->borrowed) || !(e->ns_per_unit > 0.0)) return 1.0;
  /* A guess of the CPU's rate is often too low, so then every device that is slower than the CPU begins with a trial.
   */
  return hx__device_part(p, i) < (p->cpu_beside.samples ? HX__SMALL_PART : 0.5) ? TRIAL_PART : 1.0;
}
