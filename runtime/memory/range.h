/* SPDX-License-Identifier: Apache-2.0
 * A known range of memory; private to this folder. */
#ifndef HX_MEMORY_RANGE_H
#define HX_MEMORY_RANGE_H

#include "runtime/memory/memory.h"

struct hx__range {
  hx__range *next;
  void *p;
  size_t bytes;
  bool allocated;           /* by hx_alloc; else registered */
  bool leaked;              /* a chunk that was given up may still read it: not freed, */
  const hx__device *reader; /* before this device's have ended; NULL: never, for several have some */
  unsigned advice;
  uintptr_t advised, advised_end; /* what the advice is on: the last one given inside the range */
  uint64_t version;   /* another number after each hx_advise, hx_modified and task that wrote into the range; never 0 */
  hx__device *device; /* allocated: who gave the block; NULL: plain pages */
  void *block;
  hx__memory_mode mode;
  unsigned writers, readers; /* svm-coarse: tasks that write it on the host, runs whose kernels may read it */
  hx__pin *pins;             /* by devices that have not given it */
  unsigned pin_users;        /* operands of runs that are read by them */
};

/* Process-wide, so that no two contents of one address ever share a number. */
uint64_t hx__next_version(void);

/* The range that holds [p, p+bytes); NULL where none does. With the lock. */
hx__range *hx__range_of(const hx__memory *memory, const void *p, size_t bytes);

/* The mode in which a device reaches memory of the range (NULL: of none). With the lock. */
hx__memory_mode hx__mode_of(const hx__memory *memory, const hx__device *device, const hx__range *r);

/* An input of a task, in the order of hx__request, and a product's C. */
hx__array hx__array_of(const hx__work *work, size_t index);
hx__array hx__array_of_c(const hx__work *work);
static inline size_t hx__array_bytes(const hx__array *a) {
  return a->rows && a->cols ? ((a->rows - 1) * a->ld + a->cols) * sizeof(float) : 0;
}

#endif
