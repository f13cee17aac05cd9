/* SPDX-License-Identifier: Apache-2.0
 * The decision. The rates of those who would take part say how long a choice takes, by finish-time equalisation; as
 * rates of parts do not add up where memory, power and cores are shared, whole calls have shown by which factor each
 * choice is off. (A factor, not a time: when a device slows down, every choice that it takes part in moves at once.)
 * The choice expected to cost least is taken, but that fewer who work are preferred to a gain of 2 %. Cost is time, or
 * energy, which is time by what the choice was seen to draw, or their product. Others are tried where they may well be
 * better, and checked from time to time; a check that costs more comes less often, so that checks take some 2 % at
 * most. */
#include "runtime/sched/decide.h"

#include <math.h>

#include "runtime/base/energy.h"

#define GAIN 0.02       /* what a device must bring */
#define RING_GAIN 0.05  /* likewise through a ring, before it was seen: that takes from the CPU's memory */
#define LINK_FIRST 0.25 /* what both are to promise over a device behind a link alone, before they were seen; */
#define LINK_GAIN 0.1   /* less than this is not tried, nor taken once it was seen, */
#define LINK_COST 3.0   /* and taken to cost so much more when its turn comes */
#define TRIAL_PART (1.0 / 256.0)
#define TRIAL_RATES 0.25  /* of all rates: from there on a device has all that is fair from the start, */
#define BLIND_RATES 0.6   /* and from there before the CPU was measured, too */
#define JOIN_NS 12e3      /* waking a worker, and waiting for it */
#define PARTS_BIAS 0.2    /* standard deviation of what the rates of parts promise, beside their own */
#define APART_BIAS 0.9    /* likewise of what was only measured beside others: it may be so much faster alone */
#define KNOWN_BIAS 0.1    /* at most, once it was tried: parts age faster than how they go together */
#define ONCE_BIAS 0.4     /* of one call: something else may have slowed it */
#define BUDGET 0.02       /* of the time, for checks */
#define SOON 6.0          /* calls between checks of what may well be better, */
#define MORE 4.0          /* and for each that was done: who is not found better by then brings little */
#define LATELY_BUDGET 0.1 /* of what was the best one just now: that it is none may be somebody else's doing */
#define LATER 64.0        /* of what is not */
#define SLOWED 2.0        /* times as long as such calls took, by their parts: a device has become slower */
#define IDLE_CALLS 640.0  /* between checks of what could do nothing */
#define TRIALS 2u         /* calls after which a choice that may be better is known well enough */
#define FEW 3u            /* calls that may all be bad luck, */
#define UNSURE 2.0 /* and after how many others the first one is repeated, then after four times as many, and so on */
/* Times its doubt what devices without the CPU must bring: they share nothing, and adapt to nothing. */
#define SURE 1.5
#define TAKEN_NS 2e7 /* what a core that is taken for a while costs a call */
#define MOST_ROW 50.0
#define MOST_SLOW 8.0    /* times the best one: not even clocks and buffers make that up */
#define POWER_SIGMA 0.05 /* of a power that was measured, */
#define BLIND_SIGMA 1.5  /* and of one that was not: a GPU may draw a fifth of what the CPU does */

static hx__participant party_of(const hx__estimate *e, bool idle) {
  return (hx__participant){e->ns_per_unit > 0.0 ? 1.0 / e->ns_per_unit : 0.0,
                           e->latency_ns + (idle ? e->idle_ns : 0.0)};
}

/* The CPU's part beside devices: nobody is faster in company, and who seems so was measured at another moment. Else a
 * device that can do nothing would be the reason to take the CPU. */
static hx__estimate cpu_beside(const hx__cost_inputs *p) {
  hx__estimate e = p->cpu_beside;
  if (p->cpu_alone.samples && !p->cpu_alone.borrowed) e.ns_per_unit = fmax(e.ns_per_unit, p->cpu_alone.ns_per_unit);
  return e;
}

/* What the parts promise for a choice: nanoseconds, and sigma of their logarithm. */
static double from_parts(const hx__cost_inputs *p, hx__choice c, double *sigma) {
  hx__participant party[HX__MAX_CANDIDATE_DEVICES + 1];
  unsigned n = 0;
  double rates = 0.0, variance = 0.0;
  const hx__estimate cpu = c.devices ? cpu_beside(p) : p->cpu_alone;
  for (unsigned i = 0; i < c.devices + c.cpu; i++) {
    const bool is_cpu = i == c.devices;
    const hx__estimate *const e = is_cpu ? &cpu : (c.cpu ? &p->device[i].beside : &p->device[i].alone);
    if (!(e->ns_per_unit > 0.0)) return INFINITY;
    party[n] = party_of(e, !is_cpu && p->device[i].idle);
    rates += party[n].rate;
    variance += party[n].rate * party[n].rate * e->sigma * e->sigma;
    n++;
  }
  *sigma = sqrt(variance) / rates;
  const bool spared = p->fetch_spared && c.devices == 1 && !c.cpu;
  return hx__finish_ns(p->units, party, n) + (c.devices ? JOIN_NS : 0.0) + (spared ? 0.0 : p->fetch_ns);
}

/* Of what was never tried alone: what the CPU loses in company the others may lose, too. */
static double apart_bias(const hx__cost_inputs *p) {
  if (!p->cpu_beside.samples || p->objective != HX__OBJECTIVE_TIME) return PARTS_BIAS;
  return fmin(PARTS_BIAS + fmax(log(p->cpu_beside.ns_per_unit / p->cpu_alone.ns_per_unit), 0.0), APART_BIAS);
}

/* What a choice could take at best: nobody is faster in company. Who fills a device's ring does nothing else. */
static double least_ns(const hx__cost_inputs *p, hx__choice c) {
  hx__participant party[HX__MAX_CANDIDATE_DEVICES + 1];
  bool fills = false;
  for (unsigned i = 0; i < c.devices; i++) {
    const hx__estimate *const e = &p->device[i].beside;
    party[i] = party_of(e, false);
    party[i].rate *= exp(e->sigma);
    fills = fills || (p->device[i].by_ring && !e->samples);
  }
  party[c.devices] = party_of(fills ? &p->cpu_beside : &p->cpu_alone, false);
  return hx__finish_ns(p->units, party, c.devices + 1);
}

/* The part of all rates that is device i's beside the CPU. */
static double rates_part(const hx__cost_inputs *p, unsigned i) {
  const double rate = 1.0 / p->device[i].beside.ns_per_unit;
  return rate / (rate + 1.0 / p->cpu_beside.ns_per_unit);
}

/* Whether a trial has shown how devices behind a ring, and the CPU beside them, do. */
static bool was_tried(const hx__cost_inputs *p, unsigned devices) {
  bool tried = p->cpu_beside.samples != 0;
  for (unsigned i = 0; i < devices; i++) {
    const hx__estimate *const e = &p->device[i].beside;
    tried = tried && p->device[i].by_ring && e->samples && !e->borrowed && rates_part(p, i) < TRIAL_RATES;
  }
  return tried;
}

/* What a choice has to bring over another one without its devices. Where a device behind a ring can bring but little
 * the CPU alone is seen first: even a trial costs a call a tenth, for pinning the ring and for who fills it. */
static double gain_of(const hx__cost_inputs *p, unsigned choice, const hx__candidate *o) {
  const hx__choice c = hx__choice_of(choice, p->devices);
  double gain = GAIN;
  for (unsigned i = 0; c.cpu && !o->samples && i < c.devices; i++) {
    if (p->device[i].by_link) gain = fmax(gain, LINK_GAIN);
    if (!p->device[i].by_ring) continue;
    gain = fmax(gain, RING_GAIN);
    if (!p->cpu_alone.samples && rates_part(p, i) < TRIAL_RATES) gain = INFINITY;
  }
  return gain;
}

/* Whether the devices of a choice with the CPU are all behind links, for a product. */
static bool by_links(const hx__cost_inputs *p, unsigned choice) {
  const hx__choice c = hx__choice_of(choice, p->devices);
  bool all = c.cpu && c.devices;
  for (unsigned i = 0; all && i < c.devices; i++) all = p->device[i].by_link;
  return all;
}

static bool unseen_by_links(const hx__cost_inputs *p, unsigned choice, const hx__candidate *o) {
  return !o->samples && by_links(p, choice);
}

/* Whether a choice has no device that the best one has not. */
static bool is_within(const hx__decision *d, unsigned choice, unsigned devices) {
  return hx__choice_of(choice, devices).devices <= hx__choice_of(d->best, devices).devices;
}

/* By how much of its logarithm a choice may be better than expected, against the best one. A device that is faster than
 * expected makes every choice faster that it takes part in: among those only what goes beyond their parts counts.
 * Nobody hopes for more than the parts of what a link may keep waiting promise. */
static double hope(const hx__cost_inputs *p, const hx__decision *d, unsigned choice) {
  if (unseen_by_links(p, choice, &d->outlook[choice])) return 0.0;
  return is_within(d, choice, p->devices) ? d->outlook[choice].doubt : d->outlook[choice].sigma;
}

/* What the CPU has begun it ends: the least part of a large product takes it longer than a card all of it, and filling
 * rings slows it further. So the devices alone are preferred where it brings little, and seen first. */
static void leave_to_links(const hx__cost_inputs *p, hx__decision *d) {
  if (p->objective != HX__OBJECTIVE_TIME || !by_links(p, d->best)) return;
  const hx__candidate *const both = &d->outlook[d->best], *const alone = both + p->devices;
  const bool little =
      both->samples ? alone->ns < (1.0 + LINK_GAIN) * both->ns : alone->parts_ns < (1.0 + LINK_FIRST) * both->parts_ns;
  if (little) d->best += p->devices;
}

double hx__first_trial_fraction(const hx__cost_inputs *p, unsigned i) {
  const hx__estimate *const e = &p->device[i].beside;
  if (!p->device[i].by_ring || (e->samples && !e->borrowed) || !(e->ns_per_unit > 0.0)) return 1.0;
  return rates_part(p, i) < (p->cpu_beside.samples ? TRIAL_RATES : BLIND_RATES) ? TRIAL_PART : 1.0;
}

/* Rates of parts that share cores change from moment to moment, and parts seen at their best make no whole: what such
 * calls took is what they take, but where the parts have become slower by far since then. */
static void remember(const hx__cost_inputs *p, const hx__estimate *took, hx__candidate *o) {
  if (took->samples < TRIALS) return;
  const double ns = hx__estimate_ns(took, p->units, false);
  if (o->ns > SLOWED * ns) return;
  o->ns = ns;
  o->doubt = fmin(took->sigma / sqrt(fmin(took->samples, 9.0)), KNOWN_BIAS);
  o->sigma = hypot(o->doubt, KNOWN_BIAS);
}

static hx__candidate look(const hx__cost_inputs *p, unsigned choice) {
  const hx__estimate *const measured = choice ? &p->whole[choice] : &p->cpu_alone, *const took = &p->took[choice];
  const bool own = !measured->borrowed; /* the CPU's time may be that of another class: what it was there says little */
  double sigma = 1.0;
  hx__candidate o = {.parts_ns = from_parts(p, hx__choice_of(choice, p->devices), &sigma),
                     .watts = measured->watts,
                     .metering = p->objective != HX__OBJECTIVE_TIME && measured->metering,
                     .samples = own ? measured->samples : 0,
                     .turn = own ? measured->turn : 0,
                     .best_turn = own ? measured->best_turn : 0};
  /* The spread from call to call is no doubt about the mean. */
  o.doubt = o.samples ? measured->sigma / sqrt(fmin(o.samples, 4.0))
            : choice  ? (choice > p->devices ? apart_bias(p) : PARTS_BIAS)
                      : fmax(measured->sigma, own ? apart_bias(p) : APART_BIAS);
  if (o.samples) o.doubt = choice && o.samples == 1 ? ONCE_BIAS : fmin(o.doubt, KNOWN_BIAS);
  o.ns = choice && o.samples ? hx__estimate_ns(measured, o.parts_ns, false) : o.parts_ns;
  o.sigma = choice ? sqrt(sigma * sigma + o.doubt * o.doubt) : o.doubt;
  const hx__choice c = hx__choice_of(choice, p->devices);
  if (c.cpu && c.devices && p->cpu_alone.samples && !p->cpu_alone.borrowed && isfinite(o.ns)) {
    double most = fmax(log(o.ns / least_ns(p, c)), 0.0);
    if (!o.samples && was_tried(p, c.devices)) most = fmin(most, KNOWN_BIAS); /* and what they take from each other */
    o.sigma = fmin(o.sigma, most);
    o.doubt = fmin(o.doubt, most);
  }
  o.promised_ns = o.ns;
  const hx__estimate cpu = cpu_beside(p);
  const double without = hx__estimate_ns(&cpu, p->units, false) + p->fetch_ns;
  o.idle = c.cpu && c.devices && isfinite(o.parts_ns) && o.parts_ns >= without;
  if (o.idle && took->samples) o.turn = took->turn; /* of calls that were the CPU's, whatever they took */
  if (choice && !o.idle) remember(p, took, &o);
  return o;
}

/* Who is not asked: the CPU and devices together, where they would share the work badly. */
static bool is_out(const hx__cost_inputs *p, unsigned choice) { return p->apart && choice && choice <= p->devices; }

/* From time to cost. usual: watts of a choice that was never measured. */
static void weigh(hx__objective objective, double usual, hx__candidate *o) {
  o->cost = o->ns;
  if (objective == HX__OBJECTIVE_TIME) return;
  const double power = o->watts > 0.0 ? o->watts : usual, doubt = o->watts > 0.0 ? POWER_SIGMA : BLIND_SIGMA;
  const double times = objective == HX__OBJECTIVE_EDP ? 2.0 : 1.0;
  o->cost *= objective == HX__OBJECTIVE_EDP ? o->ns * power : power;
  o->sigma = hypot(times * o->sigma, doubt);
  o->doubt = hypot(times * o->doubt, doubt);
}

/* Calls in a row that measuring a choice takes. */
static double row_of(const hx__cost_inputs *p, const hx__candidate *o, unsigned choice) {
  if (p->objective == HX__OBJECTIVE_TIME) return choice ? 2.0 : 1.0; /* as is_half_tried */
  if (!(o->ns < HX__ENERGY_LEAST_NS)) return 1.0;
  return fmin(HX__ENERGY_LEAST_NS / o->ns, MOST_ROW) + 1.0;
}

/* Whether it was done just now, and once more tells what it draws. */
static bool in_row(const hx__decision *d, const hx__candidate *o) { return o->metering && o->turn + 1 == d->turn; }

/* Whether it was tried or checked just now, and has to be once more: the first call of devices alone after calls of the
 * CPU finds their clocks low, buffers cold, and threads of the team that wait for more work on all cores. */
static bool is_half_tried(const hx__cost_inputs *p, const hx__decision *d, unsigned choice) {
  return p->objective == HX__OBJECTIVE_TIME && choice && choice == p->just_done &&
         d->outlook[choice].ns < MOST_SLOW * d->outlook[d->best].ns;
}

/* Calls until one that was the best choice is checked: as many as it was none by then, so that one that looked slow for
 * once comes back at once, and one that has become slow costs little. */
static double lately(const hx__cost_inputs *p, const hx__candidate *o, unsigned choice, double cost) {
  if (!o->best_turn || o->samples <= TRIALS || o->turn < o->best_turn || p->objective != HX__OBJECTIVE_TIME)
    return INFINITY;
  return fmax((double)(o->turn - o->best_turn), 1.0 + cost * row_of(p, o, choice) / LATELY_BUDGET);
}

/* Calls until the CPU alone is checked of which only a few calls are known, which may all have been without a core:
 * what it seems to cost would keep it from being checked for long. Not in a row, for such a core is taken for a while.
 */
static double unsure(const hx__decision *d, unsigned choice) {
  const hx__candidate *const o = &d->outlook[choice], *const best = &d->outlook[d->best];
  const bool few = choice == 0 && o->samples && o->samples <= FEW;
  const bool by_bad_luck = o->ns - best->ns < TAKEN_NS && (o->samples == 1 || o->ns < MOST_SLOW * best->ns);
  return few && by_bad_luck ? UNSURE * ldexp(1.0, 2 * (int)o->samples - 2) : INFINITY;
}

/* Whether a choice that is not the best is due now. */
static bool is_due(const hx__cost_inputs *p, const hx__decision *d, unsigned choice, hx__reason *reason) {
  const hx__candidate *const o = &d->outlook[choice], *const best = &d->outlook[d->best];
  const bool known = isfinite(o->ns);
  *reason = HX__REASON_RECHECK;
  if (o->idle) return (double)(d->turn - o->turn) > IDLE_CALLS;
  *reason = HX__REASON_TRY;
  if (is_half_tried(p, d, choice)) return true;
  if (known && is_within(d, choice, p->devices) && best->samples < TRIALS) return false; /* the best one first */
  double cost = known ? fmax(o->cost / best->cost - 1.0, 0.0) : 1.0;
  if (known && unseen_by_links(p, choice, o)) cost = fmax(cost, LINK_COST);
  const double promised = unseen_by_links(p, choice, o) ? best->parts_ns : best->promised_ns;
  const double least = best->cost * (o->samples ? 1.0 : fmin(promised / best->ns, 1.0)); /* like with like */
  const bool hopeful = !known || o->cost * exp(-hope(p, d, choice)) < least * (1.0 - gain_of(p, choice, o));
  *reason = hopeful ? HX__REASON_TRY : HX__REASON_RECHECK;
  if (hopeful && o->samples < TRIALS) return true;
  const double least_calls = hopeful ? fmin(fmax(SOON, MORE * o->samples), LATER) : LATER;
  const double usual = fmax(least_calls, cost * row_of(p, o, choice) / BUDGET);
  return in_row(d, o) || (double)(d->turn - o->turn) > fmin(fmin(usual, lately(p, o, choice, cost)), unsure(d, choice));
}

void hx__decide(const hx__cost_inputs *p, hx__decision *d) {
  d->turn = 0;
  d->choices = 2u * p->devices + 1u;
  d->best = 0;
  double usual = 0.0;
  for (unsigned i = 0; i < d->choices; i++) {
    d->outlook[i] = look(p, i);
    if (d->outlook[i].turn > d->turn) d->turn = d->outlook[i].turn;
    if (!(usual > 0.0)) usual = d->outlook[i].watts;
  }
  for (unsigned i = 0; i < d->choices; i++) {
    weigh(p->objective, usual > 0.0 ? usual : 1.0, &d->outlook[i]);
    const bool more = d->best == 0 || hx__choice_of(d->best, p->devices).devices < hx__choice_of(i, p->devices).devices;
    const double doubt = i > p->devices && p->objective == HX__OBJECTIVE_TIME ? SURE * d->outlook[i].doubt : 0.0;
    const double gain = (more || doubt > 0.0 ? gain_of(p, i, &d->outlook[i]) : 0.0) + doubt;
    if (is_out(p, i) || d->outlook[i].idle) continue;
    if (i && d->outlook[i].cost * (1.0 + gain) < d->outlook[d->best].cost) d->best = i;
  }
  leave_to_links(p, d);
  d->turn++;
  d->choice = d->best;
  d->reason = HX__REASON_BEST;
  double least = INFINITY;
  for (unsigned i = 0; i < d->choices; i++) { /* of those that are due the most promising */
    hx__reason reason;
    if (i == d->best || is_out(p, i) || !is_due(p, d, i, &reason)) continue;
    double promise = isfinite(d->outlook[i].ns) ? d->outlook[i].cost * exp(-hope(p, d, i)) : 0.0;
    if (in_row(d, &d->outlook[i]) || is_half_tried(p, d, i)) promise = -1.0;
    if (promise >= least) continue;
    least = promise;
    d->choice = i;
    d->reason = reason;
  }
}
