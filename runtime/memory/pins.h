/* SPDX-License-Identifier: Apache-2.0
 * The pins of a range; for the files of this folder. All functions except hx__pins_free require the lock. */
#ifndef HX_MEMORY_PINS_H
#define HX_MEMORY_PINS_H

#include "runtime/memory/range.h"

/* The handle with which the device copies from the range directly; NULL: it has not pinned the range. */
void *hx__pin_of(const hx__range *r, const hx__device *device);
/* Whether any device has pinned the range. */
bool hx__range_is_pinned(const hx__range *r);
/* Whether the range must not be freed: it is being pinned, or a run uses a pin of it. */
bool hx__pins_busy(const hx__range *r);
/* Unpins a range that is not known any more. */
void hx__pins_free(const hx__memory *m, hx__range *r);

#endif
