/* SPDX-License-Identifier: Apache-2.0
 * Finish-time equalisation. */
#include "runtime/sched/finish.h"

#include <math.h>
#include <stdbool.h>

#define LEAST_RATE 1e-18 /* slices a nanosecond */
#define MOST_RATE 1e9
#define MOST_NS 1e18

static bool makes_sense(const hx__participant *p) {
  return p->rate > LEAST_RATE && p->rate < MOST_RATE && p->ready_ns >= 0.0 && p->ready_ns < MOST_NS;
}

double hx__finish_ns(double left, const hx__participant *party, size_t count) {
  double end = INFINITY;
  /* Without those who would begin after the end it is nearer, so that nobody else comes back in. */
  for (size_t among = count + 1, kept; among > 0; among = kept < among ? kept : 0) {
    double work = left, rates = 0.0;
    kept = 0;
    for (size_t i = 0; i < count; i++) {
      const hx__participant *const p = &party[i];
      if (!makes_sense(p) || !(p->ready_ns < end)) continue;
      work += p->rate * p->ready_ns;
      rates += p->rate;
      kept++;
    }
    if (kept == 0) break;
    end = work / rates;
  }
  return end;
}
