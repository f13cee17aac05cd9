/* SPDX-License-Identifier: Apache-2.0
 * Computes when a run ends. */
#include "runtime/sched/finish.h"

#include <math.h>
#include <stdbool.h>

#define LEAST_RATE 1e-18 /* slices per nanosecond */
#define MOST_RATE 1e9
#define MOST_NS 1e18

static bool is_plausible(const hx__participant *p) {
  return p->rate > LEAST_RATE && p->rate < MOST_RATE && p->ready_ns >= 0.0 && p->ready_ns < MOST_NS;
}

double hx__finish_ns(double left, const hx__participant *participant, size_t count) {
  double end = INFINITY;
  /* Each round drops the participants that would begin after the end, which makes the end earlier or leaves it as it
   * is. So none that was dropped has to be added again, and the loop stops when a round drops none. */
  for (size_t before = count + 1, taking_part; before > 0; before = taking_part < before ? taking_part : 0) {
    double work = left, rates = 0.0;
    taking_part = 0;
    for (size_t i = 0; i < count; i++) {
      const hx__participant *const p = &participant[i];
      if (!is_plausible(p) || !(p->ready_ns < end)) continue;
      work += p->rate * p->ready_ns;
      rates += p->rate;
      taking_part++;
    }
    if (taking_part == 0) break;
    end = work / rates;
  }
  return end;
}
