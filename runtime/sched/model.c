/* SPDX-License-Identifier: Apache-2.0
 * The table of measured rates: open addressing, one lock, asked a few times a call that is worth a device. */
#include "runtime/sched/model.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define ENTRIES 2048u
#define REACH 4u         /* size classes that may stand in for one another */
#define SPIKE 0.405      /* ln 1.5: a sample this far off is believed when it repeats */
#define FIRST_WEIGHT 0.7 /* of the second sample */
#define LATER_WEIGHT 0.3

typedef struct entry {
  hx__rate_key key;
  double log_rate;
  uint32_t samples;
  bool doubted; /* the last sample was dropped as a spike */
} entry;

static entry entries[ENTRIES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool same(const hx__rate_key *a, const hx__rate_key *b) {
  return a->device == b->device && a->needs == b->needs && a->size_class == b->size_class && a->threads == b->threads &&
         a->who == b->who;
}

static uint64_t hash(const hx__rate_key *k) {
  uint64_t h = (uint64_t)(uintptr_t)k->device * 0x9e3779b97f4a7c15u;
  h = (h ^ k->needs) * 0xbf58476d1ce4e5b9u;
  h = (h ^ ((uint64_t)k->size_class << 40 | (uint64_t)k->threads << 8 | k->who)) * 0x94d049bb133111ebu;
  return h ^ h >> 31;
}

/* The entry of a key, or the free one where it would go; NULL when the table is full. */
static entry *find(const hx__rate_key *key) {
  const uint64_t h = hash(key);
  for (uint32_t i = 0; i < ENTRIES; i++) {
    entry *const e = &entries[(h + i) % ENTRIES];
    if (e->samples == 0 || same(&e->key, key)) return e;
  }
  return NULL;
}

uint32_t hx__size_class(uint64_t units) { return units ? 63u - (uint32_t)__builtin_clzll(units) : 0; }

static hx__rate rate_of(const entry *e) {
  if (!e || e->samples == 0) return (hx__rate){0.0, 0};
  return (hx__rate){exp(e->log_rate), e->samples};
}

hx__rate hx__model_exact(const hx__rate_key *key) {
  pthread_mutex_lock(&lock);
  const hx__rate r = rate_of(find(key));
  pthread_mutex_unlock(&lock);
  return r;
}

hx__rate hx__model_get(const hx__rate_key *key) {
  hx__rate r = {0.0, 0};
  pthread_mutex_lock(&lock);
  for (uint32_t away = 0; away <= REACH && r.samples == 0; away++) {
    hx__rate_key k = *key;
    k.size_class = key->size_class - away;
    if (away <= key->size_class) r = rate_of(find(&k));
    k.size_class = key->size_class + away;
    if (r.samples == 0) r = rate_of(find(&k));
  }
  pthread_mutex_unlock(&lock);
  return r;
}

void hx__model_put(const hx__rate_key *key, uint64_t units, uint64_t ns) {
  if (units == 0 || ns == 0) return;
  const double sample = log((double)units / (double)ns);
  pthread_mutex_lock(&lock);
  entry *const e = find(key);
  if (e && e->samples == 0) {
    *e = (entry){.key = *key, .log_rate = sample, .samples = 1};
  } else if (e) {
    const double off = sample - e->log_rate;
    const bool spike = fabs(off) > SPIKE && !e->doubted && e->samples > 1;
    if (!spike) {
      e->log_rate += off * (e->samples < 3 ? FIRST_WEIGHT : LATER_WEIGHT);
      if (e->samples < UINT32_MAX) e->samples++;
    }
    e->doubted = spike;
  }
  pthread_mutex_unlock(&lock);
}
