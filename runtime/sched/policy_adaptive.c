/* SPDX-License-Identifier: Apache-2.0
 * adaptive: chunks such that all end together. What is fair for a device that starts now is what it has done by the
 * time T at which all would end (finish.h). How much of it is taken at once depends on what one more launch costs
 * (little where it is queued behind another) and on how well the rate is known:
 *  - where launches are cheap, a part of it. What is in flight cannot be had back, so that the part is one of all that
 *    the device has before it, the smaller the less the rate is certain, and half as much where nothing is in flight:
 *    the first two chunks are like long, and the end of one shows the rate while the other is computed. No chunk is
 *    less than a launch is worth at a rate lower by one sigma, nor an eighth of the device's part of the run, for short
 *    launches leave a device half idle.
 *  - where one more launch costs more than an error in the rate is expected to, all of it, or rather the amount that
 *    makes the later of the two ends earliest in the mean: a slice more delays the device by 1 / rate where it is late,
 *    and spares the others 1 / rates where it is not, so that it should be late as often as its part of all rates is
 *    (the newsvendor's rule; the others' end moves, too, hence the factor of their part). Where the error weighs more,
 * a part first. A device whose next launch would gain next to nothing is done: what little it brings is noise, and what
 * so short a launch shows of the device (a least time of its own, the end of a stall) would be believed of longer ones.
 */
#include <math.h>

#include "runtime/sched/policy.h"

#define FIRST_PROBE (1.0 / 16.0) /* of the run, where no rate is known */
#define LAUNCHES 13.0            /* what a chunk takes, where there are several, over what its launch costs */
#define LEAST_PART 0.4           /* of what a device has before it, in flight at once */
#define FIRST_PART 0.5           /* at most, before its rate was seen */
#define MOST_PART 0.6            /* at most */
#define LEAST_CHUNK 0.125        /* of the device's part of the run */
#define MARGIN 2.0               /* of what a short chunk saves, over its launch: it saves less where storing is slow */
#define LEAST_LAST (1.0 / 32.0)  /* of the run: the last chunk of a device alone, */
#define LAUNCHES_LAST 19.0       /* and as LAUNCHES */
#define GAIN 0.1                 /* of a launch: less is not worth one */
#define LEAST_GAIN 0.005 /* likewise of the run: so little is but noise, and a short launch misleads the model */
#define SPLIT_GAIN 0.5   /* of that: what two launches are to bring over one */
#define HALF_NORMAL 0.4

/* Quantile of the standard normal distribution, by the logistic one. */
static double quantile(double p) { return p <= 0.001 ? -4.0 : p >= 0.999 ? 4.0 : log(p / (1.0 - p)) / 1.702; }

static double clamp(double x, double least, double most) { return x < least ? least : x > most ? most : x; }

/* The part of what is fair to take now. phi: this device's part of all rates; gain_ns: less is not worth a launch. */
static double part(const hx__view *v, double fair, double phi, double gain_ns) {
  const double exposed = clamp(1.0 - 2.0 * v->sigma, LEAST_PART, v->launches ? MOST_PART : FIRST_PART);
  const double want = v->in_flight > 0.0 ? exposed * (v->in_flight + fair) - v->in_flight : 0.5 * exposed * fair;
  const double slower = exp(-v->sigma), launched = slower * v->rate * v->launch_ns;
  const double worth = fmax(LAUNCHES * launched, phi * (double)v->total * LEAST_CHUNK);
  const double some = fmax(want, worth) / fair;
  if (fair >= 2.0 * worth) return fair * (1.0 - some) < worth ? 1.0 - worth / fair : some;
  /* A rate lower by one sigma, and by how much a device is late in the mean. */
  const double others = (1.0 - phi) / (slower * phi + 1.0 - phi);
  const double late = HALF_NORMAL * v->sigma * (1.0 + v->sigma) * fair / v->rate;
  if (late * others > fmax(v->launch_ns * phi, SPLIT_GAIN * gain_ns)) return fmin(some, 1.0);
  return exp(v->sigma * (1.0 - phi) * quantile(phi));
}

/* While the results of a chunk are stored the next one is computed, and while those of the last one are, nothing. So
 * that one is short: at the end half of what is left is taken, as long as that saves more than the launch costs. */
size_t hx__policy_alone(const hx__view *v) {
  const double left = (double)v->left, cap = v->rate > 0.0 && isfinite(v->rate) ? v->rate * HX__LONGEST_NS : INFINITY;
  const double most = fmin(fmin(left, (double)v->most), cap), half = 0.5 * left;
  const double worth = fmax(LAUNCHES_LAST * v->rate * v->launch_ns, (double)v->total * LEAST_LAST);
  const bool pays = v->store_ns * half > MARGIN * v->launch_ns && half >= worth && half >= (double)v->grain;
  return hx__policy_fit(v, pays && half < most ? half : most);
}

size_t hx__policy_adaptive(const hx__view *v) {
  if (v->left == 0 || (v->trial && v->taken >= v->trial)) return 0;
  if (!(v->rate > 0.0) || !isfinite(v->rate)) return hx__policy_fit(v, (double)v->total * FIRST_PROBE);
  const double left = (double)v->left, grain = (double)v->grain, cap = v->rate * HX__LONGEST_NS;
  hx__participant all[HX_MAX_DEVICES + 2];
  double rates = 0.0;
  for (unsigned i = 0; i < v->others; i++) {
    all[i] = v->party[i];
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
  double take = fair * part(v, fair, v->rate / (v->rate + rates), gain_ns);
  const double most = fair + 0.5 * (left - fair); /* or the others would show nothing */
  if (take > most) take = most;
  if (take > cap) take = cap;
  if (v->trial && take > (double)(v->trial - v->taken)) take = (double)(v->trial - v->taken);
  return hx__policy_fit(v, floor(take / grain + 0.5) * grain);
}
