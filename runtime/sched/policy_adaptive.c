/* SPDX-License-Identifier: Apache-2.0
 * adaptive: chunks such that all end together. With R slices left, rates r and launch latency L, a device that starts
 * now and everyone else end at T = (R + r L) / (r + others), so its fair part is S = r (T - L). The first chunk takes a
 * part of S, which insures against a rate that is wrong; later ones the same part of what is then fair, until another
 * launch would not pay. No chunk is longer than 100 ms: drivers kill long ones, and desktops freeze. */
#include "runtime/sched/policy.h"

#define FIRST_PROBE (1.0 / 16.0) /* of the run, where no rate is known */
#define CONFIDENCE 0.65
#define LONGEST_NS 100e6
#define LEAST_LAUNCHES 4.0 /* a chunk shorter than so many latencies is not cut further */

size_t hx__policy_adaptive(const hx__view *v) {
  if (v->left == 0) return 0;
  if (v->rate <= 0.0) return hx__policy_fit(v, (double)v->total * FIRST_PROBE);
  const double others = v->cpu_rate + v->others_rate, left = (double)v->left, cap = v->rate * LONGEST_NS;
  double fair = left;
  if (others > 0.0) {
    const double end = (left + v->rate * v->latency_ns) / (v->rate + others);
    fair = v->rate * (end - v->latency_ns);
    if (fair < (double)v->grain * 0.5) return 0; /* the others are done before it has begun */
  }
  const double least = LEAST_LAUNCHES * v->rate * v->latency_ns;
  double take = others > 0.0 ? fair * CONFIDENCE : fair;
  if (take < least || fair - take < (double)v->grain) take = fair;
  return hx__policy_fit(v, take < cap ? take : cap);
}
