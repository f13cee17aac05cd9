/* SPDX-License-Identifier: Apache-2.0
 * What the model learns from a run. */
#include "runtime/sched/learn.h"

void hx__learn_chunk(const hx__device_run *d, hx__run_progress *run, const hx__observation *seen, bool has_ended,
                     uint64_t date_s) {
  const hx__estimate *const expected = &d->terms.expected;
  const double hidden = 1.0 - seen->shown, ns = seen->ns + hidden * d->progress.latency_ns;
  if (!(seen->slices > 0.0) || !hx__tells(expected, seen->units, seen->idle, ns, has_ended)) return;
  if (hx__surprising(expected, seen->units, seen->idle, ns))
    atomic_store_explicit(&run->surprised, true, memory_order_relaxed);
  /* With shares that were set by hand some participant is idle for a while. */
  const bool by_hand = !d->terms.policy && (run->cpu_works || run->devices > 1);
  if ((run->disturbed || by_hand) && expected->samples) return;
  if (atomic_load(&run->grown) && expected->ns_per_unit > 0.0) return;
  const hx__sample sample = {.units = seen->units, .ns = seen->ns, .idle = seen->idle, .hidden = hidden};
  hx__model_learn(run->model, &d->terms.key, expected, sample, date_s);
}

/* From the CPU's part; beside a device that had only a trial from what it had done by then. Returns whether it took
 * much more or less time than expected. */
static bool learn_cpu(hx__run_progress *run, const hx__run_result *r, uint64_t date_s) {
  const size_t trial_done = atomic_load(&run->cpu_trial_done);
  hx__sample sample = {.units = r->cpu_units, .ns = r->cpu_ns, .turn = r->turn, .best = r->best};
  if (trial_done) {
    sample.units = (double)trial_done * (double)run->work->units / (double)run->work->slices;
    sample.ns = (double)atomic_load(&run->cpu_trial_ns);
  }
  hx__model_learn(run->model, &r->cpu, &r->cpu_expected, sample, date_s);
  if (r->devices == 0) hx__model_learn_power(run->model, &r->cpu, r->joules, r->ns);
  return hx__surprising(&r->cpu_expected, sample.units, false, sample.ns);
}

/* Whether no device delivered anything. */
static bool devices_in_vain(const hx__run_progress *run) {
  for (size_t i = 0; i < run->devices; i++)
    if (run->device[i]->units) return false;
  return true;
}

void hx__learn_run(hx__run_progress *run, const hx__run_result *r, uint64_t date_s) {
  bool surprised = atomic_load(&run->surprised) || run->redone;
  hx__model_note_call_end(run->model, &r->parts);
  if (run->cpu_works && r->cpu_units > 0.0) surprised = learn_cpu(run, r, date_s) || surprised;
  if (r->devices == 0 || !(r->promise_ns > 0.0)) return;
  if (!r->fetched && !r->has_trial) {
    const hx__sample call = {.units = (double)run->work->units, .ns = r->ns, .turn = r->turn};
    hx__model_learn(run->model, &r->call, &hx__prior_call_factor, call, date_s);
  }
  const bool alone = r->devices + run->cpu_works == 1; /* its part is the call */
  if (!r->informed && !alone) return;
  if (r->fetched || !r->informed) {
    hx__model_count_call(run->model, &r->parts, &hx__prior_call, r->turn, date_s);
  } else {
    const double ns = hx__whole_ns(r->ns, r->promise_ns, surprised && !alone, devices_in_vain(run));
    const hx__sample call = {.units = r->promise_ns, .ns = ns, .turn = r->turn, .best = r->best};
    hx__model_learn(run->model, &r->parts, &hx__prior_call, call, date_s);
  }
  hx__model_learn_power(run->model, &r->parts, r->joules, r->ns);
}
