/* SPDX-License-Identifier: Apache-2.0
 * dynamic: equal chunks of HX_CHUNK or a 32nd of the run; an idle participant takes one (self-scheduling). */
#include "runtime/sched/policy.h"

#define CHUNKS 32.0

size_t hx__policy_dynamic(const hx__view *v) {
  if (v->left == 0) return 0;
  if (v->chunk) { /* exactly as the user set it */
    const size_t most = v->left < v->most ? v->left : v->most;
    return v->chunk < most ? v->chunk : most;
  }
  return hx__policy_fit(v, (double)v->total / CHUNKS);
}
