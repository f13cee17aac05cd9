/* SPDX-License-Identifier: Apache-2.0
 * Which participants work on a task, by what each candidate is expected to cost. A pure function of the cost inputs; it
 * takes well under a microsecond with one device. */
#ifndef HX_SCHED_DECIDE_H
#define HX_SCHED_DECIDE_H

#include "runtime/base/config.h"
#include "runtime/base/thresholds.h"
#include "runtime/sched/finish.h"
#include "runtime/sched/model.h"

#define HX__MAX_CANDIDATE_DEVICES 15u /* HX_MAX_DEVICES without the CPU */
/* Choice 0 is the CPU alone; 1 .. D are the CPU with the first 1 .. D devices; D+1 .. 2D are those devices alone. */
#define HX__CHOICES (2u * HX__MAX_CANDIDATE_DEVICES + 1u)

typedef struct hx__choice {
  unsigned devices; /* The first `devices` devices take part. */
  bool cpu;
} hx__choice;

/* All that a decision is based on. Devices are ordered by their rates, the fastest first. */
typedef struct hx__cost_inputs {
  hx__objective objective; /* what the decision minimises; time if energy cannot be measured */
  double units;
  unsigned devices;
  hx__estimate cpu_alone, cpu_beside; /* beside: while all devices work, too */
  bool no_split;                      /* The CPU and devices would share this task badly: only one kind works. */
  struct {
    hx__estimate alone, beside; /* alone: without the CPU; beside: with the CPU and all other devices */
    bool idle;                  /* It has been idle, so that its first launch takes longer. */
    bool by_ring;               /* CPU threads copy its operands into its ring of staging buffers. */
    bool by_link;               /* The task is a product and the device is behind a link. */
  } device[HX__MAX_CANDIDATE_DEVICES];
  double fetch_ns;                /* the time to fetch device-only results that the task reads */
  bool fetch_spared;              /* The first device has them, and needs no fetch if it works alone. */
  unsigned first_of_pair;         /* a choice of devices alone whose last call was the first of two; 0: none */
  hx__estimate call[HX__CHOICES]; /* of each choice's whole calls by their units; [0] is unused */
} hx__cost_inputs;

typedef enum hx__reason {
  HX__REASON_BEST,   /* It is expected to cost least. */
  HX__REASON_TRY,    /* It may cost least, but has been measured too seldom. */
  HX__REASON_RECHECK /* It is measured again, so that a wrong measurement does not last. */
} hx__reason;

typedef struct hx__candidate {
  double ns;                 /* the expected time */
  double watts;              /* the power that the processor draws during such calls; 0: not known */
  double cost;               /* what the objective minimises: ns, ns * watts or ns * ns * watts */
  double sigma;              /* standard deviation of the logarithm of the cost */
  double doubt;              /* the part of sigma that does not come from the rates of the participants */
  double parts_ns;           /* the time by the participants' rates; INFINITY: a rate is not known */
  bool idle;                 /* with the CPU: the CPU would finish before its devices could start */
  bool metering;             /* watts is being measured, which takes some consecutive calls */
  uint32_t samples;          /* calls that were measured */
  uint64_t call_number;      /* the decision of the last of them */
  uint64_t best_call_number; /* the last decision that took it for the best choice; 0: none */
} hx__candidate;

typedef struct hx__decision {
  unsigned choice, best; /* They differ if another candidate than the best one is explored. */
  hx__reason reason;
  const char *why; /* for a log */
  unsigned choices;
  uint64_t call_number; /* the number of this decision among those about such tasks */
  hx__candidate candidate[HX__CHOICES];
} hx__decision;

/* The greatest fraction of the units that device i may get beside the CPU. It is 1, unless the device has never been
 * measured there, its rate is low, and its operands go through a staging ring: then it is small. */
double hx__first_trial_fraction(const hx__cost_inputs *inputs, unsigned i);

static inline hx__choice hx__choice_of(unsigned choice, unsigned devices) {
  return (hx__choice){choice > devices ? choice - devices : choice, choice <= devices};
}

void hx__decide(const hx__cost_inputs *inputs, hx__decision *decision);

#endif
