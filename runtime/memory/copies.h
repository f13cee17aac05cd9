/* SPDX-License-Identifier: Apache-2.0
 * What devices keep between calls, for the files of this folder. All with the lock. */
#ifndef HX_MEMORY_COPIES_H
#define HX_MEMORY_COPIES_H

#include "runtime/memory/memory.h"

/* Gives an array of the range r the device's copy, made where there is none; it is used until hx__copies_release. */
void hx__copies_find(hx__memory *memory, hx__device *device, const hx__range *r, hx__array *array);
void hx__copies_release(hx__memory *memory, const hx__mirror *held); /* NULL is nothing */
/* Whether a device has most of the array already. */
bool hx__copies_are_present(const hx__memory *memory, const hx__range *r, const hx__array *array);

/* What was copied of [p, p+bytes) is of the past. */
void hx__copies_invalidate(hx__memory *memory, const void *p, size_t bytes, bool results, bool mirrors);
void hx__copies_free(hx__memory *memory);

#endif
