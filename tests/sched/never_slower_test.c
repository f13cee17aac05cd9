/* SPDX-License-Identifier: Apache-2.0
 * Never slower than the better device alone, in virtual time: a CPU and a device that slow each other down, as shared
 * cores or memory do, on a machine whose call times vary. Calls 11 to 60 of hx against as many of the CPU alone and of
 * the device alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/check.h"
#include "sim/sim.h"

enum { CALLS = 60, LEARNING = 10, TIMED = CALLS - LEARNING, SEEDS = 20, SLICES = 4096 };

#define CPU_RATE 2e-3 /* slices per nanosecond */
#define LATENCY_NS 60e3
#define COUNT(a) (sizeof(a) / sizeof *(a))

typedef struct weather {
  const char *name;
  double sigma; /* standard deviation of the logarithm of a call's time, */
  double spike; /* how often a call takes 1.5 to 4 times as long, */
  double gust;  /* how often other programs begin to slow all calls down, */
  double lasts; /* and how often they continue during the next call */
  double cell;  /* the least mean of a cell's ratio over its seeds, */
  double seed;  /* and the least fraction of all seeds with a ratio over 0.93 */
} weather;

static const weather weathers[] = {
    {.name = "calm", .sigma = 0.03, .cell = 0.97, .seed = 1.0},
    {.name = "noisy", .sigma = 0.10, .spike = 0.03, .cell = 0.93, .seed = 0.93},
    {.name = "gusty", .sigma = 0.05, .spike = 0.01, .gust = 0.03, .lasts = 0.6, .cell = 0.93, .seed = 0.96}};
static const double ratios[] = {2.0, 1.3, 1.05, 0.8, 0.6, 0.3, 0.05}; /* the device's rate divided by the CPU's */
static const double coruns[] = {1.0, 0.6, 0.5, 0.35};                 /* factor of both rates while both work */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

static double slowdown(const weather *w, uint64_t *random) {
  const double noise = exp(w->sigma * sim_gaussian(random));
  return sim_uniform(random) < w->spike ? noise * (1.5 + 2.5 * sim_uniform(random)) : noise;
}

/* The factor by which calls take longer now; 1: no other program slows them. */
static double next_gust(const weather *w, double gust, uint64_t *random) {
  if (gust > 1.0 && sim_uniform(random) < w->lasts) return gust;
  return sim_uniform(random) < w->gust ? 1.4 + 1.2 * sim_uniform(random) : 1.0;
}

/* The machine with the rates that it has in one call. */
static sim_machine machine_now(const sim_machine *m, const weather *w, double gust, uint64_t *random) {
  sim_machine t = *m;
  t.cpu.rate /= gust * slowdown(w, random);
  t.device[0].rate /= gust * slowdown(w, random);
  return t;
}

/* The median time of the better one alone divided by the median time of hx. The self-test measured the rate of the
 * device alone wrong by a third. */
static double ratio_of(const sim_machine *m, const weather *w, unsigned seed) {
  static hx__model model;
  model = (hx__model)HX__MODEL_INIT;
  sim_hx hx = {.model = &model, .now_s = 1000};
  sim_guess guess = sim_guess_of(m, seed % 2 ? 1.3 : 0.7);
  guess.rate[SIM_DEVICES] *= 0.85;
  uint64_t random = 1000 + 77 * seed;
  double both[CALLS], cpu[CALLS], device[CALLS], gust = 1.0;
  for (unsigned i = 0; i < CALLS; i++) {
    gust = next_gust(w, gust, &random);
    sim_machine t = machine_now(m, w, gust, &random);
    both[i] = sim_hx_call(&hx, &t, SLICES, &guess, &random, NULL);
    t = machine_now(m, w, gust, &random);
    cpu[i] = SLICES / t.cpu.rate;
    device[i] = LATENCY_NS + SLICES / t.device[0].rate;
  }
  return fmin(median(cpu, CALLS), median(device, CALLS)) / median(both + LEARNING, TIMED);
}

static void try_weather(const weather *w) {
  double worst = INFINITY;
  unsigned seeds = 0, slow = 0;
  for (size_t r = 0; r < COUNT(ratios); r++)
    for (size_t c = 0; c < COUNT(coruns); c++) {
      sim_machine m = {.devices = 1};
      m.cpu = (sim_unit){.rate = CPU_RATE, .threads = 2, .noise = 0.02, .corun = coruns[c]};
      m.device[0] = (sim_unit){.rate = ratios[r] * CPU_RATE,
                               .latency_ns = LATENCY_NS,
                               .gap_ns = LATENCY_NS / 6,
                               .noise = 0.02,
                               .corun = coruns[c]};
      double cell = 0.0;
      for (unsigned seed = 1; seed <= SEEDS; seed++, seeds++) {
        const double ratio = ratio_of(&m, w, seed);
        slow += ratio < 0.93;
        cell += ratio / SEEDS;
      }
      CHECK(cell >= w->cell, "%s, a device of %g times the CPU, together %g of their rates: %.3f of the better one",
            w->name, ratios[r], coruns[c], cell);
      if (cell < worst) worst = cell;
    }
  const double part = 1.0 - (double)slow / seeds;
  printf("  %s: %.3f of the better one or more in %.1f %% of %u runs, worst mean of a cell %.3f\n", w->name, 0.93,
         100.0 * part, seeds, worst);
  CHECK(part >= w->seed, "%s: under 0.93 of the better one in %u of %u runs", w->name, slow, seeds);
}

/* A discrete GPU beside a CPU that reads at the speed of memory. Operands that go to the GPU through a ring use four
 * times their size of memory bandwidth (a read, a line fetched before a write, the write, a read by the GPU). The rate
 * of the GPU is not known before a trial, and the trial may not make a call more than 3 % longer than with the CPU
 * alone. */
static void try_card(double cpu_ns, double ratio) {
  static hx__model model;
  double worst = 0.0, sum = 0.0;
  const size_t slices = 262144;
  const double rate = (double)slices / cpu_ns;
  sim_machine m = {.devices = 1, .dram = rate};
  m.cpu = (sim_unit){.rate = rate, .threads = 16, .bytes = 1.0, .noise = 0.02, .most = 64};
  m.device[0] =
      (sim_unit){.rate = ratio * rate, .latency_ns = 60e3, .gap_ns = 10e3, .grain = 16, .bytes = 4.0, .noise = 0.05};
  for (unsigned seed = 1; seed <= SEEDS; seed++) {
    model = (hx__model)HX__MODEL_INIT;
    sim_hx hx = {.model = &model, .now_s = 1000, .copies = true};
    sim_guess guess = sim_guess_of(&m, 2.0);
    guess.rate[SIM_DEVICES] *= 0.3;
    uint64_t random = 500 + seed;
    for (unsigned i = 0; i < CALLS; i++) {
      const double ns = sim_hx_call(&hx, &m, slices, &guess, &random, NULL) / cpu_ns;
      worst = fmax(worst, ns);
      sum += ns / (CALLS * SEEDS);
    }
  }
  printf("  a card of %g times the CPU, %.0f ms: at most %.3f times the CPU alone, %.3f in the mean\n", ratio,
         cpu_ns * 1e-6, worst, sum);
  CHECK(worst < 1.03, "a card of %g times the CPU, %.0f ms: a call takes %.3f times the CPU alone", ratio,
        cpu_ns * 1e-6, worst);
}

/* A discrete GPU with a third of the CPU's rate that uses little memory bandwidth is used. */
static void try_good_card(void) {
  static hx__model model;
  const double cpu_ns = 38e6, rate = 262144 / cpu_ns;
  sim_machine m = {.devices = 1, .dram = 2.0 * rate};
  m.cpu = (sim_unit){.rate = rate, .threads = 16, .bytes = 1.0, .noise = 0.02, .most = 64};
  m.device[0] = (sim_unit){.rate = rate / 3.0, .latency_ns = 60e3, .gap_ns = 10e3, .grain = 16, .bytes = 1.0};
  double last[TIMED];
  model = (hx__model)HX__MODEL_INIT;
  sim_hx hx = {.model = &model, .now_s = 1000, .copies = true};
  const sim_guess guess = sim_guess_of(&m, 0.5);
  uint64_t random = 9;
  for (unsigned i = 0; i < CALLS; i++) {
    const double ns = sim_hx_call(&hx, &m, 262144, &guess, &random, NULL);
    if (i >= LEARNING) last[i - LEARNING] = ns / cpu_ns;
  }
  const double ratio = median(last, TIMED);
  printf("  a card of a third of the CPU from pinned memory: %.3f times the CPU alone\n", ratio);
  CHECK(ratio < 0.8, "a card of a third of the CPU: %.3f times the CPU alone", ratio);
}

/* Two cards, to each of which a product's shared operand is copied first, in `once` times what one card computes. After
 * some calls hx uses both, as the best fixed split does. */
static void try_two_cards(double once) {
  static hx__model model;
  const double cpu_ns = 440e6;
  const size_t slices = 8192;
  const double rate = (double)slices / cpu_ns, card = 20.0 * rate;
  sim_machine m = {.devices = 2, .linked = true};
  m.cpu = (sim_unit){.rate = rate, .threads = 32, .noise = 0.02};
  for (unsigned d = 0; d < m.devices; d++)
    m.device[d] =
        (sim_unit){.rate = card, .latency_ns = 20e3, .grain = 16, .once_ns = once * cpu_ns / 20, .noise = 0.02};
  double share[SIM_DEVICES], last[TIMED];
  const double best = sim_oracle(&m, slices, share), one = cpu_ns / 20 * (1.0 + once) + 20e3;
  model = (hx__model)HX__MODEL_INIT;
  sim_hx hx = {.model = &model, .now_s = 1000};
  const sim_guess guess = sim_guess_of(&m, 0.7);
  uint64_t random = 11;
  for (unsigned i = 0; i < CALLS; i++) {
    const double ns = sim_hx_call(&hx, &m, slices, &guess, &random, NULL);
    if (i >= LEARNING) last[i - LEARNING] = ns;
  }
  const double ns = median(last, TIMED);
  printf("  two cards that copy for %g of their time: %.3f of one, %.3f of the best split\n", once, ns / one,
         ns / best);
  CHECK(ns < 1.08 * best, "two cards that copy for %g of their time: %.3f times the best split", once, ns / best);
  CHECK(hx.result.device_slices[0] && hx.result.device_slices[1], "a card of two is not used");
}

int main(void) {
  try_good_card();
  static const double once[] = {0.0, 0.25, 1.0};
  for (size_t i = 0; i < COUNT(once); i++) try_two_cards(once[i]);
  static const double card_ns[] = {5e6, 38e6}, cards[] = {0.027, 0.05, 0.1};
  for (size_t t = 0; t < COUNT(card_ns); t++)
    for (size_t c = 0; c < COUNT(cards); c++) try_card(card_ns[t], cards[c]);
  for (size_t w = 0; w < COUNT(weathers); w++) try_weather(&weathers[w]);
  return checks_end("never_slower_test");
}
