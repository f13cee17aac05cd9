/* SPDX-License-Identifier: Apache-2.0
 * The table of measurements. It is set-associative; a new entry replaces the oldest one of a full set. */
#include "runtime/sched/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/energy.h"
#include "runtime/base/thread.h"
#include "runtime/sched/rate_filter.h"

#define WAYS 16u
#define CLASS_REACH 4u        /* if a size class has no estimate, that of a class at most this far away is used */
#define CLASS_SIGMA 0.15      /* for each class of distance */
#define METERING_BEGUN_NS 1.0 /* the least metered_ns of an entry whose power is being measured */

#define NO_FASTER 1.1 /* in company */
#define STALE_S \
  60u /* measurements closer in time than this do not limit one another: copies may be even slower in company */
#define OTHER_COMPANY 0.2 /* added to sigma if a rate was clamped by that of another company */

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

static uint64_t mix_bits(uint64_t h) { /* splitmix64, Steele et al., OOPSLA 2014 */
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return h ^ h >> 31;
}

uint64_t hx__identity(const char *name, const char *driver) {
  uint64_t h = 0xcbf29ce484222325u;
  for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u;
  h = (h ^ 1) * 0x100000001b3u;
  for (; *driver; driver++) h = (h ^ (unsigned char)*driver) * 0x100000001b3u;
  return mix_bits(h) | 1; /* 0 stands for whole calls */
}

/* A hash of a key without its size class. */
static uint64_t family_of(const hx__rate_key *k) {
  return mix_bits(k->device + 0x9e3779b97f4a7c15u * k->needs) + k->company + ((uint64_t)k->threads << 8 | k->power);
}

static hx__model_entry *set_of(hx__model *m, const hx__rate_key *k) {
  const uint64_t h = (family_of(k) + k->size_class) * 0x9e3779b97f4a7c15u >> 32;
  return &m->entry[h % (HX__MODEL_ENTRIES / WAYS) * WAYS];
}

/* Whether anything was ever learned in a key's family. True by mistake for a family with the same hash. */
static unsigned char *is_family_known(hx__model *m, const hx__rate_key *k) {
  return &m->known_families[(family_of(k) * 0x9e3779b97f4a7c15u >> 32) % sizeof m->known_families];
}

static bool is_same_key(const hx__rate_key *a, const hx__rate_key *b) {
  return a->device == b->device && a->needs == b->needs && a->company == b->company && a->size_class == b->size_class &&
         a->threads == b->threads && a->power == b->power;
}

static hx__model_entry *find_entry(hx__model *m, const hx__rate_key *key) {
  hx__model_entry *const set = set_of(m, key);
  for (unsigned i = 0; i < WAYS && set[i].samples; i++)
    if (is_same_key(&set[i].key, key)) return &set[i];
  return NULL;
}

/* The place of a new entry: a free one, else the oldest of its set. */
static hx__model_entry *new_entry(hx__model *m, const hx__rate_key *key) {
  hx__model_entry *const set = set_of(m, key), *oldest = set;
  *is_family_known(m, key) = 1;
  for (unsigned i = 0; i < WAYS; i++) {
    if (!set[i].samples) return &set[i];
    if (set[i].date < oldest->date) oldest = &set[i];
  }
  return oldest;
}

hx__estimate hx__model_estimate_exact(hx__model *m, const hx__rate_key *key, uint64_t now_s) {
  hx__lock(&m->lock);
  const hx__estimate e = hx__filter_estimate(find_entry(m, key), now_s);
  hx__unlock(&m->lock);
  return e;
}

/* The estimate of the nearest class on one side, and how far that is; 0 samples: there is none. */
static hx__estimate nearest_class(hx__model *m, const hx__rate_key *key, bool above, uint64_t now_s, uint32_t *away) {
  hx__rate_key k = *key;
  for (*away = 1; *away <= CLASS_REACH; ++*away) {
    if (!above && *away > key->size_class) break;
    k.size_class = above ? key->size_class + *away : key->size_class - *away;
    const hx__estimate e = hx__filter_estimate(find_entry(m, &k), now_s);
    if (e.samples) return e;
  }
  return (hx__estimate){.samples = 0};
}

static double interpolate(double low, double high, double weight) { return low + (high - low) * weight; }

hx__estimate hx__model_estimate(hx__model *m, const hx__rate_key *key, uint64_t now_s) {
  hx__lock(&m->lock);
  const bool known = *is_family_known(m, key) != 0;
  hx__estimate e = hx__filter_estimate(known ? find_entry(m, key) : NULL, now_s);
  if (known && !e.samples) {
    uint32_t down, up;
    const hx__estimate low = nearest_class(m, key, false, now_s, &down), high = nearest_class(m, key, true, now_s, &up);
    e = low.samples && (!high.samples || down <= up) ? low : high;
    if (low.samples && high.samples) {
      const double w = (double)down / (double)(down + up);
      e.ns_per_unit = exp(interpolate(log(low.ns_per_unit), log(high.ns_per_unit), w));
      e.latency_ns = interpolate(low.latency_ns, high.latency_ns, w);
      e.idle_ns = interpolate(low.idle_ns, high.idle_ns, w);
      e.gap_ns = interpolate(low.gap_ns, high.gap_ns, w);
    }
    e.borrowed = e.samples != 0;
    if (e.samples) e.sigma += CLASS_SIGMA * (double)(low.samples && (!high.samples || down <= up) ? down : up);
  }
  hx__unlock(&m->lock);
  return e;
}

static void clamp_rate(hx__estimate *older, double least, double most) {
  const double before = older->ns_per_unit;
  older->ns_per_unit = fmin(fmax(before, least), most);
  if (older->ns_per_unit != before) older->sigma += OTHER_COMPANY;
}

void hx__reconcile(hx__estimate *alone, hx__estimate *beside) {
  if (!beside->samples) return;
  if (!alone->samples) { /* a guess */
    clamp_rate(alone, 0.0, beside->ns_per_unit * NO_FASTER);
    return;
  }
  if (alone->date > beside->date + STALE_S)
    clamp_rate(beside, alone->ns_per_unit / NO_FASTER, alone->ns_per_unit * HX__NO_SLOWER);
  else if (beside->date > alone->date + STALE_S)
    clamp_rate(alone, beside->ns_per_unit / HX__NO_SLOWER, beside->ns_per_unit * NO_FASTER);
}

void hx__model_learn(hx__model *m, const hx__rate_key *key, const hx__estimate *prior, hx__sample s, uint64_t now_s) {
  if (!hx__is_plausible(s.units) || !hx__is_plausible(s.ns) || !hx__is_plausible(s.ns / s.units)) return;
  hx__lock(&m->lock);
  hx__model_entry *e = find_entry(m, key);
  if (!e) hx__filter_begin(e = new_entry(m, key), key, prior, s);
  hx__filter_learn(e, s, now_s);
  m->changes++;
  hx__unlock(&m->lock);
}

void hx__model_count_call(hx__model *m, const hx__rate_key *key, hx__sample s, uint64_t now_s) {
  if (!hx__is_plausible(s.units) || !hx__is_plausible(s.ns) || !hx__is_plausible(s.ns / s.units)) return;
  hx__lock(&m->lock);
  hx__model_entry *e = find_entry(m, key);
  if (!e) hx__filter_begin(e = new_entry(m, key), key, &hx__prior_call, s);
  if (e->samples < UINT32_MAX) e->samples++;
  e->call_number = s.call_number;
  e->date = now_s;
  m->changes++;
  hx__unlock(&m->lock);
}

void hx__model_note_call_end(hx__model *m, const hx__rate_key *key) {
  hx__lock(&m->lock);
  const bool follows = m->consecutive_calls && is_same_key(&m->last_call, key);
  m->consecutive_calls = follows && m->consecutive_calls < UINT32_MAX ? m->consecutive_calls + 1 : 1;
  m->last_call = *key;
  hx__unlock(&m->lock);
}

unsigned hx__model_consecutive_calls(hx__model *m, const hx__rate_key *key) {
  hx__lock(&m->lock);
  const unsigned calls = m->consecutive_calls && is_same_key(&m->last_call, key) ? m->consecutive_calls : 0;
  hx__unlock(&m->lock);
  return calls;
}

void hx__model_learn_power(hx__model *m, const hx__rate_key *key, double joules, double ns) {
  hx__lock(&m->lock);
  hx__model_entry *const e = find_entry(m, key);
  const bool measured = isfinite(joules) && joules >= 0.0 && hx__is_plausible(ns),
             follows = is_same_key(&m->last_metered, key);
  m->last_metered = *key;
  if (e && !measured)
    e->joules = e->metered_ns = 0.0;
  else if (e && (follows || ns >= HX__ENERGY_LEAST_NS))
    hx__filter_learn_power(e, joules, ns);
  else if (e)
    e->metered_ns = fmax(e->metered_ns, METERING_BEGUN_NS);
  m->changes += e != NULL;
  hx__unlock(&m->lock);
}

bool hx__model_merge(hx__model *m, const hx__model_entry *e, uint64_t now_s) {
  if (e->samples == 0 || e->date > now_s || !hx__filter_is_sound(e)) return false;
  hx__lock(&m->lock);
  hx__model_entry *to = find_entry(m, &e->key);
  if (!to) to = new_entry(m, &e->key);
  const bool newer = !to->samples || to->date < e->date;
  if (newer) *to = *e;
  hx__unlock(&m->lock);
  return newer;
}
