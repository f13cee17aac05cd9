/* SPDX-License-Identifier: Apache-2.0
 * A device's part of a run: it takes chunks from the back of the range until its policy says that it is done. A chunk
 * that fails or times out goes back to the CPU, and the device launches no more in this run. */
#include "runtime/sched/device_run.h"

#include <math.h>

#include "runtime/sched/learn.h"

#define LEAST_TIMEOUT_NS 100e6
#define DEFAULT_TIMEOUT_NS 5e9 /* if the rate is not known */
#define TIMEOUT_FACTOR 8.0     /* times the expected time of a chunk */
#define LONGEST_NS 1e18        /* so that a time fits into 64 bits */
#define LATEST_END_NS 1e15     /* the same for the times that other threads read */
#define LEAST_SENT 0.125       /* of a chunk's operands: a smaller part says little about the time of all */
#define FOUND_DONE_NS 100e3    /* If the wait was shorter, the chunk had ended before the wait began. */

static uint64_t to_integer_ns(double ns) { return ns < LONGEST_NS ? (uint64_t)ns : UINT64_MAX; }

static void publish_progress(hx__device_run *d) {
  const double ends = d->progress.queued ? d->progress.ends_ns : 0.0;
  atomic_store_explicit(&d->rate, d->progress.rate, memory_order_relaxed);
  atomic_store_explicit(&d->ends_ns, (uint64_t)fmin(ends, LATEST_END_NS), memory_order_relaxed);
}

/* Slices that the device may still take. */
static size_t slices_left(const hx__device_run *d, const hx__run_progress *run) {
  return d->terms.policy ? hx__work_range_left(run->range) : d->terms.fixed.count - d->taken;
}

/* The next chunk: the next piece of the fixed part, or the number of slices that the policy says, from the back of the
 * range. */
static hx__chunk take_chunk(hx__device_run *d, const hx__run_progress *run, double now_ns) {
  const hx__device_terms *const t = &d->terms;
  const bool fixed = !t->policy;
  hx__view view = {.total = fixed ? t->fixed.count : run->work->slices,
                   .left = slices_left(d, run),
                   .grain = t->grain,
                   .most = t->most,
                   .chunk = run->chunk,
                   .taken = d->taken,
                   .trial = t->trial,
                   .share = t->share,
                   .rate = fixed && t->may_last_long ? 0.0 : d->progress.rate,
                   .sigma = d->progress.sigma,
                   .in_flight = d->progress.in_flight,
                   .ready_ns = hx__progress_ready_ns(&d->progress, now_ns),
                   .launch_ns = t->depth > 1 ? d->progress.gap_ns : d->progress.latency_ns,
                   .store_ns = d->store_ns,
                   .by_link = d->by_link,
                   .shared_ns = d->shared_ns,
                   .devices = (unsigned)run->devices,
                   .launches = d->progress.launches};
  if (view.left == 0) return (hx__chunk){0, 0};
  if (fixed) return (hx__chunk){t->fixed.first + d->taken, hx__policy_alone(&view)};
  view.others = hx__run_participants(run, d, now_ns, view.other);
  if (run->cpu_works) view.other[view.others++] = (hx__participant){hx__run_cpu_rate(run, now_ns), 0.0};
  const size_t wanted = t->policy->next(&view);
  return wanted ? hx__work_range_take_back(run->range, wanted) : (hx__chunk){0, 0};
}

/* Adds a chunk to those in flight before it is launched, because its launch may take most of its time and the other
 * participants must take it into account. */
static hx__launched_chunk *add_in_flight(hx__device_run *d, hx__run_progress *run, hx__chunk chunk, double now_ns) {
  const double before = d->progress.queued ? d->progress.ends_ns : now_ns;
  hx__progress_launched(&d->progress, (double)chunk.count, now_ns);
  publish_progress(d);
  pthread_mutex_lock(&run->lock);
  hx__launched_chunk *const v = &d->launched[d->in_flight++];
  v->submitted = NULL;
  v->chunk = v->rest = chunk;
  v->launched_ns = now_ns;
  v->submit_ns = v->sent = 0.0;
  v->expected_ns = d->progress.rate > 0.0 ? fmin(d->progress.ends_ns - before, LATEST_END_NS) : 0.0;
  atomic_store(&v->deadline_ns, UINT64_MAX);
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
  return v;
}

static double began_ns(const hx__device_run *d, const hx__launched_chunk *v) {
  return fmax(v->launched_ns, d->last_end_ns);
}

/* The observation of a chunk that took ns, with the fraction `exposed` of its launch in that time. */
static hx__observation observation_of(const hx__device_run *d, const hx__run_progress *run, hx__chunk chunk, double ns,
                                      double exposed) {
  return (hx__observation){.units = (double)hx__chunk_units(run->work, chunk),
                           .slices = (double)chunk.count,
                           .ns = ns,
                           .exposed = exposed,
                           .idle = d->terms.idle && d->progress.launches == 0};
}

/* The newest chunk could not be launched. Gives back what the CPU has not computed of it. */
static void undo_launch(hx__device_run *d, hx__run_progress *run, const hx__run_host *host, void *self,
                        hx__outcome outcome, const hx__progress *before) {
  const hx__launched_chunk *const v = &d->launched[d->in_flight - 1];
  pthread_mutex_lock(&run->lock);
  const hx__chunk rest = v->rest;
  d->in_flight--;
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
  host->give_back(self, rest);
  d->progress = *before;
  publish_progress(d);
  if (outcome != HX__SUPERSEDED) return;
  const double now_ns = host->now_ns(self), ns = now_ns - began_ns(d, v);
  const hx__observation seen = observation_of(d, run, v->chunk, ns / fmax(v->sent, LEAST_SENT), 1.0);
  hx__learn_chunk(d, run, &seen, true, host->date_s(self));
  d->busy_ns += ns;
  if (host->ended) host->ended(self, v, began_ns(d, v), now_ns, outcome);
}

void hx__device_run_fill(hx__device_run *d, hx__run_progress *run, const hx__run_host *host, void *self) {
  while (d->outcome == HX__DONE && d->in_flight < d->terms.depth && slices_left(d, run)) {
    const double now_ns = host->now_ns(self);
    const hx__chunk chunk = take_chunk(d, run, now_ns);
    if (chunk.count == 0) break;
    d->taken += chunk.count;
    const hx__progress before = d->progress;
    hx__launched_chunk *const v = add_in_flight(d, run, chunk, now_ns);
    d->outcome = host->launch(self, v);
    v->submit_ns = host->now_ns(self) - v->launched_ns;
    if (d->outcome != HX__DONE) undo_launch(d, run, host, self, d->outcome, &before);
  }
}

static uint64_t deadline(const hx__device_run *d, hx__chunk chunk, double now_ns) {
  const double set = d->terms.timeout_ns;
  if (set > 0.0) return to_integer_ns(now_ns + set);
  if (!(d->progress.rate > 0.0)) return to_integer_ns(now_ns + DEFAULT_TIMEOUT_NS);
  const double predicted = TIMEOUT_FACTOR * hx__progress_chunk_ns(&d->progress, (double)chunk.count);
  return to_integer_ns(now_ns + fmin(fmax(predicted, LEAST_TIMEOUT_NS), LONGEST_NS));
}

uint64_t hx__device_run_await(hx__device_run *d, hx__run_progress *run, double now_ns) {
  hx__launched_chunk *const oldest = &d->launched[0];
  pthread_mutex_lock(&run->lock);
  const uint64_t deadline_ns = deadline(d, oldest->chunk, now_ns);
  const bool given_up = d->outcome == HX__TIMED_OUT || oldest->rest.count == 0;
  atomic_store(&oldest->deadline_ns, given_up ? 0 : deadline_ns);
  pthread_mutex_unlock(&run->lock);
  return deadline_ns;
}

static void copy_launched(hx__launched_chunk *to, const hx__launched_chunk *from) {
  to->submitted = from->submitted;
  to->chunk = from->chunk;
  to->rest = from->rest;
  to->launched_ns = from->launched_ns;
  to->submit_ns = from->submit_ns;
  to->expected_ns = from->expected_ns;
  to->sent = from->sent;
  atomic_store(&to->deadline_ns, UINT64_MAX);
}

/* Removes the oldest chunk, which no other thread touches from then on. */
static void remove_oldest(hx__device_run *d, hx__run_progress *run, hx__launched_chunk *oldest) {
  pthread_mutex_lock(&run->lock);
  copy_launched(oldest, &d->launched[0]);
  d->in_flight--;
  for (unsigned i = 0; i < d->in_flight; i++) copy_launched(&d->launched[i], &d->launched[i + 1]);
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
}

/* When the oldest chunk ended, which was found done at now_ns. If operands go through a staging ring, submitting the
 * next chunk takes the worker long, and the oldest chunk ended before that: the time is counted for the next chunk. */
static double end_of_found_chunk(const hx__device_run *d, double began, double now_ns) {
  const double submit_ns = d->in_flight > 1 ? d->launched[1].submit_ns : 0.0;
  return now_ns - began > submit_ns ? now_ns - submit_ns : now_ns;
}

void hx__device_run_chunk_ended(hx__device_run *d, hx__run_progress *run, const hx__run_host *host, void *self,
                                hx__outcome outcome, double waited_from_ns, hx__launched_chunk *result) {
  const double seen_ns = host->now_ns(self), began = began_ns(d, &d->launched[0]);
  const bool found = outcome == HX__DONE && seen_ns - waited_from_ns < FOUND_DONE_NS;
  const double now_ns = found ? end_of_found_chunk(d, began, seen_ns) : seen_ns, ns = now_ns - began;
  const bool given_up = d->outcome == HX__TIMED_OUT; /* A chunk before it timed out, so its own time says nothing. */
  remove_oldest(d, run, result);
  const double exposed = hx__launch_exposed(d->progress.latency_ns, began - result->launched_ns);
  d->last_end_ns = now_ns;
  d->busy_ns += ns;
  if (outcome != HX__DONE) host->give_back(self, result->rest);
  hx__observation seen = observation_of(d, run, result->chunk, ns, exposed), known;
  if (outcome == HX__DONE) {
    seen = hx__observation_add(&d->unlearned, &seen, found, &known);
    hx__learn_chunk(d, run, &known, true, host->date_s(self));
  } else if (outcome == HX__TIMED_OUT && !given_up) {
    hx__learn_chunk(d, run, &seen, false, host->date_s(self));
  }
  hx__progress_observe(&d->progress, seen.slices, seen.ns, seen.exposed);
  hx__progress_chunk_done(&d->progress, (double)result->chunk.count, now_ns);
  publish_progress(d);
  if (d->outcome == HX__DONE || outcome == HX__FAILED) d->outcome = outcome;
  if (host->ended) host->ended(self, result, began, now_ns, outcome);
}

void hx__device_run_delivered(hx__device_run *d, const hx__run_progress *run, hx__chunk chunk) {
  if (chunk.count == 0) return;
  d->chunks++;
  d->units += hx__chunk_units(run->work, chunk);
}

/* After a trial the CPU computes the rest of the run alone, so its rate beside the device is what it has done so far.
 */
void hx__device_run_finish(const hx__device_run *d, hx__run_progress *run) {
  if (!d->terms.trial || !d->chunks) return;
  atomic_store(&run->cpu_trial_done, atomic_load(&run->cpu_done));
  atomic_store(&run->cpu_trial_ns, atomic_load(&run->cpu_busy_ns) / run->threads);
}

void hx__device_run_learn_last(const hx__device_run *d, hx__run_progress *run, uint64_t date_s) {
  hx__learn_chunk(d, run, &d->unlearned, true, date_s);
}

hx__chunk hx__device_run_untaken(const hx__device_run *d) {
  const hx__chunk fixed = d->terms.fixed;
  if (d->terms.policy || d->taken >= fixed.count) return (hx__chunk){0, 0};
  return (hx__chunk){fixed.first + d->taken, fixed.count - d->taken};
}
