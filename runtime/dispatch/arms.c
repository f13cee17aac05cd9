/* SPDX-License-Identifier: Apache-2.0
 * Choosing by what whole calls took, for the rates of parts do not add up: memory, power and cores are shared. */
#include "runtime/dispatch/arms.h"

#include "runtime/run/run.h"

#define GAIN 1.02   /* an arm with devices must be this much faster than the CPU alone */
#define RECHECK 32u /* every so many calls, and at each power of two, the arm that was tried least is tried again */
#define CHANCE 0.5  /* devices that do not reach this part of the CPU's rate are not tried alone */

/* Calls before an arm is judged: the first of both finds the devices' rates, the next use them. */
static const uint32_t trials[HX__ARMS] = {1, 3, 2};

static bool devices_may_win(const hx__plan *plan) {
  double rate = 0.0;
  for (size_t i = 0; i < plan->devices; i++) rate += plan->device[i].rate;
  return rate >= CHANCE * plan->cpu_rate;
}

static bool is_due(uint32_t calls) { return calls % RECHECK == 0 || (calls & (calls - 1)) == 0; }

hx__arm hx__arm_for(const hx__work *w, const hx__plan *plan) {
  uint32_t devices = 0, calls = 0;
  for (size_t i = 0; i < plan->devices; i++) devices |= 1u << plan->device[i].seat;
  const uint32_t who[HX__ARMS] = {1u, 1u | devices, devices};
  const hx__arm last = devices_may_win(plan) ? HX__ARM_DEVICES : HX__ARM_BOTH;
  hx__arm best = HX__ARM_CPU, least = HX__ARM_CPU;
  hx__rate rate[HX__ARMS];
  for (hx__arm arm = HX__ARM_CPU; arm <= last; arm++) {
    const hx__rate_key key = hx__call_key(w, plan->threads, who[arm]);
    rate[arm] = hx__model_exact(&key);
    if (rate[arm].samples < trials[arm]) return arm;
    const double gain = best == HX__ARM_CPU ? GAIN : 1.0;
    if (rate[arm].units_per_ns > rate[best].units_per_ns * gain) best = arm;
    if (rate[arm].samples < rate[least].samples) least = arm;
    calls += rate[arm].samples;
  }
  return is_due(calls) ? least : best;
}
