/* SPDX-License-Identifier: Apache-2.0
 * The chunks of a device that computes all that is left (sched/policy.h, hx__policy_alone), in virtual time: every
 * slice once, and shorter chunks at the end only if they pay. */
#include <math.h>

#include "runtime/sched/policy.h"
#include "tests/check.h"
#include "sim/sim.h"

static double random_over_decades(uint64_t *random, double least, double most) {
  return exp(log(least) + sim_uniform(random) * (log(most) - log(least)));
}

/* How long a device takes alone if one thread stores its results; known: whether the policy knows the time to store. */
static double alone_ns(hx__view v, double store_ns, bool known, unsigned *chunks) {
  double computed = 0.0, stored = 0.0;
  v.store_ns = known ? store_ns : 0.0;
  for (*chunks = 0; v.left && *chunks < 100000; ++*chunks) {
    const size_t take = hx__policy_alone(&v);
    CHECK(take > 0 && take <= v.left && take <= v.most, "a chunk of %zu of %zu", take, v.left);
    computed += v.launch_ns + (double)take / v.rate;
    stored = fmax(stored, computed) + (double)take * store_ns;
    v.left -= take < v.left ? take : v.left;
  }
  return stored;
}

/* Shorter chunks at the end of a device's work never cost more than they save, and save what they should. */
int main(void) {
  uint64_t random = 8;
  unsigned few, many;
  double worst = 0.0;
  for (int i = 0; i < 30000; i++) {
    hx__view v = {.total = 1 + (size_t)random_over_decades(&random, 1.0, 1e6),
                  .grain = 1 + (size_t)random_over_decades(&random, 1.0, 300.0)};
    v.left = v.total;
    v.most = v.grain + v.total / 50 + (size_t)random_over_decades(&random, 1.0, 1e6);
    v.rate = random_over_decades(&random, 1e-6, 1.0);
    v.launch_ns = random_over_decades(&random, 1e3, 1e6);
    const double store = random_over_decades(&random, 1e-3, 1e5);
    const double with = alone_ns(v, store, true, &many), without = alone_ns(v, store, false, &few);
    worst = fmax(worst, (with - without) / without);
  }
  /* A product of 8192 rows on a GPU: 2048 rows take 5.1 ms, and are stored in 2.3 ms. */
  const hx__view v = {.total = 8192, .left = 8192, .most = 2048, .grain = 128, .rate = 0.0004, .launch_ns = 1e4};
  const double with = alone_ns(v, 1100.0, true, &many), without = alone_ns(v, 1100.0, false, &few);
  printf("  alone: %u chunks in %.2f ms, %u in %.2f; at worst %.3f more\n", many, with * 1e-6, few, without * 1e-6,
         worst);
  CHECK(worst < 0.07, "%.3f more", worst);
  CHECK(with < without - 1.8e6, "%g ns, %g without", with, without);
  return checks_end("policy_alone_test");
}
