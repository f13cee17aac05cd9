/* SPDX-License-Identifier: Apache-2.0
 * Records which blocks of a mirror are on the device. */
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/backend.h"

#define WORD_BITS 64u

static size_t word_count(const hx__mirror *h) {
  return (h->bytes / HX__MIRROR_BLOCK + (h->bytes % HX__MIRROR_BLOCK != 0) + WORD_BITS - 1) / WORD_BITS;
}

bool hx__mirror_init(hx__mirror *h, const void *first, size_t bytes) {
  *h = (hx__mirror){.first = (uintptr_t)first, .bytes = bytes};
  h->present = calloc(word_count(h), sizeof *h->present);
  return h->present;
}

void hx__mirror_free(hx__mirror *h) { free(h->present); }

void hx__mirror_invalidate(hx__mirror *h) {
  memset(h->present, 0, word_count(h) * sizeof *h->present);
  h->filled = 0;
}

static bool has_block(const hx__mirror *h, size_t block) {
  return h->present[block / WORD_BITS] >> block % WORD_BITS & 1u;
}

bool hx__mirror_next_gap(hx__mirror *h, size_t at, size_t bytes, size_t *gap_at, size_t *gap_bytes) {
  if (bytes == 0 || atomic_load_explicit(&h->filled, memory_order_relaxed) == h->bytes) return false;
  const size_t end = (at + bytes - 1) / HX__MIRROR_BLOCK + 1;
  size_t first = at / HX__MIRROR_BLOCK;
  while (first < end && has_block(h, first)) first++;
  if (first == end) return false;
  size_t last = first;
  for (; last < end && !has_block(h, last); last++) h->present[last / WORD_BITS] |= (uint64_t)1 << last % WORD_BITS;
  *gap_at = first * HX__MIRROR_BLOCK;
  *gap_bytes = last * HX__MIRROR_BLOCK < h->bytes ? (last - first) * HX__MIRROR_BLOCK : h->bytes - *gap_at;
  atomic_fetch_add_explicit(&h->filled, *gap_bytes, memory_order_relaxed);
  return true;
}
