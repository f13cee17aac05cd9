/* SPDX-License-Identifier: Apache-2.0
 * The filter. Its state is s = (latency, idle, rate, gap) with the covariance P, rate being ns_per_unit. A sample of u
 * units and t nanoseconds, a part `hidden` of whose launch passed behind the chunk before it, is expected to take
 *     T = h . s,   h = (1 - hidden, 1 if the device was idle else 0, u, hidden)
 * and its innovation is e = ln(t / T). With v, the mean square of past innovations, and e', the clipped innovation:
 *     S = h . P h + v T^2,   K = P h / S,   s += K (T exp(e') - T),   P -= K (P h)^T
 * P[rate][rate] grows by (DRIFT rate)^2 with each sample and by AGE_VARIANCE rate^2 with each minute.
 *
 * Innovations are clipped (Huber), because times have outliers: another program may use a core for a while. Up to
 * ln 1.5 they are not clipped. Beyond that, the limit depends on r, the number of consecutive outliers of the same sign
 * with this one, because outliers that repeat are a change:
 *     too long:   |e'| <= ln 1.5 * 2^(d - 1)    d: see limit_doublings
 *     too short:  |e'| <= ln 1.5 * 2 * 4^(r - 1)
 * Disturbances make nothing faster, and a device that seems slow is rarely measured again, so times that are too short
 * count sooner. When the limit rises, P[rate][rate] grows by (SHIFT rate)^2. */
#include "runtime/sched/rate_filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/energy.h"

#define OUTLIER 0.405   /* ln 1.5 */
#define SHARED_CORE 1.1 /* ln 3: how much longer a part takes if another program uses its core */
#define WELL_KNOWN 8u   /* samples */
#define YOUNG 4u        /* samples: the first ones are those of a cold device */
#define YOUNG_SIGMA 0.2
#define SHIFT 0.5         /* relative standard deviation of a rate that has changed */
#define DRIFT 0.03        /* the same from sample to sample */
#define AGE_VARIANCE 0.01 /* of the logarithm of a rate, for each minute */
#define MOST_AGE_SIGMA 0.5
#define LEAST_VARIANCE 4e-4 /* of innovations */
#define MOST_VARIANCE 0.25
#define FIRST_VARIANCE 0.0025
#define VARIANCE_WEIGHT 0.2 /* of a new innovation */
#define MOST_EXPONENT 43.0  /* of plausible times and rates: e^43 */
#define POWER_WEIGHT 0.3    /* of a new measurement of power */
#define MOST_WATTS 1e6

enum { LATENCY, IDLE, RATE, GAP };

bool hx__is_plausible(double x) { return x > 0.0 && isfinite(x) && fabs(log(x)) < MOST_EXPONENT; }

/* The variance that time has added to the logarithm of the rate since the last sample. */
static double age_variance(const hx__model_entry *e, uint64_t now_s) {
  const double minutes = now_s > e->date ? (double)(now_s - e->date) / 60.0 : 0.0;
  return fmin(AGE_VARIANCE * minutes, MOST_AGE_SIGMA * MOST_AGE_SIGMA);
}

hx__estimate hx__filter_estimate(const hx__model_entry *e, uint64_t now_s) {
  if (!e) return (hx__estimate){.samples = 0};
  const double rate = e->state[RATE], rate_variance = e->covariance[RATE][RATE] / (rate * rate);
  return (hx__estimate){.ns_per_unit = rate,
                        .latency_ns = e->state[LATENCY],
                        .idle_ns = e->state[IDLE],
                        .gap_ns = e->state[GAP],
                        .sigma = sqrt(rate_variance + e->log_variance + age_variance(e, now_s)),
                        .samples = e->samples,
                        .date = e->date,
                        .call_number = e->call_number,
                        .best_call_number = e->best_call_number,
                        .watts = e->watts,
                        .metering = e->metered_ns > 0.0};
}

void hx__filter_begin(hx__model_entry *e, const hx__rate_key *key, const hx__estimate *prior, hx__sample s) {
  const double rate = prior->ns_per_unit > 0.0 ? prior->ns_per_unit : s.ns / s.units;
  const double sigma = prior->ns_per_unit > 0.0 ? fmax(prior->sigma, 0.2) : 2.0;
  memset(e, 0, sizeof *e);
  e->key = *key;
  e->state[LATENCY] = prior->latency_ns;
  e->state[IDLE] = prior->idle_ns;
  e->state[RATE] = rate;
  e->state[GAP] = prior->gap_ns;
  e->covariance[LATENCY][LATENCY] = 0.25 * prior->latency_ns * prior->latency_ns;
  e->covariance[IDLE][IDLE] = 2.0 * prior->latency_ns * prior->latency_ns;
  e->covariance[RATE][RATE] = rate * rate * sigma * sigma;
  e->covariance[GAP][GAP] = prior->gap_ns * prior->gap_ns;
  e->log_variance = FIRST_VARIANCE;
}

/* The number of consecutive outliers of the same sign, including a new one, at most HX__MOST_OUTLIERS. */
static int32_t same_sign_run(int32_t outliers, bool too_long) {
  const bool same_sign = outliers && (outliers > 0) == too_long;
  if (!same_sign) return 1;
  return abs(outliers) < HX__MOST_OUTLIERS ? abs(outliers) + 1 : HX__MOST_OUTLIERS;
}

/* How often the limit of a time that is too long is doubled: by each outlier after the first, but not by the second if
 * another program's use of a core explains it and the rate is well known; once more for each doubling of the cost of
 * such a core. */
static int32_t limit_doublings(const hx__model_entry *e, int32_t run, double log_ratio, double excess_ns) {
  if (run < 2) return 0;
  if (log_ratio < SHARED_CORE && excess_ns < HX__PREEMPTED_NS && e->samples > WELL_KNOWN) return run - 2;
  return run - 1 + (excess_ns > HX__PREEMPTED_NS ? ilogb(excess_ns / HX__PREEMPTED_NS) : 0);
}

/* The clipped innovation e' of the comment at the top. */
static double clip_innovation(hx__model_entry *e, double log_ratio, double excess_ns) {
  const bool too_long = log_ratio > 0.0;
  if (fabs(log_ratio) <= OUTLIER || e->samples < 1) {
    e->outliers = 0;
    return log_ratio;
  }
  const int32_t run = same_sign_run(e->outliers, too_long);
  e->outliers = too_long ? run : -run;
  const int32_t doublings = limit_doublings(e, run, log_ratio, excess_ns);
  const double limit = OUTLIER * (too_long ? ldexp(0.5, doublings) : ldexp(2.0, 2 * (run - 1)));
  if (doublings > 0 || !too_long) e->covariance[RATE][RATE] += SHIFT * SHIFT * e->state[RATE] * e->state[RATE];
  return fmin(fmax(log_ratio, -limit), limit);
}

/* One of the first samples was far faster than expected: the earlier samples were those of a cold device. */
static void start_over_at(hx__model_entry *e, double times) {
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) e->state[i] *= times;
  e->covariance[RATE][RATE] = e->state[RATE] * e->state[RATE] * YOUNG_SIGMA * YOUNG_SIGMA;
  e->outliers = 0;
}

/* A launch does not take less than no time, nor more than the sample. */
static void limit_state(hx__model_entry *e, const double *h, double old_rate, hx__sample s) {
  const double most_latency = 0.95 * s.ns;
  e->state[LATENCY] = fmin(fmax(e->state[LATENCY], 0.0), h[LATENCY] > 0.0 ? most_latency / h[LATENCY] : INFINITY);
  e->state[IDLE] = fmax(e->state[IDLE], 0.0);
  e->state[GAP] = fmin(fmax(e->state[GAP], 0.0), e->state[LATENCY]);
  e->state[RATE] = fmin(fmax(e->state[RATE], 0.02 * s.ns / s.units), 2.0 * fmax(old_rate, s.ns / s.units));
}

static void update_state(hx__model_entry *e, hx__sample s) {
  const double h[HX__MODEL_STATES] = {1.0 - s.hidden, s.idle, s.units, s.hidden};
  double expected = 0.0, ph[HX__MODEL_STATES], variance;
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) expected += h[i] * e->state[i];
  if (!(expected > 0.0)) expected = s.ns;
  if (e->samples && e->samples <= YOUNG && s.ns < expected * exp(-OUTLIER)) {
    start_over_at(e, s.ns / expected);
    expected = s.ns;
  }
  const double innovation = clip_innovation(e, log(s.ns / expected), s.ns - expected);
  s.ns = expected * exp(innovation);
  const double rate = e->state[RATE], weight = e->samples ? VARIANCE_WEIGHT : 0.0;
  e->covariance[RATE][RATE] += DRIFT * DRIFT * rate * rate;
  variance = e->log_variance * expected * expected;
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) {
    ph[i] = 0.0;
    for (unsigned j = 0; j < HX__MODEL_STATES; j++) ph[i] += e->covariance[i][j] * h[j];
    variance += h[i] * ph[i];
  }
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) {
    e->state[i] += ph[i] / variance * (s.ns - expected);
    for (unsigned j = 0; j < HX__MODEL_STATES; j++) e->covariance[i][j] -= ph[i] * ph[j] / variance;
  }
  limit_state(e, h, rate, s);
  const double moved = e->log_variance + weight * (innovation * innovation - e->log_variance);
  e->log_variance = fmin(fmax(moved, LEAST_VARIANCE), MOST_VARIANCE);
  if (e->samples < UINT32_MAX) e->samples++;
}

void hx__filter_learn(hx__model_entry *e, hx__sample s, uint64_t now_s) {
  const hx__rate_key key = e->key;
  e->covariance[RATE][RATE] += age_variance(e, now_s) * (e->samples > 0) * e->state[RATE] * e->state[RATE];
  update_state(e, s);
  if (!hx__filter_is_sound(e)) {
    hx__filter_begin(e, &key, &hx__prior_call, s);
    e->samples = 1;
  }
  e->date = now_s;
  if (s.call_number) e->call_number = s.call_number;
  if (s.best) e->best_call_number = s.call_number;
}

void hx__filter_learn_power(hx__model_entry *e, double joules, double ns) {
  e->joules += joules;
  e->metered_ns += ns;
  if (e->metered_ns < HX__ENERGY_LEAST_NS) return;
  const double watts = e->joules / e->metered_ns * 1e9;
  if (watts > 0.0 && watts < MOST_WATTS) e->watts += (e->watts > 0.0 ? POWER_WEIGHT : 1.0) * (watts - e->watts);
  e->joules = e->metered_ns = 0.0;
}

bool hx__filter_is_sound(const hx__model_entry *e) {
  bool sound = hx__is_plausible(e->state[RATE]) && e->log_variance >= LEAST_VARIANCE &&
               e->log_variance <= MOST_VARIANCE && e->state[LATENCY] >= 0.0 && e->state[IDLE] >= 0.0 &&
               e->state[GAP] >= 0.0 && isfinite(e->state[LATENCY] + e->state[IDLE] + e->state[GAP]) &&
               e->watts >= 0.0 && e->watts < MOST_WATTS && e->joules >= 0.0 && isfinite(e->joules) &&
               e->metered_ns >= 0.0 && e->metered_ns < HX__ENERGY_LEAST_NS && e->outliers <= HX__MOST_OUTLIERS &&
               e->outliers >= -HX__MOST_OUTLIERS;
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) {
    for (unsigned j = 0; j < HX__MODEL_STATES; j++) sound = sound && isfinite(e->covariance[i][j]);
    sound = sound && e->covariance[i][i] >= 0.0;
  }
  return sound && isfinite(e->covariance[RATE][RATE] / (e->state[RATE] * e->state[RATE]));
}
