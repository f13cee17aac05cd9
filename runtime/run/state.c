/* SPDX-License-Identifier: Apache-2.0
 * What those who carry a run out show one another, and the model and the trace. */
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/run/internal.h"

void hx__return_chunk(hx__run_state *run, hx__chunk chunk) {
  if (chunk.count == 0) return;
  pthread_mutex_lock(&run->lock);
  run->redo[run->redos++] = chunk;
  pthread_mutex_unlock(&run->lock);
}

unsigned hx__run_participants(const hx__run_state *run, const hx__device_run *but,
                              hx__participant party[HX_MAX_DEVICES]) {
  const double now = (double)hx__now_ns();
  unsigned count = 0;
  for (size_t i = 0; i < run->feeds; i++) {
    const hx__device_run *const f = &run->feed[i];
    if (f == but || !atomic_load_explicit(&f->working, memory_order_relaxed)) continue;
    const uint64_t ends = atomic_load_explicit(&f->ends_ns, memory_order_relaxed);
    const hx__estimate *const e = &f->planned->expected;
    const double left = ends ? fabs((double)ends - now) + e->gap_ns : 0.0; /* overdue: as in hx__progress_ready_ns */
    party[count++] = (hx__participant){atomic_load_explicit(&f->rate, memory_order_relaxed),
                                       left > e->latency_ns ? left : e->latency_ns};
  }
  return count;
}

double hx__run_cpu_rate(const hx__run_state *run) {
  if (!run->plan->cpu_works) return 0.0;
  const double elapsed = run->from_ns ? (double)(hx__now_ns() - run->from_ns) : 0.0;
  const double done = (double)atomic_load_explicit(&run->cpu_done, memory_order_relaxed);
  const double busy = (double)atomic_load_explicit(&run->cpu_busy_ns, memory_order_relaxed) / run->plan->threads;
  const hx__cpu_shown shown = {done, busy, fmax((double)hx__work_range_taken_front(&run->ends) - done, 0.0)};
  return hx__progress_cpu_rate(&run->cpu, shown, elapsed);
}

void hx__trace_cpu(const hx__run_state *run, uint64_t from_ns, hx__chunk chunk, uint64_t units, unsigned threads) {
  const double rate = run->work->slices ? run->cpu.rate * (double)run->work->units / (double)run->work->slices : 0.0;
  hx__trace_chunk(run->team->trace,
                  &(hx__trace_slice){0, from_ns, hx__now_ns(), chunk.first, chunk.count, units,
                                     rate > 0.0 ? (double)units * run->plan->threads / (rate * threads) : 0.0, "done"});
}
