/* SPDX-License-Identifier: Apache-2.0
 * Taking slices from both ends of a range. */
#include "runtime/sched/work_range.h"

#define MAX_UNITS 0xffffffffu

static uint32_t front_of(uint64_t word) { return (uint32_t)(word >> 32); }
static uint32_t back_of(uint64_t word) { return (uint32_t)word; }

void hx__work_range_init(hx__work_range *e, hx__chunk all) {
  e->first = all.first;
  e->slices = all.count;
  e->unit = all.count / MAX_UNITS + 1;
  const size_t units = all.count / e->unit + (all.count % e->unit != 0);
  atomic_init(&e->word, (uint64_t)units);
}

static uint32_t units_for(const hx__work_range *e, size_t want, uint32_t left) {
  const size_t units = want / e->unit + (want % e->unit != 0);
  return units >= left ? left : units ? (uint32_t)units : 1;
}

/* Units [from, to) as slices; the last unit may be short. */
static hx__chunk slices_of(const hx__work_range *e, uint32_t from, uint32_t to) {
  const size_t first = from * e->unit, end = to * e->unit;
  return (hx__chunk){e->first + first, (end < e->slices ? end : e->slices) - first};
}

hx__chunk hx__work_range_take_front(hx__work_range *e, size_t want) {
  uint64_t word = atomic_load_explicit(&e->word, memory_order_relaxed);
  for (;;) {
    const uint32_t front = front_of(word), back = back_of(word);
    if (front >= back) return (hx__chunk){0, 0};
    const uint32_t units = units_for(e, want, back - front);
    const uint64_t next = (uint64_t)(front + units) << 32 | back;
    if (atomic_compare_exchange_weak(&e->word, &word, next)) return slices_of(e, front, front + units);
  }
}

hx__chunk hx__work_range_take_back(hx__work_range *e, size_t want) {
  uint64_t word = atomic_load_explicit(&e->word, memory_order_relaxed);
  for (;;) {
    const uint32_t front = front_of(word), back = back_of(word);
    if (front >= back) return (hx__chunk){0, 0};
    const uint32_t units = units_for(e, want, back - front);
    const uint64_t next = (uint64_t)front << 32 | (back - units);
    if (atomic_compare_exchange_weak(&e->word, &word, next)) return slices_of(e, back - units, back);
  }
}

size_t hx__work_range_left(const hx__work_range *e) {
  const uint64_t word = atomic_load_explicit(&e->word, memory_order_relaxed);
  const uint32_t front = front_of(word), back = back_of(word);
  return front >= back ? 0 : slices_of(e, front, back).count;
}

size_t hx__work_range_taken_front(const hx__work_range *e) {
  const uint32_t front = front_of(atomic_load_explicit(&e->word, memory_order_relaxed));
  return slices_of(e, 0, front).count;
}
