/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/memory/known.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 16u

/* The index of the first range that begins after the address. */
static size_t first_after(const hx__memory *m, const void *address) {
  size_t low = 0, high = m->known_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if ((uintptr_t)m->known[middle]->p <= (uintptr_t)address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool hx__known_reserve(hx__memory *m) {
  if (m->known_count < m->known_room) return true;
  const size_t room = m->known_room ? 2 * m->known_room : FIRST_ROOM;
  hx__range **const longer = malloc(room * sizeof *longer), **const old = m->known;
  if (!longer) return false;
  if (old) memcpy(longer, old, m->known_count * sizeof *longer);
  m->known = longer;
  m->known_room = room;
  free(old);
  return true;
}

/* Other threads may fork at any time, and the child may read the array then, so each range is always in it: it is
 * counted twice for a while rather than not at all. */
void hx__known_add(hx__memory *m, hx__range *r) {
  const size_t at = first_after(m, r->p), after = m->known_count - at;
  m->known[m->known_count] = after ? m->known[m->known_count - 1] : r;
  atomic_signal_fence(memory_order_seq_cst);
  m->known_count++;
  m->added++;
  if (!after) return;
  memmove(m->known + at + 1, m->known + at, (after - 1) * sizeof *m->known);
  m->known[at] = r;
}

void hx__known_remove(hx__memory *m, const hx__range *r) {
  size_t at = first_after(m, r->p);
  while (m->known[at - 1] != r) at--;
  memmove(m->known + at - 1, m->known + at, (m->known_count - at) * sizeof *m->known);
  m->known_count--;
}

hx__range *hx__range_of(const hx__memory *m, const void *p, size_t bytes) {
  const size_t at = first_after(m, p);
  if (at == 0) return NULL;
  hx__range *const r = m->known[at - 1];
  const size_t before = (size_t)((uintptr_t)p - (uintptr_t)r->p);
  return before <= r->bytes && bytes <= r->bytes - before ? r : NULL;
}

hx__range *hx__known_at(const hx__memory *m, const void *p, bool allocated) {
  for (size_t at = first_after(m, p); at && m->known[at - 1]->p == p; at--)
    if (m->known[at - 1]->allocated == allocated) return m->known[at - 1];
  return NULL;
}

hx__range *const *hx__known_overlapping(const hx__memory *m, const void *p, size_t bytes, size_t *count) {
  const uintptr_t first = (uintptr_t)p, end = first + bytes;
  size_t from = first_after(m, p);
  if (from && first - (uintptr_t)m->known[from - 1]->p < m->known[from - 1]->bytes) from--;
  size_t to = from;
  while (bytes && to < m->known_count && (uintptr_t)m->known[to]->p < end) to++;
  *count = to - from;
  return from ? m->known + from : m->known; /* it may be NULL */
}
