/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/sched/thread_parts.h"

#include "runtime/sched/ends.h"

#define MOST_UNITS ((size_t)1 << 31)

void hx__thread_parts_init(hx__thread_parts *p, hx__chunk all, unsigned threads, hx__take_size size) {
  const size_t unit = all.count / MOST_UNITS + 1, units = all.count / unit + (all.count % unit != 0);
  p->all = all;
  p->size = size;
  p->unit = unit;
  p->parts = threads < 1 ? 1 : threads < HX__MOST_PARTS ? threads : HX__MOST_PARTS;
  for (size_t i = 0; i < p->parts; i++) {
    const hx__units part = {(uint32_t)(units * i / p->parts), (uint32_t)(units * (i + 1) / p->parts)};
    atomic_init(&p->left[i], hx__ends_word(part));
  }
}

static uint64_t units_to_take(const hx__thread_parts *p, hx__units left) {
  const size_t slices = (size_t)(left.end - left.first) * p->unit, want = slices / p->size.divisor;
  const size_t bounded = want < p->size.least ? p->size.least : want > p->size.most ? p->size.most : want;
  return bounded / p->unit + (bounded % p->unit != 0);
}

hx__chunk hx__thread_parts_take(hx__thread_parts *p, unsigned thread) {
  const size_t own = thread % p->parts;
  for (size_t turn = 0; turn < p->parts; turn++) {
    _Atomic uint64_t *const part = &p->left[own + turn < p->parts ? own + turn : own + turn - p->parts];
    const hx__units left = hx__ends_left(part);
    if (left.first >= left.end) continue;
    const hx__units taken = hx__ends_take(part, units_to_take(p, left), turn != 0);
    if (taken.first >= taken.end) continue;
    const size_t first = taken.first * p->unit, end = taken.end * p->unit;
    return (hx__chunk){p->all.first + first, (end < p->all.count ? end : p->all.count) - first};
  }
  return (hx__chunk){0, 0};
}
