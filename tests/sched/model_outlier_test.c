/* SPDX-License-Identifier: Apache-2.0
 * How far single measurements move the model (sched/model.h): outliers, lasting changes, age, other size classes. */
#include "runtime/sched/progress.h"
#include "runtime/sched/model.h"
#include "tests/check.h"

/* A single outlier is ignored, a change is accepted after two or three measurements, and age makes estimates uncertain.
 * */
static void outliers_and_changes(void) {
  static hx__model model = HX__MODEL_INIT;
  const hx__rate_key key = {.device = 3, .needs = 1, .size_class = 20};
  for (int i = 0; i < 10; i++)
    hx__model_learn(&model, &key, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 1e6 + 5e4}, 100);
  const double before = hx__model_estimate_exact(&model, &key, 100).ns_per_unit;
  hx__model_learn(&model, &key, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 9e7}, 100);
  CHECK(hx__model_estimate_exact(&model, &key, 100).ns_per_unit < 1.25 * before, "one outlier moved the estimate");
  hx__model_learn(&model, &key, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 1e6 + 5e4}, 100);
  for (int i = 0; i < 4; i++)
    hx__model_learn(&model, &key, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 2e6}, 100);
  const hx__estimate after = hx__model_estimate_exact(&model, &key, 100);
  CHECK(after.ns_per_unit > 1.4 * before, "%g after a change from %g to 1.95", after.ns_per_unit, before);
  CHECK(hx__model_estimate_exact(&model, &key, 100 + 86400).sigma >= 0.5, "the estimate is as certain after a day");
  hx__rate_key near = key;
  near.size_class = 22;
  CHECK(hx__model_estimate(&model, &near, 100).samples && hx__model_estimate(&model, &near, 100).sigma > after.sigma,
        "there is no estimate for the next class");
  near.size_class = 25;
  CHECK(!hx__model_estimate(&model, &near, 100).samples, "there is an estimate for a distant class");
  for (uint64_t i = 0; i < 5 * HX__MODEL_ENTRIES; i++) { /* the table is full and its oldest entries are replaced */
    hx__rate_key k = key;
    k.device = hx__identity("any", "one") + i;
    hx__model_learn(&model, &k, &hx__prior_device, (hx__sample){.units = 1e6, .ns = 1e6}, 200 + i);
    CHECK(hx__model_estimate_exact(&model, &k, 200 + i).samples == 1, "entry %llu is lost", (unsigned long long)i);
  }
}

/* How far measurements that differ from earlier ones move the estimate. Those that are longer by the cost of a
 * preempted core are accepted one call later; those that repeat and are longer by far more, at once. */
static void steps_of_estimate(void) {
  static hx__model model = HX__MODEL_INIT;
  static const struct {
    double ms; /* the right time */
    int before;
    double factor;
    int calls;
    double least, most; /* bounds of the estimate, as a multiple of the right time */
  } rows[] = {{1.0, 1, 8.0, 1, 1.0, 1.5},      {1.0, 10, 8.0, 1, 1.0, 1.4},    {1.0, 10, 8.0, 2, 1.4, 2.2},
              {1.0, 10, 8.0, 4, 4.0, 8.0},     {6.0, 6, 1.8, 2, 1.4, 1.8},     {6.0, 10, 1.8, 2, 1.0, 1.22},
              {6.0, 10, 1.8, 3, 1.22, 1.8},    {20.0, 10, 1.8, 2, 1.3, 1.8},   {20.0, 10, 8.0, 1, 1.0, 1.4},
              {20.0, 10, 8.0, 2, 3.0, 8.0},    {1.0, 10, 0.125, 1, 0.3, 0.5},  {1.0, 10, 0.125, 4, 0.12, 0.2},
              {1.0, 10, 0.004, 2, 0.15, 0.18}, {20.0, 10, 0.125, 1, 0.3, 0.5}, {20.0, 10, 0.125, 4, 0.12, 0.2}};
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
    const hx__rate_key key = {.device = 3 + r, .needs = 1, .size_class = 20};
    for (int i = 0; i < rows[r].before + rows[r].calls; i++)
      hx__model_learn(
          &model, &key, &hx__prior_device,
          (hx__sample){.units = 1e6, .ns = 5e4 + rows[r].ms * 1e6 * (i < rows[r].before ? 1.0 : rows[r].factor)}, 100);
    const double now = hx__model_estimate_exact(&model, &key, 100).ns_per_unit / rows[r].ms;
    CHECK(now > rows[r].least && now < rows[r].most, "%d calls of %g after %d of 1, of %g ms: %g", rows[r].calls,
          rows[r].factor, rows[r].before, rows[r].ms, now);
  }
}

/* Chunks (of 1 unit per nanosecond) as a device worker without a core sees them: a chunk that has already ended when it
 * is polled counts only together with the one before it, and no chunk is lost. */
static void chunks_already_done(void) {
  static hx__model model = HX__MODEL_INIT;
  static const struct {
    double units, ns;
    bool found;
  } chunks[] = {{4e6, 4e6, false}, {4e6, 7.9e6, false}, {4e6, 1e5, true},   {4e6, 4.1e6, true},
                {4e6, 4e6, false}, {4e6, 7e6, false},   {3e6, 1.2e4, true}, {4e6, 4e6, false}};
  const hx__rate_key key = {.device = 3, .needs = 1, .size_class = 20};
  const hx__estimate nothing = {.latency_ns = 1e4};
  hx__observation last = {0}, ripe;
  hx__progress progress;
  hx__progress_begin(&progress, &nothing, 1.0, false);
  double units = 0.0, ns = 0.0, learned_units = 0.0, learned_ns = 0.0;
  for (size_t i = 0; i <= sizeof chunks / sizeof chunks[0]; i++) {
    ripe = last;
    if (i < sizeof chunks / sizeof chunks[0]) {
      const hx__observation now = {chunks[i].units, chunks[i].units, chunks[i].ns, 1.0, false};
      units += now.units, ns += now.ns;
      const hx__observation s = hx__observation_add(&last, &now, chunks[i].found, &ripe);
      hx__progress_observe(&progress, s.slices, s.ns, s.exposed);
      CHECK(progress.rate < 1.2, "chunk %zu: a rate of %g", i, progress.rate);
    }
    learned_units += ripe.units, learned_ns += ripe.ns;
    if (ripe.slices > 0.0)
      hx__model_learn(&model, &key, &nothing, (hx__sample){.units = ripe.units, .ns = ripe.ns}, 100);
    const hx__estimate e = hx__model_estimate_exact(&model, &key, 100);
    CHECK(!e.samples || (e.ns_per_unit > 0.8 && e.ns_per_unit < 1.25), "after %zu chunks: %g", i, e.ns_per_unit);
  }
  CHECK(learned_units == units && learned_ns == ns, "%g units in %g ns, learned %g in %g", units, ns, learned_units,
        learned_ns);
}

int main(void) {
  outliers_and_changes();
  steps_of_estimate();
  chunks_already_done();
  return checks_end("model_outlier_test");
}
