/* SPDX-License-Identifier: Apache-2.0
 * What was measured: times of parts (a device's chunks, the CPU's side) by units, and of whole calls by what their
 * parts had promised (decide.h); by device, kernel, size class, threads, power source and company. An entry holds a
 * line, time = latency + idle + units * ns_per_unit, with its covariance (a Kalman filter of three states: launches of
 * different sizes tell latency and rate apart), and the spread of the logarithm of what was measured over what was
 * expected. A sample that is off by half is dropped once and believed when it repeats (at the third time where a core
 * that was taken explains it); what is old is trusted less. No clock here: callers say what second it is. */
#ifndef HX_SCHED_MODEL_H
#define HX_SCHED_MODEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that mean the same in every process, so that the table can be kept on disk. No padding: compared as bytes. */
typedef struct hx__rate_key {
  uint64_t device; /* hx__identity of one; 0: whole calls */
  uint64_t needs;
  uint64_t who;        /* sum of the identities of all that work at the same time, this one included */
  uint32_t size_class; /* floor(log2(units)) of the task */
  uint16_t threads;
  uint16_t power; /* hx__power */
} hx__rate_key;

typedef struct hx__estimate {
  double ns_per_unit; /* 0: nothing is known */
  double latency_ns;  /* of a launch */
  double idle_ns;     /* the more of it where the device has slept */
  double sigma;       /* of the logarithm of a time that is predicted by this */
  uint32_t samples;   /* 0: a guess */
  uint64_t date;      /* of the last sample, in seconds */
  uint64_t turn;      /* likewise, in decisions about such tasks */
  double gap_ns;      /* what is left of a launch that is queued behind another */
  double watts;       /* that the processor draws meanwhile; 0: not known */
  bool metering;      /* that is being measured, and takes some calls more in a row */
  uint64_t best_turn; /* the last decision that took it for the best choice; 0: none */
  bool borrowed;      /* measured, but in another class or company, or with operands that came in another way */
} hx__estimate;

/* One measurement. */
typedef struct hx__sample {
  double units, ns;
  bool idle;     /* the device had slept */
  uint64_t turn; /* the decision's; 0: it does not matter */
  double hidden; /* the part of its launch that passed while the chunk before it was computed */
  bool best;     /* that decision took it for the best choice */
} hx__sample;

/* Others can take a core, power and memory from a participant: it is at most so many times as slow as alone. */
#define HX__NO_SLOWER 2.5
/* What a core that another program has taken for a while costs a call: a time slice or two. */
#define HX__TAKEN_CORE_NS 1e7

#define HX__MODEL_ENTRIES 1024u
#define HX__MODEL_STATES 4u /* latency, idle, ns_per_unit, gap */

typedef struct hx__model_entry {
  hx__rate_key key;
  double state[HX__MODEL_STATES], covariance[HX__MODEL_STATES][HX__MODEL_STATES];
  double spread;                  /* mean square of the logarithm */
  double watts;                   /* as in hx__estimate */
  double joules, metered_ns;      /* of calls in a row that together are too short for the counters still */
  uint64_t date, turn, best_turn; /* as in hx__estimate */
  uint32_t samples;
  int32_t doubted; /* how many samples in a row were far too long; negative: far too short */
} hx__model_entry;

typedef struct hx__model {
  pthread_mutex_t lock;
  uint64_t changes;
  hx__rate_key metered;                  /* of the last call */
  hx__rate_key ended;                    /* likewise, */
  unsigned row;                          /* and of how many before it without a break */
  unsigned char seen[HX__MODEL_ENTRIES]; /* hashes of keys without their size classes */
  hx__model_entry entry[HX__MODEL_ENTRIES];
} hx__model;

#define HX__MODEL_INIT \
  { .lock = PTHREAD_MUTEX_INITIALIZER }

uint32_t hx__size_class(uint64_t units);
uint64_t hx__identity(const char *name, const char *driver);

/* What is expected of parts of a kind before anything is measured. */
extern const hx__estimate hx__prior_device, hx__prior_cpu, hx__prior_call;
/* Of a device of which a small launch is known: 0: not even that. */
hx__estimate hx__prior_of(double latency_ns, double ns_per_unit);

/* The key's estimate, else one between the nearest size classes that have one, at most four away, with a greater sigma.
 * ns_per_unit 0: none. */
hx__estimate hx__model_estimate(hx__model *model, const hx__rate_key *key, uint64_t now_s);
/* Of this very class only. */
hx__estimate hx__model_estimate_exact(hx__model *model, const hx__rate_key *key, uint64_t now_s);

/* Of one and the same participant alone and in company: nobody is faster in company, or slower by more than others can
 * take from it. Where the two say so, and one was measured a minute or more before the other, it is brought to what the
 * newer one allows. What is only guessed of one alone is brought to what was measured in company. */
void hx__reconcile(hx__estimate *alone, hx__estimate *beside);

/* Learns. prior: what was expected, for a key that is new. What makes no sense (not finite, not above 0) is ignored. */
void hx__model_learn(hx__model *model, const hx__rate_key *key, const hx__estimate *prior, hx__sample sample,
                     uint64_t now_s);

/* Counts a call whose time is that of something else, too: nothing is learned of it, unless nothing else is known. */
void hx__model_count_call(hx__model *model, const hx__rate_key *key, hx__sample sample, uint64_t now_s);

/* Notes whose call has ended; how many there were in a row with the same key, this one included. */
void hx__model_note_call_end(hx__model *model, const hx__rate_key *key);
unsigned hx__model_consecutive_calls(hx__model *model,
                                     const hx__rate_key *key); /* 0: another key's call was the last */

/* What a call drew; joules NaN: that was not measured. For a key that hx__model_learn or hx__model_count_call has seen.
 * The counters move once a millisecond, so that of calls under HX__ENERGY_LEAST_NS only those count that follow one of
 * the same key (else it would answer for what was drawn before), added up until they have lasted long enough. */
void hx__model_learn_power(hx__model *model, const hx__rate_key *key, double joules, double ns);

/* Takes over an entry of another table where this one's is older or missing; false where it does not, or the entry
 * makes no sense. */
bool hx__model_merge(hx__model *model, const hx__model_entry *entry, uint64_t now_s);

/* Nanoseconds that `units` are expected to take. */
static inline double hx__estimate_ns(const hx__estimate *e, double units, bool idle) {
  return e->latency_ns + (idle ? e->idle_ns : 0.0) + units * e->ns_per_unit;
}

#endif
