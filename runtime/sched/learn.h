/* SPDX-License-Identifier: Apache-2.0
 * What the model learns from a run: from each chunk of a device, and when the run has ended from the CPU's part and
 * from the call as a whole. */
#ifndef HX_SCHED_LEARN_H
#define HX_SCHED_LEARN_H

#include "runtime/sched/device_run.h"

/* From what a device's chunk has shown; has_ended false: it takes at least so long. Nothing is learned from a chunk
 * that tells nothing. */
void hx__learn_chunk(const hx__device_run *device, hx__run_progress *run, const hx__observation *seen, bool has_ended,
                     uint64_t date_s);

/* A run that has ended, of which no chunk had to be recovered. */
typedef struct hx__run_result {
  hx__rate_key cpu, call; /* keys of the CPU's part and of the whole call */
  hx__estimate cpu_expected;
  uint64_t turn;  /* number of the decision; 0: there was none */
  bool best;      /* It took this for the best choice. */
  bool has_trial; /* A device had only a trial, so that the call says nothing of others. */
  bool fetched;   /* Results were fetched from another device for it, which is not of its parts. */
  size_t devices; /* that were to take part */
  double cpu_units, cpu_ns;
  double ns, joules; /* joules NaN: not measured */
} hx__run_result;

void hx__learn_run(hx__run_progress *run, const hx__run_result *result, uint64_t date_s);

#endif
