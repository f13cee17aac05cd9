/* SPDX-License-Identifier: Apache-2.0
 * A run from its first slice to its joined result. */
#include "runtime/run/run.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/registry.h"
#include "runtime/base/clock.h"
#include "runtime/base/energy.h"
#include "runtime/base/status.h"
#include "runtime/base/thread.h"
#include "runtime/run/fetch.h"
#include "runtime/run/internal.h"

static double slices_per_unit(const hx__work *w) { return w->units ? (double)w->slices / (double)w->units : 0.0; }

/* Threads that spin take power from a GPU beside them, and cores from a device that is one. */
static hx__copy_threads copiers_for(const hx__plan *plan, const hx__device *d) {
  if (plan->cpu_works) return HX__COPY_BY_WORKER;
  return hx__device_copies_over_link(d) ? HX__COPY_BY_CPU_POOL : HX__COPY_BY_COPY_POOL;
}

/* Sets up a device's part and starts it; false where its seat is taken or there is no thread for it. */
static bool start_feed(hx__run_state *run, const hx__plan_device *planned, hx__array *arrays) {
  hx__device_entry *const seat = &run->team->seat[planned->seat];
  if (!hx__device_entry_acquire(seat, run->plan->wait_for_lane)) return false;
  hx__device_run *const f = &run->feed[run->feeds];
  *f = (hx__device_run){.run = run, .planned = planned, .seat = seat, .request = run->request};
  hx__progress_begin(&f->course, &planned->expected, slices_per_unit(run->work), planned->idle);
  atomic_init(&f->rate, f->course.rate);
  atomic_init(&f->working, true);
  f->call_limit_ns = hx__call_limit_ns(run->team->config, seat->device);
  f->request.arrays = arrays;
  f->request.copy_threads = copiers_for(run->plan, seat->device);
  f->request.upcoming = !run->plan->policy        ? planned->fixed
                        : run->plan->devices == 1 ? (hx__chunk){0, run->work->slices}
                                                  : (hx__chunk){0, 0};
  f->may_be_redone = run->plan->policy && run->plan->cpu_works && !run->plan->mandatory &&
                     !seat->device->never_times_out && run->team->config->timeout_ms != HX__TIMEOUT_OFF;
  run->feeds++;
  return true;
}

static void start_feeds(hx__run_state *run, hx__array *arrays) {
  const size_t each = hx__memory_arrays(run->work);
  for (size_t i = 0; i < run->plan->devices; i++)
    if (!start_feed(run, &run->plan->device[i], arrays + i * each)) hx__return_chunk(run, run->plan->device[i].fixed);
  const bool alone = run->feeds == 1 && !run->plan->cpu_works;
  for (size_t i = 0; i < run->feeds; i++) {
    hx__device_run *const f = &run->feed[i];
    f->started = hx__device_entry_start_job(f->seat, run->team, hx__device_run_main, f, alone);
    if (f->started) continue;
    atomic_store(&f->working, false);
    hx__return_chunk(run, f->planned->fixed);
  }
}

/* What devices left, and what they gave back, on the CPU. Returns how many chunks they gave back. Of a C that was to
 * stay on a device that gave some of it back, all is done again. */
static uint32_t recover(hx__run_state *run) {
  uint32_t chunks = 0;
  if (run->keep.mirror && !run->keep.complete) {
    hx__work_range_init(&run->ends, (hx__chunk){0, run->work->slices});
    hx__cpu_side(run);
    return run->redos ? (uint32_t)run->redos : 1;
  }
  if (!run->plan->cpu_works && hx__work_range_left(&run->ends)) hx__cpu_side(run); /* what no device has taken */
  for (size_t i = 0; i < run->redos; i++, chunks++) {
    hx__work_range_init(&run->ends, run->redo[i]);
    hx__cpu_side(run);
  }
  return chunks;
}

static void join(const hx__work *w, uint64_t *slots, bool whole) {
  for (size_t f = 0; f < w->nfields; f++)
    w->out[f] = hx__join(w->fields[f].op, w->fields[f].type, slots + f * w->slices, whole ? 1 : w->slices);
}

static void add_row(hx_report *r, size_t index, uint32_t chunks, uint64_t units, uint64_t busy_ns) {
  if (chunks == 0) return;
  r->device[r->device_count++] = (hx_device_report){(uint32_t)index, chunks, units, (double)busy_ns * 1e-9};
  r->chunks += chunks;
}

static void fill_report(const hx__run_state *run, uint32_t recovered, uint64_t cpu_ns, hx_report *r) {
  double device_units = 0.0;
  add_row(r, 0, atomic_load(&run->cpu_chunks), atomic_load(&run->cpu_units), cpu_ns);
  for (size_t i = 0; i < run->feeds; i++) {
    const hx__device_run *const f = &run->feed[i];
    add_row(r, f->planned->seat, f->chunks, f->units, f->busy_ns);
    r->bytes_copied += f->copied;
    device_units += (double)f->units;
  }
  r->bytes_copied += run->fetched;
  r->recovered = recovered;
  r->gpu_share = run->work->units ? device_units / (double)run->work->units : 0.0;
}

/* Whether no device delivered anything. */
static bool in_vain(const hx__run_state *run) {
  uint64_t units = 0;
  for (size_t i = 0; i < run->feeds; i++) units += run->feed[i].units;
  return units == 0;
}

/* What the run has drawn so far; NaN where nobody asks. */
static double drawn(const hx__run_state *run) {
  return isnan(run->plan->joules) ? NAN : hx__energy_joules(hx__energy_of_process()) - run->plan->joules;
}

/* Whether a device had but a trial, so that the call says nothing of others. */
static bool tries(const hx__plan *plan) {
  for (size_t i = 0; i < plan->devices; i++)
    if (plan->device[i].trial) return true;
  return false;
}

/* Whether what this run takes is no measure: a driver is at work beside it. */
static bool disturbed(const hx__plan *plan) { return plan->devices ? hx__registry_busy() : hx__registry_slows_cpu(); }

/* What the run has shown of the CPU's part, of how its parts go together, and of what all of them drew. */
static void learn(const hx__run_state *run, uint64_t cpu_units, uint64_t cpu_ns, uint64_t ns, double joules) {
  const hx__plan *const plan = run->plan;
  hx__model *const model = hx__model_of_process();
  const uint64_t date = hx__date_s();
  const double units = (double)cpu_units;
  bool surprised = atomic_load(&run->surprised) || run->redone;
  hx__model_note_call_end(model, &plan->whole_key);
  if (plan->cpu_works && units > 0.0) {
    const size_t beside = atomic_load(&run->beside_done);
    hx__sample sample = {.units = units, .ns = (double)cpu_ns, .turn = plan->turn, .best = plan->best};
    if (beside) {
      sample.units = (double)beside / slices_per_unit(run->work);
      sample.ns = (double)atomic_load(&run->beside_ns);
    }
    surprised = surprised || hx__surprising(&plan->cpu, sample.units, false, sample.ns);
    hx__model_learn(model, &plan->cpu_key, &plan->cpu, sample, date);
    if (plan->devices == 0) hx__model_learn_power(model, &plan->cpu_key, joules, (double)ns);
  }
  if (plan->devices == 0 || !(plan->promise_ns > 0.0)) return;
  if (!run->fetched && !tries(plan)) {
    const hx__sample took = {.units = (double)run->work->units, .ns = (double)ns, .turn = plan->turn};
    hx__model_learn(model, &plan->call_key, &hx__prior_call_factor, took, date);
  }
  const bool alone = plan->devices + plan->cpu_works == 1; /* its part is the call */
  if (!plan->informed && !alone) return;
  surprised = surprised && !alone;
  if (run->fetched || !plan->informed)
    hx__model_count_call(model, &plan->whole_key, &hx__prior_call, plan->turn, date);
  else
    hx__model_learn(model, &plan->whole_key, &hx__prior_call,
                    (hx__sample){.units = plan->promise_ns,
                                 .ns = hx__whole_ns((double)ns, plan->promise_ns, surprised, in_vain(run)),
                                 .turn = plan->turn,
                                 .best = plan->best},
                    date);
  hx__model_learn_power(model, &plan->whole_key, joules, (double)ns);
}

static void end_feed(hx__device_run *f) {
  if (f->started && !hx__device_entry_wait_job(f->seat, f->call_limit_ns)) hx__device_run_give_up(f);
  hx__device_entry_release(f->seat);
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
    pthread_mutex_lock(&run->lock);
    pthread_cond_broadcast(&run->landed); /* nothing is left to wait for a stream for */
    pthread_mutex_unlock(&run->lock);
    cpu_units = atomic_load(&run->cpu_units);
    hx__redo_overdue(run);
  }
  for (size_t i = 0; i < run->feeds; i++) end_feed(&run->feed[i]);
  const uint64_t again_ns = clock ? hx__now_ns() : 0;
  if (run->redos || hx__work_range_left(&run->ends) ||
      (run->keep.mirror && !run->keep.complete)) { /* the CPU needs what it reads */
    const hx_status s = hx__fetch_for(run->team, run->work, NULL, false, &run->fetched);
    if (s != HX_OK) return s;
  }
  const uint32_t recovered =
      plan->mandatory ? (uint32_t)run->redos + (hx__work_range_left(&run->ends) != 0) : recover(run);
  if (clock && (recovered || !plan->cpu_works)) cpu_ns += hx__now_ns() - again_ns;
  if (plan->mandatory && recovered)
    return hx__fail(HX_DEVICE_FAILED, "HX_OFFLOAD=mandatory and a device gave %u chunks back", recovered);
  const bool as_ever = !run->disturbed && !atomic_load(&run->grown) && !disturbed(plan);
  if (plan->measure && plan->policy && !recovered && as_ever)
    learn(run, cpu_units, cpu_ns, hx__now_ns() - run->from_ns, drawn(run));
  if (!run->work->matmul) join(run->work, run->request.slots, run->whole);
  if (report) fill_report(run, recovered + run->redone, cpu_ns, report);
  return HX_OK;
}

/* The one device that does everything: what it has need not move. */
static hx__device *alone_of(const hx__device_table *team, const hx__plan *plan) {
  return plan->cpu_works || plan->devices != 1 ? NULL : team->seat[plan->device[0].seat].device;
}

/* Of a reduction's slots. Fields may share one array, so the arrays' bytes do not bound them: SIZE_MAX, which no
 * allocation can give, stands for any number that overflows. */
static size_t slot_bytes(const hx__work *w) {
  size_t slots, bytes;
  if (w->matmul) return 0;
  if (__builtin_mul_overflow(w->nfields, w->slices, &slots) || __builtin_mul_overflow(slots, sizeof(uint64_t), &bytes))
    return SIZE_MAX;
  return bytes;
}

hx_status hx__run(hx__device_table *team, const hx__plan *plan, const hx__work *work, hx_report *report) {
  hx__run_state run; /* 9 KB: what devices need is left as it is, for short calls have none */
  memset(&run, 0, offsetof(hx__run_state, redo));
  run.team = team, run.plan = plan, run.work = work;
  hx__device *const alone = alone_of(team, plan);
  const bool keep = alone && hx__memory_resident_begin(team->memory, alone, work, &run.keep);
  const hx_status fetched = hx__fetch_for(team, work, alone, keep, &run.fetched);
  if (fetched != HX_OK) {
    if (keep) hx__memory_resident_end(team->memory, &run.keep);
    return fetched;
  }
  const size_t bytes = slot_bytes(work);
  uint64_t *const memory = bytes ? malloc(bytes) : NULL;
  const size_t arrays = plan->devices * hx__memory_arrays(work);
  const bool many = arrays > sizeof run.arrays / sizeof run.arrays[0]; /* fields */
  hx__array *const list = many ? calloc(arrays, sizeof *list) : NULL;
  hx_status status = HX_OUT_OF_MEMORY;
  if ((bytes && !memory) || (many && !list)) {
    hx__fail(HX_OUT_OF_MEMORY, "no memory for the partials of %zu fields of %zu leaves", work->nfields, work->slices);
  } else {
    pthread_mutex_init(&run.lock, NULL);
    hx__cond_init(&run.landed);
    run.request = (hx__request){.work = work, .kernels = team->kernels, .slots = memory, .joined = &run.whole};
    run.request.resident = keep ? &run.keep : NULL;
    hx__work_range_init(&run.ends, plan->policy ? (hx__chunk){0, work->slices} : plan->cpu_fixed);
    hx__memory_claim_outputs(team->memory, work);
    if (plan->measure || report) run.from_ns = run.cpu_from_ns = hx__now_ns();
    run.disturbed = disturbed(plan);
    hx__progress_begin(&run.cpu, &plan->cpu, slices_per_unit(work), false);
    start_feeds(&run, many ? list : run.arrays);
    status = carry_out(&run, report);
    hx__memory_release_outputs(team->memory, work, status == HX_OK);
    pthread_cond_destroy(&run.landed);
    pthread_mutex_destroy(&run.lock);
  }
  if (keep) hx__memory_resident_end(team->memory, &run.keep);
  free(memory);
  free(list);
  return status;
}
