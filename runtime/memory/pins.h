/* SPDX-License-Identifier: Apache-2.0
 * What of a range devices have pinned, for the files of this folder. All with the lock but hx__pins_free. */
#ifndef HX_MEMORY_PINS_H
#define HX_MEMORY_PINS_H

#include "runtime/memory/range.h"

/* The handle by which the device reads memory of the range itself; NULL: it does not. */
void *hx__pin_of(const hx__range *r, const hx__device *device);
/* Whether any device does. */
bool hx__range_is_pinned(const hx__range *r);
/* Whether the range cannot go: it is being pinned, or a run reads it by a pin. */
bool hx__pins_busy(const hx__range *r);
/* Of a range that is out of the list. */
void hx__pins_free(const hx__memory *m, hx__range *r);

#endif
