/* SPDX-License-Identifier: Apache-2.0
 * static: a fixed share, in as few chunks as the device allows. A numeric share is cut off
 * before the run starts; here the share follows from the rates, or all shares are equal. */
#include "runtime/sched/policy.h"

size_t hx__policy_static(const hx__view *v) {
  const double rest = v->share * (double)v->total - (double)v->taken;
  return rest < 0.5 ? 0 : hx__policy_fit(v, rest);
}
