/* SPDX-License-Identifier: Apache-2.0
 * What the model learns from a run: from each chunk of a device, and after the run from the CPU's part and from the
 * time of the whole call. */
#ifndef HX_SCHED_LEARN_H
#define HX_SCHED_LEARN_H

#include "runtime/sched/device_run.h"

/* Learns from the observation of a device's chunk. has_ended false: the chunk takes at least that long, and it is
 * ignored unless that is longer than expected. */
void hx__learn_chunk(const hx__device_run *device, hx__run_progress *run, const hx__observation *seen, bool has_ended,
                     uint64_t date_s);

/* A run that has ended without recovered chunks. */
typedef struct hx__run_result {
  hx__rate_key cpu, call; /* keys of the CPU's part and of the whole call */
  hx__estimate cpu_expected;
  uint64_t call_number; /* number of the decision; 0: there was none */
  bool best;            /* It took this for the best choice. */
  bool has_trial;       /* A device had only a trial, so that the time of this call says nothing of later ones. */
  bool fetched;         /* Results were fetched from another device, which is not part of its own time. */
  size_t devices;       /* that the plan gave a part */
  double cpu_units, cpu_ns;
  double ns, joules; /* joules NaN: not measured */
} hx__run_result;

void hx__learn_run(hx__run_progress *run, const hx__run_result *result, uint64_t date_s);

#endif
