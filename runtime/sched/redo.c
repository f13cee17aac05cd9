/* SPDX-License-Identifier: Apache-2.0
 * What a device is late with, computed again by the CPU. The last chunk in flight is cut like any other range: the CPU
 * takes from its front, and the device, when its event comes, delivers what is left of it. So every slice reaches the
 * caller once, though some are computed twice; a chunk of which nothing is left is given up. That begins as soon as a
 * device has taken the chunk, because sending its operands may take most of its time. */
#include <math.h>

#include "runtime/sched/device_run.h"

#define LONGEST_LOOK_NS 1e9 /* until the CPU looks again whether a device is overdue */

/* The last chunk in flight of which something is left; NULL: none. Under the lock. */
static hx__launched_chunk *last_unfinished(hx__device_run *d) {
  for (unsigned i = d->in_flight; i > 0; i--)
    if (d->launched[i - 1].rest.count) return &d->launched[i - 1];
  return NULL;
}

static double expected_end(const hx__device_run *d) {
  return (double)atomic_load_explicit(&d->ends_ns, memory_order_relaxed);
}

static bool redo_pays(const hx__device_run *d, const hx__launched_chunk *v, double cpu_rate, double now_ns) {
  const double ends = expected_end(d);
  return ends > 0.0 && hx__redo_pays((double)v->rest.count, cpu_rate, ends - now_ns);
}

hx__device_run *hx__find_overdue(hx__run_progress *run, double cpu_rate, double now_ns, uint32_t except,
                                 double *look_ns) {
  *look_ns = 0.0;
  for (size_t i = 0; i < run->devices; i++) {
    hx__device_run *const d = run->device[i];
    if (!d->terms.may_be_redone || !atomic_load_explicit(&d->working, memory_order_relaxed)) continue;
    if (except >> i & 1u) continue;
    const hx__launched_chunk *const v = last_unfinished(d);
    if (v && redo_pays(d, v, cpu_rate, now_ns)) return d;
    const double look = v ? hx__redo_look_ns((double)v->rest.count, cpu_rate, expected_end(d)) : INFINITY;
    const double next = fmin(look, now_ns + LONGEST_LOOK_NS);
    if (*look_ns == 0.0 || next < *look_ns) *look_ns = next;
  }
  return NULL;
}

hx__chunk hx__redo_next_part(hx__run_progress *run, hx__device_run *overdue, size_t grain, double now_ns) {
  hx__chunk chunk = {0, 0};
  pthread_mutex_lock(&run->lock);
  hx__launched_chunk *const v = last_unfinished(overdue);
  const double rate = hx__run_cpu_rate(run, now_ns);
  if (v && redo_pays(overdue, v, rate, now_ns)) {
    const hx__cpu_chunk_view view = {.left = v->rest.count,
                                     .grain = grain,
                                     .least = grain,
                                     .most = v->rest.count,
                                     .threads = run->threads,
                                     .rate = rate};
    chunk = (hx__chunk){v->rest.first, hx__cpu_chunk_size(&view)};
    v->rest = (hx__chunk){v->rest.first + chunk.count, v->rest.count - chunk.count};
    if (v->rest.count == 0) {
      run->redone++;
      atomic_store(&v->deadline_ns, 0);
    }
  }
  pthread_mutex_unlock(&run->lock);
  return chunk;
}
