/* SPDX-License-Identifier: Apache-2.0
 * What the model learns of a device's chunks. */
#include "runtime/base/clock.h"
#include "runtime/run/internal.h"

hx__observation hx__device_run_observe(const hx__device_run *f, hx__chunk chunk, double ns, double shown) {
  return (hx__observation){.units = (double)hx__chunk_units(f->run->work, chunk),
                           .slices = (double)chunk.count,
                           .ns = ns,
                           .shown = shown,
                           .idle = f->planned->idle && f->course.launches == 0};
}

void hx__device_run_learn(hx__device_run *f, const hx__observation *s, bool has_ended) {
  hx__run_state *const run = f->run;
  if (f->stream->grew_pinned_memory) atomic_store(&run->grown, true);
  const double hidden = 1.0 - s->shown, ns = s->ns + hidden * f->course.latency_ns;
  if (!(s->slices > 0.0) || !hx__tells(&f->planned->expected, s->units, s->idle, ns, has_ended)) return;
  if (hx__surprising(&f->planned->expected, s->units, s->idle, ns))
    atomic_store_explicit(&run->surprised, true, memory_order_relaxed);
  /* Parts that were set by hand leave somebody alone for a while. */
  const bool by_hand = !run->plan->policy && (run->plan->cpu_works || run->plan->devices > 1);
  if ((run->disturbed || by_hand) && f->planned->expected.samples) return;
  if (atomic_load(&run->grown) && f->planned->expected.ns_per_unit > 0.0) return;
  hx__model_learn(hx__model_of_process(), &f->planned->key, &f->planned->expected,
                  (hx__sample){.units = s->units, .ns = s->ns, .idle = s->idle, .hidden = hidden}, hx__date_s());
}
