/* SPDX-License-Identifier: Apache-2.0
 * The state of a run that its participants read and change. */
#include <math.h>

#include "runtime/base/thread.h"
#include "runtime/sched/device_run.h"

static double slices_per_unit(const hx__work *w) { return w->units ? (double)w->slices / (double)w->units : 0.0; }

void hx__run_progress_begin(hx__run_progress *run, const hx__estimate *cpu) {
  pthread_mutex_init(&run->lock, NULL);
  hx__cond_init(&run->changed);
  hx__progress_begin(&run->cpu, cpu, slices_per_unit(run->work), false);
}

void hx__run_progress_end(hx__run_progress *run) {
  pthread_cond_destroy(&run->changed);
  pthread_mutex_destroy(&run->lock);
}

void hx__device_run_begin(hx__device_run *d, hx__run_progress *run, const hx__device_terms *terms) {
  *d = (hx__device_run){.terms = *terms};
  hx__progress_begin(&d->progress, &terms->expected, slices_per_unit(run->work), terms->idle);
  atomic_init(&d->rate, d->progress.rate);
  atomic_init(&d->working, true);
  run->device[run->devices++] = d;
}

void hx__device_run_set_working(hx__device_run *d, hx__run_progress *run, bool working) {
  pthread_mutex_lock(&run->lock);
  atomic_store(&d->working, working);
  pthread_cond_broadcast(&run->changed);
  pthread_mutex_unlock(&run->lock);
}

unsigned hx__run_participants(const hx__run_progress *run, const hx__device_run *except, double now_ns,
                              hx__participant participants[HX_MAX_DEVICES]) {
  unsigned count = 0;
  for (size_t i = 0; i < run->devices; i++) {
    const hx__device_run *const d = run->device[i];
    if (d == except || !atomic_load_explicit(&d->working, memory_order_relaxed)) continue;
    const double ends = (double)atomic_load_explicit(&d->ends_ns, memory_order_relaxed);
    const hx__estimate *const e = &d->terms.expected;
    const double left = ends > 0.0 ? fabs(ends - now_ns) + e->gap_ns : 0.0; /* overdue: as in hx__progress_ready_ns */
    participants[count++] =
        (hx__participant){atomic_load_explicit(&d->rate, memory_order_relaxed), fmax(left, e->latency_ns)};
  }
  return count;
}

double hx__run_cpu_rate(const hx__run_progress *run, double now_ns) {
  if (!run->cpu_works) return 0.0;
  const double elapsed = run->began_ns > 0.0 ? now_ns - run->began_ns : 0.0;
  const double done = (double)atomic_load_explicit(&run->cpu_done, memory_order_relaxed);
  const double busy = (double)atomic_load_explicit(&run->cpu_busy_ns, memory_order_relaxed) / run->threads;
  const hx__cpu_observation seen = {done, busy, fmax((double)hx__work_range_taken_front(run->range) - done, 0.0)};
  return hx__progress_cpu_rate(&run->cpu, seen, elapsed);
}

void hx__run_cpu_done(hx__run_progress *run, size_t slices, double ns) {
  atomic_fetch_add_explicit(&run->cpu_done, slices, memory_order_relaxed);
  atomic_fetch_add_explicit(&run->cpu_busy_ns, (uint64_t)ns, memory_order_relaxed);
}

size_t hx__run_cpu_chunk(const hx__run_progress *run, hx__cpu_chunk_view view, double now_ns) {
  view.left = hx__work_range_left(run->range);
  view.threads = run->threads;
  view.rate = hx__run_cpu_rate(run, now_ns);
  view.others = hx__run_participants(run, NULL, now_ns, view.other);
  return hx__cpu_chunk_size(&view);
}
