/* SPDX-License-Identifier: Apache-2.0
 * How hx would compute a task, and why: for hx-bench. */
#ifndef HX_API_EXPLAIN_H
#define HX_API_EXPLAIN_H

#include "runtime/plan/plan.h"

typedef struct hx__explanation {
  unsigned threads;
  hx__decision_source source; /* what the decision follows from */
  hx__cost_inputs inputs;
  hx__decision decision;        /* if source is HX__DECIDED_BY_COST */
  size_t index[HX_MAX_DEVICES]; /* of inputs.device[i]: its index for hx_device */
  double part[HX_MAX_DEVICES];  /* if source is HX__DECIDED_SHARE: its part of the task; the CPU gets the rest */
} hx__explanation;

/* The decision that a call with *task would make now, once the kernels that it needs are ready. Nothing is computed. */
hx_status hx__explain(hx_context *hx, const hx_task *task, hx__explanation *out);

#endif
