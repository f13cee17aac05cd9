/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend/opencl/poll.h"

#define LEAST_SLEEP_NS 40000u
#define MOST_SLEEP_NS 250000u
#define SPIN_NS 50000u
#define SPIN_PART 20u

hx__cl_poll hx__cl_poll_begin(uint64_t now_ns, uint64_t expected_ns, bool may_spin) {
  return (hx__cl_poll){.from_ns = now_ns, .expected_ns = expected_ns, .looked_ns = now_ns, .may_spin = may_spin};
}

/* How long the thread may spin within the first waited_ns of the wait. */
static uint64_t budget_ns(uint64_t waited_ns) {
  return waited_ns / SPIN_PART > SPIN_NS ? waited_ns / SPIN_PART : SPIN_NS;
}

/* How long before the expected end the thread stops to sleep. The rest of the budget is for an end that is late. */
static uint64_t lead_ns(const hx__cl_poll *p) { return budget_ns(p->expected_ns - p->from_ns) / 4 * 3; }

static uint64_t between(uint64_t ns, uint64_t least, uint64_t most) {
  return ns < least ? least : ns > most ? most : ns;
}

/* Longer if the expected end is farther from now, because the prediction may be wrong by a part of that. If it is
 * unknown, a quarter of the time waited so far stands for that. */
static uint64_t sleep_ns(const hx__cl_poll *p, uint64_t now_ns) {
  const uint64_t waited = now_ns - p->from_ns, expected = p->expected_ns;
  if (expected <= now_ns)
    return between((expected ? now_ns - expected : waited / 4) / 8, LEAST_SLEEP_NS, MOST_SLEEP_NS);
  const uint64_t ns = between((expected - now_ns) / 8, LEAST_SLEEP_NS, MOST_SLEEP_NS),
                 left = expected - now_ns - lead_ns(p);
  return ns < left ? ns : left;
}

uint64_t hx__cl_poll_next(hx__cl_poll *p, uint64_t now_ns) {
  const bool is_near = p->expected_ns <= now_ns || p->expected_ns - now_ns <= lead_ns(p);
  if (p->spins) p->spun_ns += now_ns - p->looked_ns;
  p->looked_ns = now_ns;
  p->spins = p->may_spin && is_near && p->spun_ns < budget_ns(now_ns - p->from_ns);
  if (p->spins) return 0;
  return is_near && p->expected_ns > now_ns ? LEAST_SLEEP_NS : sleep_ns(p, now_ns);
}
