/* SPDX-License-Identifier: Apache-2.0
 * Estimates for each participant, from the nearest existing measurement. Pure functions, with which api/gather.c turns
 * measurements into the inputs of a decision. */
#ifndef HX_PLAN_EXPECTED_H
#define HX_PLAN_EXPECTED_H

#include "runtime/plan/key.h"
#include "runtime/plan/snapshot.h"

/* The measurement that says most about a participant. */
typedef struct hx__nearest {
  hx__estimate rate;  /* samples 0: there is none */
  bool elsewhere;     /* measured in another company, or with another placement of operands */
  uint32_t placement; /* the placement of that measurement */
} hx__nearest;

/* A guess of the CPU's rate, before anything is measured. */
hx__estimate hx__guess_cpu(const hx__work *work, unsigned threads);
/* The time within which no device can end a task: that of an empty one on the device with the shortest launch, at most
 * HX__BREAK_EVEN_NS. launch_ns 0: not known. */
double hx__break_even_ns(double launch_ns);
/* The time of the CPU alone by its rate, measured or guessed. */
hx__cpu_time hx__cpu_time_of(const hx__work *work, unsigned threads, const hx__estimate *cpu_alone,
                             double break_even_ns);

/* Whether the task is too small for a device: by HX_MIN_OFFLOAD, else by the CPU's time. */
bool hx__is_below_break_even(const hx__plan_snapshot *snapshot);

/* Sets inputs.device[device]: the estimates beside the CPU and all other devices, and without the CPU. A device without
 * measurements is expected to be as fast as in the self-test, plus the transfer of its operands over the link. */
void hx__expect_device(hx__plan_snapshot *snapshot, size_t device, const hx__nearest *beside, const hx__nearest *alone);

/* Sorts the devices, the fastest first. Sets the estimate of the CPU beside them (measured->samples 0: derived from its
 * rate alone). Reconciles each participant's rates alone and in company (hx__reconcile). */
void hx__expect_company(hx__plan_snapshot *snapshot, const hx__estimate *cpu_beside);

/* The sum of the identities of all that take part in a choice. */
uint64_t hx__company_of(const hx__plan_snapshot *snapshot, hx__choice choice);

/* The time to fetch `bytes` of device-only results. */
double hx__fetch_ns(size_t bytes);

/* How energy counts for these devices; counters: the machine has some. HX__ENERGY_USED if they can then be read. */
hx__energy_use hx__energy_use_of(const hx__plan_snapshot *snapshot, bool counters);

#endif
