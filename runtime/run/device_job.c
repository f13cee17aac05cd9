/* SPDX-License-Identifier: Apache-2.0
 * Carries out a device run (sched/device_run.h) by a backend's stream, on the device's worker. After an error the
 * device is lost; after a chunk that timed out it gets no more work until the event of that chunk completes. */
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/thread.h"
#include "runtime/run/internal.h"
#include "runtime/topo/topo.h"

#define LEAST_STORE_BYTES ((size_t)1 << 20) /* fewer are stored too fast to measure a rate */
#define LEAST_POLL_NS 100000u
/* The poll interval is the time waited so far divided by this: a device that hangs is polled ever less often. */
#define POLLS 8u

static const hx__backend *backend_of(const hx__device_job *job) { return job->entry->device->backend; }

void hx__return_chunk(hx__run_state *run, hx__chunk chunk) {
  if (chunk.count == 0) return;
  pthread_mutex_lock(&run->progress.lock);
  run->returned[run->returns++] = chunk;
  pthread_mutex_unlock(&run->progress.lock);
}

/* Bytes that slices of a product or a map have on the host; 0 if they stay on the device. */
static size_t result_bytes(const hx__device_job *job, size_t slices) {
  const hx__work *const w = job->run->work;
  if (job->request.resident) return 0;
  if (w->map) return hx__work_outputs(w) * slices * HX__LEAF * sizeof(uint32_t);
  return w->matmul ? slices * hx__work_cross_extent(w) * sizeof(float) : 0;
}

/* Whether the CPU can store results while the device computes: not if the device uses all cores itself. */
static bool stores_while_computing(const hx__device *d) {
  return !d->uses_cpu_cores || d->compute_units < hx__topo_get()->hardware_threads;
}

static void set_store_time(hx__device_job *job) {
  job->device.store_ns =
      stores_while_computing(job->entry->device) ? job->entry->store_ns * (double)result_bytes(job, 1) : 0.0;
}

/* What the policy has to know about a link that the results cross. */
static void set_link_times(hx__device_job *job) {
  const hx__work *const w = job->run->work;
  const hx__device *const d = job->entry->device;
  job->device.by_link = hx__device_copies_over_link(d) && result_bytes(job, 1) > 0;
  if (!job->device.by_link || !w->matmul || w->by_products) return;
  const bool is_there = (w->placement >> (w->by_columns ? 0 : 2) & 3u) == HX__PRESENT;
  const size_t elements = w->gemm.k * hx__work_cross_extent(w);
  job->device.shared_ns = is_there ? 0.0 : (double)d->link_ns * (double)elements * sizeof(float);
}

/* How long a chunk may take. INFINITY: without limit. 0: the limit follows from the device's rate. */
static double timeout_of(const hx__config *config, const hx__device *d) {
  if (config->timeout_ms == HX__TIMEOUT_OFF) return INFINITY;
  if (config->timeout_ms != HX__TIMEOUT_AUTO) return (double)config->timeout_ms * 1e6;
  return d->never_times_out ? INFINITY : 0.0;
}

bool hx__device_job_init(hx__run_state *run, const hx__plan_device *planned, hx__array *arrays) {
  const hx__plan *const plan = run->plan;
  const hx__config *const config = run->table->config;
  hx__device_entry *const entry = &run->table->entry[planned->entry];
  if (!hx__device_entry_acquire(entry, plan->wait_for_device)) return false;
  hx__device_job *const job = &run->job[run->progress.devices];
  *job = (hx__device_job){.run = run, .entry = entry, .index = planned->entry, .request = run->cpu.request};
  job->call_limit_ns = hx__call_limit_ns(config, entry->device);
  job->request.arrays = arrays;
  job->request.copy_threads = plan->cpu_works ? HX__COPY_BY_WORKER : HX__COPY_BY_COPY_POOL;
  job->request.upcoming = !plan->policy        ? planned->fixed
                          : plan->devices == 1 ? (hx__chunk){0, run->work->slices}
                                               : (hx__chunk){0, 0};
  const bool waits = entry->device->never_times_out;
  const hx__device_terms terms = {.policy = plan->policy,
                                  .fixed = planned->fixed,
                                  .share = planned->share,
                                  .trial = planned->trial,
                                  .expected = planned->expected,
                                  .idle = planned->idle,
                                  .key = planned->key,
                                  .timeout_ns = timeout_of(config, entry->device),
                                  .may_last_long = waits,
                                  .may_be_redone = plan->policy && plan->cpu_works && !plan->mandatory && !waits &&
                                                   config->timeout_ms != HX__TIMEOUT_OFF};
  hx__device_run_begin(&job->device, &run->progress, &terms);
  return true;
}

/* The host of a device run: the machine's clocks, and the worker's stream. */
static double host_now_ns(void *self) {
  (void)self;
  return (double)hx__now_ns();
}

static uint64_t host_date_s(void *self) {
  (void)self;
  return hx__date_s();
}

static void record_growth(hx__device_job *job) {
  if (job->stream->grew_pinned_memory) atomic_store(&job->run->progress.grown, true);
}

static hx__outcome host_launch(void *self, hx__launched_chunk *chunk) {
  hx__device_job *const job = self;
  hx__stream *const stream = job->stream;
  hx__outcome outcome = job->begun ? HX__DONE : backend_of(job)->begin(stream, &job->request);
  job->begun = true;
  if (outcome != HX__DONE) return outcome;
  stream->still_wanted = &chunk->deadline_ns;
  outcome = backend_of(job)->submit(stream, &job->request, chunk->chunk, &chunk->submitted);
  stream->still_wanted = NULL;
  chunk->sent = stream->sent_fraction;
  record_growth(job);
  return outcome;
}

static void host_give_back(void *self, hx__chunk chunk) { hx__return_chunk(((hx__device_job *)self)->run, chunk); }

/* How a chunk ended, for the trace and the log. */
static void host_ended(void *self, const hx__launched_chunk *v, double began_ns, double ended_ns, hx__outcome outcome) {
  static const char *const words[] = {[HX__DONE] = "done",
                                      [HX__TIMED_OUT] = "late",
                                      [HX__NO_MEMORY] = "no memory",
                                      [HX__SUPERSEDED] = "not wanted",
                                      [HX__FAILED] = "failed"};
  const hx__device_job *const job = self;
  hx__trace_chunk(job->run->table->trace,
                  &(hx__trace_slice){hx__work_trace(job->run->work), job->index, (uint64_t)began_ns, (uint64_t)ended_ns,
                                     v->chunk.first, v->chunk.count, hx__chunk_units(job->run->work, v->chunk),
                                     v->expected_ns, words[outcome]});
  hx__log(HX__LOG_DEBUG, "%s: slices %zu+%zu in %.3f ms: %s", job->entry->device->name, v->chunk.first, v->chunk.count,
          (ended_ns - began_ns) * 1e-6, words[outcome]);
}

static const hx__run_host host = {.now_ns = host_now_ns,
                                  .date_s = host_date_s,
                                  .launch = host_launch,
                                  .give_back = host_give_back,
                                  .ended = host_ended};

/* Waits for the oldest chunk in flight. */
static hx__outcome wait_for_chunk(hx__device_job *job, hx__launched_chunk *ended) {
  hx__device_run *const d = &job->device;
  hx__run_progress *const progress = &job->run->progress;
  hx__launched_chunk *const oldest = &d->launched[0];
  const bool given_up = d->outcome == HX__TIMED_OUT;
  const uint64_t deadline_ns = hx__device_run_await(d, progress, (double)hx__now_ns());
  const double began = fmax(oldest->launched_ns, d->last_end_ns);
  job->stream->expected_end_ns = oldest->expected_ns > 0.0 ? (uint64_t)(began + oldest->expected_ns) : 0;
  atomic_store(&job->entry->job_ends_ns, atomic_load(&d->ends_ns));
  const double waited_from_ns = (double)hx__now_ns();
  const hx__outcome outcome = backend_of(job)->wait(job->stream, oldest->submitted, &oldest->deadline_ns);
  record_growth(job);
  hx__device_run_chunk_ended(d, progress, &host, job, outcome, waited_from_ns, ended);
  atomic_store_explicit(&job->entry->used_ns, (uint64_t)d->last_end_ns, memory_order_relaxed);
  if (outcome == HX__TIMED_OUT && !given_up) job->entry->stream_wait_until_ns = ended->rest.count ? 0 : deadline_ns;
  return outcome;
}

/* Stores the results of a chunk in the caller's memory. */
static void deliver_chunk(hx__device_job *job, const hx__launched_chunk *v) {
  const uint64_t from_ns = hx__now_ns();
  const bool delivered = backend_of(job)->deliver(job->stream, &job->request, v->submitted, v->rest);
  job->undelivered = (hx__chunk){0, 0};
  if (!delivered) hx__return_chunk(job->run, v->rest);
  const hx__backend_recovery *const recovery = backend_of(job)->recovery;
  if (recovery && recovery->retire) recovery->retire(job->stream, v->submitted);
  if (!delivered) return;
  const size_t bytes = result_bytes(job, v->rest.count);
  if (bytes >= LEAST_STORE_BYTES) job->entry->store_ns = (double)(hx__now_ns() - from_ns) / (double)bytes;
  set_store_time(job);
  hx__device_run_delivered(&job->device, &job->run->progress, v->rest);
}

static void run_chunks(hx__device_job *job) {
  hx__device_run *const d = &job->device;
  hx__run_progress *const progress = &job->run->progress;
  job->stream->grew_pinned_memory = job->stream->lacked_memory = false;
  for (hx__device_run_fill(d, progress, &host, job); d->in_flight;) {
    hx__launched_chunk ended;
    const hx__outcome outcome = wait_for_chunk(job, &ended);
    if (outcome == HX__DONE) job->undelivered = ended.rest;
    hx__device_run_fill(d, progress, &host, job); /* The device computes while results are stored. */
    if (outcome == HX__DONE) deliver_chunk(job, &ended);
  }
  hx__device_run_finish(d, progress);
  if (job->begun) backend_of(job)->end(job->stream, &job->copied);
  /* The device may still read the operands: an upload for a chunk that was never submitted may be running. */
  const bool may_be_read = job->stream->timed_out || d->outcome == HX__TIMED_OUT ||
                           (d->outcome == HX__FAILED && !job->entry->device->never_times_out);
  hx__memory_release(job->run->table->memory, job->entry->device, job->run->work, job->request.arrays, may_be_read);
  if (job->stream->lacked_memory) hx__memory_ran_short(job->run->table->memory, job->entry->device);
}

/* The stream. If the device is still computing a chunk of an earlier call that timed out, waits until that has ended,
 * as long as slices are left for the device to join in; the other participants work until then. */
static hx__stream *wait_for_stream(hx__device_job *job) {
  hx__run_state *const run = job->run;
  hx__stream *stream = hx__device_entry_stream(job->entry, run->table, run->plan->wait_for_device);
  if (stream || !run->plan->policy || !run->plan->cpu_works) return stream;
  atomic_store(&job->device.working, false);
  const uint64_t from_ns = hx__now_ns();
  while (!stream && hx__work_range_left(&run->range) && hx__device_entry_has_timed_out(job->entry)) {
    const uint64_t now_ns = hx__now_ns(), poll_ns = (now_ns - from_ns) / POLLS;
    pthread_mutex_lock(&run->progress.lock);
    if (hx__work_range_left(&run->range))
      hx__cond_wait_until(&run->progress.changed, &run->progress.lock,
                          now_ns + (poll_ns > LEAST_POLL_NS ? poll_ns : LEAST_POLL_NS));
    pthread_mutex_unlock(&run->progress.lock);
    stream = hx__device_entry_stream(job->entry, run->table, false);
  }
  atomic_store(&job->device.working, stream != NULL);
  return stream;
}

void hx__device_job_main(hx__device_entry *entry, void *arg) {
  hx__device_job *const job = arg;
  hx__stream *const stream = wait_for_stream(job);
  if (stream) {
    job->stream = stream;
    job->device.terms.grain = hx__stream_grain(stream, job->run->work);
    job->device.terms.most = hx__stream_most(stream, &job->request);
    job->device.terms.depth = stream->depth;
    set_store_time(job);
    set_link_times(job);
    hx__memory_resolve(job->run->table->memory, entry->device, job->run->work, (hx__array *)job->request.arrays);
    job->resolved = true;
    run_chunks(job);
  }
  hx__device_run_set_working(&job->device, &job->run->progress, false);
  hx__return_chunk(job->run, hx__device_run_untaken(&job->device));
}

void hx__device_job_give_up(hx__device_job *job) {
  hx__run_state *const run = job->run;
  hx__device_run *const d = &job->device;
  hx__chunk back[HX__DEPTH + 2];
  unsigned count = 0;
  pthread_mutex_lock(&run->progress.lock);
  for (unsigned i = 0; i < d->in_flight; i++) back[count++] = d->launched[i].rest;
  d->in_flight = 0;
  pthread_mutex_unlock(&run->progress.lock);
  back[count++] = job->undelivered;
  back[count++] = hx__device_run_untaken(d);
  for (unsigned i = 0; i < count; i++) hx__return_chunk(run, back[i]);
  atomic_store(&d->working, false);
  const hx__backend_recovery *const recovery = backend_of(job)->recovery;
  if (job->stream && recovery && recovery->abandon) recovery->abandon(job->stream);
  /* NULL: no event will tell when the given up thread has stopped reading, so the memory is never freed. */
  if (job->resolved) hx__memory_release(run->table->memory, NULL, run->work, job->request.arrays, true);
}
