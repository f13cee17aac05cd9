/* SPDX-License-Identifier: Apache-2.0
 * The ranges that a context knows, in the order of their addresses, so that one of thousands is found by halving. They
 * do not overlap, unless the program has freed memory that is still registered. All functions require the lock. */
#ifndef HX_MEMORY_KNOWN_H
#define HX_MEMORY_KNOWN_H

#include "runtime/memory/range.h"

/* Makes room for one more range. False: no memory. */
bool hx__known_reserve(hx__memory *memory);
/* Adds a range, for which there is room. */
void hx__known_add(hx__memory *memory, hx__range *r);
void hx__known_remove(hx__memory *memory, const hx__range *r);

/* The range that contains [p, p+bytes); NULL: none. */
hx__range *hx__range_of(const hx__memory *memory, const void *p, size_t bytes);
/* The allocated or registered range that begins at p; NULL: none. */
hx__range *hx__known_at(const hx__memory *memory, const void *p, bool allocated);
/* The ranges that have a byte of [p, p+bytes), and in *count how many there are. */
hx__range *const *hx__known_overlapping(const hx__memory *memory, const void *p, size_t bytes, size_t *count);

#endif
