/* SPDX-License-Identifier: Apache-2.0
 * What a context knows of memory: blocks of hx_alloc, registered ranges, their advice, and so how each array of a task
 * reaches each device. */
#ifndef HX_MEMORY_MEMORY_H
#define HX_MEMORY_MEMORY_H

#include <pthread.h>

#include "runtime/backend/backend.h"

typedef struct hx__range hx__range;
typedef struct hx__copy hx__copy;
typedef struct hx__pin hx__pin;

typedef struct hx__memory {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  hx__range *ranges;   /* a list: programs have few */
  hx__range *deferred; /* taken out of it while a late chunk may read them */
  hx__copy *copies;    /* that devices keep */
  _Atomic unsigned
      watched_ranges;          /* ranges whose writing matters (advice, coarse SVM): 0 spares small calls the lock */
  hx__memory_mode forced_mode; /* HX_MEMORY */
  uint64_t limit_ns;           /* a thread of the program waits so long for one driver call that is about memory */
  bool pinning;                /* a thread of ours does; under the lock */
} hx__memory;

void hx__memory_init(hx__memory *memory, const hx__config *config);
/* Frees the blocks; registered memory stays the caller's. */
void hx__memory_destroy(hx__memory *memory);

/* hx_alloc: from the first device that has the mode (HX_MEMORY, or the first of the list in memory.c), else pages. */
void *hx__memory_alloc(hx__memory *memory, hx__device *const *devices, size_t count, size_t bytes);
/* hx_free; false where p is not a block. A block that a late chunk may still read is freed when that has ended. */
bool hx__memory_free(hx__memory *memory, void *p);

hx_status hx__memory_register(hx__memory *memory, void *p, size_t bytes);
hx_status hx__memory_unregister(hx__memory *memory, void *p);
/* Pins known memory for those of the devices that are open and copy it; what one refuses it is not asked for again.
 * Returns when all is done; or at once, and a thread does it. */
void hx__memory_pin(hx__memory *memory, hx__device *const *devices, size_t count);
void hx__memory_pin_async(hx__memory *memory, hx__device *const *devices, size_t count);
/* Of the known range that begins at p; 0: none does. */
size_t hx__memory_range_bytes(hx__memory *memory, const void *p);
/* hx_advise, hx_modified, hx_sync share the check: [p, p+bytes) lies inside a known range. */
hx_status hx__memory_advise(hx__memory *memory, const void *p, size_t bytes, unsigned advice);
hx_status hx__memory_known(hx__memory *memory, const void *p, size_t bytes, const char *what);
/* The same, and the whole of that range. */
hx_status hx__memory_known_range(hx__memory *memory, const void **p, size_t *bytes, const char *what);
/* hx_modified: copies that were made of the range under HX_READ_MOSTLY are of the past. */
hx_status hx__memory_modified(hx__memory *memory, const void *p, size_t bytes);
/* 0, or where the operand of a product (0: A, 1: B) is HX_READ_MOSTLY the number of its contents: copies made under
 * that number are good while it stays. */
uint64_t hx__memory_version(hx__memory *memory, const hx__work *work, unsigned operand);

/* The outputs of a task are written by the host while it runs: a block that devices may only read while the host does
 * not write is not used in place meanwhile. Waits for runs that read it so. */
void hx__memory_claim_outputs(hx__memory *memory, const hx__work *work);
void hx__memory_release_outputs(hx__memory *memory, const hx__work *work, bool written);

/* Whether the task reads or writes anything in [p, p+bytes). */
bool hx__memory_task_overlaps(const hx__work *work, const void *p, size_t bytes);

/* How many arrays a task has, and how each reaches a device. arrays is released when the run has ended. */
size_t hx__memory_arrays(const hx__work *work);
void hx__memory_resolve(hx__memory *memory, hx__device *device, const hx__work *work, hx__array *arrays);
/* late: a chunk was given up that may still read them; until hx__memory_timed_out_ended what it reads is not freed, or
 * never if device is NULL. */
void hx__memory_release(hx__memory *memory, const hx__device *device, const hx__work *work, const hx__array *arrays,
                        bool late);
/* The device's late chunks have ended. */
void hx__memory_timed_out_ended(hx__memory *memory, const hx__device *device);

/* Where C of a product may stay on the device that does all of it: true, and *keep for its stream. Ended, after
 * hx__memory_release_outputs, by hx__memory_resident_end: with keep->done the device alone has C now. */
bool hx__memory_resident_begin(hx__memory *memory, hx__device *device, const hx__work *work, hx__resident_output *keep);
void hx__memory_resident_end(hx__memory *memory, const hx__resident_output *keep);

/* A result that only a device has. */
typedef struct hx__device_only_result {
  hx__device *device;
  hx__array array; /* where it belongs, and the copy that holds it */
} hx__device_only_result;

/* One that the task needs on the host, if any, but for what the device `alone` (NULL: none) does in place, keeping C
 * where `keep` says so; or one in [p, p+bytes). Each is ended by hx__memory_fetch_done, done: the host has it now. */
bool hx__memory_find_device_only(hx__memory *memory, const hx__work *work, const hx__device *alone, bool keep,
                                 hx__device_only_result *absent);
bool hx__memory_find_device_only_in(hx__memory *memory, const void *p, size_t bytes, hx__device_only_result *absent);
void hx__memory_fetch_done(hx__memory *memory, const hx__device_only_result *absent, bool done);

/* Bytes that the task would have brought back for anybody but *device; 0: none. */
size_t hx__memory_device_only_bytes(hx__memory *memory, const hx__work *work, const hx__device **device);

/* How the task's arrays reach devices that copy, as a small number: what was measured with other copies is another
 * entry of the model. 0: nothing of them is known. */
uint32_t hx__memory_placement(hx__memory *memory, const hx__work *work);

#endif
