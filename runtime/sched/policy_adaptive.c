/* SPDX-License-Identifier: Apache-2.0
 * adaptive: chunks such that all participants end at the same time. The fair share of a device that starts now is what
 * it would finish by the time T at which all would end (finish.h). How much of it is taken at once depends on the cost
 * of one more launch, which is low if the launch is queued behind another, and on how well the rate is known:
 *  - If launches are cheap, a part of the fair share is taken. A chunk in flight cannot be taken back, so the part is
 *    one of all that the device has still to do, with what is in flight. The less certain the rate, the smaller the
 *    part, and it is half as large if nothing is in flight: then the first two chunks have the same length, and the end
 *    of the first shows the rate while the second is computed. No chunk is shorter than LAUNCHES launches at a rate
 *    lower by one sigma, nor than an eighth of the device's part of the run: short launches leave a device half idle.
 *  - If one more launch costs more than the error in the rate is expected to cost, all is taken at once: the amount
 *    that minimises the expected later end of the two sides. One slice more delays the device by 1 / rate if it ends
 *    last, and saves the others 1 / rates if it does not. So the device should end last with a probability of its part
 *    of all rates (the newsvendor's rule; the end of the others moves, too, hence the factor of their part). If the
 *    error costs more, a part is taken first.
 *
 * A device whose next launch would gain almost nothing gets no more chunks. The gain would be within the noise, and the
 * time of so short a launch (a minimum launch time, the end of a stall) would mislead the model about longer ones. */
#include <math.h>

#include "runtime/sched/policy.h"

#define FIRST_PROBE (1.0 / 16.0) /* of the run: the first chunk if no rate is known */
#define LAUNCHES 13.0            /* the least time of one of several chunks, in launches */
/* The size of a device's work in flight, as a part of all that it still has to do: the least, the most before its rate
 * was observed, and the most. */
#define LEAST_PART 0.4
#define FIRST_PART 0.5
#define MOST_PART 0.6
#define LEAST_CHUNK 0.125       /* of the device's part of the run */
#define MARGIN 2.0              /* A chunk is halved at the end of a run if that saves this many launches. */
#define LEAST_LAST (1.0 / 32.0) /* of the run: the last chunk of a device alone */
#define LAUNCHES_LAST 19.0      /* the least time of that chunk, in launches */
/* The most of a chunk whose results cross a link: this part of the run, or slices that take so long or as long as
 * LAUNCHES launches, if those are more; a chunk costs the host 0.1 ms. docs/measurements/link-chunks.tsv has both
 * values beside others. */
#define LINK_PART (1.0 / 6.0)
#define LINK_NS 1e6
/* A launch has to gain this part of its own time, and this part of the run. Less is noise. */
#define GAIN 0.1
#define LEAST_GAIN 0.005
#define SPLIT_GAIN 0.5  /* Two launches in place of one have to gain this part of that. */
#define HALF_NORMAL 0.4 /* the mean of the positive part of a standard normal variable */

/* Quantile of the standard normal distribution, approximated by the logistic one. */
static double quantile(double p) { return p <= 0.001 ? -4.0 : p >= 0.999 ? 4.0 : log(p / (1.0 - p)) / 1.702; }

static double clamp(double x, double least, double most) { return x < least ? least : x > most ? most : x; }

/* The part of the fair share to take now. phi: this device's part of all rates; gain_ns: the least gain of a launch. */
static double part_of_fair_share(const hx__view *v, double fair, double phi, double gain_ns) {
  const double exposed = clamp(1.0 - 2.0 * v->sigma, LEAST_PART, v->launches ? MOST_PART : FIRST_PART);
  const double want = v->in_flight > 0.0 ? exposed * (v->in_flight + fair) - v->in_flight : 0.5 * exposed * fair;
  const double slower = exp(-v->sigma), launched = slower * v->rate * v->launch_ns;
  const double worth = fmax(LAUNCHES * launched, phi * (double)v->total * LEAST_CHUNK);
  const double some = fmax(want, worth) / fair;
  if (fair >= 2.0 * worth) return fair * (1.0 - some) < worth ? 1.0 - worth / fair : some;
  /* How long the other participants wait on average because the device's rate is uncertain. */
  const double others = (1.0 - phi) / (slower * phi + 1.0 - phi);
  const double late = HALF_NORMAL * v->sigma * (1.0 + v->sigma) * fair / v->rate;
  if (late * others > fmax(v->launch_ns * phi, SPLIT_GAIN * gain_ns)) return fmin(some, 1.0);
  return exp(v->sigma * (1.0 - phi) * quantile(phi));
}

/* The most slices of a chunk whose results cross a link. Nothing is computed while the operands of the first chunk
 * cross, and no result while the first chunk is computed, so chunks are short from the first one on. But the first one
 * is computed while the operand that every chunk needs arrives in parts, and should take as long as that. */
static double most_over_link(const hx__view *v) {
  const double even = fmax((double)v->total * LINK_PART, fmax(LINK_NS, LAUNCHES * v->launch_ns) * v->rate);
  return v->taken ? even : fmax(even, v->shared_ns * v->rate);
}

/* While the results of a chunk are stored, the next chunk is computed, but nothing is computed while those of the last
 * one are stored. So the last chunks are short: at the end half of what is left is taken, as long as that saves more
 * than a launch costs. */
size_t hx__policy_alone(const hx__view *v) {
  const double left = (double)v->left, cap = v->rate > 0.0 && isfinite(v->rate) ? v->rate * HX__LONGEST_NS : INFINITY;
  const double most = fmin(fmin(left, (double)v->most), cap), half = 0.5 * left;
  const double worth = fmax(LAUNCHES_LAST * v->rate * v->launch_ns, (double)v->total * LEAST_LAST);
  const bool pays = v->store_ns * half > MARGIN * v->launch_ns && half >= worth && half >= (double)v->grain;
  const double next = pays && half < most ? half : most;
  return hx__policy_fit(v, v->by_link ? fmin(next, most_over_link(v)) : next);
}

size_t hx__policy_adaptive(const hx__view *v) {
  if (v->left == 0 || (v->trial && v->taken >= v->trial)) return 0;
  if (!(v->rate > 0.0) || !isfinite(v->rate)) return hx__policy_fit(v, (double)v->total * FIRST_PROBE);
  const double left = (double)v->left, grain = (double)v->grain, cap = v->rate * HX__LONGEST_NS;
  hx__participant all[HX_MAX_DEVICES + 2];
  double rates = 0.0;
  for (unsigned i = 0; i < v->others; i++) {
    all[i] = v->other[i];
    if (all[i].rate > 0.0 && isfinite(all[i].rate)) rates += all[i].rate;
  }
  all[v->others] = (hx__participant){v->rate, v->ready_ns};
  const double without = hx__finish_ns(left, all, v->others);
  if (!isfinite(without)) return hx__policy_alone(v);
  const double end = hx__finish_ns(left, all, v->others + 1);
  const double gain_ns = fmax(GAIN * v->launch_ns, LEAST_GAIN * (double)v->total / (v->rate + rates));
  if (!(end < without - gain_ns)) return 0;
  const double fair = v->rate * (end - v->ready_ns);
  if (fair < grain * 0.5) return 0;
  double take = fair * part_of_fair_share(v, fair, v->rate / (v->rate + rates), gain_ns);
  const double most = fair + 0.5 * (left - fair); /* so that the rates of the others can be observed, too */
  if (take > most) take = most;
  if (take > cap) take = cap;
  if (v->trial && take > (double)(v->trial - v->taken)) take = (double)(v->trial - v->taken);
  return hx__policy_fit(v, floor(take / grain + 0.5) * grain);
}
