/* SPDX-License-Identifier: Apache-2.0
 * What the model learns from a run. */
#include "runtime/sched/learn.h"

void hx__learn_chunk(const hx__device_run *d, hx__run_progress *run, const hx__observation *seen, bool has_ended,
                     uint64_t date_s) {
  const hx__estimate *const expected = &d->terms.expected;
  const double hidden = 1.0 - seen->exposed, ns = seen->ns + hidden * d->progress.latency_ns;
  if (!(seen->slices > 0.0) || !hx__is_informative(expected, seen->units, seen->idle, ns, has_ended)) return;
  /* With a numeric share, some participants are idle for a while. */
  const bool by_share = !d->terms.policy && (run->cpu_works || run->devices > 1);
  if ((run->disturbed || by_share) && expected->samples) return;
  if (atomic_load(&run->grown) && expected->ns_per_unit > 0.0) return;
  const hx__sample sample = {.units = seen->units, .ns = seen->ns, .idle = seen->idle, .hidden = hidden};
  hx__model_learn(run->model, &d->terms.key, expected, sample, date_s);
}

/* Learns from the CPU's part, or if a device had only a trial, from what the CPU had done by the end of the trial. */
static void learn_cpu(hx__run_progress *run, const hx__run_result *r, uint64_t date_s) {
  const size_t trial_done = atomic_load(&run->cpu_trial_done);
  hx__sample sample = {.units = r->cpu_units, .ns = r->cpu_ns, .call_number = r->call_number, .best = r->best};
  if (trial_done) {
    sample.units = (double)trial_done * (double)run->work->units / (double)run->work->slices;
    sample.ns = (double)atomic_load(&run->cpu_trial_ns);
  }
  hx__model_learn(run->model, &r->cpu, &r->cpu_expected, sample, date_s);
  if (r->devices == 0) hx__model_learn_power(run->model, &r->cpu, r->joules, r->ns);
}

void hx__learn_run(hx__run_progress *run, const hx__run_result *r, uint64_t date_s) {
  hx__model_note_call_end(run->model, &r->call);
  if (run->cpu_works && r->cpu_units > 0.0) learn_cpu(run, r, date_s);
  if (r->devices == 0 || r->call_number == 0 || r->has_trial) return;
  const hx__sample call = {
      .units = (double)run->work->units, .ns = r->ns, .call_number = r->call_number, .best = r->best};
  if (r->fetched)
    hx__model_count_call(run->model, &r->call, call, date_s);
  else
    hx__model_learn(run->model, &r->call, &hx__prior_call, call, date_s);
  hx__model_learn_power(run->model, &r->call, r->joules, r->ns);
}
