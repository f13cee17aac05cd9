/* SPDX-License-Identifier: Apache-2.0
 * The chunks of a device that computes all that is left (sched/policy.h, hx__policy_alone), in virtual time: every
 * slice once, shorter chunks at the end only if they pay, and short ones from the beginning if results cross a link. */
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

/* The stages of a chunk on a card: nanoseconds of a slice, one after the other, while other chunks are in other ones.
 */
enum { UP, COMPUTE, DOWN, STORE, STAGES };

/* How long a card takes alone if a chunk costs launch_ns in every stage, and shared_ns pass before the first one is
 * computed. */
static double over_link_ns(hx__view v, const double stage_ns[STAGES], bool by_link) {
  double end[STAGES] = {0.0};
  v.by_link = by_link;
  v.store_ns = stage_ns[STORE];
  v.rate = 1.0 / stage_ns[COMPUTE];
  for (v.taken = 0; v.left;) {
    const size_t take = hx__policy_alone(&v);
    CHECK(take > 0 && take <= v.left && take <= v.most, "a chunk of %zu of %zu", take, v.left);
    for (int s = 0; s < STAGES; s++) {
      const double alone = v.launch_ns + (double)take * stage_ns[s];
      end[s] = fmax(end[s], s ? end[s - 1] : 0.0) + alone;
      if (s == COMPUTE && v.taken == 0) end[s] = fmax(end[s], end[UP] + v.shared_ns + v.launch_ns);
    }
    v.left -= take < v.left ? take : v.left;
    v.taken += take;
  }
  return end[STORE];
}

static void check_link(void) {
  uint64_t random = 9;
  double worst = 0.0;
  for (int i = 0; i < 30000; i++) {
    hx__view v = {.total = 1 + (size_t)random_over_decades(&random, 1.0, 1e5), .grain = 64};
    v.launch_ns = random_over_decades(&random, 1e3, 1e7);
    v.left = v.total;
    v.most = v.grain + v.total / 3 + (size_t)random_over_decades(&random, 1.0, 1e6);
    v.shared_ns = random_over_decades(&random, 1.0, 1e7);
    double stage_ns[STAGES];
    for (int s = 0; s < STAGES; s++) stage_ns[s] = random_over_decades(&random, 1.0, 1e4);
    const double with = over_link_ns(v, stage_ns, true), without = over_link_ns(v, stage_ns, false);
    worst = fmax(worst, (with - without) / without);
  }
  /* 16384 rows of a product with n = k = 2048 on an H200, whose operands and results cross in 2.4 ms each. */
  const hx__view v = {.total = 16384, .left = 16384, .most = 16384, .grain = 128, .launch_ns = 1e4, .shared_ns = 3e5};
  const double stage_ns[STAGES] = {149.0, 168.0, 149.0, 134.0};
  const double with = over_link_ns(v, stage_ns, true), without = over_link_ns(v, stage_ns, false);
  printf("  over a link: %.2f ms, without short chunks %.2f; at worst %.3f more\n", with * 1e-6, without * 1e-6, worst);
  CHECK(worst < 0.1, "%.3f more", worst);
  CHECK(with < 0.87 * without, "%g ns, %g without", with, without);
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
  check_link();
  return checks_end("policy_alone_test");
}
