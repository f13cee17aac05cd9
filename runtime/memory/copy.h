/* SPDX-License-Identifier: Apache-2.0
 * A device copy that outlives calls; for copies.c and results.c. There are two kinds. The copy of an input mirrors the
 * advised part of a range and is valid while the range has the same version. A resident result (HX_RESIDENT) is one C,
 * or one result of a map, that a device computed, and is valid until its range is written. Each copy is in the list of
 * its range, because a program may have thousands. All functions require the lock. */
#ifndef HX_MEMORY_COPY_H
#define HX_MEMORY_COPY_H

#include "runtime/memory/copies.h"
#include "runtime/memory/known.h"

struct hx__copy {
  hx__copy *next;
  hx__range *range; /* NULL: it is not known any more */
  hx__device *device;
  hx__mirror *mirror;
  uint64_t version; /* of its range when the copy was made; 0: a resident result */
  uint64_t used;    /* number of its last use */
  unsigned users;
  bool stale;       /* not valid: freed once no run uses it */
  bool device_only; /* a resident result that the host does not have */
  bool overwritten; /* a running task replaces it: it is not copied to the host any more */
  bool fetching;    /* it is being copied to the host: nothing else may write its place there */
  hx__array result;
};

bool hx__copies_are_supported(const hx__device *device);
/* A new copy of [p, p+bytes), which lies in r; NULL: no room. */
hx__copy *hx__copy_create(hx__memory *memory, hx__device *device, hx__range *r, const void *p, size_t bytes);
/* Frees stale copies of a list that no run uses. A forked child frees none, because the devices are its parent's. */
void hx__copies_free_stale(hx__memory *memory, hx__copy **list);

/* Whether the resident result contains all of the array, with the same distance between rows. */
bool hx__copy_contains(const hx__copy *c, const hx__array *a);
/* Whether the array has an element of a resident result, and the same of one that is not stale. */
bool hx__copy_shares_elements(const hx__copy *c, const hx__array *a);
static inline bool hx__copy_shares_result(const hx__copy *c, const hx__array *a) {
  return !c->stale && hx__copy_shares_elements(c, a);
}
/* The elements of which [p, p+bytes) has a byte. */
hx__array hx__elements_in(const void *p, size_t bytes);

#endif
