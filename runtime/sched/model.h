/* SPDX-License-Identifier: Apache-2.0
 * What was measured: the times of participants (a device's chunks, the CPU's side) and of whole calls, by their units,
 * under keys of device, kernel, size class, threads, power source and company. Each entry is a robust Kalman filter of
 * the line
 *     time = latency + (idle, if the device was idle) + units * ns_per_unit
 * (rate_filter.c). Launches of different sizes separate latency and rate, outliers count more if they repeat, and old
 * measurements count less. There is no clock here: callers pass the date. */
#ifndef HX_SCHED_MODEL_H
#define HX_SCHED_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All members mean the same in every process, so that the table can be cached on disk. There is no padding: keys are
 * hashed and stored as bytes. */
typedef struct hx__rate_key {
  uint64_t device; /* hx__identity of one; 0: whole calls */
  uint64_t needs;
  uint64_t company;    /* the sum of the identities of all participants, this one included */
  uint32_t size_class; /* floor(log2(units)) of the task */
  uint16_t threads;
  uint16_t power; /* hx__power */
} hx__rate_key;

typedef struct hx__estimate {
  double ns_per_unit;        /* 0: not known */
  double latency_ns;         /* of a launch */
  double idle_ns;            /* added to it if the device was idle */
  double sigma;              /* standard deviation of the logarithm of a time that is predicted by this */
  uint32_t samples;          /* 0: a guess */
  uint64_t date;             /* of the last sample, in seconds */
  uint64_t call_number;      /* of the last sample, in decisions about such tasks */
  double gap_ns;             /* the latency of a launch that is queued behind another */
  double watts;              /* the power that the processor draws during such calls; 0: not known */
  bool metering;             /* watts is being measured, which takes some consecutive calls */
  uint64_t best_call_number; /* the last decision that took it for the best choice; 0: none */
  bool borrowed; /* It was measured in another class or company, or with operands that came in another way. */
} hx__estimate;

/* One measurement. */
typedef struct hx__sample {
  double units, ns;
  bool idle;            /* The device was idle. */
  uint64_t call_number; /* of the decision; 0: there was none */
  double hidden;        /* the part of the launch that passed while the chunk before it was computed */
  bool best;            /* It was the best candidate of that decision. */
} hx__sample;

/* In company a participant loses cores, power and memory bandwidth. It is at most this factor slower than alone. */
#define HX__NO_SLOWER 2.5
/* What a call loses if another program uses one of its cores for a while: a time slice or two. */
#define HX__PREEMPTED_NS 1e7

#define HX__MODEL_ENTRIES 8192u /* a kind of task takes about six; pages that are not used take no memory */
#define HX__MODEL_STATES 4u     /* latency, idle, ns_per_unit, gap */

#define HX__MOST_OUTLIERS 8

typedef struct hx__model_entry {
  hx__rate_key key;
  double state[HX__MODEL_STATES], covariance[HX__MODEL_STATES][HX__MODEL_STATES];
  double log_variance;       /* mean square of the logarithms of measured over expected times */
  double watts;              /* as in hx__estimate */
  double joules, metered_ns; /* of consecutive calls that are together still too short for the counters */
  uint64_t date, call_number, best_call_number; /* as in hx__estimate */
  uint32_t samples;
  int32_t outliers; /* the run of outliers of one sign up to now; negative: of times that were too short */
} hx__model_entry;

typedef struct hx__model {
  pthread_mutex_t lock;
  uint64_t changes;
  hx__rate_key last_metered, last_call;
  unsigned consecutive_calls;                      /* with last_call's key */
  unsigned char known_families[HX__MODEL_ENTRIES]; /* by hashes of keys without their size classes */
  hx__model_entry entry[HX__MODEL_ENTRIES];
} hx__model;

#define HX__MODEL_INIT \
  { .lock = PTHREAD_MUTEX_INITIALIZER }

uint32_t hx__size_class(uint64_t units);
uint64_t hx__identity(const char *name, const char *driver);

/* The estimates before anything is measured. */
extern const hx__estimate hx__prior_device, hx__prior_cpu, hx__prior_call;
/* The same for a device whose latency was measured by a small launch; latency_ns 0: it was not. */
hx__estimate hx__prior_of(double latency_ns, double ns_per_unit);

/* The estimate of a key, else one between the nearest size classes that have one, at most four away, with a greater
 * sigma. ns_per_unit 0: there is none. */
hx__estimate hx__model_estimate(hx__model *model, const hx__rate_key *key, uint64_t now_s);
/* The estimate of exactly this size class. */
hx__estimate hx__model_estimate_exact(hx__model *model, const hx__rate_key *key, uint64_t now_s);

/* Two estimates of one participant, alone and in company: nothing is faster in company, or slower than HX__NO_SLOWER
 * says. If they contradict that and were measured a minute or more apart, the older one is clamped to what the newer
 * one allows. An estimate of a participant alone that is only a guess is clamped to what was measured in company. */
void hx__reconcile(hx__estimate *alone, hx__estimate *beside);

/* Learns a sample. prior: what was expected, for a key that is new. Implausible samples (not finite, not above 0) are
 * ignored. */
void hx__model_learn(hx__model *model, const hx__rate_key *key, const hx__estimate *prior, hx__sample sample,
                     uint64_t now_s);

/* Counts a call whose time includes something else. Its time is not learned, unless the key is new. */
void hx__model_count_call(hx__model *model, const hx__rate_key *key, hx__sample sample, uint64_t now_s);

/* A call with this key has ended. */
void hx__model_note_call_end(hx__model *model, const hx__rate_key *key);
/* How many consecutive calls with this key have ended; 0 if the last call had another key. */
unsigned hx__model_consecutive_calls(hx__model *model, const hx__rate_key *key);

/* Learns the power of a call, for a key that hx__model_learn or hx__model_count_call has seen. joules NaN: not
 * measured. The counters move once a millisecond, so a short call may be charged energy of the call before it. Calls
 * that are shorter than HX__ENERGY_LEAST_NS are therefore added up until they have lasted that long, and count only if
 * they follow a call with the same key. */
void hx__model_learn_power(hx__model *model, const hx__rate_key *key, double joules, double ns);

/* Takes over an entry of another table if this table's is older or missing. Returns false if it does not, or if the
 * entry is not sound. */
bool hx__model_merge(hx__model *model, const hx__model_entry *entry, uint64_t now_s);

/* Nanoseconds that `units` are expected to take. */
static inline double hx__estimate_ns(const hx__estimate *e, double units, bool idle) {
  return e->latency_ns + (idle ? e->idle_ns : 0.0) + units * e->ns_per_unit;
}

#endif
