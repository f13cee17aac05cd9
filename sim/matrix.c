/* SPDX-License-Identifier: Apache-2.0
 * The scenarios as data. Each changes a machine of a CPU and a device that share nothing and have constant rates. */
#include "sim/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CPU_RATE 1e-2 /* slices per nanosecond: 10 per microsecond */
#define NOISE 0.03
#define DAY_S 86400u

const char *const sim_belief_names[SIM_BELIEFS] = {"learned", "seed", "seed 2x", "seed 0.5x", "old 2x", "sure 2x"};

static void add_step(sim_unit *u, double at_ns, double factor) {
  if (u->steps < SIM_STEPS) u->step[u->steps++] = (sim_step){at_ns, factor};
}

static void gpu_slows(sim_machine *m, double ns) { add_step(&m->device[0], 0.25 * ns, 0.6); }
static void gpu_slows_much(sim_machine *m, double ns) { add_step(&m->device[0], 0.25 * ns, 0.4); }
static void gpu_slows_late(sim_machine *m, double ns) { add_step(&m->device[0], 0.6 * ns, 0.5); }
static void all_slow(sim_machine *m, double ns) {
  add_step(&m->device[0], 0.25 * ns, 0.5);
  add_step(&m->cpu, 0.25 * ns, 0.7);
}
static void cpu_slows(sim_machine *m, double ns) { add_step(&m->cpu, 0.25 * ns, 0.5); }
static void gpu_speeds_up(sim_machine *m, double ns) { add_step(&m->device[0], 0.3 * ns, 1.5); }
static void gpu_heats(sim_machine *m, double ns) {
  for (int i = 1; i <= 5; i++) add_step(&m->device[0], 0.15 * i * ns, 1.0 - 0.08 * i);
}
static void gpu_stalls(sim_machine *m, double ns) {
  add_step(&m->device[0], 0.3 * ns, 0.0);
  add_step(&m->device[0], 0.4 * ns, 1.0);
}
static void cpu_loses_its_core(sim_machine *m, double ns) {
  add_step(&m->cpu, 0.2 * ns, 0.1);
  add_step(&m->cpu, 0.35 * ns, 1.0);
}
static void slow_short_launches(sim_machine *m, double ns) {
  (void)ns;
  m->device[0].elbow = 3e5 * m->device[0].rate;
}
static void shared_memory(sim_machine *m, double ns) {
  (void)ns;
  m->cpu.bytes = m->device[0].bytes = 1.0;
  m->dram = 0.75 * (m->cpu.rate + m->device[0].rate);
}
static void shared_power(sim_machine *m, double ns) {
  (void)ns;
  m->cpu.corun = 0.75;
  m->device[0].corun = 0.85;
}
static void eight_threads(sim_machine *m, double ns) {
  (void)ns;
  m->cpu.threads = 8;
}
static void slow_cores(sim_machine *m, double ns) {
  (void)ns;
  m->cpu.threads = 8;
  m->cpu.slow = 4;
}
static void wide_grain(sim_machine *m, double ns) { m->device[0].grain = 1 + (size_t)(ns * m->device[0].rate / 64.0); }
static void two_devices(sim_machine *m, double ns) {
  (void)ns;
  m->devices = 2;
  m->device[1] = m->device[0];
  m->device[1].rate *= 0.5;
  m->device[1].latency_ns *= 0.5;
}
static void gpu_slows_beside_threads(sim_machine *m, double ns) {
  m->cpu.threads = 8;
  gpu_slows_much(m, ns);
}
static void large_noise(sim_machine *m, double ns) {
  (void)ns;
  m->cpu.noise = m->device[0].noise = 0.1;
}

const sim_scenario sim_scenarios[] = {
    {"plain", NULL, SIM_STEADY},
    {"GPU to 0.6 at 25 %", gpu_slows, SIM_CHANGING},
    {"GPU to 0.4 at 25 %", gpu_slows_much, SIM_CHANGING},
    {"GPU to 0.5 at 60 %", gpu_slows_late, SIM_CHANGING},
    {"both slow at 25 %", all_slow, SIM_CHANGING},
    {"GPU to 0.4, 8 threads", gpu_slows_beside_threads, SIM_CHANGING},
    {"CPU to 0.5 at 25 %", cpu_slows, SIM_CHANGING},
    {"GPU to 1.5 at 30 %", gpu_speeds_up, SIM_CHANGING},
    {"GPU heats in 5 steps", gpu_heats, SIM_CHANGING},
    {"GPU stalls for 10 %", gpu_stalls, SIM_CHANGING},
    {"CPU stolen for 15 %", cpu_loses_its_core, SIM_CHANGING},
    {"elbow of 0.3 ms", slow_short_launches, SIM_ELBOW},
    {"shared DRAM", shared_memory, SIM_STEADY},
    {"shared power", shared_power, SIM_STEADY},
    {"8 threads", eight_threads, SIM_STEADY},
    {"4 fast, 4 slow", slow_cores, SIM_STEADY},
    {"grain of 1/64", wide_grain, SIM_STEADY},
    {"two devices", two_devices, SIM_STEADY},
    {"noise of 10 %", large_noise, SIM_STEADY},
};
const unsigned sim_scenario_count = sizeof sim_scenarios / sizeof *sim_scenarios;

sim_machine sim_plain(double ratio, double latency_ns) {
  sim_machine m = {.devices = 1};
  m.cpu = (sim_unit){.rate = CPU_RATE, .threads = 1, .noise = NOISE};
  m.device[0] =
      (sim_unit){.rate = ratio * CPU_RATE, .latency_ns = latency_ns, .gap_ns = 0.1 * latency_ns, .noise = NOISE};
  return m;
}

size_t sim_slices_for(const sim_machine *m, double task_ns) {
  double slices = m->cpu.rate * task_ns;
  for (unsigned d = 0; d < m->devices; d++)
    if (task_ns > m->device[d].latency_ns) slices += m->device[d].rate * (task_ns - m->device[d].latency_ns);
  return (size_t)slices;
}

/* The machine on which the model has learned. */
static sim_machine machine_learned_on(const sim_machine *m, sim_belief belief) {
  sim_machine was = *m;
  if (belief == SIM_LEARNED) return was;
  for (unsigned d = 0; d < m->devices; d++) was.device[d].rate *= 2.0;
  return was;
}

double sim_eta(const sim_machine *m, size_t slices, double oracle_ns, sim_belief belief, uint64_t seed) {
  static const double factor[SIM_BELIEFS] = {1, 1, 2, 0.5, 1, 1};
  hx__model *const model = calloc(1, sizeof *model);
  if (!model) return NAN;
  pthread_mutex_init(&model->lock, NULL);
  uint64_t random = seed;
  sim_hx hx = {.model = model, .now_s = 1000000};
  const sim_guess guess = sim_guess_of(m, factor[belief]);
  if (belief == SIM_LEARNED || belief >= SIM_OLD_2X) {
    const sim_machine was = machine_learned_on(m, belief);
    sim_hx_warm(&hx, &was, slices, 10, &random);
  }
  if (belief == SIM_OLD_2X) hx.now_s += DAY_S;
  const double ns = sim_hx_call(&hx, m, slices, &guess, &random, NULL);
  pthread_mutex_destroy(&model->lock);
  free(model);
  return oracle_ns / ns;
}
