/* SPDX-License-Identifier: Apache-2.0
 * What each candidate is expected to cost. Private to this folder. */
#ifndef HX_SCHED_ESTIMATE_H
#define HX_SCHED_ESTIMATE_H

#include "runtime/sched/decide.h"

/* If two times differ by more than this factor, one candidate really is slower: noise, low clocks and cold buffers
 * explain less. objective_test fails at 2 and at 8. */
#define HX__FAR 4.0

/* A candidate is measured twice before its calls count for more than the rates of its participants. */
#define HX__LEAST_CALLS 2u

/* A participant with less than this part of all rates gains little. So a device behind a staging ring begins with a
 * trial, and devices behind links compute a product without the CPU. Measured with an H200 beside sixteen Xeon cores,
 * products of 4096 and 8192: docs/measurements/first-calls-h200.tsv. */
#define HX__SMALL_PART 0.2

/* The rate of device i as a part of the sum of its rate and the CPU's. */
double hx__device_part(const hx__cost_inputs *inputs, unsigned i);

/* Computes all members of a candidate. usual_watts is used if its power was never measured. */
hx__candidate hx__candidate_of(const hx__cost_inputs *inputs, unsigned choice);
void hx__candidate_set_cost(hx__objective objective, double usual_watts, hx__candidate *candidate);

#endif
