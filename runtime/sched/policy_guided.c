/* SPDX-License-Identifier: Apache-2.0
 * guided: a part of what is left, which shrinks with it (Polychronopoulos and Kuck, IEEE TC C-36, 1987). */
#include "runtime/sched/policy.h"

size_t hx__policy_guided(const hx__view *v) {
  return v->left == 0 ? 0 : hx__policy_fit(v, (double)v->left / (2.0 * (v->devices + 1.0)));
}
