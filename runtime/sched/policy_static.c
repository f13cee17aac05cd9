/* SPDX-License-Identifier: Apache-2.0
 * static: a fixed share, in as few chunks as the device allows. The share is cut off before the run starts where the
 * caller gave a number; here it is the part that the known rates say, or an equal one. */
#include "runtime/sched/policy.h"

size_t hx__policy_static(const hx__view *v) {
  const double mine = v->share * (double)v->total - (double)v->taken;
  return mine < 0.5 ? 0 : hx__policy_fit(v, mine);
}
