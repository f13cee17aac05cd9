/* SPDX-License-Identifier: Apache-2.0
 * What a device is late with, done once more by the CPU. The last chunk in flight is cut like any other range: the team
 * takes from its front, and the device, when its event comes, delivers what is left of it. So every slice reaches the
 * caller once, though some are computed twice; a chunk of which nothing is left is given up. That begins as soon as a
 * device has taken the chunk: its operands may be on their way for most of the time. */
#include <math.h>

#include "runtime/base/clock.h"
#include "runtime/base/thread.h"
#include "runtime/run/internal.h"

#define LONG_NS 1e9

/* The last chunk in flight of which something is left; NULL: none. Under the lock. */
static hx__launched_chunk *last_of(hx__device_run *f) {
  for (unsigned i = f->flights; i > 0; i--)
    if (f->flight[i - 1].rest.count) return &f->flight[i - 1];
  return NULL;
}

static double expected_end(const hx__device_run *f) {
  return (double)atomic_load_explicit(&f->ends_ns, memory_order_relaxed);
}

static bool pays(const hx__device_run *f, const hx__launched_chunk *v, double rate) {
  const double ends = expected_end(f);
  return ends > 0.0 && hx__redo_pays((double)v->rest.count, rate, ends - (double)hx__now_ns());
}

hx__chunk hx__redo_next_part(hx__run_state *run, size_t grain) {
  pthread_mutex_lock(&run->lock);
  hx__launched_chunk *const v = last_of(run->late);
  const double rate = hx__run_cpu_rate(run);
  hx__chunk chunk = {0, 0};
  if (v && pays(run->late, v, rate)) {
    const hx__cpu_chunk_view view = {.left = v->rest.count,
                                     .grain = grain,
                                     .least = grain,
                                     .most = v->rest.count,
                                     .threads = run->plan->threads,
                                     .rate = rate};
    chunk = (hx__chunk){v->rest.first, hx__cpu_chunk_size(&view)};
    v->rest = (hx__chunk){v->rest.first + chunk.count, v->rest.count - chunk.count};
    if (v->rest.count == 0) {
      run->redone++;
      atomic_store(&v->till_ns, 0);
    }
  }
  pthread_mutex_unlock(&run->lock);
  return chunk;
}

hx__device_run *hx__find_overdue(hx__run_state *run, double rate, uint64_t *look_ns) {
  const double now = (double)hx__now_ns();
  *look_ns = 0;
  for (size_t i = 0; i < run->feeds; i++) {
    hx__device_run *const f = &run->feed[i];
    if (!f->may_be_redone || !atomic_load_explicit(&f->working, memory_order_relaxed)) continue;
    if (hx__device_entry_is_stuck(f->seat, f->call_limit_ns))
      continue; /* it is given up as soon as nothing else is awaited */
    const hx__launched_chunk *const v = last_of(f);
    if (v && pays(f, v, rate)) return f;
    const double look =
        fmin(v ? hx__redo_look_ns((double)v->rest.count, rate, expected_end(f)) : INFINITY, now + LONG_NS);
    if (*look_ns == 0 || look < (double)*look_ns) *look_ns = (uint64_t)look;
  }
  return NULL;
}
