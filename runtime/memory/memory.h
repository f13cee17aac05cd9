/* SPDX-License-Identifier: Apache-2.0
 * The memory that a context knows: blocks of hx_alloc, registered ranges, and their advice. They determine how each
 * array of a task reaches each device. */
#ifndef HX_MEMORY_MEMORY_H
#define HX_MEMORY_MEMORY_H

#include <pthread.h>

#include "runtime/backend/backend.h"

typedef struct hx__range hx__range;
typedef struct hx__copy hx__copy;
typedef struct hx__pin hx__pin;

/* What pins.c has found pinned: all ranges that were known when the counter `added` had this value, for these devices
 * (bits by their indices). */
typedef struct hx__pinned {
  uint64_t added;
  uint32_t devices;
} hx__pinned;

/* The bytes of a device's copies, and of how many there is room. */
typedef struct hx__copied {
  const hx__device *device; /* NULL: the entry and those behind it are free */
  size_t bytes, most;
  uint64_t most_until_ns; /* until then there are at most `most`; 0: as many as usual */
} hx__copied;

typedef struct hx__memory {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  hx__range **known; /* the ranges, by address (known.h) */
  size_t known_count, known_room;
  hx__range *deferred; /* freed by the caller, but a chunk that timed out may still read them */
  hx__copy *gone;      /* device copies in use, of ranges that are not known any more */
  hx__copied copied[HX_MAX_DEVICES];
  uint64_t uses;                   /* of device copies so far */
  _Atomic unsigned watched_ranges; /* ranges whose writes must be noticed; 0: small calls need no lock */
  hx__memory_mode forced_mode;     /* HX_MEMORY */
  uint64_t limit_ns;               /* how long a thread of the program waits for one driver call about memory */
  bool pinning;                    /* a background thread pins memory; under the lock */
  uint64_t added;                  /* ranges so far */
  hx__pinned pinned;
} hx__memory;

void hx__memory_init(hx__memory *memory, const hx__config *config);
/* Frees the blocks of hx_alloc. Registered memory is the caller's. */
void hx__memory_destroy(hx__memory *memory);

/* hx_alloc: a block from the first of the devices that has a suitable mode (HX_MEMORY, otherwise the first in the list
 * of memory.c), otherwise ordinary pages. NULL: no memory. */
void *hx__memory_alloc(hx__memory *memory, hx__device *const *devices, size_t count, size_t bytes);
/* hx_free. False if p is not a block. A block that a timed-out chunk may still read is freed when that chunk has ended.
 */
bool hx__memory_free(hx__memory *memory, void *p);

hx_status hx__memory_register(hx__memory *memory, void *p, size_t bytes);
hx_status hx__memory_unregister(hx__memory *memory, void *p);
/* Pin known memory for those of the devices that are open and copy from it. What a device refuses to pin is not tried
 * again. hx__memory_pin returns when all is done; hx__memory_pin_async leaves it to a thread. */
void hx__memory_pin(hx__memory *memory, hx__device *const *devices, size_t count);
void hx__memory_pin_async(hx__memory *memory, hx__device *const *devices, size_t count);
/* The length of the known range that begins at p; 0: there is none. */
size_t hx__memory_range_bytes(hx__memory *memory, const void *p);
/* hx__memory_known is the check that hx_advise, hx_modified and hx_sync share. HX_INVALID_ARGUMENT: [p, p+bytes) is not
 * inside a known range; what is the name of the function in the message. */
/* *again: nothing was changed, because a task that has just ended has left a result on a device, which has to be
 * fetched first. */
hx_status hx__memory_advise(hx__memory *memory, const void *p, size_t bytes, unsigned advice, bool *again);
hx_status hx__memory_known(hx__memory *memory, const void *p, size_t bytes, const char *what);
/* The same check, which replaces *p and *bytes by the whole known range. */
hx_status hx__memory_known_range(hx__memory *memory, const void **p, size_t *bytes, const char *what);
/* hx_modified: copies of the range become stale. */
hx_status hx__memory_modified(hx__memory *memory, const void *p, size_t bytes);
/* The version of the contents of a product's operand (0: A, 1: B) if it is advised HX_READ_MOSTLY, otherwise 0. A copy
 * is valid while the version is the same. */
uint64_t hx__memory_version(hx__memory *memory, const hx__work *work, unsigned operand);

/* Whether there is something between the elements of a batch's matrices C. Then their array is one row, with these
 * gaps, so it stays on no device. */
bool hx__c_has_gaps(const hx__work *work);

/* Bracket the execution of a task, whose outputs are written by the host. In between, no device accesses a
 * coarse-grained SVM block that contains them in place, and no result that they replace is copied to the host; claim
 * waits for runs and copies that have begun. written: the outputs were changed. */
void hx__memory_claim_outputs(hx__memory *memory, const hx__work *work);
void hx__memory_release_outputs(hx__memory *memory, const hx__work *work, bool written);

/* Whether the task reads or writes any byte of [p, p+bytes). */
bool hx__memory_task_overlaps(const hx__work *work, const void *p, size_t bytes);

/* The number of arrays of a task, and how each of them reaches the device. hx__memory_release ends the use of the
 * arrays after the run. */
size_t hx__memory_arrays(const hx__work *work);
void hx__memory_resolve(hx__memory *memory, hx__device *device, const hx__work *work, hx__array *arrays);
/* timed_out: a chunk that timed out may still read the arrays. They are then not freed before
 * hx__memory_timed_out_ended of that device, or never if device is NULL. */
void hx__memory_release(hx__memory *memory, const hx__device *device, const hx__work *work, const hx__array *arrays,
                        bool timed_out);
/* A task found too little of the device's memory: frees some of its copies, and allows fewer for some time. */
void hx__memory_ran_short(hx__memory *memory, const hx__device *device);
/* All timed-out chunks of the device have ended. */
void hx__memory_timed_out_ended(hx__memory *memory, const hx__device *device);
/* Nothing will show when the timed-out chunks of the device have ended: what they may read is never freed. */
void hx__memory_timed_out_forever(hx__memory *memory, const hx__device *device);

/* Whether C of a product, or the only output of a map, stays on the device, which computes all of it. If so, fills
 * *resident for the device's stream; hx__memory_resident_end ends it after hx__memory_release_outputs. If the stream
 * has set resident->complete by then, only the device has C. may_overwrite: an older C that the task does not read is
 * replaced in its own buffer, since a large new buffer takes a driver long (resident-calls.tsv); otherwise it is kept
 * until the new one is complete. */
bool hx__memory_resident_begin(hx__memory *memory, hx__device *device, const hx__work *work, bool may_overwrite,
                               hx__resident_output *resident);
/* False: the advice was taken back during the run, and C has to be fetched. */
bool hx__memory_resident_end(hx__memory *memory, const hx__resident_output *resident);
/* The same if the device has not begun: an older C stays valid. */
void hx__memory_resident_cancel(hx__memory *memory, const hx__resident_output *resident);

/* A result that exists only on a device. */
typedef struct hx__device_only_result {
  hx__device *device;
  hx__array array; /* its place on the host, and the mirror that holds it */
} hx__device_only_result;

/* Find a device-only result that must be copied to the host: before a task, or in [p, p+bytes). sole_device (may be
 * NULL) computes all of the task and uses its own results in place; resident: C stays there, too. False: there is none.
 * Each result found is ended by hx__memory_fetch_done; done: the host has it now. */
bool hx__memory_find_device_only(hx__memory *memory, const hx__work *work, const hx__device *sole_device, bool resident,
                                 hx__device_only_result *result);
bool hx__memory_find_device_only_in(hx__memory *memory, const void *p, size_t bytes, hx__device_only_result *result);
void hx__memory_fetch_done(hx__memory *memory, const hx__device_only_result *result, bool done);

/* Bytes of a device-only result that would have to be copied to the host if another device than *device computed the
 * task; 0: there is none. */
size_t hx__memory_device_only_bytes(hx__memory *memory, const hx__work *work, const hx__device **device);

/* The placement of the task's operands as a number below HX__PLACEMENTS: which of them are copied to a device through
 * staging buffers, which are pinned, and which are already there. Measurements are stored by it. 0: all operands are
 * copied. */
uint32_t hx__memory_placement(hx__memory *memory, const hx__work *work);

#endif
