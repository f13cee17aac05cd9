/* SPDX-License-Identifier: Apache-2.0
 * When hx waits for OpenMP's threads, in virtual time: calls on a quiet machine, a core that another program takes
 * once, a program that keeps a core busy, sleeping threads, and libgomp's first region. */
#include <stdint.h>

#include "runtime/backend/cpu/wait_policy.h"
#include "tests/check.h"

#define US ((uint64_t)1000)
#define MS (1000 * US)

static uint64_t now = 1000 * MS;

/* A region of two threads that directly follows the one before it. */
static void do_region(hx__wait_policy *p, uint64_t own_ns, uint64_t waited_ns) {
  now += own_ns + waited_ns;
  hx__wait_policy_learn(p, 2, own_ns, own_ns + waited_ns, now);
}

static hx__wait_policy policy_after_first_region(void) {
  hx__wait_policy p = {0};
  do_region(&p, 10 * US, 20 * MS); /* libgomp starts its threads in it, so its time does not count */
  return p;
}

static uint64_t crowded_ns(const hx__wait_policy *p) { return p->crowded_ns > now ? p->crowded_ns - now : 0; }

int main(void) {
  hx__wait_policy p = {0};
  CHECK(hx__wait_policy_state(&p, now, HX__BURST_NS) == HX__POOL_ASLEEP, "the first call finds the pool awake");
  p = policy_after_first_region();
  CHECK(hx__wait_policy_state(&p, now + 999 * US, MS) == HX__POOL_AWAKE, "asleep 999 us after a region");
  CHECK(hx__wait_policy_state(&p, now + 999 * US + MS, MS) == HX__POOL_ASLEEP, "not asleep 1 ms after a call");
  p = policy_after_first_region();
  CHECK(hx__wait_policy_state(&p, now + 99 * US, HX__SHORT_BURST_NS) == HX__POOL_AWAKE,
        "threads that sleep at once: asleep after 99 us");
  CHECK(hx__wait_policy_state(&p, now + 99 * US + 100 * US, HX__SHORT_BURST_NS) == HX__POOL_ASLEEP,
        "threads that sleep at once: not asleep after 100 us");

  p = policy_after_first_region();
  hx__wait_policy_state(&p, now + 2 * MS, MS);
  CHECK(!p.finds_asleep, "a call by itself is as slow as it will be next time");
  hx__wait_policy_state(&p, now + 2 * MS + 20 * US, MS);
  CHECK(p.finds_asleep, "threads do not sleep 2 ms after their region");
  now += 2 * MS + 20 * US;
  do_region(&p, 10 * US, 100 * US);
  hx__wait_policy_state(&p, now + 20 * US, MS);
  CHECK(!p.finds_asleep, "threads sleep 20 us after their region");

  p = policy_after_first_region();
  for (int i = 0; i < 1000; i++) do_region(&p, 5 * US, 1 * US);
  CHECK(crowded_ns(&p) == 0, "crowded on a quiet machine");
  do_region(&p, 5 * US, 3 * MS); /* earlier regions have saved 4 ms */
  CHECK(crowded_ns(&p) == 0, "crowded after one preempted core");
  do_region(&p, 5 * US, 3 * MS);
  CHECK(crowded_ns(&p) == 8 * (3 * MS - 4 * MS + 3 * MS - 10 * US), "crowded for %llu ns after the second one",
        (unsigned long long)crowded_ns(&p));
  CHECK(hx__wait_policy_state(&p, now + 1, HX__BURST_NS) == HX__POOL_CROWDED, "not crowded");
  now += 16 * MS;
  CHECK(hx__wait_policy_state(&p, now, HX__BURST_NS) != HX__POOL_CROWDED, "crowded for too long");

  for (int i = 0; i < 100000; i++) do_region(&p, 5 * US, 1 * US);
  do_region(&p, 5 * US, 11 * MS); /* earlier regions have saved 400 ms, of which 10 count */
  CHECK(crowded_ns(&p) == 8 * (1 * MS - 5 * US), "crowded for %llu ns after the saved time is used up",
        (unsigned long long)crowded_ns(&p));

  p = policy_after_first_region();
  do_region(&p, 10 * US, 20 * MS);
  CHECK(crowded_ns(&p) == 64 * MS, "crowded for %llu ns, not 64 ms", (unsigned long long)crowded_ns(&p));

  /* Another program keeps a core busy, so half of the calls wait 8 ms for 0.15 ms of work. Waiting then takes a ninth
   * of the time. */
  p = policy_after_first_region();
  const uint64_t from = now;
  uint64_t waited = 0;
  for (int i = 0; now < from + 10000 * MS; i++) {
    if (hx__wait_policy_state(&p, now, HX__BURST_NS) == HX__POOL_CROWDED) {
      now += 300 * US;
      continue;
    }
    do_region(&p, 150 * US, i % 2 ? 8 * MS : 0);
    waited += i % 2 ? 8 * MS : 0;
  }
  CHECK(waited < (now - from) / 8, "waited %llu of %llu ns", (unsigned long long)waited,
        (unsigned long long)(now - from));

  p = policy_after_first_region();
  hx__wait_policy_learn(&p, 5, 10 * US, 45 * US, now); /* the four other threads have saved 40 us */
  CHECK(crowded_ns(&p) == 0, "crowded although five threads saved time");
  /* Equal parts that end apart, twice in a row, and then together again. */
  p = policy_after_first_region();
  const uint64_t begin = now;
  hx__wait_policy_learn_parts(&p, begin, begin + 79 * US, begin + 100 * US);
  CHECK(!hx__wait_policy_is_uneven(&p, begin + 101 * US), "uneven after one region");
  hx__wait_policy_learn_parts(&p, begin, begin + 81 * US, begin + 100 * US);
  hx__wait_policy_learn_parts(&p, begin, begin + 79 * US, begin + 100 * US);
  CHECK(!hx__wait_policy_is_uneven(&p, begin + 101 * US), "uneven although an even region came between");
  hx__wait_policy_learn_parts(&p, begin, begin + 101 * US, begin + 100 * US); /* noted in another order */
  CHECK(!hx__wait_policy_is_uneven(&p, begin + 101 * US), "uneven because two ends were noted in another order");
  hx__wait_policy_learn_parts(&p, begin, begin + 79 * US, begin + 100 * US);
  hx__wait_policy_learn_parts(&p, begin, begin + 79 * US, begin + 100 * US);
  CHECK(hx__wait_policy_is_uneven(&p, begin + 20 * MS), "even after two regions");
  CHECK(!hx__wait_policy_is_uneven(&p, begin + 21 * MS), "uneven for more than 20 ms");
  hx__wait_policy_learn_parts(&p, begin + 30 * MS, begin + 30 * MS + 50 * US, begin + 31 * MS);
  CHECK(hx__wait_policy_is_uneven(&p, begin + 32 * MS), "even although a later region is uneven, too");
  return checks_end("wait_policy_test");
}
