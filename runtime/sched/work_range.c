/* SPDX-License-Identifier: Apache-2.0
 * Taking slices from both ends of a range. */
#include "runtime/sched/work_range.h"

#include "runtime/sched/ends.h"

#define MAX_UNITS 0xffffffffu

void hx__work_range_init(hx__work_range *e, hx__chunk all) {
  e->first = all.first;
  e->slices = all.count;
  e->unit = all.count / MAX_UNITS + 1;
  const size_t units = all.count / e->unit + (all.count % e->unit != 0);
  atomic_init(&e->word, hx__ends_word((hx__units){0, (uint32_t)units}));
}

/* Units as slices; the last unit may be short. */
static hx__chunk slices_of(const hx__work_range *e, hx__units units) {
  if (units.first >= units.end) return (hx__chunk){0, 0};
  const size_t first = units.first * e->unit, end = units.end * e->unit;
  return (hx__chunk){e->first + first, (end < e->slices ? end : e->slices) - first};
}

static hx__chunk take(hx__work_range *e, size_t want, bool from_back) {
  return slices_of(e, hx__ends_take(&e->word, want / e->unit + (want % e->unit != 0), from_back));
}

hx__chunk hx__work_range_take_front(hx__work_range *e, size_t want) { return take(e, want, false); }
hx__chunk hx__work_range_take_back(hx__work_range *e, size_t want) { return take(e, want, true); }

size_t hx__work_range_left(const hx__work_range *e) { return slices_of(e, hx__ends_left(&e->word)).count; }

size_t hx__work_range_taken_front(const hx__work_range *e) {
  return slices_of(e, (hx__units){0, hx__ends_left(&e->word).first}).count;
}
