/* SPDX-License-Identifier: Apache-2.0
 * A known range of memory; private to this folder. */
#ifndef HX_MEMORY_RANGE_H
#define HX_MEMORY_RANGE_H

#include "runtime/memory/memory.h"

struct hx__range {
  hx__range *next; /* in a list of ranges that are not known any more */
  void *p;
  size_t bytes;
  bool allocated;           /* by hx_alloc; false: registered */
  bool leaked;              /* a chunk that timed out may still read it, so that it is not freed */
  const hx__device *reader; /* until the chunks of this device have ended; NULL: never, several devices have some */
  unsigned advice;
  uintptr_t advised, advised_end; /* the part that has the advice: the last one that was advised */
  bool watched;                   /* counted in watched_ranges */
  uint64_t version;   /* a new number after each hx_advise, hx_modified and task that wrote to the range; never 0 */
  hx__device *device; /* allocated: the device that provided the block; NULL: ordinary pages */
  void *block;
  hx__memory_mode mode;
  unsigned writers, readers; /* svm-coarse: tasks whose outputs the host writes there; runs whose kernels may read it */
  hx__pin *pins;             /* pins by devices that have not provided the block */
  unsigned pin_users;        /* operands of runs that use a pin */
  hx__copy *copies;          /* device copies that outlive calls */
};

/* Whether the advice says that this result may stay on a device. */
static inline bool hx__range_keeps_result(const hx__range *r, const void *p, size_t bytes) {
  return (r->advice & HX_RESIDENT) && (uintptr_t)p >= r->advised && (uintptr_t)p + bytes <= r->advised_end;
}
/* Counts the range in watched_ranges if tasks that use it must be noticed. Requires the lock. */
void hx__range_watch(hx__memory *memory, hx__range *r);

/* Numbers are unique in the process, so that two contents of one address never have the same version. */
uint64_t hx__next_version(void);

/* The mode in which the device reaches memory of the range (NULL: memory of no known range), unless the host writes
 * there. */
hx__memory_mode hx__mode_of(const hx__memory *memory, const hx__device *device, const hx__range *r);

/* The arrays of a task in the order of hx__request.arrays; its C; and what it writes, of which only maps have more
 * than one array (hx__work_outputs). A
 * batch with gaps between matrices is one row, with these gaps. */
hx__array hx__array_of(const hx__work *work, size_t index);
hx__array hx__array_of_c(const hx__work *work);
hx__array hx__array_of_output(const hx__work *work, unsigned output);
static inline size_t hx__array_bytes(const hx__array *a) {
  return a->rows && a->cols ? ((a->rows - 1) * a->ld + a->cols) * sizeof(float) : 0;
}

#endif
