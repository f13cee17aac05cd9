/* SPDX-License-Identifier: Apache-2.0
 * What each choice is expected to cost. Private to this folder. */
#ifndef HX_SCHED_ESTIMATE_H
#define HX_SCHED_ESTIMATE_H

#include "runtime/sched/decide.h"

/* A factor between two times that nothing explains but a real difference: not noise, nor low clocks, nor cold buffers.
 * objective_test fails at 2 and at 8. */
#define HX__FAR 4.0

/* A choice is measured twice before its calls count for more than the rates of its participants. */
#define HX__TRIAL_CALLS 2u

/* A participant with less than this part of all rates brings little: a device behind a ring then begins with a trial,
 * and devices behind links are left a product alone. An H200 beside sixteen Xeon cores, 4096 and 8192 from nothing:
 * docs/measurements/first-calls-h200.tsv. */
#define HX__SMALL_PART 0.2

/* The part of all rates that is device i's beside the CPU. */
double hx__device_part(const hx__cost_inputs *inputs, unsigned i);

/* All members of a candidate. usual_watts stands for a power that was never measured. */
hx__candidate hx__candidate_of(const hx__cost_inputs *inputs, unsigned choice);
void hx__candidate_set_cost(hx__objective objective, double usual_watts, hx__candidate *candidate);

#endif
