/* SPDX-License-Identifier: Apache-2.0
 * The table of measurements: a set-associative one, in which a full set gives up its oldest entry. */
#include "runtime/sched/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/energy.h"
#include "runtime/base/thread.h"

#define WAYS 16u
#define REACH 4u         /* size classes that may stand in for one another */
#define REACH_SIGMA 0.15 /* for each class of distance */
#define SPIKE 0.405      /* ln 1.5: a sample farther off than this is doubted */
#define MOST_DOUBTED 8
#define TAKEN 1.1 /* ln 3: by what somebody who shares a core may make calls longer, */
#define YOUNG 4u  /* samples: the first ones find a device cold */
#define YOUNG_SIGMA 0.2
#define WELL_KNOWN 8u
#define SHIFT 0.5         /* relative standard deviation of a rate that has changed */
#define DRIFT 0.03        /* likewise, from sample to sample */
#define AGE_VARIANCE 0.01 /* of a minute */
#define AGE_SIGMA 0.5     /* at most: what is old is a prior still */
#define LEAST_SPREAD 4e-4
#define MOST_SPREAD 0.25
#define FIRST_SPREAD 0.0025
#define SPREAD_WEIGHT 0.2
#define MOST_EXPONENT 43.0 /* of times and rates in an entry that makes sense: e^43 */
#define POWER_WEIGHT 0.3   /* of a new measurement of power */
#define MOST_WATTS 1e6
#define BEGUN_NS 1.0 /* of measuring power */

#define NO_FASTER 1.1 /* in company */
#define STALE_S \
  60u /* measurements nearer than this do not limit one another: what copies may be slower still in company */
#define OTHER_COMPANY 0.2 /* of sigma, for what another company has told */

enum { LATENCY, IDLE, SLOPE, GAP };

#define PRIOR_LATENCY_NS 50e3
#define PRIOR_GAP 0.1 /* of a launch */

const hx__estimate hx__prior_device = {.latency_ns = PRIOR_LATENCY_NS,
                                       .gap_ns = PRIOR_GAP * PRIOR_LATENCY_NS,
                                       .sigma = 0.7},
                   hx__prior_cpu = {.latency_ns = 4e3, .sigma = 0.5}, hx__prior_call = {.samples = 0};

hx__estimate hx__prior_of(double latency_ns, double ns_per_unit) {
  hx__estimate e = hx__prior_device;
  if (latency_ns > 0.0) {
    e.latency_ns = latency_ns;
    e.gap_ns = PRIOR_GAP * latency_ns;
  }
  e.ns_per_unit = ns_per_unit > 0.0 && isfinite(ns_per_unit) ? ns_per_unit : 0.0;
  return e;
}

uint32_t hx__size_class(uint64_t units) { return units ? 63u - (uint32_t)__builtin_clzll(units) : 0; }

static uint64_t mixed(uint64_t h) { /* splitmix64, Steele et al., OOPSLA 2014 */
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return h ^ h >> 31;
}

uint64_t hx__identity(const char *name, const char *driver) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u;
  h = (h ^ 1) * 0x100000001b3u;
  for (; *driver; driver++) h = (h ^ (unsigned char)*driver) * 0x100000001b3u;
  return mixed(h) | 1; /* 0 is a whole call */
}

/* Of a key whatever its size class. */
static uint64_t family_of(const hx__rate_key *k) {
  return mixed(k->device + 0x9e3779b97f4a7c15u * k->needs) + k->who + ((uint64_t)k->threads << 8 | k->power);
}

static hx__model_entry *set_of(hx__model *m, const hx__rate_key *k) {
  const uint64_t h = (family_of(k) + k->size_class) * 0x9e3779b97f4a7c15u >> 32;
  return &m->entry[h % (HX__MODEL_ENTRIES / WAYS) * WAYS];
}

/* Whether anything was ever known of a key's family; yes may be wrong. */
static unsigned char *seen(hx__model *m, const hx__rate_key *k) {
  return &m->seen[(family_of(k) * 0x9e3779b97f4a7c15u >> 32) % sizeof m->seen];
}

static bool same(const hx__rate_key *a, const hx__rate_key *b) {
  return a->device == b->device && a->needs == b->needs && a->who == b->who && a->size_class == b->size_class &&
         a->threads == b->threads && a->power == b->power;
}

static hx__model_entry *find(hx__model *m, const hx__rate_key *key) {
  hx__model_entry *const set = set_of(m, key);
  for (unsigned i = 0; i < WAYS && set[i].samples; i++)
    if (same(&set[i].key, key)) return &set[i];
  return NULL;
}

/* Where a new entry goes: a free one, else the oldest of its set. */
static hx__model_entry *place(hx__model *m, const hx__rate_key *key) {
  hx__model_entry *const set = set_of(m, key), *oldest = set;
  *seen(m, key) = 1;
  for (unsigned i = 0; i < WAYS; i++) {
    if (!set[i].samples) return &set[i];
    if (set[i].date < oldest->date) oldest = &set[i];
  }
  return oldest;
}

/* The variance that time has added since the last sample, of the logarithm. */
static double aged(const hx__model_entry *e, uint64_t now_s) {
  const double minutes = now_s > e->date ? (double)(now_s - e->date) / 60.0 : 0.0;
  return fmin(AGE_VARIANCE * minutes, AGE_SIGMA * AGE_SIGMA);
}

static hx__estimate estimate_of(const hx__model_entry *e, uint64_t now_s) {
  if (!e) return (hx__estimate){.samples = 0};
  const double b = e->state[SLOPE], own = e->covariance[SLOPE][SLOPE] / (b * b);
  return (hx__estimate){.ns_per_unit = b,
                        .latency_ns = e->state[LATENCY],
                        .idle_ns = e->state[IDLE],
                        .gap_ns = e->state[GAP],
                        .sigma = sqrt(own + e->spread + aged(e, now_s)),
                        .samples = e->samples,
                        .date = e->date,
                        .turn = e->turn,
                        .best_turn = e->best_turn,
                        .watts = e->watts,
                        .metering = e->metered_ns > 0.0};
}

hx__estimate hx__model_estimate_exact(hx__model *m, const hx__rate_key *key, uint64_t now_s) {
  hx__lock(&m->lock);
  const hx__estimate e = estimate_of(find(m, key), now_s);
  hx__unlock(&m->lock);
  return e;
}

/* The nearest class on one side, and how far it is; 0 samples: none. */
static hx__estimate neighbour(hx__model *m, const hx__rate_key *key, bool above, uint64_t now_s, uint32_t *away) {
  hx__rate_key k = *key;
  for (*away = 1; *away <= REACH; ++*away) {
    if (!above && *away > key->size_class) break;
    k.size_class = above ? key->size_class + *away : key->size_class - *away;
    const hx__estimate e = estimate_of(find(m, &k), now_s);
    if (e.samples) return e;
  }
  return (hx__estimate){.samples = 0};
}

static double between(double low, double high, double weight) { return low + (high - low) * weight; }

hx__estimate hx__model_estimate(hx__model *m, const hx__rate_key *key, uint64_t now_s) {
  hx__lock(&m->lock);
  const bool known = *seen(m, key) != 0;
  hx__estimate e = estimate_of(known ? find(m, key) : NULL, now_s);
  if (known && !e.samples) {
    uint32_t down, up;
    const hx__estimate low = neighbour(m, key, false, now_s, &down), high = neighbour(m, key, true, now_s, &up);
    e = low.samples && (!high.samples || down <= up) ? low : high;
    if (low.samples && high.samples) {
      const double w = (double)down / (double)(down + up);
      e.ns_per_unit = exp(between(log(low.ns_per_unit), log(high.ns_per_unit), w));
      e.latency_ns = between(low.latency_ns, high.latency_ns, w);
      e.idle_ns = between(low.idle_ns, high.idle_ns, w);
      e.gap_ns = between(low.gap_ns, high.gap_ns, w);
    }
    e.borrowed = e.samples != 0;
    if (e.samples) e.sigma += REACH_SIGMA * (double)(low.samples && (!high.samples || down <= up) ? down : up);
  }
  hx__unlock(&m->lock);
  return e;
}

/* Brings the older one's ns_per_unit into [least, most]. */
static void bring(hx__estimate *older, double least, double most) {
  const double was = older->ns_per_unit;
  older->ns_per_unit = fmin(fmax(was, least), most);
  if (older->ns_per_unit != was) older->sigma += OTHER_COMPANY;
}

void hx__reconcile(hx__estimate *alone, hx__estimate *beside) {
  if (!beside->samples) return;
  if (!alone->samples) { /* a guess */
    bring(alone, 0.0, beside->ns_per_unit * NO_FASTER);
    return;
  }
  if (alone->date > beside->date + STALE_S)
    bring(beside, alone->ns_per_unit / NO_FASTER, alone->ns_per_unit * HX__NO_SLOWER);
  else if (beside->date > alone->date + STALE_S)
    bring(alone, beside->ns_per_unit / HX__NO_SLOWER, beside->ns_per_unit * NO_FASTER);
}

/* An entry as it is before its first sample. */
static void begin(hx__model_entry *e, const hx__rate_key *key, const hx__estimate *prior, hx__sample s) {
  const double slope = prior->ns_per_unit > 0.0 ? prior->ns_per_unit : s.ns / s.units;
  const double sigma = prior->ns_per_unit > 0.0 ? fmax(prior->sigma, 0.2) : 2.0;
  memset(e, 0, sizeof *e);
  e->key = *key;
  e->state[LATENCY] = prior->latency_ns;
  e->state[IDLE] = prior->idle_ns;
  e->state[SLOPE] = slope;
  e->state[GAP] = prior->gap_ns;
  e->covariance[LATENCY][LATENCY] = 0.25 * prior->latency_ns * prior->latency_ns;
  e->covariance[IDLE][IDLE] = 2.0 * prior->latency_ns * prior->latency_ns;
  e->covariance[SLOPE][SLOPE] = slope * slope * sigma * sigma;
  e->covariance[GAP][GAP] = prior->gap_ns * prior->gap_ns;
  e->spread = FIRST_SPREAD;
}

/* Doublings of what is believed of a time that was too long for the run-th time: one each time; at the second time none
 * of what somebody who takes a core for a while may cost a part that is well known, and more of what nobody does. */
static int32_t doublings(const hx__model_entry *e, int32_t run, double z, double more_ns) {
  if (run < 2) return 0;
  if (z < TAKEN && more_ns < HX__TAKEN_CORE_NS && e->samples > WELL_KNOWN) return run - 2;
  return run - 1 + (more_ns > HX__TAKEN_CORE_NS ? ilogb(more_ns / HX__TAKEN_CORE_NS) : 0);
}

/* How much of the logarithm z of what was measured over what was expected is believed. Of a time that is far off little
 * is believed at first, and more and more as it repeats without a break; of one far too short more than of one far too
 * long, for much can make a part slower for once (a core that was stolen, another program), and little faster. */
static double believed(hx__model_entry *e, double z, double more_ns) {
  if (fabs(z) <= SPIKE || e->samples < 1) {
    e->doubted = 0;
    return z;
  }
  const bool again = e->doubted && (e->doubted > 0) == (z > 0.0);
  const int32_t run = !again ? 1 : abs(e->doubted) < MOST_DOUBTED ? abs(e->doubted) + 1 : MOST_DOUBTED;
  e->doubted = z > 0.0 ? run : -run;
  const int32_t times = doublings(e, run, z, more_ns);
  const double most = SPIKE * (z > 0.0 ? ldexp(0.5, times) : ldexp(2.0, 2 * (run - 1)));
  if (times > 0 || z < 0.0) e->covariance[SLOPE][SLOPE] += SHIFT * SHIFT * e->state[SLOPE] * e->state[SLOPE];
  return fmin(fmax(z, -most), most);
}

static void update(hx__model_entry *e, hx__sample s) {
  const double h[HX__MODEL_STATES] = {1.0 - s.hidden, s.idle, s.units, s.hidden};
  double expected = 0.0, ph[HX__MODEL_STATES], variance;
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) expected += h[i] * e->state[i];
  if (!(expected > 0.0)) expected = s.ns;
  if (e->samples && e->samples <= YOUNG && s.ns < expected * exp(-SPIKE)) { /* nothing is faster than it can be */
    const double times = s.ns / expected;
    for (unsigned i = 0; i < HX__MODEL_STATES; i++) e->state[i] *= times;
    e->covariance[SLOPE][SLOPE] = e->state[SLOPE] * e->state[SLOPE] * YOUNG_SIGMA * YOUNG_SIGMA;
    e->doubted = 0;
    expected = s.ns;
  }
  const double z = believed(e, log(s.ns / expected), s.ns - expected);
  s.ns = expected * exp(z);
  const double slope = e->state[SLOPE], weight = e->samples ? SPREAD_WEIGHT : 0.0;
  e->covariance[SLOPE][SLOPE] += DRIFT * DRIFT * slope * slope;
  variance = e->spread * expected * expected;
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) {
    ph[i] = 0.0;
    for (unsigned j = 0; j < HX__MODEL_STATES; j++) ph[i] += e->covariance[i][j] * h[j];
    variance += h[i] * ph[i];
  }
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) {
    e->state[i] += ph[i] / variance * (s.ns - expected);
    for (unsigned j = 0; j < HX__MODEL_STATES; j++) e->covariance[i][j] -= ph[i] * ph[j] / variance;
  }
  /* A launch takes no negative time, and no more than all of it. */
  const double most = 0.95 * s.ns;
  e->state[LATENCY] = fmin(fmax(e->state[LATENCY], 0.0), h[LATENCY] > 0.0 ? most / h[LATENCY] : INFINITY);
  e->state[IDLE] = fmax(e->state[IDLE], 0.0);
  e->state[GAP] = fmin(fmax(e->state[GAP], 0.0), e->state[LATENCY]);
  e->state[SLOPE] = fmin(fmax(e->state[SLOPE], 0.02 * s.ns / s.units), 2.0 * fmax(slope, s.ns / s.units));
  e->spread = fmin(fmax(e->spread + weight * (z * z - e->spread), LEAST_SPREAD), MOST_SPREAD);
  if (e->samples < UINT32_MAX) e->samples++;
}

static bool makes_sense(double x) { return x > 0.0 && isfinite(x) && fabs(log(x)) < MOST_EXPONENT; }

static bool is_sound(const hx__model_entry *e) {
  bool fine = makes_sense(e->state[SLOPE]) && e->spread >= LEAST_SPREAD && e->spread <= MOST_SPREAD &&
              e->state[LATENCY] >= 0.0 && e->state[IDLE] >= 0.0 && e->state[GAP] >= 0.0 &&
              isfinite(e->state[LATENCY] + e->state[IDLE] + e->state[GAP]) && e->watts >= 0.0 &&
              e->watts < MOST_WATTS && e->joules >= 0.0 && isfinite(e->joules) && e->metered_ns >= 0.0 &&
              e->metered_ns < HX__ENERGY_LEAST_NS;
  for (unsigned i = 0; i < HX__MODEL_STATES; i++) {
    for (unsigned j = 0; j < HX__MODEL_STATES; j++) fine = fine && isfinite(e->covariance[i][j]);
    fine = fine && e->covariance[i][i] >= 0.0;
  }
  return fine && isfinite(e->covariance[SLOPE][SLOPE] / (e->state[SLOPE] * e->state[SLOPE]));
}

void hx__model_learn(hx__model *m, const hx__rate_key *key, const hx__estimate *prior, hx__sample s, uint64_t now_s) {
  if (!makes_sense(s.units) || !makes_sense(s.ns) || !makes_sense(s.ns / s.units)) return;
  hx__lock(&m->lock);
  hx__model_entry *e = find(m, key);
  if (!e) begin(e = place(m, key), key, prior, s);
  e->covariance[SLOPE][SLOPE] += aged(e, now_s) * (e->samples > 0) * e->state[SLOPE] * e->state[SLOPE];
  update(e, s);
  if (!is_sound(e)) { /* numbers of somebody else's making, or at the ends of what doubles hold */
    begin(e, key, &hx__prior_call, s);
    e->samples = 1;
  }
  e->date = now_s;
  if (s.turn) e->turn = s.turn;
  if (s.best) e->best_turn = s.turn;
  m->changes++;
  hx__unlock(&m->lock);
}

void hx__model_count_call(hx__model *m, const hx__rate_key *key, hx__sample s, uint64_t now_s) {
  if (!makes_sense(s.units) || !makes_sense(s.ns) || !makes_sense(s.ns / s.units)) return;
  hx__lock(&m->lock);
  hx__model_entry *e = find(m, key);
  if (!e) begin(e = place(m, key), key, &hx__prior_call, s);
  if (e->samples < UINT32_MAX) e->samples++;
  e->turn = s.turn;
  e->date = now_s;
  m->changes++;
  hx__unlock(&m->lock);
}

void hx__model_note_call_end(hx__model *m, const hx__rate_key *key) {
  hx__lock(&m->lock);
  m->row = same(&m->ended, key) && m->row < UINT32_MAX ? m->row + 1 : 1;
  m->ended = *key;
  hx__unlock(&m->lock);
}

unsigned hx__model_consecutive_calls(hx__model *m, const hx__rate_key *key) {
  hx__lock(&m->lock);
  const unsigned row = m->row && same(&m->ended, key) ? m->row : 0;
  hx__unlock(&m->lock);
  return row;
}

static void add_power(hx__model_entry *e, double joules, double ns) {
  e->joules += joules;
  e->metered_ns += ns;
  if (e->metered_ns < HX__ENERGY_LEAST_NS) return;
  const double watts = e->joules / e->metered_ns * 1e9;
  if (watts > 0.0 && watts < MOST_WATTS) e->watts += (e->watts > 0.0 ? POWER_WEIGHT : 1.0) * (watts - e->watts);
  e->joules = e->metered_ns = 0.0;
}

void hx__model_learn_power(hx__model *m, const hx__rate_key *key, double joules, double ns) {
  hx__lock(&m->lock);
  hx__model_entry *const e = find(m, key);
  const bool fine = isfinite(joules) && joules >= 0.0 && makes_sense(ns), follows = same(&m->metered, key);
  m->metered = *key;
  if (e && !fine)
    e->joules = e->metered_ns = 0.0;
  else if (e && (follows || ns >= HX__ENERGY_LEAST_NS))
    add_power(e, joules, ns);
  else if (e)
    e->metered_ns = fmax(e->metered_ns, BEGUN_NS);
  m->changes += e != NULL;
  hx__unlock(&m->lock);
}

bool hx__model_merge(hx__model *m, const hx__model_entry *e, uint64_t now_s) {
  if (e->samples == 0 || e->date > now_s || e->doubted > MOST_DOUBTED || e->doubted < -MOST_DOUBTED || !is_sound(e))
    return false;
  hx__lock(&m->lock);
  hx__model_entry *to = find(m, &e->key);
  if (!to) to = place(m, &e->key);
  const bool newer = !to->samples || to->date < e->date;
  if (newer) *to = *e;
  hx__unlock(&m->lock);
  return newer;
}
