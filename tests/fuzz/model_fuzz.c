/* SPDX-License-Identifier: Apache-2.0
 * The file of the model: entries of any bytes. An entry that is accepted gives usable numbers, also after more
 * measurements are added to it. The first byte says which fields are made valid, so that the code behind their checks
 * is reached. */
#include <math.h>

#include "runtime/sched/decide.h"
#include "tests/fuzz/fuzz.h"

enum { MOST = 8, NOW = 1000000 };

int LLVMFuzzerInitialize(int *argc, char ***argv) { return (void)argc, (void)argv, 0; }

static void check_estimate(const hx__estimate *e, const char *when) {
  FUZZ_CHECK(e->ns_per_unit > 0 && isfinite(e->ns_per_unit) && isfinite(e->sigma) && e->sigma >= 0 &&
                 e->latency_ns >= 0 && e->idle_ns >= 0 && e->watts >= 0 && isfinite(e->watts),
             "%s: %g ns a unit, sigma %g, latency %g, %g W", when, e->ns_per_unit, e->sigma, e->latency_ns, e->watts);
}

static void give_sense(hx__model_entry *e, unsigned which) {
  if (which & 1) e->samples = 1 + e->samples % 100, e->outliers %= 3, e->date = NOW - e->date % 100;
  if (which & 2) e->log_variance = 0.01, e->watts = 20, e->joules = 0, e->metered_ns = 0;
  for (unsigned s = 0; which & 4 && s < HX__MODEL_STATES; s++) e->state[s] = fabs(fmod(e->state[s], 1e9)) + 1e-3;
  for (unsigned s = 0; which & 8 && s < HX__MODEL_STATES; s++)
    for (unsigned t = 0; t < HX__MODEL_STATES; t++) e->covariance[s][t] = s == t ? 1.0 : 0.0;
}

static void check_estimates(hx__model *model, const hx__rate_key *key) {
  hx__estimate exact = hx__model_estimate_exact(model, key, NOW), near = hx__model_estimate(model, key, NOW);
  check_estimate(&exact, "kept");
  check_estimate(&near, "got");
  hx__reconcile(&exact, &near);
  check_estimate(&exact, "reconciled");
  const hx__cost_inputs inputs = {.units = 1e6,
                                  .cpu_alone = exact,
                                  .cpu_beside = near,
                                  .devices = 1,
                                  .device[0] = {.alone = near, .beside = exact}};
  hx__decision decision;
  hx__decide(&inputs, &decision);
  FUZZ_CHECK(decision.choice < decision.choices && decision.best < decision.choices && decision.choices == 3,
             "choice %u, best %u of %u", decision.choice, decision.best, decision.choices);
  hx__model_learn(model, key, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 1e6, .call_number = 3}, NOW + 1);
  hx__model_learn_power(model, key, 1.0, 5e7);
  exact = hx__model_estimate_exact(model, key, NOW + 1);
  check_estimate(&exact, "learned");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static hx__model model;
  memset(&model, 0, sizeof model);
  pthread_mutex_init(&model.lock, NULL);
  if (size < 1) return 0;
  hx__model_entry e;
  for (size_t at = 1, i = 0; i < MOST && at + sizeof e <= size; at += sizeof e, i++) {
    memcpy(&e, data + at, sizeof e);
    give_sense(&e, data[0]);
    if (hx__model_merge(&model, &e, NOW)) check_estimates(&model, &e.key);
  }
  pthread_mutex_destroy(&model.lock);
  return 0;
}
