/* SPDX-License-Identifier: Apache-2.0
 * A device's side of a run: takes chunks from the back until its policy says that it is done. What fails or comes late
 * is given back; an error drops the device, a late chunk only rests it until its event completes. */
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/run/internal.h"
#include "runtime/topo/topo.h"

#define LEAST_TIMEOUT_NS 100000000u
#define BLIND_TIMEOUT_NS 5000000000u /* without a measured rate */
#define TIMEOUT_FACTOR 8.0
#define FAR_NS 1e15
#define LEAST_STORE_BYTES ((size_t)1 << 20) /* from which the time of storing results tells its rate */
#define LEAST_SENT 0.125                    /* of a chunk's operands: less says little of the rest */
#define AT_ONCE_NS 100000u                  /* a wait so short found the chunk done */
#define NAP_NS 100000u
#define NAPS 8u /* looks while the time waited doubles, nearly: one that hangs is looked at seldom */

/* Of a product's slices, where they leave the device. */
static size_t result_bytes(const hx__device_run *f, size_t slices) {
  const hx__work *const w = f->run->work;
  return w->matmul && !f->request.resident ? slices * hx__work_cross_extent(w) * sizeof(float) : 0;
}

/* Whether results can be stored while the device computes: not where it takes all cores itself. */
static bool stores_beside(const hx__device *d) {
  return !d->uses_cpu_cores || d->compute_units < hx__topo_get()->hardware_threads;
}

/* The next chunk: the next piece of the fixed part, or what the policy says from the back. */
static hx__chunk next_chunk(hx__device_run *f, const hx__stream *stream) {
  const hx__run_state *const run = f->run;
  const hx__chunk fixed = f->planned->fixed;
  const bool by_hand = !run->plan->policy;
  hx__view view = {.total = by_hand ? fixed.count : run->work->slices,
                   .left = by_hand ? fixed.count - f->taken : hx__work_range_left(&run->ends),
                   .grain = hx__stream_grain(stream, run->work),
                   .most = hx__stream_most(stream, run->work),
                   .chunk = run->plan->chunk,
                   .taken = f->taken,
                   .trial = f->planned->trial,
                   .share = f->planned->share,
                   .rate = f->course.rate,
                   .sigma = f->course.sigma,
                   .in_flight = f->course.in_flight,
                   .ready_ns = hx__progress_ready_ns(&f->course, (double)hx__now_ns()),
                   .launch_ns = stream->depth > 1 ? f->course.gap_ns : f->course.latency_ns,
                   .store_ns = stores_beside(f->seat->device) ? f->seat->store_ns * (double)result_bytes(f, 1) : 0.0,
                   .devices = (unsigned)run->feeds,
                   .launches = f->course.launches};
  if (view.left == 0) return (hx__chunk){0, 0};
  if (by_hand) { /* no launch of a GPU is to last long, where its rate is known */
    if (f->seat->device->never_times_out) view.rate = 0.0;
    return (hx__chunk){fixed.first + f->taken, hx__policy_alone(&view)};
  }
  view.others = hx__run_participants(run, f, view.party);
  if (run->plan->cpu_works) view.party[view.others++] = (hx__participant){hx__run_cpu_rate(run), 0.0};
  const size_t want = run->plan->policy->next(&view);
  return want ? hx__work_range_take_back(&f->run->ends, want) : (hx__chunk){0, 0};
}

static uint64_t deadline(const hx__device_run *f, hx__chunk chunk) {
  const uint64_t set = f->run->team->config->timeout_ms, now = hx__now_ns();
  if (set == HX__TIMEOUT_OFF) return UINT64_MAX;
  if (set != HX__TIMEOUT_AUTO) return now + set * 1000000u;
  if (f->seat->device->never_times_out) return UINT64_MAX;
  if (f->course.rate <= 0.0) return now + BLIND_TIMEOUT_NS;
  const double predicted = TIMEOUT_FACTOR * hx__progress_chunk_ns(&f->course, (double)chunk.count);
  return now +
         (predicted > LEAST_TIMEOUT_NS ? predicted < 1e18 ? (uint64_t)predicted : (uint64_t)1e18 : LEAST_TIMEOUT_NS);
}

/* How a chunk ended, for the trace and the log. */
static void trace(const hx__device_run *f, const hx__launched_chunk *v, uint64_t begun, uint64_t now,
                  hx__outcome outcome) {
  static const char *const words[] = {[HX__DONE] = "done",
                                      [HX__TIMED_OUT] = "late",
                                      [HX__NO_MEMORY] = "no memory",
                                      [HX__SUPERSEDED] = "not wanted",
                                      [HX__FAILED] = "failed"};
  hx__trace_chunk(f->run->team->trace,
                  &(hx__trace_slice){f->planned->seat, begun, now, v->chunk.first, v->chunk.count,
                                     hx__chunk_units(f->run->work, v->chunk), v->expected_ns, words[outcome]});
  hx__log(HX__LOG_DEBUG, "%s: slices %zu+%zu in %.3f ms: %s", f->seat->device->name, v->chunk.first, v->chunk.count,
          (double)(now - begun) * 1e-6, words[outcome]);
}

static void publish(hx__device_run *f) {
  const double ends = f->course.queued ? f->course.ends_ns : 0.0;
  atomic_store_explicit(&f->rate, f->course.rate, memory_order_relaxed);
  atomic_store_explicit(&f->ends_ns, (uint64_t)fmin(ends, FAR_NS), memory_order_relaxed);
}

/* In flight from now on for everybody, though bringing its operands to the device may take most of its time. */
static hx__launched_chunk *take_off(hx__device_run *f, hx__chunk chunk) {
  const uint64_t from = hx__now_ns();
  const double before = f->course.queued ? f->course.ends_ns : (double)from;
  hx__progress_launched(&f->course, (double)chunk.count, (double)from);
  publish(f);
  pthread_mutex_lock(&f->run->lock);
  hx__launched_chunk *const v = &f->flight[f->flights++];
  v->ticket = NULL;
  v->chunk = v->rest = chunk;
  v->from_ns = from;
  v->expected_ns = f->course.rate > 0.0 ? fmin(f->course.ends_ns - before, FAR_NS) : 0.0;
  atomic_store(&v->till_ns, UINT64_MAX);
  pthread_cond_broadcast(&f->run->landed);
  pthread_mutex_unlock(&f->run->lock);
  return v;
}

/* Launches a chunk; what is not under way is given back, but for what the CPU has done meanwhile. */
static hx__outcome launch(hx__device_run *f, hx__stream *stream, hx__chunk chunk) {
  const hx__progress before = f->course;
  hx__launched_chunk *const v = take_off(f, chunk);
  stream->still_wanted = &v->till_ns;
  const hx__outcome outcome = f->seat->device->backend->submit(stream, &f->request, chunk, &v->ticket);
  stream->still_wanted = NULL;
  v->bringing_ns = hx__now_ns() - v->from_ns;
  if (outcome == HX__DONE) return outcome;
  pthread_mutex_lock(&f->run->lock);
  const hx__chunk rest = v->rest;
  f->flights--;
  pthread_cond_broadcast(&f->run->landed);
  pthread_mutex_unlock(&f->run->lock);
  hx__return_chunk(f->run, rest);
  f->course = before;
  publish(f);
  if (outcome == HX__SUPERSEDED) {
    const uint64_t now = hx__now_ns(), begun = v->from_ns > f->landed_ns ? v->from_ns : f->landed_ns;
    const hx__observation s =
        hx__device_run_observe(f, chunk, (double)(now - begun) / fmax(stream->sent_fraction, LEAST_SENT), 1.0);
    hx__device_run_learn(f, &s, true);
    f->busy_ns += now - begun;
    trace(f, v, begun, now, outcome);
  }
  return outcome;
}

/* The oldest chunk, which nobody else touches any more; *rest is what the CPU has left of it. */
static hx__launched_chunk pop(hx__device_run *f) {
  pthread_mutex_lock(&f->run->lock);
  const hx__launched_chunk v = {f->flight[0].ticket,
                                f->flight[0].chunk,
                                f->flight[0].rest,
                                f->flight[0].from_ns,
                                f->flight[0].bringing_ns,
                                f->flight[0].expected_ns,
                                0};
  f->flights--;
  for (unsigned i = 0; i < f->flights; i++) {
    hx__launched_chunk *const to = &f->flight[i], *const next = &f->flight[i + 1];
    to->ticket = next->ticket;
    to->chunk = next->chunk;
    to->rest = next->rest;
    to->from_ns = next->from_ns;
    to->bringing_ns = next->bringing_ns;
    to->expected_ns = next->expected_ns;
    atomic_store(&to->till_ns, UINT64_MAX);
  }
  pthread_cond_broadcast(&f->run->landed);
  pthread_mutex_unlock(&f->run->lock);
  return v;
}

/* When the oldest chunk, which is done now, has ended. Bringing the next one to the device takes the worker's time
 * where it goes through a ring, and counts as the next one's: a chunk that had not to be waited for ended before that.
 */
static uint64_t ended(const hx__device_run *f, uint64_t begun, uint64_t now) {
  const uint64_t bringing = f->flights > 1 ? f->flight[1].bringing_ns : 0;
  return now - begun > bringing ? now - bringing : now;
}

/* Waits for the oldest chunk in flight, which is then *landed; at_once: others are late before it. */
static hx__outcome land(hx__device_run *f, hx__stream *stream, bool at_once, hx__launched_chunk *landed) {
  const hx__backend *const backend = f->seat->device->backend;
  hx__launched_chunk *const oldest = &f->flight[0];
  pthread_mutex_lock(&f->run->lock);
  const uint64_t till = deadline(f, oldest->chunk);
  atomic_store(&oldest->till_ns, at_once || oldest->rest.count == 0 ? 0 : till);
  pthread_mutex_unlock(&f->run->lock);
  const uint64_t begun = oldest->from_ns > f->landed_ns ? oldest->from_ns : f->landed_ns;
  stream->expected_end_ns = oldest->expected_ns > 0.0 ? begun + (uint64_t)oldest->expected_ns : 0;
  const uint64_t waited_from = hx__now_ns();
  const hx__outcome outcome = backend->wait(stream, oldest->ticket, &oldest->till_ns);
  const uint64_t seen = hx__now_ns();
  const bool found = outcome == HX__DONE && seen - waited_from < AT_ONCE_NS;
  const uint64_t now = found ? ended(f, begun, seen) : seen;
  const hx__launched_chunk v = *landed = pop(f);
  if (outcome == HX__TIMED_OUT && !at_once) f->seat->late_till_ns = v.rest.count ? 0 : till;
  const uint64_t ns = now - begun;
  const double shown = hx__launch_shown(f->course.latency_ns, (double)(begun - v.from_ns));
  f->landed_ns = now;
  f->busy_ns += ns;
  atomic_store_explicit(&f->seat->used_ns, now, memory_order_relaxed);
  if (outcome != HX__DONE) hx__return_chunk(f->run, v.rest);
  hx__observation s = hx__device_run_observe(f, v.chunk, (double)ns, shown), ripe;
  if (outcome == HX__DONE) {
    s = hx__observation_add(&f->last, &s, found, &ripe);
    hx__device_run_learn(f, &ripe, true);
  } else if (outcome == HX__TIMED_OUT && !at_once) {
    hx__device_run_learn(f, &s, false);
  }
  hx__progress_observe(&f->course, s.slices, s.ns, s.shown);
  hx__progress_chunk_done(&f->course, (double)v.chunk.count, (double)now);
  publish(f);
  trace(f, &v, begun, now, outcome);
  return outcome;
}

/* What has landed goes where the caller wants it. */
static void deliver(hx__device_run *f, hx__stream *stream, const hx__launched_chunk *v) {
  const hx__backend *const backend = f->seat->device->backend;
  const uint64_t from = hx__now_ns();
  const bool delivered = backend->deliver(stream, &f->request, v->ticket, v->rest);
  f->landed = (hx__chunk){0, 0};
  if (!delivered) hx__return_chunk(f->run, v->rest);
  if (backend->recovery && backend->recovery->retire) backend->recovery->retire(stream, v->ticket);
  if (!delivered) return;
  const size_t bytes = result_bytes(f, v->rest.count);
  if (bytes >= LEAST_STORE_BYTES) f->seat->store_ns = (double)(hx__now_ns() - from) / (double)bytes;
  f->chunks += v->rest.count != 0;
  f->units += v->rest.count ? hx__chunk_units(f->run->work, v->rest) : 0;
}

/* Launches until the stream is full or the policy has nothing more for now. */
static hx__outcome fill(hx__device_run *f, hx__stream *stream, bool *begun) {
  hx__outcome outcome = HX__DONE;
  while (outcome == HX__DONE && f->flights < stream->depth) {
    const hx__chunk chunk = next_chunk(f, stream);
    if (chunk.count == 0) break;
    f->taken += chunk.count;
    f->pending = chunk;
    if (!*begun) outcome = f->seat->device->backend->begin(stream, &f->request);
    *begun = true;
    if (outcome == HX__DONE)
      outcome = launch(f, stream, chunk);
    else
      hx__return_chunk(f->run, chunk);
    f->pending = (hx__chunk){0, 0};
  }
  return outcome;
}

/* After a trial the CPU has the rest of the run for itself: what it does beside the device it has shown by now. */
static void note_trial(hx__device_run *f) {
  hx__run_state *const run = f->run;
  if (!f->planned->trial || !f->chunks) return;
  atomic_store(&run->beside_done, atomic_load(&run->cpu_done));
  atomic_store(&run->beside_ns, atomic_load(&run->cpu_busy_ns) / run->plan->threads);
}

static void run_chunks(hx__device_run *f, hx__stream *stream) {
  bool begun = false;
  stream->grew_pinned_memory = false;
  hx__outcome outcome = HX__DONE;
  for (outcome = fill(f, stream, &begun); f->flights;) {
    hx__launched_chunk v;
    const hx__outcome landed = land(f, stream, outcome == HX__TIMED_OUT, &v);
    if (landed == HX__DONE) f->landed = v.rest;
    if (outcome == HX__DONE || landed == HX__FAILED) outcome = landed;
    if (outcome == HX__DONE) outcome = fill(f, stream, &begun); /* the device computes while results are stored */
    if (landed == HX__DONE) deliver(f, stream, &v);
  }
  hx__device_run_learn(f, &f->last, true);
  note_trial(f);
  if (begun) f->seat->device->backend->end(stream, &f->copied);
  /* An upload ahead of a chunk that never came may be late though all chunks are done. */
  const bool late =
      stream->timed_out || outcome == HX__TIMED_OUT || (outcome == HX__FAILED && !f->seat->device->never_times_out);
  hx__memory_release(f->run->team->memory, f->seat->device, f->run->work, f->request.arrays, late);
}

/* The stream. Where the device is still at work on a chunk of an earlier call that the CPU has done meanwhile, it comes
 * in when it is free of it, if there is something to take then; the others do without it until then. */
static hx__stream *lane_for(hx__device_run *f) {
  hx__run_state *const run = f->run;
  hx__stream *stream = hx__device_entry_stream(f->seat, run->team, run->plan->wait_for_lane);
  if (stream || !run->plan->policy || !run->plan->cpu_works) return stream;
  atomic_store_explicit(&run->surprised, true, memory_order_relaxed);
  atomic_store(&f->working, false);
  const uint64_t from = hx__now_ns();
  while (!stream && hx__work_range_left(&run->ends) && hx__device_entry_has_timed_out(f->seat)) {
    const uint64_t now = hx__now_ns(), nap = (now - from) / NAPS;
    pthread_mutex_lock(&run->lock);
    if (hx__work_range_left(&run->ends))
      hx__cond_wait_until(&run->landed, &run->lock, now + (nap > NAP_NS ? nap : NAP_NS));
    pthread_mutex_unlock(&run->lock);
    stream = hx__device_entry_stream(f->seat, run->team, false);
  }
  atomic_store(&f->working, stream != NULL);
  return stream;
}

void hx__device_run_main(hx__device_entry *seat, void *arg) {
  hx__device_run *const f = arg;
  hx__array *const arrays = (hx__array *)f->request.arrays;
  hx__stream *const stream = lane_for(f);
  if (stream) {
    f->stream = stream;
    hx__memory_resolve(f->run->team->memory, seat->device, f->run->work, arrays);
    f->resolved = true;
    run_chunks(f, stream);
  }
  pthread_mutex_lock(&f->run->lock);
  atomic_store_explicit(&f->working, false, memory_order_relaxed);
  pthread_cond_broadcast(&f->run->landed);
  pthread_mutex_unlock(&f->run->lock);
  const hx__chunk fixed = f->planned->fixed;
  if (!f->run->plan->policy && f->taken < fixed.count)
    hx__return_chunk(f->run, (hx__chunk){fixed.first + f->taken, fixed.count - f->taken});
}

void hx__device_run_give_up(hx__device_run *f) {
  hx__run_state *const run = f->run;
  hx__chunk back[HX__DEPTH + 2];
  unsigned count = 0;
  pthread_mutex_lock(&run->lock);
  for (unsigned i = 0; i < f->flights; i++) back[count++] = f->flight[i].rest;
  const bool launched = f->flights && f->flight[f->flights - 1].chunk.first == f->pending.first;
  if (!launched) back[count++] = f->pending;
  back[count++] = f->landed;
  f->flights = 0;
  pthread_mutex_unlock(&run->lock);
  for (unsigned i = 0; i < count; i++) hx__return_chunk(run, back[i]);
  const hx__chunk fixed = f->planned->fixed;
  if (!run->plan->policy && f->taken < fixed.count)
    hx__return_chunk(run, (hx__chunk){fixed.first + f->taken, fixed.count - f->taken});
  atomic_store(&f->working, false);
  const hx__backend_recovery *const recovery = f->seat->device->backend->recovery;
  if (f->stream && recovery && recovery->abandon) recovery->abandon((hx__stream *)(uintptr_t)f->stream);
  /* Of no device whose late chunks might end: what the given up thread reads is never freed. */
  if (f->resolved) hx__memory_release(run->team->memory, NULL, run->work, f->request.arrays, true);
}
