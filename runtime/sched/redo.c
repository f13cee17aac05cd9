/* SPDX-License-Identifier: Apache-2.0
 * The CPU computes chunks of overdue devices again. It takes slices from the front of the last chunk in flight, as it
 * does from the work range. When the device's event completes, the device delivers what is left of the chunk. So every
 * slice is delivered once, though some are computed twice, and a chunk of which nothing is left is given up. A chunk
 * can be overdue as soon as a device has taken it, because sending its operands may take most of its time. */
#include <math.h>

#include "runtime/sched/device_run.h"

#define LONGEST_CHECK_NS 1e9 /* between two checks whether a device is overdue */

/* The last chunk in flight of which something is left; NULL: none. Under the run's lock. */
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
                                 double *check_ns) {
  *check_ns = 0.0;
  for (size_t i = 0; i < run->devices; i++) {
    hx__device_run *const d = run->device[i];
    if (!d->terms.may_be_redone || !atomic_load_explicit(&d->working, memory_order_relaxed)) continue;
    if (except >> i & 1u) continue;
    const hx__launched_chunk *const v = last_unfinished(d);
    if (v && redo_pays(d, v, cpu_rate, now_ns)) return d;
    const double check = v ? hx__redo_check_ns((double)v->rest.count, cpu_rate, expected_end(d)) : INFINITY;
    const double next = fmin(check, now_ns + LONGEST_CHECK_NS);
    if (*check_ns == 0.0 || next < *check_ns) *check_ns = next;
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
