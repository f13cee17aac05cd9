/* SPDX-License-Identifier: Apache-2.0
 * HX_OBJECTIVE in virtual time: on machines whose CPU and devices use known powers, hx learns to make the cheapest
 * choice, with exact counters, and with counters that are updated once per millisecond like RAPL's. */
#include <math.h>

#include "tests/check.h"
#include "sim/sim.h"

enum { CALLS = 600, LAST = 100, SEEDS = 5, DEVICES = 2 };

#define CPU_RATE 1e-2 /* slices per nanosecond */
#define BASE_W 2.0
#define LATENCY_NS 40e3

/* Choices with one device: 0 is the CPU, 1 both, 2 the device. With two devices: 0 is the CPU, 1 and 2 are the CPU with
 * one or both devices, 3 and 4 are one or both devices alone. */
typedef struct row {
  const char *name;
  double cpu_w, ratio[DEVICES], watts[DEVICES]; /* ratio: a device's rate divided by the CPU's */
  unsigned best[3];                             /* the best choice by time, by energy, and by energy times time */
} row;

static const row rows[] = {
    {"a frugal GPU, half as fast", 40, {0.5}, {5}, {1, 2, 1}},
    {"a frugal GPU, a third as fast", 25, {0.33}, {3}, {1, 2, 1}},
    {"a hungry GPU", 10, {1.2}, {80}, {1, 0, 0}},
    {"a GPU that is better in everything", 40, {8}, {5}, {1, 2, 2}},
    {"a frugal GPU and a hungry one", 15, {1.05, 1.0}, {10, 80}, {2, 3, 1}},
};

static sim_machine machine_of(const row *r) {
  sim_machine m = {.watts = BASE_W};
  m.cpu = (sim_unit){.rate = CPU_RATE, .threads = 2, .noise = 0.03, .watts = r->cpu_w};
  for (; m.devices < DEVICES && r->ratio[m.devices] > 0.0; m.devices++)
    m.device[m.devices] = (sim_unit){
        .rate = r->ratio[m.devices] * CPU_RATE, .latency_ns = LATENCY_NS, .noise = 0.03, .watts = r->watts[m.devices]};
  return m;
}

static double cost_of(hx__objective objective, double ns, double joules) {
  return objective == HX__OBJECTIVE_TIME ? ns : objective == HX__OBJECTIVE_ENERGY ? joules : joules * ns;
}

/* The cost of a choice whose participants end at the same time, and use their power until then. */
static double least_cost(const sim_machine *m, size_t slices, unsigned choice, hx__objective objective) {
  const hx__choice c = hx__choice_of(choice, m->devices);
  hx__participant participants[DEVICES + 1];
  double watts = m->watts;
  unsigned n = 0;
  if (c.cpu) watts += m->cpu.watts, participants[n++] = (hx__participant){m->cpu.rate, 0.0};
  for (unsigned d = 0; d < c.devices; d++) {
    watts += m->device[d].watts;
    participants[n++] = (hx__participant){m->device[d].rate, LATENCY_NS};
  }
  const double ns = hx__finish_ns((double)slices, participants, n);
  return cost_of(objective, ns, watts * ns * 1e-9);
}

/* The mean cost of the last calls divided by the least cost, checks of other choices included; a wrong choice costs 1.2
 * to 6 times as much. */
static void learns(const row *r, hx__objective objective, double task_ns, double tick_ns) {
  static hx__model model;
  const sim_machine m = machine_of(r);
  const size_t slices = (size_t)(task_ns * CPU_RATE);
  const sim_guess guess = sim_guess_of(&m, 1.0);
  const unsigned wanted = r->best[objective];
  const double least = least_cost(&m, slices, wanted, objective), most = m.devices == 1 ? 1.25 : 1.40;
  for (unsigned c = 0; c < 2u * m.devices + 1u; c++)
    CHECK(c == wanted || least_cost(&m, slices, c, objective) > least, "%s, %s: choice %u is better than %u", r->name,
          hx__objective_name(objective), c, wanted);
  double cost = 0.0;
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    model = (hx__model)HX__MODEL_INIT;
    sim_hx hx = {.model = &model, .now_s = 1000, .objective = objective, .meter.tick_ns = tick_ns};
    uint64_t random = seed;
    for (unsigned i = 0; i < CALLS; i++) {
      sim_hx_call(&hx, &m, slices, &guess, &random, NULL);
      hx.meter.now_ns += 2e6 * sim_uniform(&random); /* no power is used between calls */
      if (i >= CALLS - LAST) cost += cost_of(objective, hx.result.ns, hx.result.joules) / (LAST * SEEDS);
    }
  }
  CHECK(cost < most * least, "%s, %s, %.1f ms, a tick of %g ms: %.3f x the least", r->name,
        hx__objective_name(objective), task_ns * 1e-6, tick_ns * 1e-6, cost / least);
}

/* Consecutive short calls with the same choice are measured together, a call after another choice is not measured, and
 * a long call is measured by itself. */
static void rows_of_calls(void) {
  static hx__model model = HX__MODEL_INIT;
  const hx__rate_key a = {.device = 3, .size_class = 20}, b = {.device = 5, .size_class = 20};
  hx__model_learn(&model, &a, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 2e6, .call_number = 1}, 1);
  hx__model_learn(&model, &b, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 2e6, .call_number = 1}, 1);
  for (int i = 0; i < 20; i++) {
    hx__model_learn_power(&model, &a, 0.2, 2e6);
    hx__model_learn_power(&model, &b, 0.02, 2e6);
  }
  hx__estimate e = hx__model_estimate_exact(&model, &a, 1);
  CHECK(!(e.watts > 0.0) && e.metering, "%g W after calls of different choices", e.watts);
  for (int i = 0; i < 7; i++) hx__model_learn_power(&model, &a, i ? 0.06 : 0.2, 2e6);
  e = hx__model_estimate_exact(&model, &a, 1);
  CHECK(fabs(e.watts - 30.0) < 0.1, "%g W after consecutive calls", e.watts);
  hx__model_learn_power(&model, &b, 0.5, 10e6);
  e = hx__model_estimate_exact(&model, &b, 1);
  CHECK(fabs(e.watts - 50.0) < 0.1 && !e.metering, "%g W of a long call", e.watts);
  hx__model_learn_power(&model, &a, NAN, 2e6);
  hx__model_learn_power(&model, &a, 0.0, 10e6);
  e = hx__model_estimate_exact(&model, &a, 1);
  CHECK(fabs(e.watts - 30.0) < 0.1 && !e.metering, "%g W after a call without a measurement", e.watts);
}

int main(void) {
  rows_of_calls();
  static const double task_ns[] = {1e6, 5e6, 20e6}, tick_ns[] = {0.0, 1e6};
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
    for (size_t t = 0; t < sizeof task_ns / sizeof *task_ns; t++)
      for (size_t k = 0; k < sizeof tick_ns / sizeof *tick_ns; k++)
        for (int o = HX__OBJECTIVE_TIME; o <= HX__OBJECTIVE_EDP; o++)
          learns(&rows[r], (hx__objective)o, task_ns[t], tick_ns[k]);
  return checks_end("objective_test");
}
