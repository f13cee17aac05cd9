/* SPDX-License-Identifier: Apache-2.0
 * The table of policies. */
#include "runtime/sched/policy.h"

static const hx__policy policies[] = {
    [HX__SCHEDULE_ADAPTIVE] = {"adaptive", hx__policy_adaptive},
    [HX__SCHEDULE_STATIC] = {"static", hx__policy_static},
    [HX__SCHEDULE_DYNAMIC] = {"dynamic", hx__policy_dynamic},
    [HX__SCHEDULE_GUIDED] = {"guided", hx__policy_guided},
};

const hx__policy *hx__policy_of(hx__schedule schedule) { return &policies[schedule]; }

size_t hx__policy_fit(const hx__view *v, double slices) {
  const double grain = (double)v->grain;
  const double limit = (double)(v->left < v->most ? v->left : v->most);
  if (!(slices > grain)) slices = grain;
  if (!(slices < limit)) return (size_t)limit;
  const size_t whole = ((size_t)(slices / grain + 0.999999)) * v->grain;
  return whole < v->left && whole <= v->most ? whole : (size_t)limit;
}
