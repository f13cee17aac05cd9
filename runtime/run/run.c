/* SPDX-License-Identifier: Apache-2.0
 * A run from its first slice to its joined result. */
#include "runtime/run/run.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/cpu/cpu_backend.h"
#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/run/fetch.h"
#include "runtime/run/internal.h"
#include "runtime/sched/learn.h"

static void start_devices(hx__run_state *run, hx__array *arrays) {
  const hx__plan *const plan = run->plan;
  const size_t each = hx__memory_arrays(run->work);
  for (size_t i = 0; i < plan->devices; i++)
    if (!hx__device_job_init(run, &plan->device[i], arrays + i * each)) hx__return_chunk(run, plan->device[i].fixed);
  const size_t jobs = run->progress.devices;
  const bool alone = jobs == 1 && !plan->cpu_works;
  for (size_t i = 0; i < jobs; i++) {
    hx__device_job *const job = &run->job[i];
    job->started = hx__device_entry_start_job(job->entry, run->table, hx__device_job_main, job, alone);
    if (job->started) continue;
    atomic_store(&job->device.working, false);
    hx__return_chunk(run, hx__device_run_untaken(&job->device));
  }
}

/* Whether C was to stay on a device that has not computed all of it. */
static bool lost_resident(const hx__run_state *run) { return run->resident.mirror && !run->resident.complete; }

/* Computes on the CPU the slices that no device took and the chunks that devices gave back. Returns the number of these
 * chunks. If C was to stay on a device that gave part of it back, all of it is computed again. */
static uint32_t recompute_returned(hx__run_state *run) {
  uint32_t chunks = 0;
  if (lost_resident(run)) {
    hx__work_range_init(&run->range, (hx__chunk){0, run->work->slices});
    hx__cpu_side(run);
    return run->returns ? (uint32_t)run->returns : 1;
  }
  if (!run->plan->cpu_works && hx__work_range_left(&run->range)) hx__cpu_side(run); /* what no device has taken */
  for (size_t i = 0; i < run->returns; i++, chunks++) {
    hx__work_range_init(&run->range, run->returned[i]);
    hx__cpu_side(run);
  }
  return chunks;
}

static void join_slots(const hx__work *w, uint64_t *slots, bool joined) {
  if (hx__slots_are_values(w)) return;
  if (w->by_lines) {
    hx__join_lines(w, slots, slots + hx__work_slots(w));
    return;
  }
  for (size_t f = 0; f < w->nfields; f++)
    w->out[f] = hx__join(w->fields[f].op, w->fields[f].type, slots + f * w->slices, joined ? 1 : w->slices);
}

static void report_device(hx_report *r, size_t index, uint32_t chunks, uint64_t units, double busy_ns) {
  if (chunks == 0) return;
  r->device[r->device_count++] = (hx_device_report){(uint32_t)index, chunks, units, busy_ns * 1e-9};
  r->chunks += chunks;
}

static void fill_report(const hx__run_state *run, uint32_t recovered, uint64_t cpu_ns, hx_report *r) {
  double device_units = 0.0;
  report_device(r, 0, atomic_load(&run->cpu.chunks), atomic_load(&run->cpu.units), (double)cpu_ns);
  for (size_t i = 0; i < run->progress.devices; i++) {
    const hx__device_job *const job = &run->job[i];
    report_device(r, job->index, job->device.chunks, job->device.units, job->device.busy_ns);
    r->bytes_copied += job->copied;
    device_units += (double)job->device.units;
  }
  r->bytes_copied += run->fetched;
  r->recovered = recovered;
  r->gpu_share = run->work->units ? device_units / (double)run->work->units : 0.0;
}

/* The energy of the run so far; NaN unless energy counts in decisions. */
static double joules_drawn(const hx__run_state *run) {
  return isnan(run->plan->joules) ? NAN : hx__energy_joules(hx__energy_of_process()) - run->plan->joules;
}

/* Whether a device took part in a call for the first time and got a limited part. */
static bool has_trial(const hx__plan *plan) {
  for (size_t i = 0; i < plan->devices; i++)
    if (plan->device[i].trial) return true;
  return false;
}

/* Whether the time of this run must not be learned from, because a driver is working beside it. */
static bool is_disturbed(const hx__plan *plan) {
  return plan->devices ? hx__registry_busy() : hx__registry_slows_cpu();
}

/* Whether the CPU alone had to wake its threads, which the next call finds awake: its time says nothing about that one.
 */
static bool woke_threads(const hx__plan *plan) {
  return plan->devices == 0 && plan->threads > 1 && hx__cpu_pool_finds_asleep();
}

/* Whether every device of the plan took part. If one was in use by another call, the others took its part, so the
 * time says nothing about it. */
static bool all_took_part(const hx__run_state *run) {
  for (size_t i = 0; i < run->progress.devices; i++)
    if (!run->job[i].started) return false;
  return run->progress.devices == run->plan->devices;
}

static void learn_from_run(hx__run_state *run, uint64_t cpu_units, uint64_t cpu_ns) {
  const hx__plan *const plan = run->plan;
  const hx__run_result result = {.cpu = plan->cpu_key,
                                 .call = plan->call_key,
                                 .cpu_expected = plan->cpu,
                                 .call_number = plan->call_number,
                                 .best = plan->best,
                                 .has_trial = has_trial(plan),
                                 .fetched = run->fetched != 0,
                                 .devices = plan->devices,
                                 .cpu_units = (double)cpu_units,
                                 .cpu_ns = (double)cpu_ns,
                                 .ns = (double)(hx__now_ns() - run->from_ns),
                                 .joules = joules_drawn(run)};
  run->progress.model = hx__model_of_process();
  hx__learn_run(&run->progress, &result, hx__date_s());
}

/* The caller, not the worker, learns from the last chunk, which is usually the only one: the caller reads the model in
 * its next call, and would otherwise have to fetch that data from the worker's core. */
static void end_device(hx__run_progress *progress, hx__device_job *job) {
  if (job->started && hx__device_entry_wait_job(job->entry, job->call_limit_ns))
    hx__device_run_learn_last(&job->device, progress, hx__date_s());
  else if (job->started)
    hx__device_job_give_up(job);
  hx__device_entry_release(job->entry);
}

static hx_status carry_out(hx__run_state *run, hx_report *report) {
  const hx__plan *const plan = run->plan;
  const bool clock = run->from_ns != 0;
  uint64_t cpu_ns = 0, cpu_units = 0;
  if (plan->cpu_works) {
    if (plan->measure) hx__registry_cores_busy();
    hx__cpu_side(run);
    if (plan->measure) hx__registry_cores_free();
    if (clock) cpu_ns = hx__now_ns() - run->from_ns;
    pthread_mutex_lock(&run->progress.lock);
    pthread_cond_broadcast(&run->progress.changed); /* No slice is left for which a stream might be waited for. */
    pthread_mutex_unlock(&run->progress.lock);
    cpu_units = atomic_load(&run->cpu.units);
    hx__redo_overdue(run);
  }
  for (size_t i = 0; i < run->progress.devices; i++) end_device(&run->progress, &run->job[i]);
  const uint64_t again_ns = clock ? hx__now_ns() : 0;
  if (run->returns || hx__work_range_left(&run->range) || lost_resident(run)) { /* The CPU needs its operands. */
    const hx_status s = hx__fetch_for(run->table, run->work, NULL, false, &run->fetched);
    if (s != HX_OK) return s;
  }
  const uint32_t recovered =
      plan->mandatory ? (uint32_t)run->returns + (hx__work_range_left(&run->range) != 0) : recompute_returned(run);
  if (clock && (recovered || !plan->cpu_works)) cpu_ns += hx__now_ns() - again_ns;
  if (plan->mandatory && recovered)
    return hx__fail(HX_DEVICE_FAILED, "HX_OFFLOAD=mandatory and a device gave %u chunks back", recovered);
  const bool undisturbed = !run->progress.disturbed && !atomic_load(&run->progress.grown) && !is_disturbed(plan);
  if (plan->measure && plan->policy && !recovered && undisturbed && all_took_part(run) && !woke_threads(plan))
    learn_from_run(run, cpu_units, cpu_ns);
  if (!run->work->matmul) join_slots(run->work, run->cpu.request.slots, run->joined);
  if (report) fill_report(run, recovered + run->progress.redone, cpu_ns, report);
  return HX_OK;
}

/* The only participant, if it is a device: results that it has are not fetched. NULL if there are several. */
static hx__device *sole_device(const hx__device_table *table, const hx__plan *plan) {
  return plan->cpu_works || plan->devices != 1 ? NULL : table->entry[plan->device[0].entry].device;
}

/* Bytes of a reduction's slots, and of those of one line. Fields may share one array, so the arrays' bytes do not bound
 * them. SIZE_MAX, which no allocation can satisfy, stands for any number that overflows. */
static size_t slot_bytes(const hx__work *w) {
  size_t slots, bytes;
  if (w->matmul || hx__slots_are_values(w)) return 0;
  if (__builtin_mul_overflow(w->nfields, hx__work_slots(w) + (w->by_lines ? w->lines.leaves : 0), &slots) ||
      __builtin_mul_overflow(slots, sizeof(uint64_t), &bytes))
    return SIZE_MAX;
  return bytes;
}

/* Sets up the state that the participants share. */
static void begin_progress(hx__run_state *run) {
  const hx__plan *const plan = run->plan;
  hx__run_progress *const progress = &run->progress;
  hx__work_range_init(&run->range, plan->policy ? (hx__chunk){0, run->work->slices} : plan->cpu_fixed);
  progress->work = run->work;
  progress->range = &run->range;
  progress->chunk = plan->chunk;
  progress->threads = plan->threads;
  progress->cpu_works = plan->cpu_works;
  progress->disturbed = is_disturbed(plan);
  progress->began_ns = (double)run->from_ns;
  if (plan->devices) progress->model = hx__model_of_process();
  hx__run_progress_begin(progress, &plan->cpu);
}

static hx_status end_resident(hx__device_table *table, const hx__resident_output *resident) {
  const void *const first = (const void *)resident->mirror->first; /* the mirror may go */
  const size_t bytes = resident->mirror->bytes;
  return hx__memory_resident_end(table->memory, resident) ? HX_OK : hx__fetch_in(table, first, bytes);
}

hx_status hx__run(hx__device_table *table, const hx__plan *plan, const hx__work *work, hx_report *report) {
  hx__run_state run; /* 16 KB. Only the members that every call needs are cleared. */
  memset(&run, 0, offsetof(hx__run_state, parts));
  run.table = table, run.plan = plan, run.work = work;
  hx__device *const alone = sole_device(table, plan);
  const bool stays = alone && hx__memory_resident_begin(table->memory, alone, work, !plan->mandatory, &run.resident);
  const hx_status fetched = hx__fetch_for(table, work, alone, stays, &run.fetched);
  if (fetched != HX_OK) {
    if (stays) hx__memory_resident_cancel(table->memory, &run.resident);
    return fetched;
  }
  const size_t bytes = slot_bytes(work);
  uint64_t *const slots = bytes ? malloc(bytes) : NULL;
  const size_t arrays = plan->devices * hx__memory_arrays(work);
  const bool many = arrays > sizeof run.arrays / sizeof run.arrays[0]; /* a reduction of many fields */
  hx__array *const list = many ? calloc(arrays, sizeof *list) : NULL;
  hx_status status = HX_OUT_OF_MEMORY;
  if ((bytes && !slots) || (many && !list)) {
    hx__fail(HX_OUT_OF_MEMORY, "no memory for the partials of %zu fields of %zu leaves", work->nfields,
             hx__work_slots(work));
  } else {
    run.cpu.request = (hx__request){
        .work = work, .kernels = table->kernels, .slots = slots, .joined = &run.joined, .heap_scratch = true};
    if (hx__slots_are_values(work)) run.cpu.request.slots = (uint64_t *)(void *)work->out;
    run.cpu.request.resident = stays ? &run.resident : NULL;
    hx__memory_claim_outputs(table->memory, work);
    if (plan->measure || report) run.from_ns = run.cpu.from_ns = hx__now_ns();
    begin_progress(&run);
    start_devices(&run, many ? list : run.arrays);
    status = carry_out(&run, report);
    hx__memory_release_outputs(table->memory, work, status == HX_OK);
    hx__run_progress_end(&run.progress);
  }
  if (stays) {
    const hx_status s = end_resident(table, &run.resident);
    if (status == HX_OK) status = s;
  }
  free(slots);
  free(list);
  return status;
}
