/* SPDX-License-Identifier: Apache-2.0
 * One entry of the model: a robust Kalman filter of the line time = latency + units * ns_per_unit. Private to this
 * folder. */
#ifndef HX_SCHED_RATE_FILTER_H
#define HX_SCHED_RATE_FILTER_H

#include "runtime/sched/model.h"

/* Whether x is possible as a time, a number of units or a rate. */
bool hx__is_plausible(double x);

/* An entry before its first sample. prior: what was expected; if its ns_per_unit is 0 the sample's rate is taken. */
void hx__filter_begin(hx__model_entry *entry, const hx__rate_key *key, const hx__estimate *prior, hx__sample sample);
void hx__filter_learn(hx__model_entry *entry, hx__sample sample, uint64_t now_s);
void hx__filter_learn_power(hx__model_entry *entry, double joules, double ns);

/* Whether all numbers of an entry can be used. It may come from a file, or from samples near the limits of a double. */
bool hx__filter_is_sound(const hx__model_entry *entry);

/* entry NULL: an estimate without samples. */
hx__estimate hx__filter_estimate(const hx__model_entry *entry, uint64_t now_s);

#endif
