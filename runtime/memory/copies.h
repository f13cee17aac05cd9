/* SPDX-License-Identifier: Apache-2.0
 * Device copies that outlive calls; for the files of this folder. All functions require the lock. */
#ifndef HX_MEMORY_COPIES_H
#define HX_MEMORY_COPIES_H

#include "runtime/memory/memory.h"

/* Sets array->mirror to the device's copy of the array, which lies in the range r. Creates the copy if it is advised
 * and there is none; NULL if there is no room, or if filling the copy may read elements of C or of a map's results
 * while the CPU writes them. hx__copies_release ends the use of a mirror. */
void hx__copies_find(hx__memory *memory, hx__device *device, hx__range *r, const hx__work *work, hx__array *array);
void hx__copies_release(hx__memory *memory, const hx__mirror *mirror); /* NULL is ignored */
/* Whether a device has at least half of the array already. */
bool hx__copies_are_present(const hx__range *r, const hx__array *array);

/* Marks resident results of which [p, p+bytes) has an element as stale. by_advice: instead of results that the host
 * lacks, mirrors that overlap it: tasks that end beside hx_advise may have left such results, which are still wanted.
 */
void hx__copies_invalidate(hx__memory *memory, const void *p, size_t bytes, bool by_advice);
/* Whether a device has a result in the range that the host lacks, or may have one when a run ends. */
bool hx__copies_hold_results(const hx__range *r);
/* Bracket a task that writes its outputs. In between, results that it replaces are not copied to the host. Afterwards
 * results of which it has written an element are stale. written: false if it has written nothing. */
void hx__copies_claim(hx__memory *memory, const hx__work *work);
void hx__copies_release_outputs(hx__memory *memory, const hx__work *work, bool written);
/* The copies of a range that is not known any more are not valid. */
void hx__copies_forget(hx__memory *memory, hx__range *r);
void hx__copies_free(hx__memory *memory);

#endif
