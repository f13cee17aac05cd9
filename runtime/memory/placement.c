/* SPDX-License-Identifier: Apache-2.0
 * The placement of a task's operands, by which measurements are stored. */
#include "runtime/base/thread.h"
#include "runtime/memory/copies.h"
#include "runtime/memory/known.h"
#include "runtime/memory/pins.h"

/* Placements of one operand. */
#define STAGED 0u /* copied through staging buffers */
#define DIRECT 1u /* a device copies from it directly */

uint32_t hx__memory_placement(hx__memory *m, const hx__work *w) {
  if (!w->needs || (!w->matmul && w->nfields > 1)) return 0;
  const size_t arrays = hx__memory_arrays(w);
  uint32_t placement = 0;
  hx__lock(&m->lock);
  for (unsigned i = 0, operand = 0; operand < 2 && i < arrays && m->known_count; i++) {
    if (w->kernel && w->kernel->expr.per_row[i]) continue; /* few bytes */
    const unsigned shift = 2 * operand++;
    const hx__array a = hx__array_of(w, i);
    const hx__range *const r = hx__range_of(m, a.p, hx__array_bytes(&a));
    if (!r) continue;
    const bool direct = (r->block && r->mode == HX__MEMORY_COPY) || hx__range_is_pinned(r);
    const bool present = r->advice && hx__copies_are_present(r, &a);
    placement |= (present ? HX__PRESENT : direct ? DIRECT : STAGED) << shift;
  }
  if ((w->matmul || w->map) && m->known_count && !hx__c_has_gaps(w) && hx__work_outputs(w) == 1) {
    const hx__array c = hx__array_of_output(w, 0);
    const hx__range *const r = hx__range_of(m, c.p, hx__array_bytes(&c));
    if (r && (r->advice & HX_RESIDENT)) placement |= HX__RESIDENT_C;
  }
  hx__unlock(&m->lock);
  return placement;
}
