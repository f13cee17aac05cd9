/* SPDX-License-Identifier: Apache-2.0
 * What is left of a range of units, in one atomic word: the first unit in the high half, the end in the low half. Units
 * can be taken from both ends, by any number of threads. */
#ifndef HX_SCHED_ENDS_H
#define HX_SCHED_ENDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct hx__units {
  uint32_t first, end;
} hx__units;

static inline uint64_t hx__ends_word(hx__units left) { return (uint64_t)left.first << 32 | left.end; }

static inline hx__units hx__ends_left(const _Atomic uint64_t *word) {
  const uint64_t w = atomic_load_explicit(word, memory_order_relaxed);
  return (hx__units){(uint32_t)(w >> 32), (uint32_t)w};
}

/* Takes `want` units, at least one, or all that are left. first == end: none is left. */
static inline hx__units hx__ends_take(_Atomic uint64_t *word, uint64_t want, bool from_back) {
  uint64_t w = atomic_load_explicit(word, memory_order_relaxed);
  for (;;) {
    const hx__units left = {(uint32_t)(w >> 32), (uint32_t)w};
    if (left.first >= left.end) return (hx__units){0, 0};
    const uint32_t most = left.end - left.first, take = want >= most ? most : want ? (uint32_t)want : 1;
    const uint32_t cut = from_back ? left.end - take : left.first + take;
    const hx__units front = {left.first, cut}, back = {cut, left.end};
    if (atomic_compare_exchange_weak(word, &w, hx__ends_word(from_back ? front : back)))
      return from_back ? back : front;
  }
}

#endif
