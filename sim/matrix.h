/* SPDX-License-Identifier: Apache-2.0
 * The scenarios: steady machines, and machines that change or share resources. */
#ifndef HX_SIM_MATRIX_H
#define HX_SIM_MATRIX_H

#include "sim/sim.h"

/* What the model knows before the call. */
typedef enum sim_belief {
  SIM_LEARNED, /* It has learned from ten calls on this machine. */
  SIM_SEED,    /* no measurement: the true rates, as a guess */
  SIM_SEED_2X, /* a guess: the devices at twice their rate */
  SIM_SEED_HALF /* at half of it */,
  SIM_OLD_2X,  /* ten calls a day ago, when the devices were twice as fast */
  SIM_SURE_2X, /* ten calls a moment ago, when they were */
  SIM_BELIEFS
} sim_belief;

typedef enum sim_kind {
  SIM_STEADY,
  SIM_CHANGING, /* while the call runs */
  SIM_ELBOW,    /* short launches take as long as longer ones */
  SIM_KINDS
} sim_kind;

typedef struct sim_scenario {
  const char *name;
  void (*change)(sim_machine *m, double task_ns); /* of the plain machine; NULL: none */
  sim_kind kind;
} sim_scenario;

extern const sim_scenario sim_scenarios[];
extern const unsigned sim_scenario_count;
extern const char *const sim_belief_names[SIM_BELIEFS];

/* A CPU of 10000 slices per ms and a device of `ratio` times that; `slices` such that the best possible time is
 * task_ns. */
sim_machine sim_plain(double ratio, double latency_ns);
size_t sim_slices_for(const sim_machine *m, double task_ns);

/* eta = oracle / hx for one call under a belief. */
double sim_eta(const sim_machine *m, size_t slices, double oracle_ns, sim_belief belief, uint64_t seed);

#endif
