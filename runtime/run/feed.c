/* SPDX-License-Identifier: Apache-2.0
 * A device's side of a run: takes chunks from the back until its policy says that it is done. What fails or comes late
 * is given back; an error drops the device, a late chunk only rests it until its event completes. */
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/run/internal.h"

#define LEAST_TIMEOUT_NS 100000000u
#define BLIND_TIMEOUT_NS 5000000000u /* without a measured rate */
#define TIMEOUT_FACTOR 8.0
#define LATENCY_NS 60e3 /* of a launch; what a first chunk must be worth */

void hx__give_back(hx__run_state *run, hx__chunk chunk) {
  if (chunk.count == 0) return;
  pthread_mutex_lock(&run->lock);
  run->redo[run->redos++] = chunk; /* at most two a device: the chunk that failed, and the rest of its fixed part */
  pthread_mutex_unlock(&run->lock);
}

static double cpu_rate(const hx__run_state *run) {
  if (!run->plan->cpu_works) return 0.0;
  const double elapsed = run->from_ns ? (double)(hx__now_ns() - run->from_ns) : 0.0;
  const double taken = (double)hx__ends_taken_front(&run->ends);
  /* The front counts a grab when it is taken: early in a run that says little. */
  return elapsed > 1e6 && taken > 0.0 ? taken / elapsed : run->plan->cpu_rate;
}

static double others_rate(const hx__feed *f) {
  double sum = 0.0;
  for (size_t i = 0; i < f->run->feeds; i++)
    if (&f->run->feed[i] != f) sum += f->run->feed[i].planned->rate;
  return sum;
}

/* The next chunk: the next piece of the fixed part, or what the policy says from the back. */
static hx__chunk next_chunk(hx__feed *f, const hx__lane *lane) {
  const hx__run_state *const run = f->run;
  const size_t most = lane->most(lane, run->work);
  if (!run->plan->policy) {
    const hx__chunk all = f->planned->fixed;
    const size_t left = all.count - f->taken;
    return (hx__chunk){all.first + f->taken, left < most ? left : most};
  }
  const hx__view view = {.total = run->work->slices,
                         .left = hx__ends_left(&run->ends),
                         .grain = lane->grain(lane, run->work),
                         .most = most,
                         .chunk = run->plan->chunk,
                         .taken = f->taken,
                         .share = f->planned->share,
                         .rate = f->rate,
                         .cpu_rate = cpu_rate(run),
                         .others_rate = others_rate(f),
                         .latency_ns = LATENCY_NS,
                         .devices = (unsigned)run->feeds,
                         .launches = (unsigned)f->launches};
  const size_t want = view.left ? run->plan->policy->next(&view) : 0;
  return want ? hx__ends_back(&f->run->ends, want) : (hx__chunk){0, 0};
}

static uint64_t deadline(const hx__feed *f, hx__chunk chunk) {
  const uint64_t set = f->run->team->config->timeout_ms, now = hx__now_ns();
  if (set == HX__TIMEOUT_OFF) return UINT64_MAX;
  if (set != HX__TIMEOUT_AUTO) return now + set * 1000000u;
  if (f->seat->device->waits_for_ever) return UINT64_MAX;
  if (f->rate <= 0.0) return now + BLIND_TIMEOUT_NS;
  const double predicted = TIMEOUT_FACTOR * (double)chunk.count / f->rate;
  return now +
         (predicted > LEAST_TIMEOUT_NS ? predicted < 1e18 ? (uint64_t)predicted : (uint64_t)1e18 : LEAST_TIMEOUT_NS);
}

static void learn(hx__feed *f, hx__chunk chunk, uint64_t ns) {
  const hx__run_state *const run = f->run;
  const uint64_t units = hx__chunk_units(run->work, chunk);
  f->rate = ns ? (double)chunk.count / (double)ns : f->rate;
  f->units += units;
  f->chunks++;
  const hx__rate_key key = hx__device_key(f->seat->device, run->work, run->plan->cpu_works);
  hx__model_put(&key, units, ns);
}

/* One chunk, from the launch to its delivery. */
static hx__outcome do_chunk(hx__feed *f, hx__lane *lane, hx__chunk chunk) {
  const hx__backend *const backend = f->seat->device->backend;
  hx__ticket *ticket = NULL;
  const uint64_t from = hx__now_ns();
  hx__outcome outcome = backend->submit(lane, &f->request, chunk, &ticket);
  if (outcome == HX__DONE) outcome = backend->wait(lane, &f->request, ticket, deadline(f, chunk));
  const uint64_t ns = hx__now_ns() - from;
  f->busy_ns += ns;
  f->launches++;
  if (outcome == HX__DONE) learn(f, chunk, ns);
  static const char *const words[] = {
      [HX__DONE] = "done", [HX__LATE] = "late", [HX__NO_MEMORY] = "no memory", [HX__FAILED] = "failed"};
  hx__trace_chunk(f->run->team->trace, f->planned->seat, from, from + ns, chunk.first, chunk.count, words[outcome]);
  hx__log(HX__LOG_DEBUG, "%s: slices %zu+%zu in %.3f ms: %s", f->seat->device->name, chunk.first, chunk.count,
          (double)ns * 1e-6, words[outcome]);
  return outcome;
}

/* The lane, opened at its first job, and free of late chunks. */
static hx__lane *lane_of(hx__seat *seat, const hx__config *config) {
  if (atomic_load(&seat->device->lost)) return NULL;
  if (!seat->lane) seat->lane = seat->device->backend->open(seat->device, config);
  if (seat->lane && seat->lane->late && !seat->lane->recovered(seat->lane)) return NULL;
  return seat->lane;
}

static void run_chunks(hx__feed *f, hx__lane *lane) {
  const hx__backend *const backend = f->seat->device->backend;
  bool begun = false;
  hx__outcome outcome = HX__DONE;
  while (outcome == HX__DONE) {
    const hx__chunk chunk = next_chunk(f, lane);
    if (chunk.count == 0) break;
    if (!begun) outcome = backend->begin(lane, &f->request);
    begun = true;
    if (outcome == HX__DONE) outcome = do_chunk(f, lane, chunk);
    if (outcome != HX__DONE) hx__give_back(f->run, chunk);
    f->taken += chunk.count;
  }
  if (begun) backend->end(lane, &f->copied);
  hx__memory_release(f->run->team->memory, f->run->work, f->request.arrays,
                     outcome == HX__LATE || (outcome == HX__FAILED && !f->seat->device->waits_for_ever));
}

void hx__feed_device(hx__seat *seat, void *arg) {
  hx__feed *const f = arg;
  hx__array *const arrays = (hx__array *)f->request.arrays;
  hx__lane *const lane = lane_of(seat, f->run->team->config);
  if (lane) {
    hx__memory_resolve(f->run->team->memory, seat->device, f->run->work, arrays);
    run_chunks(f, lane);
  }
  const hx__chunk fixed = f->planned->fixed;
  if (!f->run->plan->policy && f->taken < fixed.count)
    hx__give_back(f->run, (hx__chunk){fixed.first + f->taken, fixed.count - f->taken});
}
