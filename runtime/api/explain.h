/* SPDX-License-Identifier: Apache-2.0
 * What hx would do with a task and why: for hx-bench. */
#ifndef HX_API_EXPLAIN_H
#define HX_API_EXPLAIN_H

#include "runtime/plan/plan.h"

typedef struct hx__explanation {
  unsigned threads;
  hx__decision_source ruling; /* what settled it */
  hx__cost_inputs prospect;
  hx__decision decision;       /* where ruling is HX__DECIDED_BY_COST */
  size_t seat[HX_MAX_DEVICES]; /* hx_device index of the prospect's devices */
  double part[HX_MAX_DEVICES]; /* where ruling is HX__DECIDED_SHARE: theirs of the task; the rest is the CPU's */
} hx__explanation;

/* The decision for *task as a call would make it now; the kernels are made ready first. Nothing is computed. */
hx_status hx__explain(hx_context *hx, const hx_task *task, hx__explanation *out);

#endif
