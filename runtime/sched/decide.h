/* SPDX-License-Identifier: Apache-2.0
 * Who should work, from what is expected of each choice. A pure function, well under a microsecond for one device. */
#ifndef HX_SCHED_DECIDE_H
#define HX_SCHED_DECIDE_H

#include "runtime/base/config.h"
#include "runtime/sched/finish.h"
#include "runtime/sched/model.h"

#define HX__BREAK_EVEN_NS 250e3       /* what the CPU does faster is never offered to a device */
#define HX__MAX_CANDIDATE_DEVICES 15u /* HX_MAX_DEVICES without the CPU */
/* Choices: 0 is the CPU alone; 1 .. D the CPU and the first devices; D+1 .. 2D the first devices alone. */
#define HX__CHOICES (2u * HX__MAX_CANDIDATE_DEVICES + 1u)

typedef struct hx__choice {
  unsigned devices; /* the first so many */
  bool cpu;
} hx__choice;

/* What is known before a call. Devices stand in the order of their rates, the fastest first. */
typedef struct hx__cost_inputs {
  hx__objective objective; /* what is to be small; time where energy cannot be measured */
  double units;
  unsigned devices;
  hx__estimate cpu_alone, cpu_beside; /* beside all of the devices */
  bool apart;                         /* the CPU or devices: they would share it badly */
  struct {
    hx__estimate alone, beside; /* alone: without the CPU; beside: with the CPU and the others */
    bool idle;                  /* it has slept */
    bool by_ring;               /* threads of the CPU bring its operands to it */
    bool by_link;               /* a product, over a link: the CPU takes long for the least part of one */
  } device[HX__MAX_CANDIDATE_DEVICES];
  double fetch_ns;                 /* to bring results back that only one device has, */
  bool fetch_spared;               /* which the first device does without where it works alone */
  unsigned just_done;              /* a choice of devices alone that the last such call was the first in a row of; 0 */
  hx__estimate whole[HX__CHOICES]; /* of whole calls by what their parts promised; samples 0: never done; not of [0] */
  hx__estimate took[HX__CHOICES];  /* of the same by their units */
} hx__cost_inputs;

typedef enum hx__reason {
  HX__REASON_BEST,   /* expected to cost least */
  HX__REASON_TRY,    /* it may well cost least: too little is known */
  HX__REASON_RECHECK /* its turn to be measured again, so that a wrong memory heals */
} hx__reason;

typedef struct hx__candidate {
  double ns;          /* expected */
  double watts;       /* drawn meanwhile; 0: not known */
  double cost;        /* what the objective makes small: nanoseconds, or those by watts, or their square by watts */
  double sigma;       /* of its logarithm */
  double promised_ns; /* by its parts and how they went together before */
  double parts_ns;    /* what the rates of those who take part promise; INFINITY: they are not known */
  double doubt;       /* of sigma: what is not known of this choice beyond its parts */
  bool idle;          /* with the CPU: its devices could do nothing before that is done */
  bool metering;      /* watts is being measured: some calls in a row */
  uint32_t samples;   /* calls that were measured, */
  uint64_t turn;      /* and the last of them */
  uint64_t best_turn; /* and the last that took it for the best choice; 0: none */
} hx__candidate;

typedef struct hx__decision {
  unsigned choice, best; /* best differs from choice where another one is tried or checked */
  hx__reason reason;
  unsigned choices;
  uint64_t turn; /* number of this decision among those about such tasks */
  hx__candidate outlook[HX__CHOICES];
} hx__decision;

/* Of device i beside the CPU, where nothing was measured yet that says how it does there, and it can bring only little:
 * the part of the units that it is to try. What a ring brings to it takes from the memory several times as much as the
 * CPU would for the same. 1: all that is fair. */
double hx__first_trial_fraction(const hx__cost_inputs *prospect, unsigned i);

static inline hx__choice hx__choice_of(unsigned choice, unsigned devices) {
  return (hx__choice){choice > devices ? choice - devices : choice, choice <= devices};
}

void hx__decide(const hx__cost_inputs *prospect, hx__decision *out);

#endif
