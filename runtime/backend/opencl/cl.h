/* SPDX-License-Identifier: Apache-2.0
 * What the files of this folder share. Nothing outside it includes CL. */
#ifndef HX_BACKEND_OPENCL_CL_H
#define HX_BACKEND_OPENCL_CL_H

#include <pthread.h>
#include <stdio.h>

#include "kernels/kernels.h"
#include "runtime/backend/backend.h"
#include "runtime/backend/memory_jobs.h"
#include "runtime/backend/opencl/entries.h"
#include "runtime/base/log.h"

#include <CL/cl_ext.h>

#define HX__CL_TUNED 16u                                /* rows for which the tuner may store a choice */
#define HX__CL_VARIANTS 32u                             /* of the product, beside the first row of its set */
#define HX__TUNED_PROGRAM (HX__NEEDS + HX__CL_VARIANTS) /* the program that is being tuned */
#define HX__PROGRAMS (HX__TUNED_PROGRAM + 1)            /* one a need bit, those variants, and it */

extern const hx__backend hx__opencl_backend;

typedef struct hx__cl_program {
  cl_program program;
  const hx__kernel_row *row;
  hx__layout layout; /* of a set */
  hx__arithmetic arithmetic;
  uint32_t tile_m, tile_n, tile_k; /* matmul: as built */
  bool from_cache;                 /* it came from the cache */
  float seed;                      /* hx__cl_seed_rate, of this process or of the one that built it */
} hx__cl_program;

/* What the tuner found to be the fastest for a product: a row, its tile where it takes any, the order of its fma. */
typedef struct hx__cl_tuned {
  const hx__kernel_row *row;
  uint32_t tile[3], order;
} hx__cl_tuned;

/* A device buffer that grows. */
typedef struct hx__cl_buffer {
  cl_mem mem;
  size_t bytes;
} hx__cl_buffer;

/* A live buffer over memory of the caller, shared by the streams that read the same range at once; or by the contexts
 * that have registered it (pin.c). */
typedef struct hx__cl_hostptr {
  uintptr_t first, end;
  _Atomic(cl_mem) mem; /* NULL: it is being made */
  unsigned users;
  bool pins;                 /* it is only there for its pages to be pinned */
  bool in_use_after_timeout; /* a chunk that timed out may still read it, so it is not reused */
  struct hx__cl_hostptr *next;
} hx__cl_hostptr;

#define HX__CL_SPARES 2u

typedef struct hx__cl_device {
  hx__device base;
  cl_platform_id platform;
  cl_device_id id;
  unsigned version; /* 12, 20, 30: of the device; entries newer than it are never called */
  uint32_t families;
  size_t max_local;
  cl_device_svm_capabilities svm;
  bool unified, usm;
  clHostMemAllocINTEL_fn usm_alloc;
  clMemFreeINTEL_fn usm_free;
  clSetKernelArgMemPointerINTEL_fn usm_arg;

  hx__memory_jobs jobs;    /* the thread for what is not a stream's: memory */
  pthread_mutex_t opening; /* held while the device is opened, by threads of hx alone */
  _Atomic bool opened;
  cl_context context;
  pthread_mutex_t lock;       /* hostptrs and spare; never held across a driver call */
  bool fma_ok, add_ok, wrote; /* by the probe kernel */
  hx__cl_program program[HX__PROGRAMS];
  _Atomic uint64_t variants;        /* bits of program[HX__NEEDS + i] that are ready */
  unsigned tried;                   /* of the variants there may be */
  hx__cl_tuned tuned[HX__CL_TUNED]; /* those with a row; of no set: the first alone */
  hx__cl_hostptr *hostptrs;
  hx__cl_buffer spare[HX__CL_SPARES]; /* of copies that were dropped: a chain of products needs one anew each time */

  hx__stream *tester; /* of the thread that prepares: tries what comes from the cache, one program after the other */
} hx__cl_device;

/* A call that failed: its name and code, said once. Returns what it means for the chunk. */
hx__outcome hx__cl_failed(hx__cl_device *device, const char *call, cl_int code);
const char *hx__cl_code_name(cl_int code);

/* Creates the context, runs the first kernel and finds out what the device does: modes, zero copy, fma. Once; false
 * if it cannot be used, with base.why. */
bool hx__cl_device_open(hx__cl_device *device);
/* Whether that was done, and the device can be used. */
bool hx__cl_device_is_open(const hx__cl_device *device);
/* Which modes the device passes (base.modes, base.zero_copy): touch is a kernel hx_touch, on an empty queue. */
void hx__cl_find_modes(hx__cl_device *device, cl_command_queue queue, cl_kernel touch);

/* clBuildProgram; idle: on a thread that runs at SCHED_IDLE, given up after a minute. CL_SUCCESS or a code. */
cl_int hx__cl_build(const hx__cl_device *device, cl_program program, const char *options, bool idle);
/* Whether that code says that the build was given up, and the program may not be released. */
bool hx__cl_build_was_left(cl_int code);
/* Begins a build that hx__cl_program_new will be asked for, where the device's compiler does several at once and a core
 * is idle; false where it does not. */
bool hx__cl_build_ahead(hx__cl_device *device, hx__kernel_kind kind, const char *options);
/* Such a build is not wanted any more. */
void hx__cl_build_forget(hx__cl_device *device, hx__kernel_kind kind, const char *options);
/* What stands for device, driver and hx in the keys of the cache. */
void hx__cl_write_key(FILE *f, const hx__cl_device *device);

/* Reads what the tuner has stored for this device and driver. A damaged file counts as none. */
void hx__cl_tuned_load(hx__cl_device *device);
/* Keeps it for the processes to come; false where there is no cache. */
bool hx__cl_tuned_store(const hx__cl_device *device, const hx__cl_tuned *tuned);
/* What was found for a row, or NULL. */
const hx__cl_tuned *hx__cl_tuned_for(const hx__cl_device *device, const hx__kernel_row *row);

/* One program that the tuner timed. */
typedef struct hx__cl_tune_result {
  hx__cl_tuned what;
  double flops;    /* a second; 0: not timed */
  const char *why; /* it was not */
  bool chosen;
} hx__cl_tune_result;
/* Times the product's rows, tiles and orders on a device that does nothing else, and keeps the winners. Returns how
 * many were tried. */
size_t hx__cl_tune(hx__cl_device *device, hx__cl_tune_result *trials, size_t room, size_t *side);
/* Seconds of a launch of the need's program (HX__TUNED_PROGRAM: the one that is being tuned) for three matrices of
 * `side` on the device, the least of so many; 0: it failed. */
double hx__cl_time_product(hx__cl_device *device, unsigned need, size_t side, int times);

/* Nanoseconds a byte of pinned host memory takes to a device that copies; 0: that failed. */
float hx__cl_link_ns(hx__cl_device *device, cl_command_queue queue);

/* The built program of a kind, or NULL with *code. */
cl_program hx__cl_program_new(hx__cl_device *device, hx__kernel_kind kind, const char *options, bool idle,
                              cl_int *code);

/* A program that passed its self-test in an earlier process, if one is cached that this driver accepts. Its trial ends
 * with hx__cache_crash_mark_end once it has run. */
typedef struct hx__cl_cached_program {
  cl_program program; /* NULL: none */
  float seed;
  int trial;
} hx__cl_cached_program;

hx__cl_cached_program hx__cl_binary_load(hx__cl_device *device, hx__kernel_kind kind, const char *options, bool idle);
/* Kept after the program has run: some drivers compile at a launch, and their binaries hold what was compiled so far.
 */
void hx__cl_binary_store(hx__cl_device *device, cl_program program, hx__kernel_kind kind, const char *options,
                         float seed);

void hx__cl_prepare(hx__device *device, uint64_t needs);
/* NULL where the kernel gives hx's bits on its small cases, else one sentence. */
const char *hx__cl_self_test(hx__cl_device *device, unsigned need);
/* The same by one case, on the device's tester: for a program that passed all of them before it was cached. */
const char *hx__cl_self_test_once(hx__cl_device *device, unsigned need);
void hx__cl_tester_close(hx__cl_device *device);
/* Units a nanosecond of a launch that takes a few milliseconds on the slowest of devices: what a first call goes by. */
float hx__cl_seed_rate(hx__cl_device *device, unsigned need);

void *hx__cl_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, void **block);
void hx__cl_free(hx__device *device, void *block);
void *hx__cl_usm_alloc(hx__cl_device *device, size_t bytes);
void hx__cl_usm_free(hx__cl_device *device, void *p);
cl_int hx__cl_usm_arg(const hx__cl_device *device, cl_kernel kernel, cl_uint index, const void *p);

/* The same for threads that may not wait for a driver (memory_jobs.h): alloc and pin return NULL if that takes too
 * long, and free and drop return at once. */
void *hx__cl_job_alloc(hx__device *device, size_t bytes, hx__memory_mode mode, uint64_t limit_ns, void **block);
void hx__cl_job_free(hx__device *device, uint64_t limit_ns, void *block);
void *hx__cl_job_pin(hx__device *device, void *p, size_t bytes, uint64_t limit_ns);
void hx__cl_job_mirror_destroy(hx__device *device, hx__mirror *mirror);
void hx__cl_jobs_settle(hx__device *device, uint64_t limit_ns);

/* A block of hx_alloc memory that the device knows, or memory of others that is pinned for it. */
typedef struct hx__cl_block {
  hx__memory_job job; /* frees it, */
  hx__device *device; /* on its thread */
  void *p;            /* as the driver gave it: the caller's begins at the first page boundary in it */
  size_t bytes;
  cl_mem mem;             /* mode copy: a pinned buffer, mapped at p until it is freed; no kernel uses it */
  cl_command_queue queue; /* mode copy: it mapped the buffer and unmaps it, so that freeing has no call that may fail */
  hx__memory_mode mode;
  bool mapped_to_read;    /* coarse SVM: a run's kernels may read it, and the host holds a map for reading only */
  _Atomic bool broken;    /* coarse SVM: a thread was given up between its maps: devices do not read it any more */
  hx__cl_hostptr **piece; /* what is pinned of memory of others, by addresses; NULL: a block of the driver's */
  size_t pieces;
} hx__cl_block;

void *hx__cl_pin(hx__device *device, void *p, size_t bytes);
void hx__cl_unpin(hx__cl_device *device, hx__cl_block *block);
void hx__cl_pin_timed_out(hx__cl_device *device, const hx__cl_block *block);
/* How far the device itself reads on from p in a block of mode copy; *direct false: how far it does not. */
size_t hx__cl_direct_bytes(const hx__cl_block *block, const void *p, bool *direct);

/* A device's copy of host memory (backend.h). */
typedef struct hx__cl_mirror {
  hx__mirror base;
  hx__memory_job job;        /* drops it, */
  hx__device *device;        /* on its thread */
  cl_mem mem;                /* NULL: made when a stream needs it */
  bool in_use_after_timeout; /* a chunk that timed out may still use it */
} hx__cl_mirror;

hx__mirror *hx__cl_mirror_create(hx__device *device, const void *first, size_t bytes);
/* Its buffer, if it has none yet: by a stream, because the caller that asks for a copy may hold locks. */
hx__outcome hx__cl_mirror_allocate(hx__cl_device *device, hx__mirror *mirror);
void hx__cl_mirror_destroy(hx__device *device, hx__mirror *mirror);

/* Coarse SVM: from the host's writable map to one for reading, and back. */
hx__outcome hx__cl_block_begin(hx__cl_device *device, hx__cl_block *block, cl_command_queue queue);
hx__outcome hx__cl_block_end(hx__cl_device *device, hx__cl_block *block, cl_command_queue queue);

/* The live buffer over [p, p+bytes), whole pages; NULL where one overlaps it in part or the driver refuses. */
hx__cl_hostptr *hx__cl_hostptr_get(hx__cl_device *device, const void *p, size_t bytes);
void hx__cl_hostptr_share(hx__cl_device *device, hx__cl_hostptr *hostptr);
void hx__cl_hostptr_timed_out(hx__cl_device *device, hx__cl_hostptr *hostptr);
void hx__cl_hostptr_put(hx__cl_device *device, hx__cl_hostptr *hostptr);

/* Room for at least so many bytes; what was there is lost where it was less. */
hx__outcome hx__cl_buffer_reserve(hx__cl_device *device, hx__cl_buffer *buffer, size_t bytes, cl_mem_flags flags);
void hx__cl_buffer_release(hx__cl_buffer *buffer);

#define HX__CL_PAGE 4096u
#define HX__FIRST_PRODUCT HX__REDUCTIONS /* the need of the product with the device's own tile */
/* Index of a single need bit. */
static inline unsigned hx__need_index(uint64_t need) { return (unsigned)__builtin_ctzll(need); }

#endif
